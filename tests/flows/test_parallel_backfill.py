"""The real flow with --parallel: so many audits at once, never more, and the next one as soon as any ends."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from audits import capped
from backfills import by_quarter, write_dated
from prefect_servers import clean_environment, server  # noqa: F401 (fixture)

from schemas.backfills import BackfillSettings
from tasks.audits.backfill_record import write_options
from tasks.audits.run import write_request
from tasks.ledger.log import ReleaseLog
from tasks.storage.home import Home

QUARTERS = dict.fromkeys(["2024-Q3", "2024-Q4", "2025-Q1", "2025-Q2", "2025-Q3", "2025-Q4"], 12)
ROOT = Path(__file__).parents[2]


@pytest.fixture
def request_files(home: Home, tmp_path: Path) -> tuple[str, str]:
    """A definition with six quarters that are due, and options for two at once, in a home whose cap covers them."""
    definition = by_quarter(write_dated(tmp_path / "reviews.parquet", QUARTERS), first="2024-Q3", last="2025-Q4")
    capped(home, "12")
    return str(write_request(home, definition)), str(write_options(home, BackfillSettings(parallel=2)))


def typed(home: Home, url: str, *command: str) -> "subprocess.CompletedProcess[str]":
    environment = clean_environment() | {"PRIVCERT_HOME": str(home.root), "PREFECT_API_URL": url}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), environment.get("PYTHONPATH", "")])
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)


def at_once(home: Home) -> list[int]:
    """How many audits of a backfill run, after each that began or ended."""
    lines = [json.loads(line) for line in (home.private / "logs" / "events.jsonl").read_text().splitlines()]
    running, counts = 0, []
    for line in lines:
        if line["stage"] == "audit":
            running += 1 if line["event"] == "began" else -1
            counts.append(running)
    return counts


@pytest.mark.slow
def test_two_at_once_are_two_and_never_three(home, request_files, server):  # noqa: F811
    privcert = str(Path(sys.executable).parent / "privcert")
    done = typed(home, server, privcert, "backfill", "--audit", request_files[0], "--parallel", "2", "--json")
    assert done.returncode == 0, done.stderr
    counts = at_once(home)
    assert (len(counts), max(counts), counts[-1]) == (2 * len(QUARTERS), 2, 0)
    assert len(ReleaseLog(home).release_keys()) == len(QUARTERS)


@pytest.mark.slow
def test_the_next_audit_begins_when_any_ends_not_when_the_oldest_does(home, request_files, server):  # noqa: F811
    script = str(Path(__file__).with_name("gated_backfill.py"))
    done = typed(home, server, sys.executable, script, str(home.root), *request_files)
    assert done.returncode == 0, done.stderr
    assert max(at_once(home)) == 2
    assert len(ReleaseLog(home).release_keys()) == len(QUARTERS)
