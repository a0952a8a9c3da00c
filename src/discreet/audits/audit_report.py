"""The audits as a page: one table, the findings with their logs, every pair."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any

from discreet.audits.result import Audit, Evidence, PairAudit
from discreet.privacy.guarantee import Budget

INTRODUCTION = """\
# Audits: what each mechanism really leaks

This page is written by one command, which takes about {minutes} min on two processors (last on
{date}, discreet {version}):

    {command}

With `--results FOLDER` every result is kept there at once: an audit that was stopped goes on, and
`--again NAME` repeats one mechanism and writes the page anew.

`discreet audit` runs a mechanism many times on two logs that differ in one case and asks how
well its releases tell the two apart. (ε, δ) says that no event may be more than e^ε times as
likely on one log as on the other, up to δ. So an event that was counted often enough proves a
*lower bound* on ε:

1. On one half of the runs the most telling events are chosen: one of the released artefact, one
   of what each noisy step answered, and a threshold on the score of a trained distinguisher. A
   release may hide an answer; the promise covers it all the same, so the audit sees it as it was
   drawn. That the added case's own variant is shown is always tried as well (the presence test).
2. On the other half they are counted. An exact test of both counts together gives the bound, with
   95% confidence over all pairs of a mechanism together. What privacy does not rest on, such as a
   network's first weights, is the same in all runs: whoever attacks may know it.
3. Where the output distribution is known exactly (TraVaS, plain noise) the hockey-stick
   divergence is computed in rationals: then the bound is the truth for that pair.
4. A bound above the certificate is only a suspicion. It is called *violated* if fresh runs of the
   same event confirm it at a confidence of 1 − 10⁻⁹, or the exact computation does. *Not tested*
   means that no pair could be held against the certificate.
5. Each noisy step is then silenced in turn and the audit asked again: a mutant that comes out
   *violated* shows that the audit could have noticed ({caught} of {mutants} are caught).
6. What a step costs is promised whatever was answered before it. Where a row says *given*, the
   first steps were said to have answered that: so a way that only large logs lead to is audited
   on small ones.

A lower bound below the certificate proves nothing by itself: the attack may have been weak, and at
0 no event told the logs apart. A bound above it is a counterexample. Audits use ε = 1 and
δ = {delta:g} unless a row says otherwise, since nobody can see a probability of 10⁻⁶ in {runs:,}
runs; the default δ is audited as well.
"""

LIMITS = """\
## What an audit does not look at

An audit knows a release by what it reads off it: counts of variants, times, figures, and what the
noisy steps answered. What else could tell of a case, and where that is looked for instead:

- *An artefact in Python*: the order of its variants, labels that no case has.
  `discreet.testing` checks both on every mechanism.
- *Numbers of the log in notes*, guarantee or parameters. `discreet.testing` compares those of
  releases of neighbouring and of other logs.
- *Noise with a seed that the log gives.* `discreet.testing` wants all noise drawn from the coins
  that a release is given. Our tests replace the bytes of the operating system: the same bytes
  give the same release, others give other answers.
- *Too little noise for large logs only.* Audits use logs of up to a few hundred cases (some
  thousands for `dpim`). `discreet.testing` holds what a case changes against the noise of that
  very release, also among more than 1,000 cases.
- *Times that fit together* in a way that no single feature shows, such as the parity of their
  sum. `discreet.testing` wants two neighbours released alike to the last bit where all noisy
  answers are the same.
- *Cases of one individual* that together move more than their part. Our tests add three at once.
- *How long a release takes*, and what else runs on the machine: nothing looks at that.

`discreet.testing.recording` records what each noisy step read and answered, then releases a
neighbour with the same answers: what a step reads may differ by what it is paid for, and the rest
not at all. For the pairs that are tried this is exact; it says nothing of other pairs, nor whether
noise has the distribution that it is named after, nor whether the costs are added up rightly. It
is left out where a model is trained on random samples of the cases and where rounds are thrown
away, since two such releases do not go step by step: there a sampling rate of 1 is compared, and
rounds that are all accepted.
"""

STEPS = """\
## Steps and their mutants

