"""SaCoFa: a noisy prefix tree that is nudged towards prefixes which keep the rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from discreet.log.events import EventLog
from discreet.log.variants import Variants
from discreet.mechanisms.audit_cases import (
    BROKEN_RULE,
    NO_HOSPITAL,
    ONE_MORE,
    THREE_STEPS,
    AuditCase,
)
from discreet.mechanisms.blocks.alphabet import FROM_LOG, alphabet_status
from discreet.mechanisms.blocks.prefix_tree import DROPPED, HARMFUL, HARMLESS, NoisyPrefixTree
from discreet.mechanisms.blocks.rule_pruning import Pruning, RulePruning
from discreet.mechanisms.blocks.rules import (
    RuleRows,
    Rules,
    checked_rules,
    learned_rules,
    read_rules,
)
from discreet.mechanisms.laplace import (
    PrefixMechanism,
    published_levels,
    published_step,
    published_variants,
    refuse_explosion,
    starting_min_count,
)
from discreet.parameters import ParameterError, at_least, between, parameter
from discreet.privacy.guarantee import Budget
from discreet.privacy.randomness import Randomness
from discreet.privacy.steps import OneOf, Sequential, Statement, Step, laplace_or_gaussian, noise_of

PAPER = (
    "S. A. Fahrenkrog-Petersen, M. Kabierski, H. van der Aa, M. Weidlich: Semantics-aware "
    "Mechanisms for Control-flow Anonymization in Process Mining. Information Systems 2023"
)

LEARN = "learn"
RULES = "rules"

# Tuned
RULE_SHARE = 0.2
"""Share of epsilon and delta for learning the rules."""


def _rules(text: str) -> RuleRows | str:
    return LEARN if text == LEARN else read_rules(text)


@dataclass(frozen=True, kw_only=True)
class SaCoFa(PrefixMechanism):
    """Grow the tree of `laplace`, but let in only a few prefixes that break rules of the process.

    Neighbours: one case more or less. Rules say which activities never or always follow or
    precede which, and what cases begin with. A prefix that breaks none is harmless; how many
    harmful ones are let in on a level is drawn by the exponential mechanism (harm n with
    probability proportional to e^(−ε·n/2Δ)), which ones at random, and the rest is dropped.
    Harmful prefixes also face a higher threshold.

    strict: the rules read nothing raw. Either they are public knowledge (`rules` names a file):
    then harm is a public property of a prefix, the draw costs nothing, and what remains is the
    tree of `laplace` over fewer candidates, (ε, δ) by the same proof. Or they are learned
    (rules = learn): a fifth of ε and δ buys noisy counts of "a is followed by b" over each
    case's first max_distinct activities (`blocks/rules.py`), the rest pays for the tree; basic
    composition.

    published: rules, first activities and alphabet from the raw log, noise of scale 1/ε on each
    level; counts that end a variant and the last level are not pruned, as in the authors' code.
    If rules and alphabet were public, D·ε would hold. From the log they decide outright what may
    appear. In a log of 50 cases ⟨a, b, d⟩ (ε = 1, D = 3, min_count 1) the variant ⟨a, d⟩ is in
    0.5% of the releases, with one case ⟨a, d⟩ more in 52%: a loss of 4.7, above D·ε. A case with
    an activity of its own may show it, without that case nothing can: no finite bound holds.
    """

    name: ClassVar[str] = "sacofa"
    summary: ClassVar[str] = "laplace, nudged towards prefixes that keep rules of the process"
    paper: ClassVar[str] = PAPER
    returns: ClassVar[str] = "variants"

    rules: tuple[tuple[str, ...], ...] | str | None = parameter(
        None,
        "what is publicly known of the process: a TOML file of rules, or learn to spend a fifth "
        "of the budget on learning them (published: from the raw log)",
        read=_rules,
    )
    score: Literal["binary", "continuous"] = parameter(
        "binary", "continuous: a prefix that breaks more rules takes more of what is let in"
    )
    max_violations: int = parameter(
        3, "continuous score only: more broken rules than this count as this many", between(1, 100)
    )
    pruning: Pruning = parameter(
        "both",
        "which prefixes are pruned by their noisy count: both kinds, only harmful ones, or none",
    )
    min_count_harmful: int | None = parameter(
        None,
        "the same for harmful prefixes; default: min_count if given, else derived",
        at_least(1),
    )
    max_distinct: int = parameter(
        10, "rules = learn only: distinct activities per case that count", between(1, 1000)
    )

    def _validate(self) -> None:
        super()._validate()
        rules = self.rules
        if rules is None and self.fidelity == "strict":
            raise ParameterError(
                "sacofa needs to know rules of the process: give --rules FILE with public "
                "knowledge (TOML, see docs/mechanisms/sacofa.md; in Python rules=[...]), or "
                f"--rules {LEARN} to spend a fifth of the budget on learning them"
            )
        if rules == LEARN and self.fidelity == "published":
            raise ParameterError("published takes its rules from a file or from the raw log")
        if isinstance(rules, tuple):
            object.__setattr__(self, "rules", checked_rules(rules))

    @classmethod
    def audit_cases(cls) -> tuple[AuditCase, ...]:
        """Public rules, learned ones, all forms of the tree; see the base class."""
        known = {"rules": (("never_follows", "a", "d"),)}
        learned = {"rules": LEARN, "max_length": 3}
        pairs = ONE_MORE, THREE_STEPS, BROKEN_RULE
        public = cls._split_pair(max_length=3, **known)
        private = cls._split_pair(**learned)
        return (
            AuditCase({**known, "max_length": 3, "form": "privtree"}, (public, *pairs)),
            AuditCase({**known, "delta": 1e-6}, pairs, usual=False),
            AuditCase({**learned, "form": "privtree"}, (private, *pairs)),
            AuditCase({**learned, "form": "gaussian"}, pairs, usual=False),
            AuditCase({**learned, "form": "levels", "delta": 0.0}, pairs, usual=False),
            AuditCase(
                {"fidelity": "published", "max_length": 3, "min_count": 1},
                (NO_HOSPITAL, BROKEN_RULE),
            ),
        )

    @property
    def most_harm(self) -> int:
        """The largest score of a prefix, and so the score's sensitivity in the paper."""
        return 1 if self.score == "binary" else self.max_violations

    @property
    def rule_share(self) -> float:
        """Share of epsilon and delta that learning the rules spends."""
        return RULE_SHARE if self.rules == LEARN else 0.0

    def _spending(self, budget: Budget) -> Step | None:
        if self.fidelity == "published":
            if not self._all_public:
                return None
            return published_levels(self.max_length or 1, budget.epsilon / self.most_harm)
        steps = self._tree_steps(budget)
        if self.rules == LEARN:
            steps = (laplace_or_gaussian(RULES, budget.share(self.rule_share)), *steps)
        return Sequential("release", steps)

    @property
    def _all_public(self) -> bool:
        """Whether neither rules nor alphabet come from the log."""
        return isinstance(self.rules, tuple) and self.public_alphabet != FROM_LOG

    def _statement(self, asked: Budget) -> Statement:
        status, conditions = alphabet_status(self.public_alphabet)
        if isinstance(self.rules, tuple):
            conditions = (*conditions, f"{len(self.rules)} rules of the process that were given")
        if self.fidelity == "published":
            return self._published_statement(asked, conditions)
        known = "noisy counts that are paid for" if self.rules == LEARN else "public rules"
        return Statement(
            f"Which prefixes are harmful follows from {known}; a case adds one to one prefix on "
            "each level of a tree, all counts carry noise, and only noisy counts decide.",
            status=status,
            conditions=conditions,
        )

    def _published_statement(self, asked: Budget, conditions: tuple[str, ...]) -> Statement:
        claimed = Budget(asked.epsilon)
        if self._all_public:
            each = self.case_budget.epsilon / self.most_harm
            return Statement(
                f"A case is counted on each of {self.max_length or 1} levels of the tree, and each "
                f"level costs {each:.4g}. Rules and alphabet were given, so they cost nothing.",
                status="refuted",
                conditions=conditions,
                claimed=claimed,
            )
        return Statement(
            "Rules and activities are taken from the raw log and decide outright which "
            "prefixes may appear. Counterexample: in a log of 50 cases a, b, d the variant a, d is "
            "in 0.5% of the releases, with one case a, d more in 52% (epsilon 1, length 3); an "
            "activity of one case alone is named only if that case is there, so no finite bound "
            "holds.",
            status="refuted",
            claimed=claimed,
        )

    def _draw(self, log: EventLog, rng: Randomness) -> Variants:
        variants, max_length = self._bounded(log, rng)
        if not variants.activities:
            return Variants.empty()
        if self.fidelity == "published":
            return self._published(variants, max_length, rng)
        if isinstance(self.rules, tuple):
            rules = Rules.of_rows(self.rules, variants.activities)
        else:
            rules = learned_rules(variants, self.max_distinct, self.step(RULES, OneOf), rng)
        return self._grown(variants, max_length, self._rule_pruning(rules, self.min_count), rng)

    def _rule_pruning(self, rules: Rules, min_count: int | None) -> RulePruning:
        least = min_count, self.min_count_harmful
        return RulePruning(rules, self.case_budget.epsilon, self.most_harm, self.pruning, *least)

    def _published(self, variants: Variants, max_length: int, rng: Randomness) -> Variants:
        if isinstance(self.rules, tuple):
            rules = Rules.of_rows(self.rules, variants.activities)
        else:
            rules = Rules.of_variants(variants)
        levels = published_levels(max_length, self.case_budget.epsilon / self.most_harm)
        least = self.min_count or starting_min_count(self.case_budget.epsilon)
        pruning = self._rule_pruning(rules, least)
        noises = [noise_of(level, 1) for level in levels.steps]
        thresholds = np.array(
            [pruning.threshold(noises[0], verdict, 1) for verdict in (HARMLESS, HARMFUL)] + [0]
        )
        tree = NoisyPrefixTree(variants)
        while tree.depth < max_length and len(tree.open):
            refuse_explosion(tree)
            verdicts = pruning.verdicts(tree, rng)
            noisy = noises[tree.depth].added(tree.raw_counts(), rng)
            noisy[verdicts == DROPPED] = 0
            chosen = published_step(tree, noisy, thresholds[verdicts], max_length)
            pruning.follow(*np.divmod(chosen[tree.open], tree.symbols))
        return published_variants(tree, max_length)
