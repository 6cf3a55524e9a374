"""Scoring: each pair once, resumable after kill -9 of anything, and silent about texts."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from scripted_models import FAILING_TEXT, STATEMENTS, Record, Scripted, expected_counts, scored_pairs, write_version

from schemas.audit import UnitSupport
from schemas.errors import UserError
from schemas.statements import Statement
from tasks.cluster import client
from tasks.storage.home import Home
from tasks.support import chunks, cluster, scoring
from tasks.support.counts import support_counts
from tasks.support.models import ModelEntry, ModelReference, load_support_model
from tasks.support.scoring import ScoringError, ScoringSummary, score_version

LINE_BYTES = 70  # of the side log, about
ROOT, HERE = Path(__file__).parents[3], Path(__file__).parent


def records_of(number: int, prefix: str = "text") -> list[Record]:
    return [(f"u{i % 31}", str(i), f"{prefix} {i}") for i in range(number)]


def version_of(home: Home, name: str, records: list[Record], files: int = 2) -> Path:
    return write_version(home, home.root / name, records, sorted({unit for unit, _, _ in records}), files)


def assert_counts_are_right(home: Home, version: Path, records: list[Record], reference: ModelReference) -> None:
    fingerprint = load_support_model(reference).fingerprint
    counts = support_counts(version, STATEMENTS, fingerprint, UnitSupport.ANY, home)
    assert counts.tolist() == expected_counts(records, STATEMENTS, all_records=False)


def pids(log: Path) -> Counter[int]:
    return Counter(int(line.split()[0]) for line in log.read_text().splitlines()) if log.exists() else Counter()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "pairs.log"


def test_every_pair_is_scored_once_and_the_second_run_scores_none(home: Home, log: Path) -> None:
    records = [*records_of(40), ("u1", "again", "text 3"), ("u2", "broken", None)]
    version, reference = version_of(home, "version", records), Scripted(log=log).reference()
    assert score_version(version, STATEMENTS, reference, home) == ScoringSummary(40 * 11, 0)
    assert score_version(version, STATEMENTS, reference, home) == ScoringSummary(0, 40 * 11)
    assert len(scored_pairs(log)) == len(set(scored_pairs(log))) == 40 * 11
    assert_counts_are_right(home, version, records, reference)


def test_a_replaced_version_scores_only_the_changed_record(home: Home, log: Path) -> None:
    records, reference = records_of(30), Scripted(log=log).reference()
    score_version(version_of(home, "old", records), STATEMENTS, reference, home)
    changed = [*records[:17], ("u17", "17", "a new text"), *records[18:]]
    new = version_of(home, "new", changed[::-1], files=3)
    assert score_version(new, STATEMENTS, reference, home) == ScoringSummary(11, 29 * 11)
    assert_counts_are_right(home, new, changed, reference)


def test_a_new_statement_is_scored_alone_and_a_subset_not_at_all(home: Home, log: Path) -> None:
    version, reference = version_of(home, "version", records_of(20)), Scripted(log=log).reference()
    score_version(version, STATEMENTS[:6], reference, home)
    assert score_version(version, STATEMENTS[:7][::-1], reference, home) == ScoringSummary(20, 120)
    assert score_version(version, STATEMENTS[2:5], reference, home) == ScoringSummary(0, 60)
    assert len(set(scored_pairs(log))) == len(scored_pairs(log))


def test_a_text_with_more_statements_than_a_chunk_holds_is_cut_by_statements(home: Home, log: Path) -> None:
    many = [Statement.of(f"Claim {number}.") for number in range(301)]
    version, reference = version_of(home, "version", records_of(3)), Scripted(log=log).reference()
    assert score_version(version, many, reference, home) == ScoringSummary(903, 0)
    assert len(set(scored_pairs(log))) == len(scored_pairs(log)) == 903


def test_nothing_to_score_is_no_error(home: Home) -> None:
    empty = version_of(home, "empty", [])
    assert score_version(empty, STATEMENTS, Scripted().reference(), home) == ScoringSummary(0, 0)
    unreadable = version_of(home, "unreadable", [("a", "1", None)])
    assert score_version(unreadable, STATEMENTS, Scripted().reference(), home) == ScoringSummary(0, 0)
    some = version_of(home, "some", records_of(2))
    assert score_version(some, [], Scripted().reference(), home) == ScoringSummary(0, 0)


def test_progress_rises_to_one(home: Home) -> None:
    shares: list[float] = []
    version = version_of(home, "version", records_of(60))
    score_version(version, STATEMENTS, Scripted().reference(), home, shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert shares[0] < 0.1


def test_statements_that_are_not_distinct_are_refused(home: Home) -> None:
    version = version_of(home, "version", records_of(2))
    with pytest.raises(ValueError, match="distinct"):
        score_version(version, [STATEMENTS[0], STATEMENTS[0]], Scripted().reference(), home)


def test_a_model_that_answers_in_the_wrong_shape_is_stopped(home: Home) -> None:
    with pytest.raises(ScoringError, match="scoring failed"):
        score_version(version_of(home, "v", records_of(3)), STATEMENTS, Scripted(fault="shape").reference(), home)


def test_a_worker_with_another_model_is_refused(home: Home, log: Path) -> None:
    version, reference = version_of(home, "v", records_of(3)), Scripted(log=log).reference()
    seen: list[chunks.Chunk] = []

    def remember(chunk: chunks.Chunk) -> chunks.ChunkOutcome:
        seen.append(chunk)
        return score(chunk)

    score = scoring.score_chunk
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scoring, "score_chunk", remember)
        score_version(version, STATEMENTS, reference, home)
    other = Scripted(log=log).reference("other build")
    outcome = chunks.score_chunk(replace(seen[0], reference=other))
    assert outcome.failure == chunks.OTHER_MODEL
    assert repr(seen[0]).startswith("<tasks.support.chunks.Chunk object")


def child(code: str, *arguments: str | Path) -> "subprocess.Popen[str]":
    """A Python process with this folder on its path; `version`, `home`, `records` and `scoring` are at hand."""
    prelude = f"""
