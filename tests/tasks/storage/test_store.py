"""Objects of a real S3 server as paths: whole or not there, out of reach by name, never a word of a client."""

import pickle
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from object_store import ObjectStore, forget_clients

from schemas.errors import UserError
from tasks.storage.home import initialise_home, open_home
from tasks.storage.objects import StoredPath, StoreError, read_several
from tasks.storage.parquet import parquet_file, read_parquet
from tasks.storage.store import check_store, claim_store, store_url
from tests.audits import in_child

SAID = ("secret", "127.0.0.1", "bucket-", "canary")  # what no error may repeat


@pytest.fixture
def root(object_store: ObjectStore) -> StoredPath:
    """A prefix of a bucket of its own."""
    return StoredPath(f"s3://{object_store.new_bucket()}/canary")


def test_an_object_is_put_read_listed_and_removed(root: StoredPath) -> None:
    first, second = root / "folder" / "first", root / "folder" / "second"
    assert root.objects() == {}
    first.write_bytes(b"one")
    second.write_bytes(b"")
    assert (first.read_bytes(), second.open().read(), first.size()) == (b"one", b"", 3)
    assert root.objects() == {first: 3, second: 0} == (root / "folder").objects()
    first.write_bytes(b"other")
    assert list(read_several({first: 5, second: 0, root / "gone": 4})) == [(second, b""), (first, b"other")]
    first.unlink()
    first.unlink(missing_ok=True)
    assert root.objects() == {second: 0}
    for read in (first.read_bytes, first.open, first.size):
        with pytest.raises(FileNotFoundError, match="no such object in the store"):
            read()


def test_a_prefix_is_no_beginning_of_a_name(root: StoredPath) -> None:
    (root / "a" / "x").write_bytes(b"1")
    (root / "ab" / "y").write_bytes(b"2")
    assert list((root / "a").objects()) == [root / "a" / "x"]
    assert (root / "a" / "x").parent == root / "a" and (root / "a").name == "a"


def test_a_path_travels_as_its_url_and_works_in_another_process(root: StoredPath) -> None:
    there = pickle.loads(pickle.dumps(root / "x"))
    assert there == root / "x"
    there.write_bytes(b"of the parent")
    assert in_child(lambda: there.write_bytes(there.read_bytes() + b" and the child")) == 0
    assert there.read_bytes() == b"of the parent and the child"


def test_a_large_file_is_read_in_the_ranges_that_are_needed(
    root: StoredPath, object_store: ObjectStore, tmp_path: Path
) -> None:
    values = np.random.default_rng(1).bytes(12 << 20)
    table = pa.table({"n": range(1200), "text": [values[at * 10_000 : (at + 1) * 10_000] for at in range(1200)]})
    pq.write_table(table, tmp_path / "file", row_group_size=100, compression="none")
    (root / "file").upload(tmp_path / "file")
    seen = len(object_store.requests())
    with parquet_file(root / "file") as file:
        group = file.read_row_group(7, columns=["n", "text"])
    assert group == table.slice(700, 100).combine_chunks()
    assert object_store.counted(seen)["get"] <= 4  # footer, two columns that lie side by side
    with parquet_file(root / "file", streamed=True) as file:
        assert pa.Table.from_batches(file.iter_batches(64)) == table
    pq.write_table(table.slice(0, 10), tmp_path / "small")
    (root / "small").upload(tmp_path / "small")
    seen = len(object_store.requests())
    assert read_parquet(root / "small") == table.slice(0, 10)
    assert object_store.counted(seen) == {"head": 1, "get": 1}  # a small one is read whole
    assert read_parquet(root / "file", columns=["n"])["n"].to_pylist() == list(range(1200))


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("/srv/records", "write PROTOCOL://BUCKET/NAME with one of s3, gs, az, abfs"),
        ("file:///srv/records", "one of s3"),
        ("memory://bucket/x", "one of s3"),
        ("sftp://host/x", "one of s3"),
        ("simplecache::s3://bucket/x", "one of s3"),
        ("s3://bucket", "and nothing else"),
        ("s3://bucket/", "and nothing else"),
        ("s3://bucket//x", "and nothing else"),
        ("s3://bucket/../x", "and nothing else"),
        ("s3://bucket/x?versionId=3", "and nothing else"),
        ("s3://bucket/x*", "and nothing else"),
        (" s3://bucket/x", "one of s3"),
        ("s3://bucket/x ", "and nothing else"),
        ("s3://AKIA:secret@bucket/x", "credentials do not belong in the URL"),
        ("abfs://name:secret@account/x", "credentials do not belong in the URL"),
    ],
)
def test_what_is_no_store_is_refused_by_name(url: str, says: str) -> None:
    with pytest.raises(UserError, match=f"^store: .*{says}") as refused:
        store_url(url)
    assert "secret" not in str(refused.value)


def test_a_package_that_is_missing_is_named() -> None:
    with pytest.raises(UserError, match="az needs the package adlfs, which is not installed here"):
        StoredPath(store_url("az://container/x")).read_bytes()


def everything(path: StoredPath, folder: Path) -> Iterator[object]:
    """Each way to ask a store for something."""
    (folder / "file").write_bytes(b"x")
    yield path.read_bytes
    yield path.open
    yield path.objects
    yield path.unlink
    yield lambda: path.write_bytes(b"canary")
    yield lambda: path.upload(folder / "file")
    yield lambda: path.download(folder / "fetched")
    yield lambda: list(read_several({path: 1}))


