"""privcert warehouse push and pull: the published database, by way of a real S3 server, to a reader's own disk."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from object_store import ObjectStore
from private_audits import privcert

from tasks.reporting.copies import pull_database
from tasks.reporting.database import WAREHOUSE_VERSION
from tasks.reporting.places import operator_database, release_database
from tasks.reporting.projection import build_operator_database, build_release_database
from tasks.storage.home import Home
from tasks.storage.objects import StoredPath
from tests.audits import KILLED, in_child
from tests.projections import one_release


@pytest.fixture
def published(home: Home) -> Home:
    """A home with both databases."""
    build_release_database(one_release([5, 0]), home)
    build_operator_database(one_release([5, 0]), home)
    return home


@pytest.fixture
def url(object_store: ObjectStore) -> str:
    """Of an object that is not there yet."""
    return f"s3://{object_store.new_bucket()}/reviews/release.duckdb"


def test_what_is_pushed_is_what_a_reader_queries(published: Home, url: str, tmp_path: Path) -> None:
    pushed = json.loads(privcert(published.root, "warehouse", "push", url, "--json").stdout)
    reader = tmp_path / "reader"
    for _ in range(2):  # again replaces it
        pulled = json.loads(privcert(reader, "warehouse", "pull", url, "--json").stdout)
        assert pulled["chain_head"] == pushed["chain_head"] and pulled["path"] == str(reader / "release/release.duckdb")
    assert release_database(published).read_bytes() == Path(pulled["path"]).read_bytes()
    assert Path(pulled["path"]).stat().st_mode & 0o777 == 0o644 and (reader / "release").stat().st_mode & 0o777 == 0o755
    assert not (reader / "private").exists()
    answer = privcert(reader, "sql", "select count(*) as releases from releases", "--json")
    assert json.loads(answer.stdout) == {"rows": [{"releases": 1}]}
    assert [path.name for path in (reader / "release").iterdir()] == ["release.duckdb"]
    elsewhere = privcert(reader, "warehouse", "pull", url, "--output", str(tmp_path / "copy.duckdb"))
    assert elsewhere.returncode == 0 and (tmp_path / "copy.duckdb").is_file()


def test_an_operators_home_is_not_pulled_into(published: Home, url: str) -> None:
    assert privcert(published.root, "warehouse", "push", url).returncode == 0
    before = release_database(published).read_bytes()
    refused = privcert(published.root, "warehouse", "pull", url)
    assert refused.returncode == 2 and "output: this home publishes a database of its own" in refused.stderr
    assert release_database(published).read_bytes() == before


def objects(published: Home, folder: Path) -> Iterator[tuple[str, bytes, str]]:
    """What is no release database for this code."""
    newer, other = folder / "newer", folder / "other"
    newer.write_bytes(release_database(published).read_bytes())
    with duckdb.connect(str(newer)) as connection:
        connection.execute("update base.origin set warehouse_version = ?", [WAREHOUSE_VERSION + 1])
    with duckdb.connect(str(other)) as connection:
        connection.execute("create table t (x int)")
    whole = release_database(published).read_bytes()
    yield "newer", newer.read_bytes(), "the object was built by a newer privcert: install that version"
    for name, content in (
        ("empty", b""),
        ("junk", b"junk" * 5000),
        ("another database", other.read_bytes()),
        ("the operator's", operator_database(published).read_bytes()),
        ("half", whole[: len(whole) // 2]),
    ):
        yield name, content, "the object is no release database of privcert, or it is damaged"


def test_what_is_no_release_database_or_a_newer_one_is_refused_and_the_old_one_stays(
    published: Home, url: str, tmp_path: Path
) -> None:
    old = tmp_path / "copy.duckdb"
    for name, content, says in objects(published, tmp_path):
        old.write_bytes(b"old")
        StoredPath(url).write_bytes(content)
        refused = privcert(tmp_path / "reader", "warehouse", "pull", url, "--output", str(old))
        assert (refused.returncode, refused.stderr.count("\n")) == (2, 1), name
        assert says in refused.stderr, name
        assert old.read_bytes() == b"old", name
        assert not list(tmp_path.glob(".tmp-*")), name


def test_nothing_there_out_of_reach_and_no_folder_are_named(
    published: Home, url: str, object_store: ObjectStore, tmp_path: Path
) -> None:
    reader, output = tmp_path / "reader", str(tmp_path / "copy.duckdb")
    missing = privcert(reader, "warehouse", "pull", url, "--output", output)
    assert (missing.returncode, missing.stderr) == (2, "privcert: url: there is no such object, or no such bucket\n")
    assert privcert(published.root, "warehouse", "push", url).returncode == 0
    nowhere = privcert(reader, "warehouse", "pull", url, "--output", str(tmp_path / "none" / "copy.duckdb"))
    assert (nowhere.returncode, nowhere.stderr) == (2, "privcert: output: there is no such folder\n")
    for command in ("push", "pull"):
        wrong = privcert(reader, "warehouse", command, "file:///srv/x", *(["--output", output] * (command == "pull")))
        assert wrong.returncode == 2
    object_store.way.stop()
    for command in (("push", url), ("pull", url, "--output", output)):
        gone = privcert(published.root, "warehouse", *command)
        assert gone.returncode == 2 and "store: it does not answer as it should" in gone.stderr
        assert url not in gone.stderr
    assert not Path(output).exists() and not list(tmp_path.glob(".tmp-*"))


def test_nothing_is_pushed_before_anything_is_published(home: Home, url: str) -> None:
    refused = privcert(home.root, "warehouse", "push", url)
    assert refused.returncode == 2 and "no database at" in refused.stderr
    release_database(home).write_bytes(b"junk")
    refused = privcert(home.root, "warehouse", "push", url)
    assert refused.returncode == 2 and "release.duckdb is no release database" in refused.stderr


@pytest.mark.parametrize("point", ["before_rename", "after_rename"])
def test_killed_while_pulling_the_old_or_the_new_file_is_there(
    published: Home, url: str, tmp_path: Path, point: str
) -> None:
    assert privcert(published.root, "warehouse", "push", url).returncode == 0
    target = tmp_path / "copy.duckdb"
    target.write_bytes(b"old")
    assert in_child(lambda: pull_database(url, target), crash_at=point) == KILLED
    whole = release_database(published).read_bytes()
    assert target.read_bytes() == (b"old" if point == "before_rename" else whole)
    pull_database(url, target)
    assert target.read_bytes() == whole


def test_killed_while_the_object_comes_in_the_old_file_stays(
    published: Home, url: str, object_store: ObjectStore, tmp_path: Path
) -> None:
    """SIGKILL between the question and the last byte: the server's answer is held back."""
    assert privcert(published.root, "warehouse", "push", url).returncode == 0
    target = tmp_path / "copy.duckdb"
    target.write_bytes(b"old")
    asked: list[bytes] = []

    def hold(content: bytes) -> None:
        if content.startswith(b"GET "):
            asked.append(content)
            time.sleep(5)

    object_store.way.before = hold
    command = [str(Path(sys.executable).parent / "privcert"), "warehouse", "pull", url, "--output", str(target)]
    process = subprocess.Popen(command)
    while not asked:
        assert process.poll() is None
        time.sleep(0.02)
    process.kill()
    process.wait()
    object_store.way.before = None
    assert target.read_bytes() == b"old"
    pull_database(url, target)
    assert target.read_bytes() == release_database(published).read_bytes()
