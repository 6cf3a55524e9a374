"""What holds for registering on the home's own disk holds with records in a store: the same tests, on a real S3 server.

And what only a store can do: be uploaded to before the lock is taken, and be left half-way.
"""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import test_registration
from desk import Desk, fail_at_partition
from object_store import ObjectStore
from test_registration import LIST

from schemas.errors import UserError
from tasks.ledger import database, version_folders
from tasks.ledger.version_folders import VersionFolders
from tasks.storage.home import Home, initialise_home
from tasks.storage.objects import StoredPath, StoreError
from tasks.storage.parquet import read_parquet
from tests.audits import KILLED, in_child

ON_A_DISK = {  # what they look at has its like below
    "test_a_refused_partition_leaves_no_folder_of_those_before_it",
    "test_an_error_while_partitions_move_puts_them_back",
    "test_records_move_into_the_private_zone_of_their_version",
}
FILES = ("record_keys.parquet", "records/part-00000.parquet", "units.parquet")
globals().update({name: of for name, of in vars(test_registration).items() if name.startswith("test_")})
for absent in ON_A_DISK:
    del globals()[absent]


@pytest.fixture
def backend() -> str:
    """One is enough: that registering is the same in a log on a server, test_registration shows."""
    return "sqlite"


@pytest.fixture
def home(object_store: ObjectStore, tmp_path: Path) -> Home:
    """A home whose records lie in a bucket of their own."""
    return initialise_home(tmp_path / "home", on_purpose=True, store=f"s3://{object_store.new_bucket()}/home")


def objects(desk: Desk) -> set[str]:
    """VERSION/FILE of everything that lies in the store for the corpus."""
    assert isinstance(desk.home.corpora, StoredPath)
    return {path.url.split("/reviews/")[1] for path in (desk.home.corpora / "reviews").objects()}


def registered(desk: Desk) -> set[str]:
    """The same of everything that the log knows."""
    versions = {part.version for part in desk.log.partitions("reviews")}
    return {f"{version}/{file}" for version in versions for file in FILES}


def test_records_are_uploaded_to_the_prefix_of_their_version_units_last(desk: Desk, object_store: ObjectStore) -> None:
    staged = desk.stage()
    whole = pq.read_table(staged.path / "units.parquet")
    seen = len(object_store.requests())
    [partition] = desk.register(staged)
    folder = desk.home.corpora / "reviews" / partition.version
    assert read_parquet(folder / "units.parquet") == whole
    puts = [path for kind, path in object_store.requests(seen) if kind == "put"]
    assert [path.partition(f"{partition.version}/")[2] for path in puts] == list(FILES)
    assert objects(desk) == registered(desk)
    assert not (desk.home.private / "corpora").exists()


def test_the_same_content_again_uploads_nothing(desk: Desk, object_store: ObjectStore) -> None:
    desk.register()
    seen = len(object_store.requests())
    desk.register()
    assert object_store.counted(seen)["put"] == 0


def test_what_is_refused_is_not_left_in_the_store(desk: Desk) -> None:
    desk.register(desk.stage("west", units=["ann"]), **LIST)
    before = objects(desk)
    east = desk.stage("east", units=["ann", "bob"])
    with pytest.raises(UserError, match="a unit lies in two partitions"):
        desk.register(east, **LIST)
    assert objects(desk) == before == registered(desk) and (east.path / "units.parquet").exists()


def test_an_error_while_versions_are_added_removes_their_uploads(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    two = [desk.stage("east"), desk.stage("west")]
    fail_at_partition("west", monkeypatch)
    with pytest.raises(OSError, match="disk full"):
        desk.register(*two, **LIST)
    assert objects(desk) == set() and all((part.path / "units.parquet").exists() for part in two)


@pytest.mark.parametrize("place", [f"{point}:{at}" for point in ("before_put", "after_put") for at in range(1, 7)])
def test_killed_while_uploading_nothing_is_registered_and_the_same_again_is_right(desk: Desk, place: str) -> None:
    two = [desk.stage("east"), desk.stage("west")]
    assert in_child(lambda: desk.register(*two, **LIST), crash_at=place) == KILLED
    assert desk.log.partitions("reviews") == []
    assert len(desk.register(*two, **LIST)) == 2
    assert registered(desk) < objects(desk) or place == "before_put:1"  # what a crash leaves, no log knows


@pytest.mark.parametrize("point", ["after_lock", "after_write", "after_commit"])
def test_killed_in_the_transaction_no_registered_version_lacks_an_object(desk: Desk, point: str) -> None:
    staged = desk.stage()
    _ = desk.log
    assert in_child(lambda: desk.register(staged), crash_at=point) == KILLED
    assert registered(desk) <= objects(desk) != set()
    desk.register(staged)
    assert len(desk.log.partitions("reviews")) == 1 and registered(desk) <= objects(desk)


def test_a_commit_of_unknown_outcome_removes_nothing(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def lose_connection(point: str) -> None:
        if point == "after_commit":
            raise ConnectionError

    _ = desk.log
    monkeypatch.setattr(database, "crash_point", lose_connection)
    with pytest.raises(ConnectionError):
        desk.register()
    assert objects(desk) == registered(desk) != set()


def test_content_that_was_registered_during_the_upload_is_not_left_twice(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload, staged, other = VersionFolders.upload, desk.stage(), desk.stage()

    def upload_while_another_registers(folders: VersionFolders, paths: Any) -> None:
        upload(folders, paths)
        monkeypatch.setattr(version_folders.VersionFolders, "upload", upload)
        desk.register(other)

    monkeypatch.setattr(version_folders.VersionFolders, "upload", upload_while_another_registers)
    desk.register(staged)
    assert len(desk.log.partitions("reviews")) == 1 and objects(desk) == registered(desk)


def test_out_of_reach_registers_nothing(desk: Desk, object_store: ObjectStore) -> None:
    staged = desk.stage()
    object_store.way.stop()
    with pytest.raises(StoreError, match="does not answer"):
        desk.register(staged)
    assert desk.log.partitions("reviews") == []
    object_store.way.start()
    desk.register(staged)
    assert objects(desk) == registered(desk) != set()