Every step that draws noise, with what its own answers gave away, and what they give away without
that noise. ε at least: of the sound mechanism, on all pairs and with all parameters. The mutant was
caught with these parameters on this pair, in so many runs of each log, most often by the first
answer of its step, behind which a run need not go on. *Missed* is the chance that another such
audit would not catch it, computed from how often its event was seen. Where it says *alone*, the
answers before it were held fixed and the step was held against its own cost: what a choice
answers tells little unless one knows between what it chose.
"""


EXTENSION = """\
## Adding to it

A mechanism that is registered is audited without further ado: `discreet audit NAME` calls it on
the usual pairs that fit its neighbour relation, with the activities of both logs as public
alphabet. To make its audit tell more:

- the pair *shared long variant* (and its swap) is tried on everything, unless `shared` of an
  `AuditCase` says no: it adds a case to a long variant that many have, so a bound that is kept
  for lone cases only, or a raw count of cases, shows;
- `audit_cases` of the mechanism names the parameters it is audited with and pairs of logs
  (`discreet.log.neighbours.Pair`) that tell much about it, best first. Every noisy step should
  answer in one of them, and some pair should show if it had no noise; `given` says what the first
  steps answered, where only that leads to the others;
- what a step answers without `CountNoise.added`, `Selecting.select` or `Choosing.choose` is noted
  with `discreet.privacy.transcript.note`: only what the step's cost covers;
- what is random but no secret, such as a network's first weights, is drawn from `public_coins` of
  `discreet.privacy.randomness`: an audit then knows it;
