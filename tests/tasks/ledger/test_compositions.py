"""What an account adds up: epsilon, epsilon and delta, or rho; its first cap decides for ever."""

from decimal import Decimal
from fractions import Fraction

import pytest
from desk import PARAMETERS, THETA, Desk, ask
from hypothesis import given
from hypothesis import strategies as st

from schemas.errors import UserError
from tasks.ledger.amounts import exact_text, loss_fields
from tasks.ledger.question import Question, RegisteredPartition
from tasks.ledger.verifier import verify
from tasks.privacy.accounting import pure_loss

PURE, APPROXIMATE, ZCDP = {"epsilon": "3"}, {"epsilon": "3", "delta": "0.00003"}, {"rho": "0.1"}


def cap(desk: Desk, amounts: dict[str, str], account: str = "reviews", reason: str | None = None) -> None:
    exact = {name: Decimal(amount) for name, amount in amounts.items()}
    desk.log.set_cap(account, exact.get("epsilon"), reason, delta=exact.get("delta"), rho=exact.get("rho"))


def gaussian(partition: RegisteredPartition, epsilon: str = "1", edition: int = 1) -> Question:
    return ask(partition, epsilon, edition, mechanism="discrete_gaussian", parameters=PARAMETERS["discrete_gaussian"])


def budget_line(desk: Desk, question: Question) -> str:
    """What the verifier says of the budget after this release."""
    desk.seal(question)
    desk.log.ask_threshold(question.release_key, THETA)
    shown = verify(desk.log.write_certificate(question.release_key, THETA).read_bytes())
    return next(line for line in shown if line.startswith("budget: "))


def test_a_pure_account_refuses_a_release_with_delta_by_name(desk: Desk) -> None:
    cap(desk, PURE)
    [partition] = desk.register()
    for refuse in (desk.log.check_affordable, desk.seal):
        with pytest.raises(UserError, match=r"delta: a pure account takes no release .* reviews is pure for ever"):
            refuse(gaussian(partition))
    with pytest.raises(UserError, match="delta: a pure account"):
        desk.log.check_countable("reviews", "private", gaussian(partition).loss)
    assert desk.charges() == []
    assert budget_line(desk, ask(partition, "2")) == "budget: epsilon 2 of 3 spent on account reviews by then"


def test_an_approximate_account_adds_epsilons_and_deltas_up_exactly(desk: Desk) -> None:
    cap(desk, APPROXIMATE)
    [partition] = desk.register()
    for edition in (1, 2):
        desk.seal(gaussian(partition, "1", edition))
    assert budget_line(desk, ask(partition, "0.5")) == (
        "budget: epsilon 2.5 of 3, delta 0.00002 of 0.00003 spent on account reviews by then"
    )
    [line] = desk.log.budget_lines()
    assert (line.composition, line.epsilon.left, line.delta.left, line.rho.left) == (
        "approximate",
        "0.5",
        "0.00001",
        None,
    )
    with pytest.raises(UserError, match=r"budget: epsilon 0\.6 is more than the 0\.5 left of the cap 3"):
        desk.seal(gaussian(partition, "0.6", 3))
    desk.seal(gaussian(partition, "0.4", 3))
    with pytest.raises(UserError, match=r"budget: delta 0\.00001 is more than the 0 left of the cap 0\.00003"):
        desk.seal(gaussian(partition, "0.1", 4))
    desk.seal(ask(partition, "0.1", 4))
    desk.log.check()


def test_a_zcdp_account_adds_rho_up_whatever_the_mechanism(desk: Desk) -> None:
    cap(desk, ZCDP)
    [partition] = desk.register()
    first = desk.seal(gaussian(partition, "1")).payload["charge"]["rho"]
    assert budget_line(desk, ask(partition, "0.2")).startswith("budget: rho 0.04")
    [line] = desk.log.budget_lines()
    spent = Fraction(first or "0") + Fraction("0.2") ** 2 / 4  # two statements: twice 0.1^2 / 2
    assert (line.composition, Fraction(line.rho.spent or "0"), line.epsilon.cap) == ("zcdp", spent, None)
    assert line.epsilon.spent == "1.2"
    with pytest.raises(UserError, match=r"budget: rho 0\.25 is more than the 0\.0\d+ left of the cap 0\.1"):
        desk.seal(ask(partition, "1"))
    desk.log.check()


@pytest.mark.parametrize("first", [PURE, APPROXIMATE, ZCDP])
def test_the_first_cap_fixes_what_an_account_counts_for_ever(desk: Desk, first: dict[str, str]) -> None:
    cap(desk, first)
    for other in (PURE, APPROXIMATE, ZCDP):
        if other != first:
            with pytest.raises(UserError, match=r"cap: reviews counts .*, for ever"):
                cap(desk, other, reason="another kind")
    raised = {name: str(2 * Decimal(amount)) for name, amount in first.items()}
    with pytest.raises(UserError, match="reason: raising the cap of reviews from "):
        cap(desk, raised)
    cap(desk, raised, reason="a new year")
    [line] = desk.log.budget_lines()
    parts = {"epsilon": line.epsilon, "delta": line.delta, "rho": line.rho}
    assert {name: Decimal(part.cap) for name, part in parts.items() if part.cap} == {
        name: Decimal(amount) for name, amount in raised.items()
    }
    desk.log.check()


