"""A restored backup of the log is noticed, and goes on only after a charge for what was lost."""

from collections.abc import Callable
from decimal import Decimal

import pytest
from desk import THETA, Desk, ask

from schemas.corpora import CorpusSettings
from schemas.errors import UserError
from tasks.ledger import verifier


@pytest.fixture
def restored(desk: Desk) -> Desk:
    """Asked, backed up, asked and published again, and put back to the backup."""
    desk.log.set_cap("reviews", Decimal(1))
    [partition] = desk.register()
    desk.publish(ask(partition, "0.2"))
    backup = desk.back_up()
    desk.publish(ask(partition, "0.3", 2))
    desk.restore(backup)
    return desk


OPERATIONS: dict[str, Callable[[Desk], object]] = {
    "register": lambda desk: desk.register(desk.stage(content="b"), replace=True),
    "check_corpus": lambda desk: desk.log.check_corpus(CorpusSettings(source="x", corpus="other")),
    "seal": lambda desk: desk.seal(ask(desk.log.partitions("reviews")[0], "0.1", 3)),
    "seal again": lambda desk: desk.seal(ask(desk.log.partitions("reviews")[0], "0.2")),
    "find": lambda desk: desk.log.find(ask(desk.log.partitions("reviews")[0], "0.2")),
    "check_affordable": lambda desk: desk.log.check_affordable(ask(desk.log.partitions("reviews")[0])),
    "set_cap": lambda desk: desk.log.set_cap("reviews", Decimal("0.5")),
    "project": lambda desk: desk.log.project(),
    "write_certificate": lambda desk: desk.log.write_certificate(desk.log.release_keys()[0], THETA),
    "check": lambda desk: desk.log.check(),
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_restored_backup_is_noticed_by(operation: str, restored: Desk) -> None:
    with pytest.raises(UserError, match="restored backup"):
        OPERATIONS[operation](restored)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_without_a_restored_backup_nothing_is_noticed_by(operation: str, desk: Desk) -> None:
    desk.log.set_cap("reviews", Decimal(1))
    [partition] = desk.register()
    desk.publish(ask(partition, "0.2"))
    OPERATIONS[operation](desk)


def test_an_empty_log_in_place_of_the_old_one_is_noticed(restored: Desk) -> None:
    restored.empty()
    with pytest.raises(UserError, match="restored backup"):
        restored.register()


def test_an_exported_certificate_alone_is_enough_to_notice(desk: Desk) -> None:
    desk.log.set_cap("reviews", Decimal(1))
    [partition] = desk.register()
    backup = desk.back_up()
    sealed = desk.seal(ask(partition, "0.2"))
    desk.log.write_certificate(sealed.release_key, THETA)
    desk.restore(backup)
    with pytest.raises(UserError, match="restored backup"):
        desk.seal(ask(partition, "0.2"))


def test_what_nobody_was_told_may_be_lost(desk: Desk) -> None:
    desk.log.set_cap("reviews", Decimal(1))
    [partition] = desk.register()
    desk.log.project()
    backup = desk.back_up()
    desk.seal(ask(partition, "0.2"))
    desk.restore(backup)
    assert not desk.seal(ask(partition, "0.2")).was_sealed


def test_accepting_the_gap_charges_every_account_and_goes_on(restored: Desk) -> None:
    restored.log.accept_gap(Decimal("0.3"), "restored on Monday", delta=Decimal(0))
    [partition] = restored.log.partitions("reviews")
    assert restored.left() == "0.5"
    restored.log.check()
    with pytest.raises(UserError, match=r"0\.5 left"):
        restored.seal(ask(partition, "0.6", 3))
    certificate = restored.publish(ask(partition, "0.5", 3))
    said = verifier.verify(certificate.read_bytes())
    assert "budget: epsilon 1 of 1 spent on account reviews by then" in said
    gaps = [row for row in restored.charges() if row["kind"] == "gap"]
    assert [(row["account"], row["ledger_line"], row["epsilon"]) for row in gaps] == [("reviews", "*", "0.3")]


def test_the_gap_is_charged_to_every_partition_of_every_account(desk: Desk) -> None:
    for account in ("mails", "reviews", "unused"):
        desk.log.set_cap(account, Decimal(1))
    two = {"partition_column": "region", "partitions": ("east", "west")}
    east, west = desk.register(desk.stage("east"), desk.stage("west"), **two)
    [mails] = desk.register(desk.stage(content="m"), corpus="mails")
    backup = desk.back_up()
    desk.publish(ask(east, "0.4"))
    desk.restore(backup)
    desk.log.accept_gap(Decimal("0.4"), "restored", delta=Decimal(0))
    for partition in (east, west, mails):
        with pytest.raises(UserError, match=r"0\.6 left"):
            desk.log.check_affordable(ask(partition, "0.7"))
    assert {row["account"] for row in desk.charges()} == {"mails", "reviews", "unused"}


def test_an_account_that_was_lost_with_the_log_is_charged_when_it_comes_back(desk: Desk) -> None:
    desk.log.set_cap("reviews", Decimal(1))
    desk.log.project()
    backup = desk.back_up()
    [partition] = desk.register()
    desk.log.set_cap("late", Decimal(1))
    desk.publish(ask(partition, "1"))
    desk.restore(backup)
    desk.log.accept_gap(Decimal(1), "restored", delta=Decimal(0))
    [again] = desk.register()
    with pytest.raises(UserError, match="the 0 left"):
        desk.seal(ask(again, "0.1"))
    desk.register(desk.stage(content="m"), corpus="mails", account="late")
    desk.log.check()
    desk.log.set_cap("late", Decimal(1))
    desk.log.set_cap("fresh", Decimal(1))
    desk.log.check()
    with pytest.raises(UserError, match="the 0 left"):
        desk.seal(ask(desk.log.partitions("mails")[0], "0.1"))
    desk.log.check()
    assert [(line.account, line.epsilon.spent) for line in desk.log.budget_lines()] == [
        ("fresh", "1"),
        ("late", "1"),
        ("reviews", "1"),
    ]


def test_there_is_no_gap_to_accept_in_a_whole_log(desk: Desk) -> None:
    with pytest.raises(UserError, match="nothing to accept"):
        desk.log.accept_gap(Decimal(1), "why not")
    desk.log.set_cap("reviews", Decimal(1))
    desk.log.project()
    with pytest.raises(UserError, match="nothing to accept"):
        desk.log.accept_gap(Decimal(1), "why not")


@pytest.mark.parametrize(("epsilon", "reason"), [("-1", "x"), ("NaN", "x"), ("0.3", " "), ("0.3", "")])
def test_a_gap_needs_an_amount_and_a_reason(restored: Desk, epsilon: str, reason: str) -> None:
    with pytest.raises(UserError, match=r"epsilon: must|reason"):
        restored.log.accept_gap(Decimal(epsilon), reason, delta=Decimal(0))
    with pytest.raises(UserError, match="restored backup"):
        restored.log.check()


def test_a_gap_is_accepted_for_one_lost_head_only(restored: Desk) -> None:
    backup = restored.back_up()
    restored.log.accept_gap(Decimal("0.3"), "restored", delta=Decimal(0))
    restored.log.project()
    restored.restore(backup)
    with pytest.raises(UserError, match="restored backup"):
        restored.log.project()


def test_the_witness_never_goes_back(desk: Desk) -> None:
    """A slow reader's older head does not replace a newer one."""
    desk.log.set_cap("reviews", Decimal(1))
    slow = desk.log
    desk.log.set_cap("reviews", Decimal(2), "more")
    desk.log.project()
    newest = (desk.home.release / "chain_head.json").read_bytes()
    slow.project()
    assert (desk.home.release / "chain_head.json").read_bytes() == newest
