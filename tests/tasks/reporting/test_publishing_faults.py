"""Publishing killed, without room, without the right to write, several at once, and beside files of other versions."""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from schemas.errors import UserError
from tasks.reporting import database
from tasks.reporting.data_docs import release_docs
from tasks.reporting.places import release_database
from tasks.reporting.projection import (
    build_operator_database,
    build_release_database,
    published_chain_head,
    publishing,
)
from tasks.reporting.sql import run_sql
from tasks.storage.home import Home, initialise_home
from tests.audits import KILLED, in_child
from tests.projections import few_releases, one_release, release_key

ROOT = Path(__file__).parents[3]
OLD, NEW = one_release([5]), few_releases()


def publish(home: Home, projection=NEW) -> None:
    with publishing(home):
        build_release_database(projection, home)
    build_operator_database(projection, home)


def statements(home: Home) -> int:
    with duckdb.connect(str(release_database(home)), read_only=True) as connection:
        return int(connection.execute("select count(*) from statements").fetchall()[0][0])


def files_of(home: Home) -> list[str]:
    """Everything but the empty folder where databases grow."""
    return sorted(str(path.relative_to(home.root)) for path in home.root.rglob("*") if path.is_file())


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The files of a home after an undisturbed publication."""
    home = initialise_home(tmp_path_factory.mktemp("whole") / "home", on_purpose=True)
    publish(home, OLD)
    publish(home)
    return files_of(home)


# Each publication renames: Data Docs, outcomes, the operator's page, the database; then the same for the operator's.
@pytest.mark.parametrize(
    "point",
    ["after_fill:1", "after_fill:2", *(f"{when}_rename:{at}" for at in range(1, 8) for when in ("before", "after"))],
)
def test_killed_anywhere_readers_have_a_whole_file_and_the_same_call_finishes(
    home: Home, published: list[str], point: str
) -> None:
    publish(home, OLD)
    assert in_child(lambda: publish(home), crash_at=point) == KILLED
    assert statements(home) in (1, 9)
    assert in_child(lambda: publish(home)) == 0
    assert statements(home) == 9
    assert published_chain_head(home) == NEW.chain_head
    assert files_of(home) == published
    assert "release.duckdb" in release_docs(home).read_text()


def test_a_full_disk_leaves_the_old_file_and_says_what_to_do(small_home_folder: Path) -> None:
    home = initialise_home(small_home_folder / "home", on_purpose=True)
    build_release_database(OLD, home)
    filler = small_home_folder / "filler"
    room = os.statvfs(small_home_folder)
    filler.write_bytes(b"x" * (room.f_bavail * room.f_frsize - 200_000))
    with pytest.raises(UserError, match=r"release\.duckdb cannot be written \(disk full or read-only\?\): nothing is"):
        build_release_database(NEW, home)
    assert statements(home) == 1
    assert [path.name for path in home.release.iterdir() if path.name.startswith(".tmp")] == []
    filler.unlink()
    build_release_database(NEW, home)
    assert statements(home) == 9


def test_a_read_only_folder_leaves_the_old_file_readable(small_home_folder: Path) -> None:
    home = initialise_home(small_home_folder / "home", on_purpose=True)
    build_release_database(OLD, home)
    subprocess.run(["mount", "-o", "remount,ro", str(small_home_folder)], check=True)
    try:
        with pytest.raises(UserError, match="cannot be written"):
            build_release_database(NEW, home)
        assert "1 row" in str(run_sql(home, "select * from statements"))
    finally:
        subprocess.run(["mount", "-o", "remount,rw", str(small_home_folder)], check=True)


def test_a_file_of_an_older_version_is_built_anew(home: Home) -> None:
    """Version 1 did not say its number, and had other tables."""
    path = release_database(home)
    with duckdb.connect(str(path)) as connection:
        connection.execute("create schema base")
        connection.execute(
            "create table base.origin as select 'x' ledger_id, 'y' chain_head, '0' product_version, 'z' marker"
        )
        connection.execute("create view budget as select 1 as spent")
    assert published_chain_head(home) == "y"
    assert "spent" in str(run_sql(home, "from budget"))  # readable as it is until then
    build_release_database(NEW, home)
    assert statements(home) == 9
    with pytest.raises(UserError, match="budget"):
        run_sql(home, "from budget")


def test_a_file_of_a_newer_version_is_refused_by_name_and_replaced_on_purpose_only(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = database.WAREHOUSE_VERSION + 1
    with monkeypatch.context() as newer:
        for name in ("tasks.reporting.database", "tasks.reporting.projection"):
            newer.setattr(sys.modules[name], "WAREHOUSE_VERSION", number)
        publish(home, OLD)
    before = release_database(home).read_bytes()
    says = rf"duckdb is of warehouse version {number}, .* knows versions up to"
    for refused in (
        lambda: build_release_database(NEW, home),
        lambda: build_operator_database(NEW, home),
        lambda: run_sql(home, "select 1"),
        lambda: run_sql(home, "select 1", operator=True),
    ):
        with pytest.raises(UserError, match=says):
            refused()
    assert release_database(home).read_bytes() == before
    build_release_database(NEW, home, rebuild=True)
    assert statements(home) == 9


def test_a_reader_in_another_process_is_undisturbed_and_a_new_one_sees_the_new_file(home: Home) -> None:
    build_release_database(OLD, home)
    code = (
        "import sys, duckdb\n"
        "with duckdb.connect(sys.argv[1], read_only=True) as c:\n"
        "    for line in sys.stdin:\n"
        "        print(c.execute('select count(*) from statements').fetchall()[0][0], flush=True)\n"
    )
    command = [sys.executable, "-c", code, str(release_database(home))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as old:
        assert old.stdin is not None and old.stdout is not None

        def asks(process: subprocess.Popen[str]) -> str:
            process.stdin.write("\n")
            process.stdin.flush()
            return process.stdout.readline().strip()

        assert asks(old) == "1"
        build_release_database(NEW, home)
        assert asks(old) == "1"
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as new:
            assert asks(new) == "9"
            new.stdin.close()
        old.stdin.close()


def test_several_publishers_at_once_leave_the_newest_and_readers_always_have_a_whole_file(home: Home) -> None:
    """The log is read inside `publishing`: here a file that each publisher moves on by one stands for it."""
    log = home.private / "log"
    log.write_text("0")
    build_release_database(OLD, home)

    def publish_next() -> None:
        for _ in range(2):
            with publishing(home):
                at = int(log.read_text()) + 1
                log.write_text(str(at))
                build_release_database(replace(NEW, chain_head=release_key(str(at))), home)

    def read_on() -> None:
        end = time.monotonic() + 5
        while time.monotonic() < end:
            assert statements(home) in (1, 9)

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(in_child, (publish_next, publish_next, publish_next, read_on))) == [0, 0, 0, 0]
    assert published_chain_head(home) == release_key("6")
