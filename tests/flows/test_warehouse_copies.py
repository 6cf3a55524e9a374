"""privcert warehouse push and pull: the published database, by way of a real S3 server, to a reader's own disk."""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from object_store import ObjectStore
from private_audits import privcert

from schemas.errors import UserError
from tasks.audits import publishing
from tasks.audits.publishing import push, refresh_operator_database
from tasks.audits.stages import run_audit
from tasks.ledger.export import public_key
from tasks.ledger.log import ReleaseLog
from tasks.reporting import copies
from tasks.reporting.copies import pull_database
from tasks.reporting.database import WAREHOUSE_VERSION
from tasks.reporting.places import operator_database, release_database
from tasks.storage.home import Home, initialise_home, open_home
from tasks.storage.objects import StoredPath
from tests.audits import KILLED, capped, in_child, new_run, settings_for, write_corpus

OLD = bytes(8) + b"DUCK, of before"


def make_folder(path: Path) -> Path:
    path.mkdir()
    return path


def audited(folder: Path) -> Home:
    """A new home in this folder, capped at 2, with one release of 40 authors."""
    home = capped(initialise_home(folder / "home", on_purpose=True), "2")
    run_audit(new_run(home, settings_for(write_corpus(folder / "reviews.parquet"))))
    return home


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home with one release and both databases; tests copy it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PRIVCERT_LOG_URL", raising=False)
        home = audited(tmp_path_factory.mktemp("released"))
        refresh_operator_database(home)
    return home


@pytest.fixture
def published(released: Home, tmp_path: Path) -> Home:
    """A copy of it."""
    shutil.copytree(released.root, tmp_path / "home")
    return Home(tmp_path / "home", released.ledger_id, on_purpose=True)


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
    assert {path.name for path in (reader / "release").iterdir()} == {"release.duckdb", "release.duckdb.json"}
    assert (reader / "release/release.duckdb.json").read_bytes() == StoredPath(f"{url}.json").read_bytes()
    elsewhere = privcert(reader, "warehouse", "pull", url, "--output", str(tmp_path / "copy.duckdb"))
    assert elsewhere.returncode == 0 and (tmp_path / "copy.duckdb").is_file()


def test_an_operators_home_is_not_pulled_into(published: Home, url: str) -> None:
    assert privcert(published.root, "warehouse", "push", url).returncode == 0
    before = release_database(published).read_bytes()
    refused = privcert(published.root, "warehouse", "pull", url)
    assert refused.returncode == 2 and "output: this home publishes a database of its own" in refused.stderr
    assert release_database(published).read_bytes() == before


def capped_again(home: Home, epsilon: str) -> None:
    """The log goes on."""
    ReleaseLog(home).set_cap("reviews", Decimal(epsilon), "asked for by a test")


def cap_in(database: Path) -> str:
    with duckdb.connect(str(database), read_only=True) as connection:
        [(cap,)] = connection.sql("select cap_epsilon from budget_total").fetchall()
    return str(cap)


def test_what_the_log_knows_and_the_database_does_not_is_published_before_it_is_pushed(
    published: Home, url: str, tmp_path: Path
) -> None:
    capped_again(published, "24")
    assert cap_in(release_database(published)) == "2"
    push(published, url)
    pull_database(url, tmp_path / "copy.duckdb")
    assert cap_in(tmp_path / "copy.duckdb") == cap_in(release_database(published)) == "24"
    release_database(published).write_bytes(b"junk")
    assert push(published, url).releases == 1
    release_database(published).unlink()
    assert push(published, url).releases == 1


