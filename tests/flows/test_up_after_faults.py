"""`privcert up` after it was killed in the middle of a run, and after a time in which nobody took what was due."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

import psutil
import pytest
from prefect_servers import clean_environment
from up_commands import Up, end_up, is_deployed, make_due, nightly_home, runs, sealed, start_up, until

from tasks.ledger.log import ReleaseLog
from tasks.storage.home import Home

LEASE = timedelta(minutes=5)  # Prefect's, of the slot of a run
OPTIONS = ("--dask-workers", "0")


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Up]:
    """Without a schedule; its worker takes runs of the pool cpu."""
    started = start_up(*nightly_home(tmp_path, {"2025-Q3": 400}), *OPTIONS)
    try:
        yield started
    finally:
        end_up(started)


def kill_with_runs(up: Up) -> None:
    """The machine loses power: nothing that was started is left."""
    started = psutil.Process(up.process.pid).children(recursive=True)
    up.process.kill()
    up.process.communicate()
    for process in started:  # their watchdogs end most of them
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(started, timeout=20)


def let_leases_end(home: Home) -> list[Path]:
    """As if their time had passed; their files, which the server removes when it gives the slots back."""
    folder, ends = home.private / "prefect-up" / "concurrency_leases", {}
    leases = [path for path in folder.glob("*.json") if path.name != "expirations.json"]
    for path in leases:
        lease = json.loads(path.read_text())
        lease["expiration"] = ends[lease["id"]] = (datetime.fromisoformat(lease["expiration"]) - LEASE).isoformat()
        path.write_text(json.dumps(lease))
    (folder / "expirations.json").write_text(json.dumps(ends))
    return leases


@pytest.mark.slow
def test_the_slot_of_a_run_that_was_killed_with_everything_is_free_again(up: Up) -> None:
    until(lambda: is_deployed(up), up)
    make_due(up, "backfill_support")
    until(lambda: runs(up, "Running"), up)
    kill_with_runs(up)
    leases = let_leases_end(up.home)
    again = start_up(up.home, up.source, *OPTIONS)
    try:
        until(lambda: is_deployed(again) and runs(again, "Crashed"), again)
        assert not runs(again, "Completed") and not runs(again, "Running")  # no place in the pool is lost
        until(lambda: not any(lease.exists() for lease in leases), again)
        make_due(again, "backfill_support")
        until(lambda: runs(again, "Completed") or runs(again, "Cancelled"), again)
        assert not runs(again, "Cancelled")
        assert sealed(again) == 1
    finally:
        end_up(again)
    assert [line.epsilon.spent for line in ReleaseLog(up.home).budget_lines()] == ["2"]


@pytest.mark.slow
def test_of_what_was_due_while_no_worker_was_there_one_run_is_made(up: Up) -> None:
    """Nobody takes runs of the pool gpu until a worker comes: five nights later."""
    name, nights = "backfill_support_gpu", 5
    until(lambda: is_deployed(up), up)
    for night in range(nights):
        make_due(up, name, timedelta(days=nights - night))
    until(lambda: len(runs(up, "Late")) == nights, up)
    command = [sys.executable, "-m", "prefect", "worker", "start", "--pool", "gpu", "--type", "process"]
    environment = clean_environment() | {"PREFECT_API_URL": up.api, "PRIVCERT_HOME": str(up.home.root)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as worker:
        try:
            until(lambda: len(runs(up, "Completed") + runs(up, "Cancelled")) == nights, up)
        finally:
            worker.terminate()
    assert (len(runs(up, "Completed")), len(runs(up, "Cancelled"))) == (1, nights - 1)
    assert sealed(up) == 1
