"""A worker that shares nothing with the driver but a store: it reads the texts and writes the verdicts by itself."""

from pathlib import Path

import pytest
from object_store import ObjectStore, Way
from worker_machines import Cluster

from tasks.audits.stages import run_audit
from tasks.ledger.log import ReleaseLog
from tasks.storage.home import initialise_home
from tasks.support import scoring
from tests.audits import capped, new_run, settings_for, write_corpus


@pytest.mark.slow
def test_a_worker_with_its_lock_alone_scores_into_the_store(
    cluster: Cluster, object_store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scoring, "IN_PROCESS_SECONDS", 0.0)  # nothing is so little that the driver does it
    store = f"s3://{object_store.new_bucket()}/home"
    home = capped(initialise_home(tmp_path / "home", on_purpose=True, store=store))
    by_driver: list[bytes] = []
    by_worker: list[bytes] = []
    object_store.way.before = lambda content: by_driver.append(content.split(b"\r\n", 1)[0])
    way = Way(object_store.way.target, before=lambda content: by_worker.append(content.split(b"\r\n", 1)[0]))
    way.start()
    try:
        access = object_store.environment | {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{way.port}"}
        cluster.start_worker(**access)
        run_audit(new_run(home, settings_for(write_corpus(tmp_path / "reviews.parquet"), statements=60)))
    finally:
        way.stop()
    assert len(ReleaseLog(home).release_keys()) == 1
    assert parts_put(by_driver) == 0 < parts_put(by_worker)
    listed = [line for line in by_worker if b"list-type=2" in line]
    assert len(listed) == 1  # of the version, not of each chunk; the cache is only written


def parts_put(lines: list[bytes]) -> int:
    return sum(line.startswith(b"PUT ") and b"/scores/" in line for line in lines)