@pytest.mark.parametrize(
    ("amounts", "says"),
    [
        ({}, "cap: give epsilon, epsilon and delta, or rho alone"),
        ({"delta": "0.1"}, "cap: give epsilon"),
        ({"epsilon": "1", "rho": "1"}, "cap: give epsilon"),
        ({"epsilon": "1", "delta": "0.1", "rho": "1"}, "cap: give epsilon"),
        ({"epsilon": "1", "delta": "1"}, "delta: must be less than 1"),
        ({"epsilon": "1", "delta": "-0.1"}, "delta: must be at least 0"),
        ({"rho": "NaN"}, "rho: must be a number"),
    ],
)
def test_a_cap_that_is_none_is_refused_by_name(desk: Desk, amounts: dict[str, str], says: str) -> None:
    with pytest.raises(UserError, match=says):
        cap(desk, amounts)


def test_raising_one_part_and_lowering_another_needs_a_reason_too(desk: Desk) -> None:
    cap(desk, APPROXIMATE)
    with pytest.raises(UserError, match="reason"):
        cap(desk, {"epsilon": "1", "delta": "0.1"})
    cap(desk, {"epsilon": "1", "delta": "0.00001"})


def test_an_uncapped_public_account_records_everything_and_may_be_capped_later(desk: Desk) -> None:
    [partition] = desk.register(visibility="public")
    assert budget_line(desk, gaussian(partition)) == (
        "budget: epsilon 1 on account reviews, which has no cap (public data)"
    )
    [line] = desk.log.budget_lines()
    assert (line.composition, line.epsilon.spent, line.delta.spent, line.epsilon.cap) == (None, "1", "0.00001", None)
    with pytest.raises(UserError, match="delta: reviews was charged at a delta that is not 0"):
        cap(desk, PURE)
    with pytest.raises(UserError, match=r"cap: reviews has spent epsilon 1, delta 0\.00001 already"):
        cap(desk, {"epsilon": "1", "delta": "0.000001"})
    cap(desk, APPROXIMATE)
    assert desk.left() == "2"
    desk.log.check()


def lost(desk: Desk) -> Desk:
    """A log that was put back to before its last publication."""
    desk.log.project()
    backup = desk.back_up()
    desk.log.set_cap("noise", Decimal(1))
    desk.log.project()
    desk.restore(backup)
    return desk


def test_a_gap_is_counted_by_each_account_in_its_own_parts(desk: Desk) -> None:
    cap(desk, PURE, "pure")
    cap(desk, APPROXIMATE, "approximate")
    cap(desk, ZCDP, "zcdp")
    lost(desk).log.accept_gap(Decimal("0.3"), "restored", delta=Decimal("0.00001"), rho=Decimal("0.02"))
    left = {line.account: (line.epsilon.left, line.delta.left, line.rho.left) for line in desk.log.budget_lines()}
    assert left == {
        "approximate": ("2.7", "0.00002", None),
        "pure": ("2.7", None, None),
        "zcdp": (None, None, "0.08"),
    }
    desk.log.check()
    [partition] = desk.register(corpus="pure")  # what it lost had no delta: it was pure before
    assert budget_line(desk, ask(partition, "1")) == "budget: epsilon 1.3 of 3 spent on account pure by then"


def test_a_pure_gap_implies_its_rho(desk: Desk) -> None:
    cap(desk, ZCDP)
    lost(desk).log.accept_gap(Decimal("0.3"), "restored", delta=Decimal(0))
    [line] = desk.log.budget_lines()
    assert (line.rho.spent, line.rho.left) == ("0.045", "0.055")
    assert budget_line(desk, ask(desk.register()[0], "0.2")) == (
        "budget: rho 0.055 of 0.1 spent on account reviews by then"
    )


@pytest.mark.parametrize(
    ("account", "stated", "says"),
    [
        (PURE, {"rho": "0.01"}, "epsilon: account reviews counts it"),
        (APPROXIMATE, {"rho": "0.01"}, "epsilon: account .* counts it, so .*: --epsilon E and --delta D"),
        (ZCDP, {"epsilon": "0.1", "delta": "0.00001"}, "rho: account reviews counts it, so .*: --rho R"),
        (PURE, {"delta": "0.00001"}, "epsilon: accepting a gap needs --epsilon E"),
        (PURE, {"rho": "0.01", "delta": "0.00001"}, "epsilon: accepting a gap needs --epsilon E"),
        (PURE, {}, "epsilon: accepting a gap needs --epsilon E with --delta D, or --rho R alone"),
        (PURE, {"epsilon": "0.1"}, "delta: say --delta D beside --epsilon: 0 only if nothing that was lost had"),
        (APPROXIMATE, {"epsilon": "0.1"}, "delta: say --delta D beside"),
        (ZCDP, {"epsilon": "0.1"}, "delta: say --delta D beside"),
        (ZCDP, {"epsilon": "0.1", "rho": "0.01"}, "delta: say --delta D beside"),
    ],
)
def test_a_gap_states_what_the_accounts_count(
    desk: Desk, account: dict[str, str], stated: dict[str, str], says: str
) -> None:
    cap(desk, account)
    exact = {name: Decimal(amount) for name, amount in stated.items()}
    with pytest.raises(UserError, match=says):
        lost(desk).log.accept_gap(exact.get("epsilon"), "restored", delta=exact.get("delta"), rho=exact.get("rho"))