import sys
sys.path[:0] = [{str(ROOT)!r}, {str(HERE)!r}]
from pathlib import Path
from scripted_models import *
from tasks.storage.home import open_home
from tasks.support import scoring
from tasks.support.scoring import *
home, version, log = open_home(Path(sys.argv[1])), Path(sys.argv[2]), Path(sys.argv[3])
"""
    command = [sys.executable, "-c", prelude + code, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=HERE)


def kill_at_random_moments(
    start: str, home: Home, version: Path, log: Path, kills: int, most_pairs: int, seed: int
) -> None:
    """Start the code, kill -9 it when the side log has grown by a random number of pairs; `kills` times."""
    moments = random.Random(seed)
    for _ in range(kills):
        stop_at = size_of(log) + LINE_BYTES * moments.randrange(1, most_pairs)
        process = child(start, home.root, version, log)
        while process.poll() is None and size_of(log) < stop_at:
            time.sleep(0.02)
        time.sleep(moments.random() * 0.1)
        process.kill()
        process.communicate()


def size_of(log: Path) -> int:
    return log.stat().st_size if log.exists() else 0


def wait_until_nobody_scores(log: Path) -> None:
    """Dask workers of a killed driver end by themselves."""
    size = -1
    for _ in range(60):
        if size == (size := size_of(log)):
            return
        time.sleep(1)
    raise AssertionError("workers outlived their driver")


def test_kill_9_of_the_driver_loses_at_most_the_chunk_in_flight(home: Home, log: Path) -> None:
    records, kills = records_of(110), 6
    version = version_of(home, "version", records)
    start = """
