"""The page of all audits, in Markdown: one table, the findings with their logs, every pair."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from discreet.audits.audit_tables import OVERVIEW, PAIRS, SHIPPED, STEPS, AuditTables
from discreet.audits.subjects import DELTA

PAGE = SHIPPED.parents[3] / "docs" / "audits.md"
"""The page of the documentation, in a clone."""

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

MUTANTS = """\
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


def page(tables: AuditTables) -> str:
    """The whole page."""
    parts = [
        INTRODUCTION.format(
            minutes=tables.minutes,
            command=tables.command,
            date=tables.date,
            version=tables.version,
            delta=DELTA,
            runs=tables.runs,
            caught=tables.caught,
            mutants=len(tables.steps),
        ),
        "## Overview\n",
        _table(OVERVIEW, tables.overview),
    ]
    if tables.findings:
        parts.append("## Findings\n")
        parts += [
            "\n".join([f"### {title}\n", reason + "\n", *(f"- {event}" for event in events)]) + "\n"
            for title, reason, events in tables.findings
        ]
    if tables.left_out:
        parts.append("## Not audited\n")
        parts += [f"- {name}: {reason}\n" for name, reason in tables.left_out.items()]
    if tables.steps:
        parts += [MUTANTS, _table(STEPS, tables.steps)]
    parts.append("## Every pair\n")
    for title, rows in tables.pairs:
        parts += [f"### {title}\n", _table(PAIRS, rows)]
    return "\n".join([*parts, LIMITS, EXTENSION])


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(map(_cell, row)) + " |\n" for row in lines)


def _cell(text: str) -> str:
    """Text that ends neither its cell nor its line."""
    return text.replace("|", "\\|").replace("\n", " ")
