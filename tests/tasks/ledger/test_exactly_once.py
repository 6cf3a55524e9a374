"""One question, one answer, one charge: through kills at every named place, many processes and lost commits."""

from decimal import Decimal

import pytest
from desk import THETA, Desk, ask, in_child, in_children
from sqlalchemy.exc import OperationalError

from tasks.ledger import database, verifier
from tasks.ledger.question import Question
from tasks.storage.home import initialise_home

TIMES = {"sqlite": 20, "postgresql": 5}
BOTH = pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
EVERY_ISOLATION = pytest.mark.parametrize(
    "backend", ["sqlite", "postgresql", "postgresql, repeatable read", "postgresql, serializable"]
)
KILLED = 9


def certain(desk: Desk, partition: int = 0, edition: int = 1) -> Question:
    """A question whose answer is the count itself, except with probability 1e-17: geometric noise at 40 nats."""
    known = desk.log.partitions("reviews")[partition]
    return ask(known, "40", edition, statements=("A",), mechanism="geometric")


@BOTH
@pytest.mark.parametrize("point", ["before_lock", "after_lock", "after_draw", "after_write", "after_commit"])
def test_a_kill_while_sealing_costs_nothing(desk: Desk, backend: str, point: str) -> None:
    times = TIMES[backend]
    desk.log.set_cap("reviews", Decimal(900))
    desk.register()
    for edition in range(1, times + 1):
        question = certain(desk, edition=edition)
        assert in_child(lambda question=question: desk.publish(question, 37), crash_at=point).signal == KILLED  # type: ignore[misc]
        left_behind = desk.log.find(question)
        assert (left_behind is not None) == (point == "after_commit")
        sealed = desk.seal(question, 37)
        assert sealed.payload["answer"]["certificate_units"] == [37]
        assert left_behind is None or left_behind.payload == sealed.payload
        assert sealed.was_sealed == (point == "after_commit")
        verifier.verify(desk.publish(question, 37).read_bytes())
    desk.log.check()
    assert [row["epsilon"] for row in desk.charges()] == ["40"] * times
    assert [row["edition"] for row in desk.releases()] == list(range(1, times + 1))
    assert desk.left() == str(900 - 40 * times)


@BOTH
@pytest.mark.parametrize("point", ["before_rename", "after_rename"])
def test_a_kill_while_publishing_costs_nothing(desk: Desk, backend: str, point: str) -> None:
    times = TIMES[backend]
    desk.log.set_cap("reviews", Decimal(900))
    desk.register()
    for edition in range(1, times + 1):
        question = certain(desk, edition=edition)
        assert in_child(lambda question=question: desk.publish(question, 37), crash_at=point).signal == KILLED  # type: ignore[misc]
        sealed = desk.log.find(question)
        assert sealed is not None and sealed.payload["answer"]["certificate_units"] == [37]
        desk.log.project()

        def export(key: str = sealed.release_key) -> object:
            return desk.log.write_certificate(key, THETA)

        assert in_child(export, crash_at=point).signal == KILLED
        verifier.verify(desk.publish(question, 37).read_bytes())
        assert desk.seal(question, 37).payload == sealed.payload
    desk.log.check()
    assert len(desk.charges()) == times and desk.left() == str(900 - 40 * times)
    assert len(list((desk.home.release / "certificates").glob("*.json"))) == times


@BOTH
@pytest.mark.parametrize(
    "point", ["before_register", "before_lock", "after_lock", "after_write", "after_commit", "after_register"]
)
def test_a_kill_while_registering_costs_nothing(desk: Desk, backend: str, point: str) -> None:
    desk.log.set_cap("corpus-0", Decimal(1))
    for at in range(TIMES[backend]):
        name = f"corpus-{at}"

        def register(name: str = name) -> object:
            # each its own account and records: no other corpus to compare with but public ones
            return desk.register(desk.stage(content=name), corpus=name, visibility="public", unit=None)

        assert in_child(register, crash_at=point).signal == KILLED
        known = desk.log.partitions(name)
        assert bool(known) == (point in ("after_commit", "after_register"))
        register()
        again = desk.log.partitions(name)
        assert len(again) == 1 and again[0].number == 1 and known in ([], again)
        assert (desk.home.corpora / name / again[0].version / "units.parquet").exists()
    desk.log.check()


