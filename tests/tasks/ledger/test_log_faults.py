"""The log on a full, read-only, locked or broken disk, and behind a server that is gone."""

import os
import sqlite3
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
from desk import Desk, ask
from postgresql_server import Server
from relayed_log import LogRelay, Moment
from small_disks import SmallDisk

from tasks.ledger import database
from tasks.ledger.database import LogUnavailableError, creating, locked, open_engine

ON_A_FILE = pytest.mark.parametrize("backend", ["sqlite"])  # about the file of a log, which a server has none of
ON_A_SERVER = pytest.mark.parametrize("backend", ["postgresql"])
READS: dict[str, Callable[[Desk], object]] = {
    "open": lambda desk: desk.log,
    "partitions": lambda desk: desk.log.partitions("reviews"),
    "check": lambda desk: desk.log.check(),
}


def test_a_full_disk_leaves_nothing_half_written(small_desk: Desk, small_disk: SmallDisk) -> None:
    small_desk.log.set_cap("reviews", Decimal(1))
    [partition] = small_desk.register()
    log, question = small_desk.log, ask(partition, "0.2", statements=[f"statement {i}" for i in range(300)])
    filler = small_disk.fill()
    with pytest.raises(LogUnavailableError, match="the release log cannot be used"):
        log.seal(question, [50] * 300)
    filler.unlink()
    assert small_desk.charges() == []
    small_desk.log.check()
    assert not small_desk.seal(question).was_sealed
    assert [row["epsilon"] for row in small_desk.charges()] == ["0.2"]
    small_desk.log.check()


def test_a_disk_that_is_full_from_the_start_is_reported(small_desk: Desk, small_disk: SmallDisk) -> None:
    filler = small_disk.fill()
    with pytest.raises(LogUnavailableError, match="the release log cannot be used"):
        small_desk.log.set_cap("reviews", Decimal(1))
    filler.unlink()
    small_desk.log.set_cap("reviews", Decimal(1))
    small_desk.log.check()


def test_a_read_only_disk_is_reported_and_works_again(small_desk: Desk, small_disk: SmallDisk) -> None:
    small_desk.log.set_cap("reviews", Decimal(1))
    [partition] = small_desk.register()
    log = small_desk.log
    small_disk.remount("ro")
    with pytest.raises(LogUnavailableError):
        log.seal(ask(partition), [1, 2])
    with pytest.raises(LogUnavailableError):
        small_desk.log.set_cap("reviews", Decimal(1))
    small_disk.remount("rw")
    assert small_desk.charges() == []
    assert not small_desk.seal(ask(partition)).was_sealed
    small_desk.log.check()


@ON_A_FILE
@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind root; see the read-only disk")
def test_a_read_only_file_is_reported(desk: Desk) -> None:
    desk.log.set_cap("reviews", Decimal(1))
    desk.database.chmod(0o400)
    with pytest.raises(LogUnavailableError):
        desk.log.set_cap("reviews", Decimal("0.5"))