def test_an_account_that_comes_back_later_counts_what_the_gap_states_or_is_refused(desk: Desk) -> None:
    cap(desk, ZCDP)
    lost(desk).log.accept_gap(None, "restored", rho=Decimal("0.01"))
    for account in ("late", "later"):
        with pytest.raises(UserError, match=r"epsilon: an accepted gap that .* was charged for did not state it"):
            cap(desk, APPROXIMATE, account)
    cap(desk, ZCDP, "late")
    assert {line.account: line.rho.left for line in desk.log.budget_lines()} == {"late": "0.09", "reviews": "0.09"}
    desk.log.check()


def test_a_gap_with_a_delta_keeps_a_new_account_from_being_pure(desk: Desk) -> None:
    """Its first cap may be among what was lost: then so may releases with a delta."""
    cap(desk, APPROXIMATE)
    lost(desk).log.accept_gap(Decimal("0.3"), "restored", delta=Decimal("0.00001"))
    with pytest.raises(UserError, match="delta: late was charged at a delta"):
        cap(desk, PURE, "late")
    cap(desk, APPROXIMATE, "late")


@pytest.mark.parametrize("first", [APPROXIMATE, ZCDP])
def test_an_account_whose_cap_was_lost_never_comes_back_as_pure_unless_the_gap_had_no_delta(
    desk: Desk, first: dict[str, str]
) -> None:
    """The restored log knows neither the cap nor the releases with a delta that it allowed."""
    [partition] = desk.register()
    desk.log.project()
    backup = desk.back_up()
    cap(desk, first)
    desk.publish(gaussian(partition, "0.1"))
    desk.restore(backup)
    with pytest.raises(UserError, match="delta: say --delta D beside --epsilon"):
        desk.log.accept_gap(Decimal("0.1"), "restored")
    desk.log.accept_gap(None, "restored", rho=Decimal("0.01"))
    for other in (PURE, APPROXIMATE):
        with pytest.raises(UserError, match=r"(delta|epsilon): an accepted gap that reviews was charged for did not"):
            cap(desk, other)
    cap(desk, ZCDP)
    desk.log.check()


def test_a_gap_leaves_unknown_what_was_not_stated(desk: Desk) -> None:
    cap(desk, APPROXIMATE)
    lost(desk).log.accept_gap(Decimal("0.3"), "restored", delta=Decimal("0.00001"))
    [line] = desk.log.budget_lines()
    assert (line.epsilon.spent, line.delta.spent, line.rho.spent) == ("0.3", "0.00001", None)


@pytest.mark.parametrize("mechanism", PARAMETERS)
def test_a_partition_without_units_is_asked_what_its_account_counts_and_nothing_else(
    desk: Desk, mechanism: str
) -> None:
    cap(desk, PURE)
    [empty] = desk.register(desk.stage(n=0, units=[]))
    question = ask(empty, mechanism=mechanism, parameters=PARAMETERS[mechanism])
    if mechanism != "discrete_gaussian":
        desk.log.check_affordable(question)
        assert not desk.seal(question, 0).was_sealed
        return
    for refuse in (desk.log.check_affordable, desk.seal):
        with pytest.raises(UserError, match=r"delta: a pure account takes no release .* reviews is pure for ever"):
            refuse(question)
    assert desk.releases() == []


def test_joining_an_account_is_checked_in_every_part(desk: Desk) -> None:
    cap(desk, {"epsilon": "3", "delta": "0.00001"})
    two = desk.register(desk.stage("east"), desk.stage("west"), partition_column="region", partitions=("east", "west"))
    for partition in two:
        desk.seal(gaussian(partition))
    with pytest.raises(UserError, match=r"epsilon 2, delta 0\.00002 is spent of its cap epsilon 3, delta 0\.00001"):
        desk.register(desk.stage(content="m"), corpus="mails", account="reviews")


@given(st.lists(st.decimals("1e-9", "900", places=12), min_size=1, max_size=9))
def test_a_charge_is_written_exactly(parts: list[Decimal]) -> None:
    loss = pure_loss([Fraction(part) for part in parts])
    written = loss_fields(loss)
    assert (Fraction(written["epsilon"]), Fraction(written["rho"] or "-1")) == (loss.epsilon, loss.rho)
    assert exact_text(loss.epsilon) == written["epsilon"]
