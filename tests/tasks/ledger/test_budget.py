"""Caps and charges: exact decimals, chained reasons, pooled accounts."""

import json
from decimal import Decimal
from fractions import Fraction

import pytest
from desk import Desk, ask, hashed
from hypothesis import given
from hypothesis import strategies as st

from schemas.errors import UserError
from schemas.values import MAX_DIGITS
from tasks.ledger.amounts import exact_text
from tasks.ledger.budget import check_affordable
from tasks.ledger.chain import entries
from tasks.ledger.database import locked, open_engine
from tasks.privacy.accounting import NOTHING, pure_loss

SMALLEST = Decimal("5e-324")
amounts = st.decimals("0", "999", places=40, allow_nan=False).filter(lambda d: len(d.as_tuple().digits) <= MAX_DIGITS)


def bodies(desk: Desk, kind: str) -> list[str]:
    with locked(open_engine(desk.home.log_url)) as connection:
        return [entry.body for entry in entries(connection) if entry.kind == kind]


def test_three_tenths_fit_a_cap_of_0_3_and_then_nothing_does(desk: Desk) -> None:
    desk.log.set_cap("reviews", Decimal("0.3"))
    [partition] = desk.register()
    for edition in (1, 2, 3):
        assert not desk.seal(ask(partition, "0.1", edition)).was_sealed
    assert desk.left() == "0"
    tiny = ask(partition, "3e-12", 4)
    with pytest.raises(UserError, match=r"budget: epsilon 0\.000000000003 is more than the 0 left of the cap 0\.3"):
        desk.seal(tiny)
    with pytest.raises(UserError, match="budget"):
        desk.log.check_affordable(tiny)
    assert len(desk.charges()) == 3


def test_the_smallest_double_is_refused_by_the_sum_and_by_the_sampler(desk: Desk) -> None:
    desk.log.set_cap("reviews", Decimal("0.1"))
    [partition] = desk.register()
    with pytest.raises(UserError, match=r"epsilon: epsilon per statement must lie between 1e-12"):
        desk.seal(ask(partition, str(SMALLEST)))
    desk.seal(ask(partition, "0.1"))
    with locked(open_engine(desk.home.log_url)) as connection:
        with pytest.raises(UserError, match="budget: epsilon 5E-324 is more than the 0 left"):
            check_affordable(connection, "reviews", "reviews", "all", pure_loss([Fraction(SMALLEST)]))
        check_affordable(connection, "reviews", "reviews", "all", NOTHING)
    assert desk.left() == "0"


def test_amounts_with_more_digits_than_a_context_holds_stay_exact(desk: Desk) -> None:
    epsilon = Decimal("0.1234567890123456789012345678901234567890123456789")
    desk.log.set_cap("reviews", Decimal("0.2469135780246913578024691357802469135780246913578"))
    [partition] = desk.register()
    desk.seal(ask(partition, str(epsilon)))
    assert desk.charges()[0]["epsilon"] == str(epsilon) == desk.left()
    assert desk.seal(ask(partition, str(epsilon)[:-1])).was_sealed is False  # another question: another digit
    assert desk.left() == "0." + "0" * 48 + "9"


@given(st.lists(amounts, min_size=1, max_size=12))
def test_sums_of_decimals_are_written_exactly(parts: list[Decimal]) -> None:
    total = sum((Fraction(part) for part in parts), Fraction(0))
    assert Fraction(exact_text(total)) == total
    assert "E" not in exact_text(total) or len(exact_text(total)) <= MAX_DIGITS + 6


def test_a_third_has_no_decimal_text() -> None:
    with pytest.raises(ArithmeticError):
        exact_text(Fraction(1, 3))


def test_without_a_cap_a_private_corpus_gets_no_answer(desk: Desk) -> None:
    [partition] = desk.register()
    for refuse in (desk.log.check_affordable, desk.seal):
        with pytest.raises(UserError, match="privcert budget set reviews"):
            refuse(ask(partition))
    assert desk.charges() == []


def test_a_public_corpus_needs_no_cap_but_keeps_one_that_was_set(desk: Desk) -> None:
    [partition] = desk.register(visibility="public")
    desk.seal(ask(partition, "5"))
    assert desk.left() is None
    desk.log.set_cap("reviews", Decimal(6))
    with pytest.raises(UserError, match="1 left"):
        desk.seal(ask(partition, "5", 2))


def test_the_first_cap_needs_no_reason_and_is_chained(desk: Desk) -> None:
    desk.log.set_cap("reviews", Decimal("1.50"))
    assert [json.loads(body) for body in bodies(desk, "cap")] == [
        {"account": "reviews", "composition": "pure", "before": None, "reason": None}
        | {"epsilon": "1.5", "delta": None, "rho": None}
    ]