def test_a_locked_log_is_reported_and_can_still_be_read(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.log.set_cap("reviews", Decimal(1))
    [partition] = desk.register()
    desk.seal(ask(partition))
    desk.log.project()
    monkeypatch.setattr(database, "BUSY_SECONDS", 1)
    with locked(open_engine(desk.home.log_url)):
        with pytest.raises(LogUnavailableError, match="locked"):
            desk.seal(ask(partition, edition=2))
        with pytest.raises(LogUnavailableError, match="locked"):
            desk.log.set_cap("reviews", Decimal("0.5"))
        assert desk.log.find(ask(partition)) is not None
        assert len(desk.charges()) == 1
    assert not desk.seal(ask(partition, edition=2)).was_sealed


def test_a_locked_log_still_gives_what_was_sealed(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.log.set_cap("reviews", Decimal(1))
    [partition] = desk.register()
    first = desk.seal(ask(partition))
    monkeypatch.setattr(database, "BUSY_SECONDS", 1)
    with locked(open_engine(desk.home.log_url)):
        assert desk.seal(ask(partition)).payload == first.payload


def test_a_log_that_another_process_is_making_is_reported(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 1)
    with creating(open_engine(desk.home.log_url)), pytest.raises(LogUnavailableError, match="locked"):
        _ = desk.log
    desk.log.check()


@ON_A_FILE
@pytest.mark.parametrize("read", READS)
def test_a_damaged_file_is_reported_not_thrown(read: str, desk: Desk) -> None:
    desk.log.set_cap("reviews", Decimal(1))
    content = bytearray(desk.database.read_bytes())
    content[:100] = b"\xff" * 100
    desk.database.write_bytes(content)
    with pytest.raises(LogUnavailableError, match="damaged"):
        READS[read](desk)


@ON_A_FILE
def test_a_log_in_a_folder_that_is_missing_is_reported(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRIVCERT_LOG_URL", f"sqlite:///{desk.home.root / 'nowhere' / 'log.sqlite'}")
    with pytest.raises(LogUnavailableError, match="no such file or directory"):
        _ = desk.log


@ON_A_FILE
def test_the_log_is_for_the_operator_alone(desk: Desk) -> None:
    before = os.umask(0)
    try:
        desk.log.set_cap("reviews", Decimal(1))
        holder = sqlite3.connect(desk.database)
        holder.execute("SELECT * FROM head").fetchall()
        desk.log.set_cap("reviews", Decimal("0.5"))
    finally:
        os.umask(before)
    files = list(Path(desk.home.private).glob("release_log.sqlite*"))
    assert len(files) == 3, "the file, its write-ahead log and its index"
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    holder.close()


@ON_A_SERVER
def test_a_server_that_is_gone_is_reported_and_nothing_is_lost(desk: Desk, postgresql: Server) -> None:
    desk.log.set_cap("reviews", Decimal(1))
    [partition] = desk.register()
    log, first = desk.log, desk.seal(ask(partition, "0.2"))
    postgresql.stop()
    try:
        for fails in (lambda: log.seal(ask(partition, "0.3", 2), [1, 2]), log.check, lambda: desk.log):
            with pytest.raises(LogUnavailableError):
                fails()
    finally:
        postgresql.start()
    assert desk.seal(ask(partition, "0.2")).payload == first.payload
    assert not desk.seal(ask(partition, "0.3", 2)).was_sealed
    assert desk.left() == "0.5"
    desk.log.check()


def relayed(postgresql: Server, moment: Moment, then: Callable[[], None]) -> LogRelay:
    """In front of the log of the desk."""
    database = os.environ["PRIVCERT_LOG_URL"].partition("@/")[2].partition("?")[0]
    return LogRelay(postgresql.folder, postgresql.user, database, moment, then)


@ON_A_SERVER
@pytest.mark.parametrize("moment", Moment)
def test_a_server_that_stops_while_it_seals_charges_once(
    desk: Desk, postgresql: Server, moment: Moment, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.log.set_cap("reviews", Decimal(1))
    [partition] = desk.register()
    with relayed(postgresql, moment, postgresql.stop) as relay, monkeypatch.context() as through:
        through.setenv("PRIVCERT_LOG_URL", relay.url)
        try:
            with pytest.raises(LogUnavailableError, match="no connection"):
                desk.seal(ask(partition, "0.2"))
        finally:
            postgresql.start()
    found = desk.log.find(ask(partition, "0.2"))
    assert (found is not None) == (moment is Moment.COMMITTED)
    again = desk.seal(ask(partition, "0.2"))
    assert again.was_sealed == (moment is Moment.COMMITTED) and found in (None, again)
    assert [row["epsilon"] for row in desk.charges()] == ["0.2"]
    desk.log.check()


@ON_A_SERVER
def test_an_answer_whose_commit_was_not_heard_is_looked_up(
    desk: Desk, postgresql: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.log.set_cap("reviews", Decimal("0.2"))
    [partition] = desk.register()
    with relayed(postgresql, Moment.COMMITTED, lambda: None) as relay, monkeypatch.context() as through:
        through.setenv("PRIVCERT_LOG_URL", relay.url)
        sealed = desk.seal(ask(partition, "0.2"))
    assert relay.happened and sealed.was_sealed
    assert desk.log.find(ask(partition, "0.2")) == sealed and len(desk.charges()) == 1