def test_a_push_replaces_nothing_but_an_earlier_one_of_its_log(published: Home, url: str, tmp_path: Path) -> None:
    StoredPath(url).write_bytes(b"something else, of somebody else")
    with pytest.raises(UserError, match=r"url: it stays: what lies there is no release database"):
        push(published, url)
    assert StoredPath(url).read_bytes() == b"something else, of somebody else"
    StoredPath(url).unlink()
    shutil.copytree(published.root, tmp_path / "older")
    capped_again(published, "24")
    for _ in range(2):
        newest = push(published, url)
    older = Home(tmp_path / "older", published.ledger_id, on_purpose=True)
    with pytest.raises(UserError, match=r"url: the database there knows more of this release log than this home"):
        push(older, url)
    with pytest.raises(UserError, match=r"url: the database there is of another release log; it stays"):
        push(audited(make_folder(tmp_path / "other")), url)
    StoredPath(f"{url}.json").unlink()  # a push that was killed between its two puts
    for home in (older, Home(tmp_path / "other" / "home", "", on_purpose=True)):
        with pytest.raises(UserError, match=r"; it stays: "):
            push(open_home(home.root), url)
    push(published, url)
    pull_database(url, tmp_path / "copy.duckdb")
    assert newest.chain_head == pull_database(url, tmp_path / "copy.duckdb").origin["chain_head"]