@EVERY_ISOLATION
def test_sixteen_different_questions_of_a_fifth_find_room_for_exactly_five(desk: Desk) -> None:
    desk.log.set_cap("reviews", Decimal("1.0"))
    [partition] = desk.register()
    questions = [ask(partition, "0.2", statements=(f"statement {i}",)) for i in range(16)]
    ended = in_children([lambda question=question: desk.seal(question) for question in questions])  # type: ignore[misc]
    answered = [end.value for end in ended if end.error is None]
    refused = [end.error for end in ended if end.error is not None]
    assert len(answered) == 5 and not any(sealed.was_sealed for sealed in answered)
    assert len(refused) == 11 and all(error.startswith("UserError: budget") for error in refused)
    assert desk.left() == "0" and len(desk.charges()) == 5
    desk.log.check()


@EVERY_ISOLATION
def test_sixteen_askers_of_one_question_get_the_same_bytes_for_one_charge(desk: Desk) -> None:
    desk.log.set_cap("reviews", Decimal("1.0"))
    [partition] = desk.register()
    question = ask(partition, "0.2", statements=[f"statement {i}" for i in range(20)])

    def publish() -> bytes:
        return desk.publish(question).read_bytes()

    ended = in_children([publish] * 16)
    assert {end.error for end in ended} == {None}
    assert len({end.value for end in ended}) == 1
    assert [row["epsilon"] for row in desk.charges()] == ["0.2"]
    assert len(desk.log.project().thresholds) == 1
    desk.log.check()


def test_sixteen_processes_may_make_the_home_and_its_log_at_once(desk: Desk) -> None:
    root = desk.home.root.with_name("shared")

    def begin() -> tuple[str, bytes, bytes, str]:
        home = initialise_home(root, on_purpose=True)
        there = Desk(home)
        there.log.set_cap("reviews", Decimal(1))
        return home.ledger_id, home.hash_key(), home.signing_seed(), str(there.left())

    ended = in_children([begin] * 16)
    assert {end.error for end in ended} == {None}
    assert len({end.value for end in ended}) == 1
    there = Desk(initialise_home(root, on_purpose=True))
    there.log.check()
    assert len(there.log.budget_lines()) == 1


@EVERY_ISOLATION
def test_sixteen_processes_may_make_the_tables_of_a_log_at_once(desk: Desk) -> None:
    ended = in_children([lambda: desk.log.set_cap("reviews", Decimal(1))] * 16)
    assert {end.error for end in ended} == {None}
    desk.log.check()
    assert len(desk.log.budget_lines()) == 1


@BOTH
def test_readers_see_one_moment_of_the_log_while_others_write(desk: Desk) -> None:
    """Every projection has one charge per release, and the witness never goes back."""
    desk.log.set_cap("reviews", Decimal(9))
    [partition] = desk.register()

    def write(first: int) -> None:
        for edition in range(first, first + 10):
            desk.publish(ask(partition, "0.1", edition))

    def read() -> bool:
        for _ in range(25):
            seen = desk.log.project()
            if seen.releases["release_key"].to_pylist() != seen.charges["release_key"].to_pylist():
                return False
            desk.log.check()
        return True

    ended = in_children([lambda: write(1), lambda: write(11), read, read])
    assert [end.error for end in ended] == [None] * 4
    assert [end.value for end in ended] == [None, None, True, True]
    assert len(desk.charges()) == 20


def test_a_commit_whose_outcome_is_unknown_is_looked_up(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.log.set_cap("reviews", Decimal("0.1"))
    [partition] = desk.register()

    def lose_connection(point: str) -> None:
        if point == "after_commit":
            raise OperationalError("COMMIT", None, Exception("server closed the connection"))

    with monkeypatch.context() as patch:
        patch.setattr(database, "crash_point", lose_connection)
        sealed = desk.seal(ask(partition))
    assert desk.seal(ask(partition)).payload == sealed.payload
    assert len(desk.charges()) == 1


def test_a_commit_that_did_not_happen_is_reported_and_done_by_the_next_try(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.log.set_cap("reviews", Decimal("0.1"))
    [partition] = desk.register()

    def lose_connection(point: str) -> None:
        if point == "after_write":
            raise OperationalError("COMMIT", None, Exception("server closed the connection"))

    with monkeypatch.context() as patch, pytest.raises(database.LogUnavailableError, match="no connection"):
        patch.setattr(database, "crash_point", lose_connection)
        desk.seal(ask(partition))
    assert desk.charges() == []
    assert not desk.seal(ask(partition)).was_sealed