def test_raising_a_cap_needs_a_reason_that_is_chained(desk: Desk) -> None:
    desk.log.set_cap("reviews", Decimal(1))
    for missing in (None, "", "  "):
        with pytest.raises(UserError, match="reason"):
            desk.log.set_cap("reviews", Decimal(2), missing)
    assert desk.log.budget_lines()[0].epsilon.cap == "1"
    desk.log.set_cap("reviews", Decimal(2), " a new year ")
    raised = json.loads(bodies(desk, "cap")[1])
    assert (raised["epsilon"], raised["reason"]) == ("2", "a new year")
    assert raised["before"] == {"epsilon": "1", "delta": None, "rho": None}


def test_lowering_a_cap_to_what_is_spent_stops_every_charge_and_lower_is_refused(desk: Desk) -> None:
    desk.log.set_cap("reviews", Decimal(1))
    [partition] = desk.register()
    desk.seal(ask(partition, "0.5"))
    with pytest.raises(UserError, match=r"cap: reviews has spent epsilon 0\.5"):
        desk.log.set_cap("reviews", Decimal("0.4999"))
    desk.log.set_cap("reviews", Decimal("0.5"))
    assert desk.left() == "0"
    with pytest.raises(UserError, match="the 0 left"):
        desk.seal(ask(partition, "0.1", 2))
    assert desk.seal(ask(partition, "0.5")).was_sealed
    desk.log.check()


def test_the_same_cap_again_is_not_an_act(desk: Desk) -> None:
    desk.log.set_cap("reviews", Decimal(1))
    desk.log.set_cap("reviews", Decimal("1.000"))
    assert len(bodies(desk, "cap")) == 1


@pytest.mark.parametrize("cap", ["NaN", "-1", "Infinity", "1e999", "1." + "1" * 80])
def test_a_cap_that_is_no_amount_is_refused(desk: Desk, cap: str) -> None:
    with pytest.raises(UserError, match="epsilon: must"):
        desk.log.set_cap("reviews", Decimal(cap))
    assert desk.log.budget_lines() == []


def test_partitions_of_a_list_have_the_cap_each(desk: Desk) -> None:
    desk.log.set_cap("reviews", Decimal(1))
    two = desk.register(desk.stage("east"), desk.stage("west"), partition_column="region", partitions=("east", "west"))
    for partition in two:
        desk.seal(ask(partition, "1"))
        with pytest.raises(UserError, match="budget"):
            desk.seal(ask(partition, "0.1", 2))
    assert [(line.line, line.epsilon.left) for line in desk.log.budget_lines()] == [("east", "0"), ("west", "0")]


def test_a_time_grid_pools_what_its_partitions_spend(desk: Desk) -> None:
    desk.log.set_cap("reviews", Decimal(1))
    grid = {"partition_column": "day", "time_grid": "year", "first_period": "2025", "last_period": "2026"}
    old, new = desk.register(desk.stage("2025"), desk.stage("2026"), **grid)
    desk.seal(ask(old, "0.6"))
    with pytest.raises(UserError, match=r"0\.4 left"):
        desk.seal(ask(new, "0.6"))
    desk.seal(ask(new, "0.4"))
    assert [(line.line, line.epsilon.spent) for line in desk.log.budget_lines()] == [("*", "1")]


def test_a_charge_names_the_line_that_it_counts_on(desk: Desk) -> None:
    """So that a query can join the two: on a line of its own, or on `*` where all of the account add up."""
    desk.log.set_cap("reviews", Decimal(2))
    desk.log.set_cap("places", Decimal(2))
    grid = {"partition_column": "day", "time_grid": "year", "first_period": "2025", "last_period": "2026"}
    for partition in desk.register(desk.stage("2025"), desk.stage("2026"), **grid):
        desk.seal(ask(partition))
    table = {"partition_column": "place", "partitions": ("a", "b"), "corpus": "places"}
    for partition in desk.register(desk.stage("a"), desk.stage("b"), **table):
        desk.seal(ask(partition))
    lines = {(line.account, line.line) for line in desk.log.budget_lines()}
    charged = [(row["account"], row["ledger_line"]) for row in desk.charges()]
    assert charged == [("reviews", "*"), ("reviews", "*"), ("places", "a"), ("places", "b")]
    assert set(charged) == lines


def test_a_shared_account_pools_its_corpora(desk: Desk) -> None:
    desk.log.set_cap("people", Decimal(1))
    [mails] = desk.register(desk.stage(units=["ann", "bob"]), corpus="mails", account="people")
    desk.seal(ask(mails, "0.7"))
    [notes] = desk.register(desk.stage(units=["ann", "eve"]), corpus="notes", account="people")
    with pytest.raises(UserError, match=r"0\.3 left"):
        desk.seal(ask(notes, "0.7"))
    desk.seal(ask(notes, "0.3"))
    assert [(line.account, line.line, line.epsilon.left) for line in desk.log.budget_lines()] == [("people", "*", "0")]


def test_a_shared_account_cannot_mix_private_and_public(desk: Desk) -> None:
    desk.register(corpus="mails", account="people")
    with pytest.raises(UserError, match="account"):
        desk.register(desk.stage(content="b"), corpus="news", account="people", visibility="public")


def test_hashes_of_these_tests_differ() -> None:
    assert hashed("u", "ann") != hashed("r", "ann") and len(hashed("u")) == 32