def test_a_push_beside_a_publication_pushes_what_was_published(
    published: Home, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cap is set, and published, between the push's own publication and its put."""
    original = publishing.publish

    def published_by_another(*arguments: Any, **options: Any) -> list[Path]:
        done = original(*arguments, **options)
        if not calls:
            calls.append(1)
            capped_again(published, "24")
            original(published, ())
        return done

    calls: list[int] = []
    monkeypatch.setattr(publishing, "publish", published_by_another)
    assert push(published, url).chain_head == ReleaseLog(published).chain_hashes()[-1]


def test_what_is_pulled_is_not_put_into_a_home(published: Home, url: str) -> None:
    push(published, url)
    before = {path: path.read_bytes() for path in published.private.glob("*") if path.is_file()}
    for name in ("release_log.sqlite", "home.json"):
        refused = privcert(published.root, "warehouse", "pull", url, "--output", str(published.private / name))
        assert refused.returncode == 2 and "private zone of a home" in refused.stderr
    assert {path: path.read_bytes() for path in before} == before


def test_what_is_pushed_is_signed_and_said(published: Home, url: str, tmp_path: Path) -> None:
    pushed = privcert(published.root, "warehouse", "push", url)
    key = public_key(published)
    assert f"signed by   {key}" in pushed.stdout and "releases    1\n" in pushed.stdout
    reader, head = tmp_path / "reader", ReleaseLog(published).chain_hashes()
    unverified = privcert(reader, "warehouse", "pull", url)
    assert f"chain head  {head[-1]} (entry {len(head) - 1})\n" in unverified.stdout
    assert f"signed by   not verified: no --key; the file itself names {key}" in unverified.stdout
    verified = privcert(reader, "warehouse", "pull", url, "--key", key.upper())
    assert f"signed by   the trusted key, {key}\n" in verified.stdout
    said = json.loads(privcert(reader, "warehouse", "pull", url, "--key", key, "--json").stdout)
    assert (said["verified"], said["signed_by"], said["went_back"]) == (True, key, None)
    assert (said["releases"], said["entries"], said["chain_head"]) == (1, len(head) - 1, head[-1])
    for other, says in (("0" * 64, "key: the database is signed with another key"), ("3b6a", "key: write the public")):
        refused = privcert(reader, "warehouse", "pull", url, "--key", other)
        assert refused.returncode == 2 and says in refused.stderr


def altered(manifest: bytes) -> Iterator[tuple[bytes, str]]:
    """The manifest as somebody without the key could write it."""
    said = json.loads(manifest)
    for name, value in (("releases", 9), ("chain", said["chain"][:-1]), ("public_key", "0" * 64)):
        yield json.dumps(said | {name: value}).encode(), "the signature of its manifest does not fit"
    for name, value in (("format", "privcert-database/9"), ("releases", -1), ("chain", [])):
        yield json.dumps(said | {name: value}).encode(), "no manifest of this version"
    yield b"junk", "no manifest of this version"
    yield json.dumps(said | {"more": 1}).encode(), "no manifest of this version"


def test_an_altered_manifest_or_database_is_refused(
    published: Home, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies, "_WAITS_SECONDS", ())
    push(published, url)
    manifest, target = StoredPath(f"{url}.json"), tmp_path / "copy.duckdb"
    whole = manifest.read_bytes()
    for content, says in altered(whole):
        manifest.write_bytes(content)
        with pytest.raises(UserError, match=says):
            pull_database(url, target)
    manifest.write_bytes(whole)
    StoredPath(url).write_bytes(StoredPath(url).read_bytes() + b" ")
    with pytest.raises(UserError, match="not the one that its manifest speaks of"):
        pull_database(url, target)
    manifest.unlink()
    with pytest.raises(UserError, match="key: nothing signed lies beside"):
        pull_database(url, target, key=public_key(published))
    assert not target.exists() and not list(tmp_path.glob(".tmp-*"))


def test_a_reader_between_the_two_puts_of_a_push_waits_for_the_second(
    published: Home, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    push(published, url)
    capped_again(published, "3")
    assert in_child(lambda: push(published, url), crash_at="after_put") == KILLED  # the database is there, no manifest
    target = tmp_path / "copy.duckdb"
    monkeypatch.setattr(copies, "_WAITS_SECONDS", (0.0,))
    with pytest.raises(UserError, match="it is just being pushed"):
        pull_database(url, target)
    monkeypatch.setattr(copies.time, "sleep", lambda _: push(published, url))  # the second put comes meanwhile
    assert pull_database(url, target, key=public_key(published)).is_verified
    assert cap_in(target) == "3"


def test_a_reader_never_goes_back_unless_told_to(published: Home, url: str, tmp_path: Path) -> None:
    reader, first, second = tmp_path / "reader", url, f"{url}.second"
    push(published, first)
    unsigned = StoredPath(f"{url}.unsigned")
    unsigned.write_bytes(StoredPath(first).read_bytes())
    capped_again(published, "24")
    push(published, second)
    entries = len(ReleaseLog(published).chain_hashes()) - 1
    assert privcert(reader, "warehouse", "pull", first).returncode == 0
    assert privcert(reader, "warehouse", "pull", second).returncode == 0  # it goes on
    database = reader / "release" / "release.duckdb"
    refused = privcert(reader, "warehouse", "pull", first)
    assert refused.returncode == 2 and cap_in(database) == "24"
    assert f"is older than the one here: it ends at entry {entries - 1} of the release log" in refused.stderr
    refused = privcert(reader, "warehouse", "pull", unsigned.url)
    assert refused.returncode == 2 and "is older than the one here" in refused.stderr
    taken = privcert(reader, "warehouse", "pull", first, "--older")
    assert taken.returncode == 0 and "--older     the database is older than the one that was here" in taken.stdout
    assert cap_in(database) == "2"
    database.with_name("release.duckdb.json").unlink()  # as an older privcert left it: a longer chain tells even so
    assert privcert(reader, "warehouse", "pull", second).returncode == 0
    database.with_name("release.duckdb.json").unlink()
    refused = privcert(reader, "warehouse", "pull", first)
    assert refused.returncode == 2 and "does not go on from the one here" in refused.stderr
    refused = privcert(reader, "warehouse", "pull", unsigned.url)
    assert refused.returncode == 2 and "cannot be compared with the one here" in refused.stderr


def test_the_same_log_read_at_fewer_thresholds_is_older(published: Home, url: str, tmp_path: Path) -> None:
    target, key = tmp_path / "copy.duckdb", ReleaseLog(published).release_keys()[0]
    push(published, url)
    ReleaseLog(published).ask_threshold(key, Decimal("0.1"))
    push(published, f"{url}.second")
    pull_database(f"{url}.second", target)
    with pytest.raises(UserError, match="it knows fewer thresholds"):
        pull_database(url, target)


def test_another_history_of_the_log_is_refused(published: Home, url: str, tmp_path: Path) -> None:
    """A backup of both zones is restored, and the log goes another way: nothing in the home can tell, a reader can."""
    shutil.copytree(published.root, tmp_path / "backup")
    restored = Home(tmp_path / "backup", published.ledger_id, on_purpose=True)
    capped_again(published, "3")
    push(published, url)
    target = tmp_path / "copy.duckdb"
    pull_database(url, target)
    capped_again(restored, "4")
    capped_again(restored, "5")
    push(restored, f"{url}.restored")
    with pytest.raises(
        UserError, match="does not go on from the one here: it is older, or its release log was restored"
    ):
        pull_database(f"{url}.restored", target)
    push(audited(make_folder(tmp_path / "other")), f"{url}.other")
    with pytest.raises(UserError, match="is of another release log than the one here"):
        pull_database(f"{url}.other", target)
    pulled = pull_database(f"{url}.other", target, older=True)
    assert pulled.went_back is not None and pulled.releases == 1


def test_the_bucket_of_the_private_store_is_not_pushed_to(object_store: ObjectStore, tmp_path: Path) -> None:
    bucket = object_store.new_bucket()
    stored = initialise_home(tmp_path / "stored", on_purpose=True, store=f"s3://{bucket}/private/reviews")
    before = object_store.keys(f"s3://{bucket}")
    for place in ("private/reviews/release.duckdb", "private/reviews", "private", "release.duckdb"):
        refused = privcert(stored.root, "warehouse", "push", f"s3://{bucket}/{place}")
        assert refused.returncode == 2 and "url: this is the bucket of the home's store" in refused.stderr, place
    assert object_store.keys(f"s3://{bucket}") == before
    public = privcert(stored.root, "warehouse", "push", f"s3://{object_store.new_bucket()}/release.duckdb")
    assert "nothing was released yet" in public.stderr


def test_a_readers_home_says_where_things_are_done(published: Home, url: str, tmp_path: Path) -> None:
    """Not to run commands there that send the reader to other commands that do not work there either."""
    reader = tmp_path / "reader"
    push(published, url)
    assert privcert(reader, "warehouse", "pull", url).returncode == 0
    key = ReleaseLog(published).release_keys()[0][:8]
    for command in (("open",), ("open", key), ("export", key, "--output", str(tmp_path / "report.html"))):
        refused = privcert(reader, "report", *command)
        assert (
            refused.returncode == 2 and "only the database was pulled, no report and no certificate" in refused.stderr
        )
    for words in (
        ("report", "build"),
        ("export", "release", key),
        ("warehouse", "rebuild"),
        ("warehouse", "push", url),
    ):
        refused = privcert(reader, *words)
        assert refused.returncode == 2 and "this has to be done in the home that publishes" in refused.stderr
    asked = privcert(reader, "sql", "select 1 as one", "--json")
    assert (asked.returncode, asked.stderr) == (0, "")


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
        old.write_bytes(OLD)
        StoredPath(url).write_bytes(content)
        refused = privcert(tmp_path / "reader", "warehouse", "pull", url, "--output", str(old))
        assert (refused.returncode, refused.stderr.count("\n")) == (2, 1), name
        assert says in refused.stderr, name
        assert old.read_bytes() == OLD, name
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
    assert refused.returncode == 2 and "nothing was released yet" in refused.stderr
    assert not StoredPath(url.rpartition("/")[0]).objects()


@pytest.mark.parametrize("point", ["before_rename", "after_rename"])
def test_killed_while_pulling_the_old_or_the_new_file_is_there(
    published: Home, url: str, tmp_path: Path, point: str
) -> None:
    assert privcert(published.root, "warehouse", "push", url).returncode == 0
    target = tmp_path / "copy.duckdb"
    target.write_bytes(OLD)
    assert in_child(lambda: pull_database(url, target), crash_at=point) == KILLED
    whole = release_database(published).read_bytes()
    assert target.read_bytes() == (OLD if point == "before_rename" else whole)
    pull_database(url, target)
    assert target.read_bytes() == whole


def test_killed_while_the_object_comes_in_the_old_file_stays(
    published: Home, url: str, object_store: ObjectStore, tmp_path: Path
) -> None:
    """SIGKILL between the question and the last byte: the server's answer is held back."""
    assert privcert(published.root, "warehouse", "push", url).returncode == 0
    target = tmp_path / "copy.duckdb"
    target.write_bytes(OLD)
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
    assert target.read_bytes() == OLD
    pull_database(url, target)
    assert target.read_bytes() == release_database(published).read_bytes()
