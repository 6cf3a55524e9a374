"""Whole runs, with Prefect around them, killed with SIGKILL; then the same command."""

import random
import signal
import subprocess
import sys
import time
from decimal import Decimal
from pathlib import Path

import httpx
import psutil
import pytest
from prefect_servers import clean_environment, server  # noqa: F401 (fixture)

from flows.cli.server import server_named
from schemas.errors import StageError
from tasks.ledger.log import ReleaseLog
from tasks.storage.home import Home, initialise_home
from tests.audits import release_files, write_corpus

OPTIONS = (
    "--corpus reviews --unit author --domain restaurant-reviews --statements 30 --model keyword --allow-vacuous --json"
)


def start(home: Home, source: Path, **environment: str) -> subprocess.Popen[str]:
    command = [str(Path(sys.executable).parent / "privcert"), "audit", str(source), *OPTIONS.split()]
    return subprocess.Popen(
        [*command, "--epsilon", "2", "--theta", "0.05"],
        env=clean_environment() | {"PRIVCERT_HOME": str(home.root)} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> None:
    _, error = process.communicate(timeout=300)
    assert process.returncode == 0, error


def capped_home(root: Path) -> Home:
    home = initialise_home(root, on_purpose=True)
    ReleaseLog(home).set_cap("reviews", Decimal(2))
    return home


def answered_once(home: Home) -> bool:
    log = ReleaseLog(home)
    log.check()
    files = release_files(home)
    return (
        len(log.release_keys()) == 1
        and [line.epsilon.spent for line in log.budget_lines()] == ["2"]
        and {"release.duckdb", "chain_head.json"} <= files.keys()
        and sum(name.endswith(".json") and name.startswith("certificates/") for name in files) == 1
    )


@pytest.mark.slow
def test_ten_runs_killed_at_random_seconds_answer_once(server, tmp_path):  # noqa: F811 (fixture)
    source = write_corpus(tmp_path / "reviews.parquet", authors=200)
    began = time.monotonic()
    finish(start(capped_home(tmp_path / "whole"), source, PREFECT_API_URL=server))
    whole, seconds = time.monotonic() - began, random.Random(20261130)
    for attempt in range(10):
        home = capped_home(tmp_path / f"home{attempt}")
        process = start(home, source, PREFECT_API_URL=server)
        try:
            process.communicate(timeout=seconds.uniform(0.1, 1) * whole)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.communicate()
        finish(start(home, source, PREFECT_API_URL=server))
        assert answered_once(home), attempt


@pytest.mark.slow
def test_the_server_that_a_killed_run_leaves_behind_is_ended_by_the_next(tmp_path):
    home, source = capped_home(tmp_path / "home"), write_corpus(tmp_path / "reviews.parquet")
    process = start(home, source)
    left = wait_for_server(process.pid)
    process.send_signal(signal.SIGKILL)
    process.wait()  # not communicate(): the server that is left holds our pipes open
    assert psutil.pid_exists(left)
    finish(start(home, source))
    assert not psutil.pid_exists(left) or psutil.Process(left).status() == psutil.STATUS_ZOMBIE
    assert answered_once(home)


def test_a_server_that_does_not_answer_is_named(tmp_path):
    home, source = capped_home(tmp_path / "home"), write_corpus(tmp_path / "reviews.parquet")
    process = start(home, source, PREFECT_API_URL="http://127.0.0.1:9/api")
    _, error = process.communicate(timeout=120)
    assert (process.returncode, error) == (2, "privcert: PREFECT_API_URL: no Prefect server answers there\n")


def test_a_server_that_goes_away_is_named(monkeypatch):
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    with pytest.raises(StageError, match="PREFECT_API_URL: the Prefect server does not answer any more") as gone:
        with server_named(), httpx.Client() as client:
            client.get("http://127.0.0.1:9/api/health")
    assert gone.value.__suppress_context__


def test_a_server_that_fails_is_named(monkeypatch):
    """Its database is locked by others, say: 503, also after the client's own attempts."""
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    answer = httpx.Response(503, request=httpx.Request("POST", "http://127.0.0.1:9/api/task_runs"))
    with pytest.raises(StageError, match=r"the Prefect server answers with an error \(HTTP 503\)") as failed:
        with server_named():
            answer.raise_for_status()
    assert failed.value.__suppress_context__


def wait_for_server(parent: int) -> int:
    for _ in range(600):
        for child in psutil.Process(parent).children(recursive=True):
            if "prefect.server.api.server:create_app" in child.cmdline():
                return child.pid
        time.sleep(0.1)
    raise AssertionError("the run started no server")
