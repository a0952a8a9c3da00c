from pathlib import Path

import pytest

from discreet.log.samples import sample_log
from discreet.mechanisms.registry import mechanism
from discreet.mechanisms.sacofa import RULE_SHARE, SaCoFa
from discreet.models.similarity import relative_log_similarity
from discreet.parameters import ParameterError
from discreet.privacy.guarantee import Budget
from discreet.releasing.verification import check_certificate
from tests.conftest import RealLogs, read_once
from tests.mechanisms.neighbours import Small, loss_at_least

LABELS = ("a", "b", "d")
RULES = (("first", "a"), ("always_precedes", "d", "b"))
BASE = {("a", "b", "d"): 50}
CASE = ("a", "d")


def shows_case(released: object) -> bool:
    return CASE in released.to_dict()  # type: ignore[attr-defined]


def test_strict_promises_the_budget_with_given_and_with_learned_rules() -> None:
    given = SaCoFa(epsilon=1, alphabet=LABELS, rules=RULES, max_length=5).guarantee()
    assert given.status == "proved"
    assert given.holds == Budget(1.0)
    assert given.conditions == (
        "the list of 3 activities that was given",
        "2 rules of the process that were given",
    )
    learned = SaCoFa(epsilon=1, delta=1e-6, alphabet=LABELS, rules="learn").guarantee()
    assert learned.status == "proved"
    assert learned.holds == Budget(1.0, 1e-6)
    assert [part.name for part in learned.parts] == ["rules", "histogram of lengths", "prefix tree"]
    assert learned.parts[0].epsilon == pytest.approx(RULE_SHARE)
    assert sum(part.epsilon for part in learned.parts) <= 1
    assert sum(part.delta for part in learned.parts) <= 1e-6


def test_published_promises_nothing_unless_rules_and_alphabet_are_public() -> None:
    raw = SaCoFa(fidelity="published", epsilon=1, max_length=4).guarantee()
    assert raw.status == "refuted"
    assert raw.holds is None
    public = SaCoFa(
        fidelity="published", epsilon=1, max_length=4, alphabet=LABELS, rules=RULES
    ).guarantee()
    assert public.holds == Budget(4.0)
    continuous = SaCoFa(
        fidelity="published",
        epsilon=1.5,
        max_length=4,
        alphabet=LABELS,
        rules=RULES,
        score="continuous",
    ).guarantee()
    assert continuous.holds == Budget(4 * 0.5)


def test_bad_parameters_are_refused() -> None:
    with pytest.raises(ParameterError, match="--rules FILE"):
        SaCoFa(alphabet=LABELS)
    with pytest.raises(ParameterError, match="raw log"):
        SaCoFa(fidelity="published", max_length=3, rules="learn")
    with pytest.raises(ParameterError, match="is not a rule"):
        SaCoFa(alphabet=LABELS, rules=(("mostly", "a", "b"),))


def test_published_gives_away_a_case_that_breaks_a_rule() -> None:
    published = SaCoFa(fidelity="published", epsilon=1, max_length=3, min_count=1)
    assert loss_at_least(published, BASE, CASE, shows_case, 500) > 1


def test_published_names_an_activity_only_if_a_case_has_it() -> None:
    published = SaCoFa(fidelity="published", epsilon=1, max_length=2, min_count=1)
    rare = ("x",)
    loss = loss_at_least(
        published,
        BASE,
        rare,
        lambda released: "x" in released.activities,  # type: ignore[attr-defined]
        300,
    )
    assert loss > 1


def test_strict_is_not_contradicted_by_the_same_event() -> None:
    strict = SaCoFa(epsilon=1, max_length=3, min_count=1, alphabet=LABELS, rules=RULES)
    assert loss_at_least(strict, BASE, CASE, shows_case, 300) <= 1
    learned = SaCoFa(epsilon=1, max_length=3, min_count=1, alphabet=LABELS, rules="learn")
    assert loss_at_least(learned, BASE, CASE, shows_case, 300) <= 1


def test_harmful_prefixes_are_rarer_than_without_rules() -> None:
    log = {("a", "b", "d"): 400, ("a", "d"): 40}
    runs = 100
    options = {"epsilon": 2.0, "alphabet": LABELS, "max_length": 3, "form": "levels"}
    shown = {
        name: sum(
            shows_case(chosen.release(Small(log)).artefact)  # type: ignore[arg-type]
            for _ in range(runs)
        )
        for name, chosen in (
            ("without", mechanism("laplace", **options)),
            ("with", SaCoFa(rules=RULES, **options)),  # type: ignore[arg-type]
        )
    }
    assert shown["without"] > 80
    assert shown["with"] < 65


@pytest.mark.parametrize("pruning", ["both", "harmful", "none"])
@pytest.mark.parametrize("score", ["binary", "continuous"])
def test_every_mode_releases_within_bounds(pruning: str, score: str) -> None:
    log = sample_log("hospital", cases=200, seed=1)
    chosen = SaCoFa(
        epsilon=1,
        alphabet=log.activities,
        rules=(("first", "Registration"), ("always_precedes", "Triage", "Registration")),
        max_length=6,
        form="levels",
        pruning=pruning,  # type: ignore[arg-type]
        score=score,  # type: ignore[arg-type]
    )
    released = chosen.release(log, insecure_seed=1).artefact
    assert set(released.activities) <= set(log.activities)
    assert released.lengths.max(initial=0) <= 6
    if pruning != "both":
        assert len(released) > 50


def test_rules_travel_with_the_certificate(tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text('first = ["Registration"]\n[always_follows]\nRegistration = ["Triage"]\n')
    log = sample_log("hospital", cases=300, seed=1)
    chosen = SaCoFa(epsilon=1, alphabet=log.activities, rules=str(rules))
    chosen.release(log).write(tmp_path / "shared.xes")
    certificate, findings = check_certificate(tmp_path / "shared.xes")
    assert ["first", "Registration"] in certificate.parameters["rules"]
    assert all(finding.outcome == "holds" for finding in findings)


@pytest.mark.parametrize(
    ("name", "length", "least", "similarity", "alike"),
    [
        ("Sepsis", 23, 4, 0.62, 0.697),
        ("CoSeLoG_receipt", 10, 3, 0.97, 0.980),
        ("BPIC2013_incidents", 25, 8, 0.86, 0.913),
    ],
)
def test_published_reproduces_the_authors_code(
    name: str, length: int, least: int, similarity: float, alike: float, real_logs: RealLogs
) -> None:
    known, path = real_logs[name]
    log = read_once(path)
    chosen = SaCoFa(fidelity="published", epsilon=1, max_length=length, min_count=least)
    runs = 12
    found = [
        relative_log_similarity(log.variants, chosen.release(log).artefact) for _ in range(runs)
    ]
    assert sum(found) / runs == pytest.approx(alike if known.generated else similarity, abs=0.03)
