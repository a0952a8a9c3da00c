"""What an account takes, converts and refuses."""

from __future__ import annotations

from dataclasses import replace

import pytest

from discreet.ledger.account import Account
from discreet.ledger.errors import LedgerError, RefusedError
from discreet.privacy.accounting import to_swap
from discreet.privacy.filters import Spend
from discreet.privacy.guarantee import Budget, Guarantee, Neighbours
from tests.ledger.racer import promise


def account(**terms: str) -> Account:
    chosen = {"filter": "basic", "neighbours": "add-remove", "unit": "case"} | terms
    return Account.opened(Budget(3, 1e-5), **chosen)  # type: ignore[arg-type]


def people(epsilon: float, neighbours: Neighbours = "add-remove") -> Guarantee:
    return replace(
        promise(epsilon, 1e-7),
        unit="individual",
        cases_per_individual=2,
        neighbours=neighbours,
    )


def test_releases_are_charged_until_the_cap() -> None:
    current = account()
    for count in range(3):
        assert current.releases == count
        current = current.charged(current.cost(promise(1, 1e-6)))
    assert current.used == 1
    with pytest.raises(RefusedError, match=r"does not fit: the cap .* leaves nothing"):
        current.charged(current.cost(promise(1e-4)))


def test_the_refusal_says_what_is_left() -> None:
    current = account().charged(Spend.of_budget(Budget(2.5, 1e-6)))
    with pytest.raises(RefusedError, match=r"ε up to 0\.5 with δ up to 9e-06 \(basic\)"):
        current.charged(Spend.of_budget(Budget(1)))


def test_delta_alone_can_be_the_reason() -> None:
    with pytest.raises(RefusedError):
        account().charged(Spend.of_budget(Budget(0.1, 1e-4)))


def test_unprotected_releases_are_not_booked() -> None:
    with pytest.raises(RefusedError, match="seed"):
        account().cost(replace(promise(1), randomness="seeded"))
    refuted = Guarantee(status="refuted", claimed=Budget(1), holds=Budget(2), reason="")
    with pytest.raises(RefusedError, match="refuted"):
        account().cost(refuted)
    unknown = Guarantee(status="unproved", claimed=Budget(1), holds=None, reason="")
    with pytest.raises(RefusedError, match="unproved"):
        account().cost(unknown)


def test_a_conditional_release_is_booked_with_its_conditions() -> None:
    conditional = replace(promise(1), status="conditional", conditions=("the alphabet",))
    assert account().cost(conditional) == Spend.of_budget(Budget(1))


def test_add_remove_converts_to_swap_and_never_back() -> None:
    cost = account(neighbours="swap").cost(promise(1, 1e-7))
    epsilon, delta = to_swap(1, 1e-7)
    assert (float(cost.epsilon), float(cost.delta)) == (epsilon, delta)
    swapped = replace(promise(1), neighbours="swap")
    assert account(neighbours="swap").cost(swapped) == Spend.of_budget(Budget(1))
    with pytest.raises(RefusedError, match="never gives the other"):
        account().cost(swapped)


def test_units_convert_where_they_can() -> None:
    assert account(unit="individual").cost(people(1)) == Spend.of_budget(Budget(1, 1e-7))
    with pytest.raises(RefusedError, match="--cases-per-individual"):
        account(unit="individual").cost(promise(1))
    per_case = account().cost(people(0.5))
    assert float(per_case.epsilon) == 1.0
    with pytest.raises(RefusedError, match="adding a case"):
        account(neighbours="swap").cost(people(0.5, "swap"))
    twice = account(neighbours="swap").cost(people(0.5))
    assert float(twice.epsilon) == 2.0


def test_terms_are_fixed_with_the_first_release() -> None:
    fresh = account(filter="zcdp")
    assert account().with_cap(fresh, raised=False).filter == "zcdp"
    used = account().charged(Spend.of_budget(Budget(1)))
    with pytest.raises(LedgerError, match="fixed with the first release"):
        used.with_cap(fresh, raised=True)


def test_a_cap_is_lowered_freely_and_raised_only_on_purpose() -> None:
    used = account().charged(Spend.of_budget(Budget(2)))
    lower = Account.opened(Budget(1), "basic", "add-remove", "case")
    lowered = used.with_cap(lower, raised=False)
    assert lowered.used == 2
    with pytest.raises(RefusedError):
        lowered.charged(Spend.of_budget(Budget(0.001)))
    higher = Account.opened(Budget(5, 1e-5), "basic", "add-remove", "case")
    with pytest.raises(LedgerError, match="--raise"):
        used.with_cap(higher, raised=False)
    raised = used.with_cap(higher, raised=True)
    assert (raised.cap.epsilon, raised.spent, raised.releases) == (5, used.spent, 1)


@pytest.mark.parametrize("cap", [Budget(0), Budget(1e6), Budget(1, 1)], ids=str)
def test_senseless_caps(cap: Budget) -> None:
    with pytest.raises(LedgerError, match="a cap needs"):
        Account.opened(cap, "best", "add-remove", "case")


def test_a_filter_that_needs_delta_says_so() -> None:
    with pytest.raises(LedgerError, match="use basic"):
        Account.opened(Budget(1), "zcdp", "add-remove", "case")


def test_an_account_survives_being_written_down() -> None:
    current = account(filter="best").charged(Spend.of_budget(Budget(1, 1e-6)))
    assert Account.from_dict(current.to_dict()) == current