scoring.CHUNK_SECONDS, scoring.IN_PROCESS_SECONDS = 0.2, 1e9
score_version(version, STATEMENTS, Scripted(seconds=0.002, log=log).reference(), home)
"""
    kill_at_random_moments(start, home, version, log, kills, most_pairs=180, seed=11)
    reference = Scripted(seconds=0.002, log=log).reference()
    score_version(version, STATEMENTS, reference, home)
    times = Counter(scored_pairs(log))
    assert len(times) == 110 * 11
    assert sum(times.values()) - len(times) <= kills * 100  # 0.2 s of 2 ms a pair
    assert_counts_are_right(home, version, records, reference)


def test_kill_9_of_a_driver_with_workers_loses_at_most_what_was_in_flight(home: Home, log: Path) -> None:
    records, kills = records_of(160), 2
    version = version_of(home, "version", records)
    start = """
scoring.CHUNK_SECONDS, scoring.IN_PROCESS_SECONDS, scoring._TELLING_SECONDS = 0.2, 0.2, 0.1
score_version(version, STATEMENTS, Scripted(seconds=0.004, log=log).reference(), home)
"""
    kill_at_random_moments(start, home, version, log, kills, most_pairs=400, seed=12)
    wait_until_nobody_scores(log)
    process = child(start, home.root, version, log)
    output, _ = process.communicate()
    assert process.returncode == 0, output
    times = Counter(scored_pairs(log))
    assert len(times) == 160 * 11
    # two chunks for each worker may have begun or wait, each of 0.2 s of 4 ms a pair at first estimate
    assert sum(times.values()) - len(times) <= kills * 2 * client.CPU_COUNT * 75
    assert len(pids(log)) > kills + 1  # Dask workers took part
    assert_counts_are_right(home, version, records, Scripted(seconds=0.004, log=log).reference())


def kill_one_worker(log: Path, killed: list[int]) -> None:
    """kill -9 the first other process that has scored twenty pairs."""
    for _ in range(2000):
        for pid, pairs in pids(log).items():
            if pid != os.getpid() and pairs >= 20:
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
                return
        time.sleep(0.05)


def test_a_dask_worker_killed_during_scoring_costs_at_most_its_chunk(
    home: Home, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scoring, "CHUNK_SECONDS", 0.3)
    monkeypatch.setattr(scoring, "IN_PROCESS_SECONDS", 0.5)
    records, reference, killed = records_of(150), Scripted(seconds=0.005, log=log).reference(), list[int]()
    version = version_of(home, "version", records)
    killer = threading.Thread(target=kill_one_worker, args=(log, killed))
    killer.start()
    summary = score_version(version, STATEMENTS, reference, home)
    killer.join()
    assert len(killed) == 1
    assert summary == ScoringSummary(150 * 11, 0)
    times = Counter(scored_pairs(log))
    assert len(times) == 150 * 11
    assert sum(times.values()) - len(times) <= 120
    assert_counts_are_right(home, version, records, reference)


@pytest.mark.parametrize("in_process_seconds", [1e9, 0.0], ids=["in the driver", "on Dask"])
def test_a_failing_record_stops_the_run_and_its_text_stays_private(
    home: Home, log: Path, in_process_seconds: float
) -> None:
    version = version_of(home, "version", [*records_of(5), ("u1", "canary-id", FAILING_TEXT)])
    process = child(
        f"""
