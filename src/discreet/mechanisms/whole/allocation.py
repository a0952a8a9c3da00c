"""How the budget of a whole log is allocated: the names of its steps, and their shares."""

from __future__ import annotations

import math

from discreet.privacy.accounting import zcdp_rho
from discreet.privacy.guarantee import Budget, Guarantee
from discreet.privacy.steps import Choosing, Concentrated, Delegated, Gaussian, Sequential, Step

VARIANTS = "variants"
COMPLETING = "times and attributes"

NAMES = "names of "
TRAIT = "trait that goes with "
"""Beginnings of the names of steps, before that of a column."""

TREND = ("start weeks, coarse", "start weeks, finer", "start weeks, finest")
STARTS = ("weekdays of starts", "hours of starts", "weekdays and hours of starts")
DURATIONS = ("durations of cases, coarse", "durations of cases, fine")
WAITS = ("waits by relation, coarse", "waits by relation, fine")
LATER = (
    "weekdays of later events",
    "hours of later events",
    "weekdays and hours of later events",
)

WORK = ("working times by activity, coarse", "working times by activity, fine")
OVERLAPS = "events that begin before the one before them has ended"

# Proof

ROOM = 1 - 1e-9
"""Factor on shares: their sums are rounded up, and this keeps them within the whole."""

# Tuned: on the logs of docs/mechanisms/whole.md, see "What was chosen on what" there. Of
# NAMES_DELTA no measurement is noted.

TIMES = {
    TREND[0]: 0.03,
    TREND[1]: 0.045,
    TREND[2]: 0.075,
    STARTS[0]: 0.032,
    STARTS[1]: 0.078,
    STARTS[2]: 0.02,
    DURATIONS[0]: 0.049,
    DURATIONS[1]: 0.091,
    WAITS[0]: 0.135,
    WAITS[1]: 0.25,
    LATER[0]: 0.052,
    LATER[1]: 0.117,
    LATER[2]: 0.026,
}
"""Shares of the ρ for times."""

WORKING = {WORK[0]: 0.085, WORK[1]: 0.14, OVERLAPS: 0.025}
"""Shares of the ρ for times that working times take, where they are released."""

NAMES_DELTA = 0.2
"""Share of the δ for times and attributes for naming a value that only one case has."""


def spending(
    promise: Guarantee,
    rest: Budget,
    times: float,
    working: bool,
    attributes: dict[str, dict[str, float]],
) -> Sequential:
    """The variants as another mechanism promises them, and one account in zCDP for the rest.

    `times` is the share of the account for times, with working times among them if `working`.
    `attributes` maps each attribute to its steps and their shares, which add up to one.
    """
    named = sum(name.startswith(NAMES) for steps in attributes.values() for name in steps)
    of_names = NAMES_DELTA if named else 0.0
    converted = rest.share(1, 1 - of_names)
    rho = zcdp_rho(converted.epsilon, converted.delta) * ROOM
    left = 1 - sum(WORKING.values()) if working else 1.0
    of_times = {name: left * part for name, part in TIMES.items()} | (WORKING if working else {})
    steps: list[Step] = [Gaussian(name, rho * times * part) for name, part in of_times.items()]
    each = (1 - times) / len(attributes) if attributes else 0.0
    failing = rest.share(1, of_names * ROOM / max(named, 1)).delta
    for name, part in (one for shares in attributes.values() for one in shares.items()):
        if name.startswith(TRAIT):  # ε²/8-zCDP
            steps.append(Choosing(name, math.sqrt(8 * rho * each * part * ROOM)))
        else:
            may_fail = failing if name.startswith(NAMES) else 0.0
            steps.append(Gaussian(name, rho * each * part, may_fail))
    completing = Concentrated(COMPLETING, tuple(steps), converted.delta)
    return Sequential("whole log", (Delegated(VARIANTS, promise), completing))
