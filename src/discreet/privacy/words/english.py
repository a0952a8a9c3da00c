"""What is said of a promise, in English."""

from __future__ import annotations

from discreet.privacy.words.sentences import Vocabulary

ENGLISH = Vocabulary(
    one={"case": "case", "individual": "person"},
    change={
        ("add-remove", "case"): "adding or removing one case",
        ("add-remove", "individual"): "adding or removing one person",
        ("swap", "case"): "replacing one case by another",
        ("swap", "individual"): "replacing one person by another",
    },
    doubt={
        ("add-remove", "case"): "whether a certain case is",
        ("add-remove", "individual"): "whether a certain person is",
        ("swap", "case"): "which of two cases is",
        ("swap", "individual"): "which of two persons is",
    },
    seeded="NOT PRIVATE: the noise came from a seed, so whoever knows or guesses the seed can take "
    "it out again. Use this release for tests and experiments only.",
    unbounded="This release carries no differential-privacy guarantee: no finite bound is known on "
    "what it tells about one {one}.",
    gist={
        "strong": {
            "case": "Whoever sees this release learns almost the same about any one case as if it "
            "had never been in the log.",
            "individual": "Whoever sees this release learns almost the same about any one person "
            "as if they had never been in the log.",
        },
        "moderate": {
            "case": "Whoever sees this release may learn something about one case, but is left in "
            "doubt about it.",
            "individual": "Whoever sees this release may learn something about one person, but is "
            "left in doubt about them.",
        },
        "weak": {
            "case": "WEAK PROTECTION: whoever sees this release may become nearly certain about "
            "one case.",
            "individual": "WEAK PROTECTION: whoever sees this release may become nearly certain "
            "about one person.",
        },
        "hardly any": {
            "case": "HARDLY ANY PROTECTION: whoever sees this release may learn nearly everything "
            "about one case. Do not take it for anonymous.",
            "individual": "HARDLY ANY PROTECTION: whoever sees this release may learn nearly "
            "everything about one person. Do not take it for anonymous.",
        },
    },
    precisely="Precisely: {change} changes the probability of every possible outcome by a factor "
    "of at most e^ε = {odds} (ε = {epsilon}){exception}.",
    exception=", apart from outcomes of probability at most δ = {delta}",
    example="An example: someone who was undecided (50%) {doubt} in the log can be at most "
    "{sure}% sure afterwards, whatever else they know{barring}.",
    barring=" (barring a chance of {delta})",
    bounded_cases="A person counts with at most {cases} cases.",
    case_column="Cases are told apart by the column {case}.",
    individual_column="Cases are told apart by the column {case}, people by the column "
    "{individual}.",
    status={
        "proved": "This is proved.",
        "conditional": "This holds on the conditions below.",
        "refuted": "The published claim does not hold.",
        "unproved": "No proof is known.",
    },
    claimed="Claimed: {claimed}. {holds}",
    holds="What holds: {holds}.",
    holds_nothing="What holds: nothing finite.",
    public="Taken as public: {conditions}.",
    levels={
        "strong": "strong protection",
        "moderate": "moderate protection",
        "weak": "weak protection",
        "hardly any": "hardly any protection",
        "none": "no protection",
    },
    weak_epsilon="ε = {epsilon} is {level}: someone who was undecided may be {sure}% sure "
    "afterwards. Up to ε = 1 protection is strong, up to 3 moderate.",
    large_delta="δ = {delta} is too large for {cases} released cases: about {exposed} of them "
    "may be exposed outright. Choose δ below {limit}.",
    insisted="This release is weaker than discreet makes by itself; whoever made it insisted.",
    dropped="Only the order of activities is released: times are artificial (1970, a second per "
    "event) and all other columns are left out. --times releases private times, --attributes "
    "further columns.",
)
