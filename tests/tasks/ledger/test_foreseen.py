"""Several charges looked at together before the first: what fits, which is the first too many, what is missing."""

import re
from decimal import Decimal
from fractions import Fraction

import pytest
from desk import Desk, ask

from schemas.errors import UserError
from tasks.ledger.foreseen import Foreseen, check_together, missing_of
from tasks.privacy.accounting import Loss, gaussian_loss, pure_loss

GRID = {"partition_column": "day", "time_grid": "year", "first_period": "2025", "last_period": "2026"}
ONE = pure_loss([Fraction(1)])


def charge(partition: str, loss: Loss = ONE, *, corpus: str = "reviews", recur: bool = False) -> Foreseen:
    return Foreseen("reviews", corpus, partition, recur, loss)


def test_periods_of_time_add_up_on_one_line(desk: Desk) -> None:
    desk.log.set_cap("reviews", Decimal("2.5"))
    [need] = desk.log.needs_of([charge(year, recur=True) for year in ("2024", "2025", "2026")])
    assert (need.line, need.audits, need.fitting) == ("*", 3, 2)
    assert (need.needed, need.left, need.lacking) == (
        {"epsilon": Fraction(3)}, {"epsilon": Fraction(5, 2)}, {"epsilon": Fraction(1, 2)}
    )  # fmt: skip
    says = "covers 2 of 3 audits, 2026 of reviews is the first that it does not, and epsilon 0.5 is missing for all"
    with pytest.raises(UserError, match=re.escape(says)):
        check_together([need])


def test_partitions_of_a_list_have_a_line_each_and_what_they_were_charged_counts(desk: Desk) -> None:
    desk.log.set_cap("reviews", Decimal("1.5"))
    table = {"partition_column": "place", "partitions": ("a", "b")}
    a, _ = desk.register(desk.stage("a"), desk.stage("b"), **table)
    desk.seal(ask(a, "1"))
    needs = desk.log.needs_of([charge("a"), charge("b")])
    assert [(need.line, need.fitting, missing_of(need) is None) for need in needs] == [("a", 0, False), ("b", 1, True)]
    assert needs[0].lacking == {"epsilon": Fraction(1, 2)}


def test_a_second_corpus_on_the_account_adds_up_with_the_first(desk: Desk) -> None:
    desk.log.set_cap("reviews", Decimal("1.5"))
    [part] = desk.register()
    desk.seal(ask(part, "1"))
    [need] = desk.log.needs_of([charge("all", corpus="more")])
    assert (need.line, need.left) == ("*", {"epsilon": Fraction(1, 2)})


def test_each_account_counts_the_parts_of_its_composition(desk: Desk) -> None:
    noisy = gaussian_loss(Fraction(1, 8), Fraction(2), Fraction(1, 10**5))
    desk.log.set_cap("reviews", rho=Decimal("0.3"))
    [need] = desk.log.needs_of([charge("all", noisy), charge("all", noisy), charge("all", noisy)])
    assert (need.fitting, need.lacking) == (2, {"rho": Fraction(3, 8) - Fraction(3, 10)})
    desk.log.set_cap("tickets", Decimal(8))
    with pytest.raises(UserError, match="account tickets is pure for ever"):
        desk.log.needs_of([Foreseen("tickets", "tickets", "all", False, noisy)])


def test_without_a_cap_nothing_is_missing(desk: Desk) -> None:
    [need] = desk.log.needs_of([charge("all")] * 3)
    assert (need.cap, need.audits, need.fitting, missing_of(need)) == (None, 3, 3, None)


def test_lineages_know_versions_and_whether_anything_was_released(desk: Desk) -> None:
    desk.log.set_cap("reviews", Decimal(8))
    first, empty = desk.register(desk.stage("2025"), desk.stage("2026", n=0), **GRID)
    assert not any(lineage.was_released for lineage in desk.log.lineages("reviews").values())
    for part in (first, empty):
        desk.seal(ask(part, "1"))
    assert {key: one.was_released for key, one in desk.log.lineages("reviews").items()} == {"2025": True, "2026": False}
    [second] = desk.register(desk.stage("2025", content="b"), replace=True, **GRID)
    known = desk.log.lineages("reviews")["2025"]
    assert known.versions == (first, second) and known.was_released
    assert desk.log.lineages("nobody") == {}
