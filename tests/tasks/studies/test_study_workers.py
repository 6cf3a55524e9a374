"""The same tables to the bit, whoever computes them, and after kill -9."""

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest

from schemas.errors import StageError, UserError
from tasks.cluster import client
from tasks.storage.home import Home, initialise_home
from tasks.studies import plan, simulating
from tasks.studies.study import plan_study, summarise
from tests.audits import KILLED, in_child
from tests.small_studies import parts_of, run_small, small_settings

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def many_chunks(monkeypatch):
    monkeypatch.setattr(plan, "CHUNK_SECONDS", 0.002)
    monkeypatch.delenv(client.ADDRESS, raising=False)


@pytest.fixture(scope="module")
def alone(tmp_path_factory) -> tuple[pa.Table, bytes]:
    """What this process computes, and its parts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "CHUNK_SECONDS", 0.002)
        home = initialise_home(tmp_path_factory.mktemp("alone") / "home", on_purpose=False)
        return run_small(home), part_bytes(home)


def part_bytes(home: Home) -> bytes:
    folder = home.private / "studies" / "parts"
    return b"".join(name.encode() + (folder / name).read_bytes() for name in sorted(parts_of(home)))


def test_a_study_has_several_chunks(home):
    run_small(home)
    assert len(parts_of(home)) >= 6


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_any_number_of_workers_gives_the_same_bits(home, alone, workers):
    assert run_small(home, workers).equals(alone[0])
    assert part_bytes(home) == alone[1]


def start(*arguments: str) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", *arguments]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@pytest.fixture
def remote_cluster(tmp_path, monkeypatch):
    """A scheduler and two workers, processes of their own, as a user would run them."""
    file = tmp_path / "scheduler.json"
    local = ["--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0"]
    processes = [start("distributed.cli.dask_scheduler", "--scheduler-file", str(file), "--port", "0", *local)]
    options = ["--scheduler-file", str(file), "--nthreads", "1", "--no-nanny", *local]
    processes += [start("distributed.cli.dask_worker", *options, "--local-directory", str(tmp_path)) for _ in range(2)]
    for _ in range(300):
        if file.exists() and file.read_text().strip().endswith("}"):
            break
        time.sleep(0.1)
    monkeypatch.setenv(client.ADDRESS, json.loads(file.read_text())["address"])
    yield
    for process in reversed(processes):
        process.terminate()
        process.wait(30)


def test_a_remote_scheduler_gives_the_same_bits(home, alone, remote_cluster):
    assert run_small(home, workers=2).equals(alone[0])
    assert part_bytes(home) == alone[1]


def test_a_study_killed_in_the_middle_continues_and_is_the_same(home, alone):
    assert in_child(lambda: run_small(home), crash_at="before_rename:4") == KILLED
    before = parts_of(home)
    assert len(before) == 3
    assert run_small(home).equals(alone[0])
    after = parts_of(home)
    assert {name: after[name] for name in before} == before
    assert part_bytes(home) == alone[1]


KILLED_STUDY = """
import sys
from pathlib import Path
sys.path.insert(0, {root!r})
from tasks.storage.home import open_home
from tasks.studies import plan
from tests.small_studies import run_small
plan.CHUNK_SECONDS = 0.03
if __name__ == "__main__":
    run_small(open_home(Path(sys.argv[1])), workers=2, runs=40_000)
"""


def test_kill_9_at_random_moments_with_workers_costs_only_what_was_in_flight(home, tmp_path, monkeypatch):
    monkeypatch.setattr(plan, "CHUNK_SECONDS", 0.03)
    script = tmp_path / "killed_study.py"
    script.write_text(KILLED_STUDY.format(root=str(ROOT)))
    whole = initialise_home(tmp_path / "whole", on_purpose=False)
    expected = run_small(whole, runs=40_000)
    moments, seen = random.Random(5), dict[str, int]()
    for _ in range(2):
        process = subprocess.Popen([sys.executable, str(script), str(home.root)], stderr=subprocess.DEVNULL)
        wanted = len(seen) + moments.randrange(2, 12)
        while process.poll() is None and len(parts_of(home)) < wanted:
            time.sleep(0.005)
        process.kill()
        process.wait()
        time.sleep(1)  # its workers end by themselves
        now = parts_of(home)
        assert {name: now[name] for name in seen} == seen  # nothing is done twice
        assert len(seen) < len(now) < len(parts_of(whole))
        seen = now
    assert run_small(home, runs=40_000).equals(expected)
    assert {name: parts_of(home)[name] for name in seen} == seen
    assert part_bytes(home) == part_bytes(whole)


def test_a_worker_of_another_version_is_the_users_to_mend(home, monkeypatch):
    monkeypatch.setattr(plan, "code_version", lambda: "another")
    with pytest.raises(UserError, match="another version of privcert"):
        run_small(home, workers=1)


def test_a_chunk_that_fails_on_every_worker_stops_the_study_by_name(home):
    (home.private / "studies").mkdir()
    (home.private / "studies" / "parts").mkdir()
    broken = small_settings(mechanisms="laplace", selected=(), selection_share=(), contributions=())
    study = plan_study(home, broken)
    cells = list(study.cells)
    object.__setattr__(cells[0], "statements", -1)
    chunks = plan.chunks_of(cells, 1, 0, home.private / "studies" / "parts")
    with pytest.raises(StageError, match="simulate failed"):
        simulating.simulate_chunks(chunks, home.private, 1, lambda share: None)


def test_equal_counts_give_equal_tables(home, alone):
    study = plan_study(home, small_settings())
    for one, other in zip(summarise(study, alone[0]), summarise(study, run_small(home)), strict=True):
        assert one.equals(other)