- a method `_draw_many` draws many releases of one log at once, where that is cheaper;
- `@factors.register` in `discreet/audits/exact.py` states its output distribution, where known;
- `discreet.audits.canaries` audits a model in one training run.
"""


def page(audits: Sequence[Audit], left_out: dict[str, str], command: str) -> str:
    """The whole page in Markdown."""
    from discreet._version import __version__
    from discreet.audits.subjects import DELTA

    powers = [power for audit in audits for power in audit.powers]
    seconds = sum(pair.seconds for audit in audits for pair in audit.pairs)
    seconds += sum(power.seconds for power in powers)
    runs = max((pair.runs for audit in audits for pair in audit.pairs), default=0)
    parts = [
        INTRODUCTION.format(
            minutes=max(1, round(seconds / 120)),
            command=command,
            date=f"{date.today():%-d %B %Y}",
            version=__version__,
            delta=DELTA,
            runs=runs,
            caught=sum(power.caught for power in powers),
            mutants=len(powers),
        ),
        "## Overview\n",
        _table(
            (
                "mechanism",
                "parameters",
                "claimed",
                "certified",
                "ε at least",
                "verdict",
                "event",
                "pair",
            ),
            (overview(audit) for audit in audits),
        ),
    ]
    findings = [audit for audit in audits if audit.claim_refuted or audit.verdict == "violated"]
    if findings:
        parts.append("## Findings\n")
        parts += [_finding(audit) for audit in findings]
    if left_out:
        parts.append("## Not audited\n")
        parts += [f"- {name}: {reason}\n" for name, reason in left_out.items()]
    if powers:
        parts += [
            STEPS,
            _table(
                (
                    "mechanism",
                    "step",
                    "ε at least",
                    "mutant: ε at least",
                    "mutant",
                    "missed",
                    "against",
                    "runs",
                    "pair",
                    "parameters",
                ),
                step_rows(audits),
            ),
        ]
    parts.append("## Every pair\n")
    for audit in audits:
        parts += [
            f"### {audit.mechanism} {_settings(audit)}\n".replace(" \n", "\n"),
            _table(
                ("pair", "runs", "against", "measured", "exact", "event", "seen"),
                pair_rows(audit),
            ),
        ]
    return "\n".join([*parts, LIMITS, EXTENSION])


def overview(audit: Audit) -> tuple[str, ...]:
    """One row: mechanism, parameters, claimed, certified, bound, verdict, event, pair."""
    worst = audit.worst
    evidence = worst.evidence if worst else None
    told = evidence if evidence and evidence.bound else None
    promise = audit.guarantee
    return (
        audit.mechanism,
        _settings(audit),
        _budget(promise.claimed),
        _budget(promise.holds),
        _number(audit.epsilon) + (" (exact)" if evidence and _is_exact(evidence) else ""),
        audit.words(),
        told.event if told else "",
        worst.pair if worst and told else "",
    )


def step_rows(audits: Sequence[Audit]) -> list[tuple[str, ...]]:
    """One row per noisy step: bound, what its mutant scores, against what, runs, pair."""
    return [
        (
            audit.mechanism,
            power.step,
            _number(
                max(a.epsilon_of(power.step) for a in audits if a.mechanism == audit.mechanism)
            ),
            _number(power.mutant),
            "violated" if power.caught else "**not caught**",
            _chance(power.missed),
            _budget(power.against) + (" alone" if power.alone else ""),
            f"{power.runs:,}",
            power.pair,
            _listed(power.parameters),
        )
        for audit in audits
        for power in audit.powers
    ]


def _finding(audit: Audit) -> str:
    lines = [f"### {audit.mechanism} {_settings(audit)}\n", audit.guarantee.reason + "\n"]
    for pair in audit.pairs:
        for evidence in (pair.promise, pair.claim):
            if evidence is None or not evidence.contradicts:
                continue
            likely, other = evidence.shares
            lines.append(
                f"- **{pair.pair}** ({pair.logs}). Event: {evidence.event}; seen in "
                f"{_share(likely)} of the runs on one log and in {_share(other)} on the other. "
                f"At δ = {evidence.against.delta:g} that takes ε ≥ {_number(evidence.bound)}, "
                f"where {evidence.against.epsilon:g} was "
                f"{'certified' if evidence is pair.promise else 'claimed'}. "
                f'Repeat: `{audit.command} --pair "{pair.pair}"`'
            )
    return "\n".join(lines) + "\n"


def pair_rows(audit: Audit) -> list[tuple[str, ...]]:
    """One row per pair and budget: pair, runs, budget, measured, exact, event, shares."""
    return [row for pair in audit.pairs for row in _rows(pair)]


def _rows(pair: PairAudit) -> Iterable[tuple[str, ...]]:
    for evidence in (pair.promise, pair.claim):
        if evidence is not None:
            yield (
                pair.pair,
                f"{pair.runs:,}",
                ("" if evidence is pair.promise else "claim ") + _budget(evidence.against),
                _number(evidence.epsilon),
                _number(evidence.exact.epsilon) if evidence.exact else "",
                evidence.event,
                f"{_share(evidence.shares[0])} / {_share(evidence.shares[1])}",
            )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |\n" for row in lines
    )


def _settings(audit: Audit) -> str:
    return _listed(audit.parameters)


def _listed(parameters: Mapping[str, Any]) -> str:
    return ", ".join(
        str(value) if key == "fidelity" else f"{key} {_short(value)}"
        for key, value in parameters.items()
    )


def _short(value: Any) -> str:
    """A value in a table: lists of texts without quotes and brackets."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} = {_short(one)}" for key, one in value.items())
    if isinstance(value, tuple):
        return "/".join(" ".join(one) if isinstance(one, tuple) else str(one) for one in value)
    return str(value)


def _is_exact(evidence: Evidence) -> bool:
    return evidence.exact is not None and evidence.exact.epsilon >= evidence.epsilon


def _budget(budget: Budget | None) -> str:
    if budget is None:
        return "none"
    return f"ε {budget.epsilon:.4g}" + (f", δ {budget.delta:.3g}" if budget.delta else "")


def _number(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:.3f}"


def _chance(value: float) -> str:
    return (
        f"< 10^{math.floor(math.log10(max(value, 1e-12))) + 1}" if value < 0.1 else f"{value:.1f}"
    )


def _share(value: float) -> str:
    return f"{100 * value:.2f}%"