scoring.IN_PROCESS_SECONDS = {in_process_seconds}
score_version(version, STATEMENTS, Scripted(fault="raise").reference(), home)
""",
        *(home.root, version, log),
    )
    output, _ = process.communicate()
    assert process.returncode == 1
    assert output.splitlines()[-1] == f"tasks.support.scoring.ScoringError: {chunks.SCORING_FAILED}"
    assert "canary" not in output
    assert "cannot read" not in output
    assert "distributed." not in output
    assert FAILING_TEXT in (home.private / "logs" / "scoring.log").read_text()


def test_dask_processes_listen_on_this_machine_only(home: Home) -> None:
    with client.dask_client(home.private):
        processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
        listening = [c for p in processes for c in p.net_connections() if c.status == psutil.CONN_LISTEN]
    assert len(listening) > 2
    assert {connection.laddr.ip for connection in listening} == {"127.0.0.1"}


@pytest.mark.slow
def test_a_record_that_kills_every_worker_stops_the_run_without_its_text(home: Home, log: Path) -> None:
    version = version_of(home, "version", [*records_of(5), ("u1", "canary-id", FAILING_TEXT)])
    process = child(
        """
scoring.IN_PROCESS_SECONDS = 0.0
score_version(version, STATEMENTS, Scripted(fault="die").reference(), home)
""",
        *(home.root, version, log),
    )
    output, _ = process.communicate()
    assert output.splitlines()[-1] == f"tasks.support.scoring.ScoringError: {cluster.WORKERS_DIED}"
    assert "canary" not in output


def test_dask_is_not_imported_for_small_work_nor_when_nothing_is_missing(home: Home, log: Path) -> None:
    version = version_of(home, "version", records_of(50))
    for seconds in (0.001, 10.0):  # the second run would take long, were anything scored
        process = child(
            f"""
score_version(version, STATEMENTS, Scripted(seconds={seconds}).reference(), home)
assert not {{"dask", "distributed"}} & set(sys.modules), "Dask was imported"
""",
            *(home.root, version, log),
        )
        output, _ = process.communicate()
        assert process.returncode == 0, output


@pytest.fixture
def user_cluster(monkeypatch: pytest.MonkeyPatch):
    """A cluster that the user runs, with one GPU to lend, named by the environment."""
    from distributed import LocalCluster

    options = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "threads_per_worker": 1, "silence_logs": 100}
    with LocalCluster(n_workers=1, resources={"GPU": 1}, **options) as user_cluster:
        monkeypatch.setenv(client.ADDRESS, user_cluster.scheduler_address)
        yield user_cluster


def test_the_users_cluster_is_used_when_it_is_named_and_outlives_the_run(home: Home, log: Path, user_cluster) -> None:
    on_gpu = ModelReference(name="scripted", entry=ModelEntry(Scripted(log=log), needs_gpu=True))
    version = version_of(home, "version", records_of(30))
    assert score_version(version, STATEMENTS, on_gpu, home) == ScoringSummary(330, 0)
    assert set(pids(log)) == {worker.pid for worker in user_cluster.workers.values()}


def test_a_cluster_without_a_fitting_worker_or_without_a_scheduler_is_named(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "WAIT_SECONDS", 1)
    monkeypatch.setattr(client, "CPU_COUNT", 1)
    on_gpu = ModelReference(name="scripted", entry=ModelEntry(Scripted(), needs_gpu=True))
    version = version_of(home, "version", records_of(3))
    monkeypatch.setattr(client, "WAIT_SECONDS", 30)
    with pytest.raises(UserError, match="resource GPU"):
        score_version(version, STATEMENTS, on_gpu, home)
    monkeypatch.setattr(client, "WAIT_SECONDS", 1)
    monkeypatch.setenv(client.ADDRESS, "tcp://127.0.0.1:9")
    with pytest.raises(UserError, match=client.ADDRESS):
        score_version(version, STATEMENTS, on_gpu, home)
    monkeypatch.setenv(client.ADDRESS, "nonsense://x")
    with pytest.raises(UserError, match=client.ADDRESS):
        score_version(version, STATEMENTS, on_gpu, home)


def test_chunks_of_a_long_run_are_longer_and_end_as_short_ones() -> None:
    lasting = [scoring.chunk_seconds(left) for left in (0.0, 60.0, 10_000.0, 50_000.0, 150_000.0, 1e9)]
    assert lasting == [2.0, 2.0, 2.0, 10.0, 30.0, 30.0]
