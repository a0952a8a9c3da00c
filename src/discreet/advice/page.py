"""Advice as tables, and as one page with plots."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet._version import __version__
from discreet.advice.advising import Advice
from discreet.advice.trials import COST, Trial
from discreet.language import translate
from discreet.privacy.wording import certainty
from discreet.report.pages import render_page
from discreet.report.plots import Curve, box_plot, line_plot
from discreet.report.svg import SERIES
from discreet.utility.evaluation import WARNING

Grid = tuple[list[str], list[list[str]]]
"""Headings and rows of a table."""

FIGURES = ("similarity", "follows_total_variation", "f_score")
"""The figures shown."""


def reading(name: str) -> tuple[str, str]:
    """The name of a figure, and how to read it."""
    return {
        "similarity": (
            translate("similarity"),
            translate("to the log, 1 is equal; the ceiling is a fresh sample"),
        ),
        "follows_total_variation": (
            translate("directly-follows error"),
            translate(
                "between the shares of direct successions, 0 is equal; the floor is a fresh sample"
            ),
        ),
        "f_score": (
            translate("model quality"),
            translate(
                "of the model mined from the release, on the real log (harmonic mean of fitness "
                "and precision); the reference is the model of the raw log"
            ),
        ),
    }[name]


def people_table(advice: Advice) -> Grid:
    """Table of what each bound on the cases of a person keeps."""
    assert advice.people is not None
    heads = [
        translate("at most"),
        translate("cases kept"),
        translate("people kept whole"),
        translate("ε of each case"),
    ]
    lines = [
        [
            translate("%(many)s of each person", many=f"{bound.cases_per_individual:,}"),
            _percent(bound.cases_kept),
            _percent(bound.people_whole),
            translate("all of it")
            if bound.cases_per_individual == 1
            else f"1/{bound.cases_per_individual}",
        ]
        for bound in advice.people.bounds
    ]
    return heads, lines


def rarity_table(advice: Advice) -> Grid:
    """Table of how rare the variants are."""
    heads = [translate("variants followed by"), translate("variants"), translate("cases in them")]
    lines = [
        [
            translate("one case only")
            if one.count == 1
            else translate("up to %(many)s cases", many=f"{one.count:,}"),
            f"{one.variants:,}",
            _percent(one.cases),
        ]
        for one in advice.rarity
    ]
    return heads, lines


def budget_table(advice: Advice) -> Grid:
    """Table of what each budget promises, and which variants can be shown as they are."""
    heads = ["ε", translate("50% sure becomes at most"), translate("a variant is seen from")]
    heads += [translate("cases in such variants")] if advice.rarity else []
    lines = [
        [
            f"{one.epsilon:g}",
            f"{certainty(one.epsilon)}%",
            translate("%(many)s cases", many=f"{one.count:,}"),
            *([_percent(one.cases)] if advice.rarity else []),
        ]
        for one in advice.visible
    ]
    return heads, lines


def budget_words(advice: Advice) -> str:
    """Explanation of the table of budgets."""
    if advice.unit == "case":
        return translate(
            "Someone who is 50% sure that a certain case is in the log can become at most this "
            "sure by the release, whatever else they know. A variant with this many cases is shown "
            "as it is at least every second time by %(mechanism)s, the default here; rarer ones "
            "are stood for by invented ones.",
            mechanism=advice.default,
        )
    return translate(
        "Someone who is 50% sure that a certain person is in the log can become at most this sure "
        "by the release, whatever else they know. A variant with this many cases is shown as it is "
        "at least every second time by %(mechanism)s, the default here; rarer ones are stood for "
        "by invented ones.",
        mechanism=advice.default,
    )


def trial_table(advice: Advice) -> Grid:
    """Table of every setting: means with standard deviations."""
    shown = _shown(advice)
    heads = [
        "ε",
        translate("mechanism"),
        *(reading(name)[0] for name in shown),
        translate("runs"),
        translate("guarantee"),
    ]
    lines = [
        [
            f"{trial.epsilon:g}",
            label(trial),
            *(figure(trial, name) for name in shown),
            str(len(trial.runs)),
            trial.status,
        ]
        for trial in advice.trials.ran
    ]
    references = advice.trials.references
    best = [f"{references[name]:.3f}" if name in references else "–" for name in shown]
    return heads, [*lines, ["", translate("reference"), *best, "", ""]]


def label(trial: Trial) -> str:
    """The name of a mechanism, marked if it is the default."""
    return translate("%(name)s (default)", name=trial.name) if trial.default else trial.name


def _series(trials: Sequence[Trial]) -> list[str]:
    """Names of all mechanisms, the default first."""
    ordered = sorted(trials, key=lambda trial: not trial.default)
    return list(dict.fromkeys(trial.name for trial in ordered))


def figure(trial: Trial, name: str) -> str:
    """A mean with its standard deviation."""
    mean, deviation = trial.figures.get(name), trial.deviation(name)
    if mean is None:
        return "–"
    return f"{mean:.3f}" if deviation is None else f"{mean:.3f} ± {deviation:.3f}"


def advice_page(advice: Advice, *, title: str, command: str, stand_in: str = "") -> str:
    """The whole advice as one self-contained page; `stand_in` says what was read if that was not
    the raw log."""
    return render_page(
        "discreet.advice",
        "advice.html",
        title=title,
        warning=translate(WARNING),
        cost=translate(COST),
        stand_in=stand_in,
        advice=advice,
        people=people_table(advice) if advice.people else None,
        rarity=rarity_table(advice),
        budgets=budget_table(advice),
        budget_words=budget_words(advice),
        trials=trial_table(advice),
        plots=plots(advice),
        command=command,
        version=__version__,
    )


def plots(advice: Advice) -> list[tuple[str, str, str]]:
    """The name of each figure, how to read it, and box plots over the budgets."""
    ran = advice.trials.ran
    series = _series(ran)
    budgets = sorted({trial.epsilon for trial in ran})
    runs = {(trial.epsilon, trial.name): trial for trial in ran}
    found = []
    for name in _shown(advice):
        values = [
            [runs[e, s].values(name) if (e, s) in runs else [] for s in series] for e in budgets
        ]
        references = advice.trials.references
        lines = [(translate("reference"), references[name])] if name in references else []
        drawing = box_plot([f"ε = {e:g}" for e in budgets], series, values, lines)
        found.append((*reading(name), drawing))
    return found


def curves(advice: Advice) -> list[tuple[str, str, str]]:
    """The name of each figure, how to read it, and a curve over ε for each mechanism.

    Budgets stand at equal distances, as they do on a logarithmic axis of 0.1, 0.3, 1, 3.
    """
    ran = advice.trials.ran
    series = _series(ran)
    budgets = sorted({trial.epsilon for trial in ran})
    places = np.log10(budgets)
    found = []
    for name in _shown(advice):
        drawn = []
        for one, colour in zip(series, SERIES, strict=False):
            means = {t.epsilon: t.figures[name] for t in ran if t.name == one and name in t.figures}
            there = np.array([epsilon in means for epsilon in budgets])
            heights = np.array([means[epsilon] for epsilon in budgets if epsilon in means])
            drawn.append(Curve(one, places[there], heights, colour))
        if name in advice.trials.references:
            best = np.full(len(budgets), advice.trials.references[name])
            drawn.append(Curve(translate("reference"), places, best, "#d33"))
        title, meaning = reading(name)
        plot = line_plot(
            title, drawn, across=lambda x: f"ε = {10**x:.2g}", down=title, marks=places
        )
        found.append((title, meaning, plot))
    return found


def _shown(advice: Advice) -> list[str]:
    present = {name for trial in advice.trials.ran for name in trial.figures}
    return [name for name in FIGURES if name in present]


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"
