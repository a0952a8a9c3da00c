"""The processes that samples are played from, all of them invented."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.log.samples.simulator import (
    Behaviour,
    Team,
    Week,
    choice,
    in_order,
    loop,
    maybe,
    parallel,
    step,
)


@dataclass(frozen=True)
class Process:
    """What happens, the week it happens in, and the odds that a person has one, two, … cases."""

    description: str
    behaviour: Behaviour
    week: Week
    returning: tuple[float, ...]


def _rarely(probability: float, team: Team, hours: float, *names: str) -> Behaviour:
    """Seldom one of many steps, the n-th with odds 1/n: a long tail."""
    steps = ((1 / rank, step(name, hours, team)) for rank, name in enumerate(names, 1))
    return maybe(probability, choice(*steps))


def _hospital() -> Behaviour:
    reception, laboratory = Team("Reception", 5), Team("Laboratory", 9)
    nurse, physician = Team("Emergency nurse", 14), Team("Physician", 12)
    ward, specialist = Team("Ward nurse", 20), Team("Specialist", 6)
    leucocytes = step("Leucocytes", 0.5, laboratory, spread=0.4)
    crp = step("CRP", 0.4, laboratory, spread=0.4)
    lactate = step("Lactate", 0.2, laboratory, spread=0.4)
    first_tests = parallel(
        in_order(leucocytes, maybe(0.95, crp)),
        maybe(0.6, lactate),
        maybe(0.02, step("X-ray", 1, specialist)),
    )
    treatment = maybe(
        0.85, maybe(0.9, step("IV liquid", 0.2, nurse)), step("IV antibiotics", 0.3, nurse)
    )
    admission = choice(
        (0.94, step("Admission to ward", 2, ward)),
        (0.06, step("Admission to intensive care", 1, ward)),
    )
    next_leucocytes = step("Leucocytes", 22, laboratory, spread=0.3)
    next_crp = step("CRP", 22, laboratory, spread=0.3)
    next_tests = choice(
        (0.6, in_order(next_leucocytes, crp)), (0.3, next_crp), (0.1, next_leucocytes)
    )
    back = maybe(0.15, step("Return to emergency room", 400, reception, spread=1))
    discharge = choice(
        (0.85, in_order(step("Discharge home", 60, physician), back)),
        (0.09, in_order(step("Discharge to care facility", 90, physician), back)),
        (0.03, step("Transfer to other hospital", 40, physician)),
        (0.03, step("Death", 50, physician, spread=1.2)),
    )
    stay = in_order(
        treatment,
        admission,
        maybe(0.5, loop(0.5, next_tests)),
        _rarely(0.04, specialist, 20, "CT scan", "Infectiology consult", "Surgery", "Dialysis"),
        discharge,
    )
    return in_order(
        step("Registration", 0.1, reception),
        step("Triage", 0.15, nurse),
        maybe(0.85, step("Sepsis triage", 0.2, nurse)),
        first_tests,
        choice((0.15, step("Discharge without admission", 1, physician)), (0.85, stay)),
    )


def _loans() -> Behaviour:
    website, bureau = Team("Website", 1), Team("Credit bureau", 1)
    clerk, analyst, adviser = Team("Clerk", 12), Team("Credit analyst", 8), Team("Adviser", 15)
    office, manager = Team("Back office", 6), Team("Manager", 3)
    checks = parallel(
        step("Check identity", 1, clerk, spread=0.5),
        step("Check credit history", 2, bureau, spread=0.5),
        maybe(0.7, step("Check income", 5, analyst, spread=0.5)),
        maybe(0.05, step("Value collateral", 30, manager)),
    )
    documents = loop(
        0.2, in_order(step("Request documents", 4, clerk), step("Receive documents", 20, clerk))
    )
    offer = in_order(
        step("Create offer", 3, adviser),
        step("Send offer", 0.5, adviser),
        maybe(0.3, step("Call about offer", 15, adviser)),
    )
    accepted = in_order(
        step("Accept offer", 25, adviser),
        step("Approve loan", 5, analyst),
        maybe(0.08, step("Approve again", 8, manager)),
        step("Pay out", 10, office),
    )
    outcome = choice(
        (0.62, accepted),
        (0.26, step("Cancel application", 80, adviser)),
        (0.12, step("Decline application", 10, analyst)),
    )
    considered = in_order(
        checks,
        maybe(0.15, documents),
        loop(0.15, offer, redo=step("Ask for other terms", 20, adviser)),
        outcome,
    )
    incidents = ("Complaint", "Fraud check", "Data correction", "Legal review", "Broker query")
    return in_order(
        step("Submit application", 0.05, website),
        choice(
            (0.15, step("Decline application", 2, analyst)),
            (0.85, parallel(considered, _rarely(0.05, office, 30, *incidents))),
        ),
    )


def _permits() -> Behaviour:
    desk, worker = Team("Front desk", 5), Team("Case worker", 10)
    legal, expert = Team("Legal officer", 3), Team("Expert", 8)
    missing = loop(
        0.2,
        in_order(step("Ask for documents", 4, worker), step("Receive documents", 40, desk)),
        redo=maybe(0.5, step("Extend term", 5, worker)),
    )
    advice = parallel(
        step("Advice of fire brigade", 20, expert), step("Advice of building control", 20, expert)
    )
    published = maybe(0.92, step("Publish decision", 5, desk))
    objection = in_order(
        step("Receive objection", 100, desk),
        maybe(0.6, step("Hold hearing", 60, legal)),
        choice(
            (0.7, step("Reject objection", 30, legal)), (0.3, step("Revise decision", 30, legal))
        ),
    )
    decision = choice(
        (0.88, in_order(step("Grant permit", 20, worker), published, maybe(0.03, objection))),
        (0.07, in_order(step("Refuse permit", 25, worker), published, maybe(0.15, objection))),
        (0.05, step("Withdraw application", 30, desk)),
    )
    rare = (
        *("Site visit", "Environmental review", "Heritage advice", "Neighbour notice"),
        *("Tree survey", "Water board advice", "Noise study", "Change of case worker"),
        *("Soil report", "Flood check", "Asbestos notice", "Archaeology advice"),
        *("Provincial consent", "Traffic study", "Ecology scan", "Council motion"),
    )
    handling = in_order(
        step("Check completeness", 6, worker), maybe(0.12, missing), maybe(0.08, advice), decision
    )
    return in_order(
        step("Receive application", 0.1, desk),
        step("Confirm receipt", 2, desk),
        parallel(handling, loop(0.3, _rarely(0.12, expert, 25, *rare))),
        step("Close case", 10, worker),
    )


PROCESSES = {
    "hospital": Process(
        "Emergency room patients with suspected sepsis: triage, laboratory tests, treatment, "
        "admission, repeated tests, discharge, return",
        _hospital(),
        Week((1.2, 1.1, 1, 1, 1, 0.9, 0.9), (0.4,) * 8 + (1.5,) * 12 + (0.9,) * 4),
        returning=(0.7, 0.17, 0.08, 0.03, 0.02),
    ),
    "loans": Process(
        "Applications for consumer loans: checks side by side, offers made again, a decision",
        _loans(),
        Week((1.2, 1.1, 1, 1, 0.9, 0.4, 0), (0,) * 8 + (1.3,) * 9 + (0.7,) * 3 + (0,) * 4),
        returning=(0.8, 0.14, 0.04, 0.015, 0.005),
    ),
    "permits": Process(
        "Building permits of a municipality: one common way and a long tail of rare steps",
        _permits(),
        Week((1.3, 1.1, 1, 1, 0.6, 0, 0), (0,) * 8 + (1,) * 4 + (0.4,) + (1,) * 4 + (0,) * 7),
        returning=(0.85, 0.1, 0.03, 0.01, 0.01),
    ),
}