def test_out_of_reach_is_said_without_a_word_of_the_client(
    root: StoredPath, object_store: ObjectStore, tmp_path: Path
) -> None:
    (root / "x").write_bytes(b"1")
    object_store.way.stop()
    for ask in everything(root / "x", tmp_path):
        with pytest.raises(StoreError, match=r"does not answer as it should \(EndpointConnectionError\)") as error:
            ask()  # type: ignore[operator]
        assert not [word for word in SAID if word in str(error.value)]
    object_store.way.start()
    assert (root / "x").read_bytes() == b"1"


@pytest.mark.parametrize("how", ["none", "unknown to the server"])
def test_credentials_that_are_not_taken_are_said_so(
    root: StoredPath, object_store: ObjectStore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, how: str
) -> None:
    (root / "x").write_bytes(b"1")
    if how == "none":
        monkeypatch.delenv("AWS_ACCESS_KEY_ID")
        monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
        monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
        monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    else:
        object_store.ask_for_keys_after(0)
    forget_clients()
    try:
        for ask in everything(root / "x", tmp_path):
            with pytest.raises(StoreError, match="store: access is refused: check the credentials") as error:
                ask()  # type: ignore[operator]
            assert not [word for word in SAID if word in str(error.value)]
    finally:
        object_store.ask_for_keys_after(10**9)


def test_no_such_bucket(object_store: ObjectStore) -> None:
    nowhere = StoredPath("s3://bucket-that-is-not-there/prefix")
    with pytest.raises(StoreError, match="no such bucket"):
        nowhere.objects()
    with pytest.raises(StoreError, match="no such bucket"):
        (nowhere / "x").write_bytes(b"")
    with pytest.raises(FileNotFoundError):
        (nowhere / "x").read_bytes()
    with pytest.raises(StoreError, match="not there: restore the bucket"):
        check_store(nowhere.url, "0" * 32)


def test_a_store_belongs_to_one_home(root: StoredPath, tmp_path: Path) -> None:
    home = initialise_home(tmp_path / "home", on_purpose=True, store=f"{root.url}/")
    assert home == open_home(tmp_path / "home") == initialise_home(tmp_path / "home", on_purpose=True, store=root.url)
    assert (home.store, home.corpora, home.scores) == (root.url, root / "corpora", root / "scores")
    home.check_store()
    for refused in (tmp_path / "other", tmp_path / "third"):
        with pytest.raises(UserError, match="store of another home: choose another prefix"):
            initialise_home(refused, on_purpose=True, store=root.url)
        assert not refused.exists()
    with pytest.raises(UserError, match="store of another home"):
        check_store(root.url, "0" * 32)
    with pytest.raises(UserError, match="this home keeps its records in another store, for ever"):
        initialise_home(tmp_path / "home", on_purpose=True, store=f"{root.url}2")


@pytest.mark.parametrize("below", ["corpora", "scores/of/others", "a"])
def test_stores_are_not_nested(root: StoredPath, object_store: ObjectStore, tmp_path: Path, below: str) -> None:
    """Neither inside a store that was just made and is empty, nor around one."""
    outer, inner = f"{root.url}/reviews", f"{root.url}/reviews/{below}"
    initialise_home(tmp_path / "outer", on_purpose=True, store=outer)
    with pytest.raises(UserError, match="inside the store of another home: choose another"):
        initialise_home(tmp_path / "inner", on_purpose=True, store=inner)
    initialise_home(tmp_path / "beside", on_purpose=True, store=f"{root.url}/reviews-2/{below}")
    seen = len(object_store.requests())
    with pytest.raises(UserError, match="the store of another home lies below this prefix: choose another"):
        initialise_home(tmp_path / "around", on_purpose=True, store=root.url)
    assert object_store.counted(seen)["list"] == 1
    assert not (tmp_path / "inner").exists() and not (tmp_path / "around").exists()


def test_a_prefix_that_holds_something_else_is_no_store(root: StoredPath, tmp_path: Path) -> None:
    (root / "letters" / "x").write_bytes(b"1")
    with pytest.raises(UserError, match="this prefix is not empty and not the store of a home"):
        initialise_home(tmp_path / "home", on_purpose=True, store=root.url)
    assert not (tmp_path / "home").exists()


def test_a_home_with_records_of_its_own_takes_no_store(root: StoredPath, tmp_path: Path) -> None:
    home = initialise_home(tmp_path / "home", on_purpose=True)
    assert initialise_home(tmp_path / "young", on_purpose=False).store is None
    assert initialise_home(tmp_path / "young", on_purpose=True, store=f"{root.url}-young").on_purpose
    assert isinstance(home.corpora, Path)
    (home.corpora / "reviews").mkdir()
    with pytest.raises(UserError, match="this home has records of its own, for ever"):
        initialise_home(tmp_path / "home", on_purpose=True, store=root.url)
    assert open_home(tmp_path / "home").store is None and root.objects() == {}


def test_a_home_that_was_killed_before_it_noted_its_store_takes_it_again(root: StoredPath, tmp_path: Path) -> None:
    home = initialise_home(tmp_path / "home", on_purpose=True)
    claim_store(root.url, home.ledger_id)
    assert initialise_home(tmp_path / "home", on_purpose=True, store=root.url).store == root.url


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"not json", b'{"format": 1}'])
def test_a_damaged_identity_is_refused(root: StoredPath, content: bytes) -> None:
    (root / "store.json").write_bytes(content)
    with pytest.raises(StoreError, match=r"store.json cannot be read"):
        check_store(root.url, "0" * 32)


def test_a_store_of_a_newer_privcert_is_refused(root: StoredPath) -> None:
    (root / "store.json").write_bytes(b'{"format": 2, "ledger_id": "x"}')
    with pytest.raises(UserError, match="made by a newer privcert"):
        check_store(root.url, "x")
