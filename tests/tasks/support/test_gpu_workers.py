"""Scoring on machines that have the worker environment only, in processes of their own."""

import os
import shutil
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from audits import capped, new_run, settings_for, write_corpus
from scripted_models import STATEMENTS, Record, Scripted, expected_counts, scored_pairs, write_version
from worker_machines import ROOT, Cluster

from schemas.audit import UnitSupport
from schemas.errors import UserError
from schemas.statements import Statement
from tasks.audits.stages import run_audit, version_path
from tasks.cluster import client
from tasks.storage.home import Home, initialise_home
from tasks.support import placement, scoring
from tasks.support.bits import unpack
from tasks.support.cache import ScoreCache
from tasks.support.counts import support_counts
from tasks.support.models import SUPPORT_MODELS, ModelReference, load_support_model
from tasks.support.scoring import ScoringSummary, score_version
from tasks.support.texts import index_texts, read_texts

ABSENT = ("prefect", "duckdb", "great_expectations", "sqlalchemy", "opendp", "pandas", "matplotlib", "polars")
REVIEWS = [
    "The waiter was friendly and the pasta was delicious.",
    "We waited an hour; the soup came cold, and nobody cared.",
    "Not expensive at all.",
    "😀 Ça va très bien, merci — l’addition était salée.",
    "\u05d4\u05d0\u05d5\u05db\u05dc \u05d4\u05d9\u05d4 \u05d8\u05d5\u05d1",
    "word " * 700 + "The terrace was lovely.",
]
CLAIMS = [Statement.of(f"The reviewer {what}.") for what in ("liked the food", "complains", "found it cheap")]


@pytest.fixture(autouse=True)
def nothing_is_known_of_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """What workers said in earlier tests."""
    monkeypatch.setattr(placement, "_answers", {})


def records_of(number: int) -> list[Record]:
    return [(f"u{i % 31}", str(i), f"text {i}") for i in range(number)]


def version_of(home: Home, records: list[Record]) -> Path:
    return write_version(home, home.root / "version", records, sorted({unit for unit, _, _ in records}))


def verdicts(home: Home, reference: ModelReference) -> tuple[str, dict[tuple[str, str], bool]]:
    """Fingerprint and bits of REVIEWS x CLAIMS in a home of its own."""
    version = version_of(home, [(f"u{i}", "0", text) for i, text in enumerate(REVIEWS)])
    score_version(version, CLAIMS, reference, home)
    fingerprint = placement.describe_model(reference, home).fingerprint
    index = index_texts(version)
    texts, _ = read_texts(version, index.where)
    found = ScoreCache.of(home, fingerprint).read(index.keys, [claim.statement_id for claim in CLAIMS])
    bits = unpack(found.verdict, len(CLAIMS))
    return fingerprint, {(t, c.text): bool(bits[i, j]) for i, t in enumerate(texts) for j, c in enumerate(CLAIMS)}


def assert_counts_are_right(home: Home, version: Path, records: list[Record], reference: ModelReference) -> None:
    fingerprint = placement.describe_model(reference, home).fingerprint
    counts = support_counts(version, STATEMENTS, fingerprint, UnitSupport.ANY, home)
    assert counts.tolist() == expected_counts(records, STATEMENTS, all_records=False)


def pairs_by_process(log: Path) -> Counter[int]:
    return Counter(int(line.split()[0]) for line in log.read_text().splitlines()) if log.exists() else Counter()


def is_in(environment: Path, pid: int) -> bool:
    return Path(psutil.Process(pid).cmdline()[0]).is_relative_to(environment)


def wait_for(condition: Callable[[], bool], seconds: float = 180) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "pairs.log"


def test_the_worker_environment_scores_and_has_nothing_of_the_orchestrator(worker_environment: Path) -> None:
    code = f"""
import importlib.util, sys, tasks.support.cluster, tasks.inference.language
from tasks.support.chunks import score_chunk
from tasks.support.models import ModelReference, load_support_model
load_support_model(ModelReference("nli-mini")), load_support_model(ModelReference("keyword", "restaurant-reviews"))
assert tasks.support.cluster.__file__.startswith(sys.prefix), tasks.support.cluster.__file__
from tasks.cluster.code import FOLDERS
ours = [m.__file__ for n, m in sys.modules.items() if n.startswith(("tasks.", "schemas.")) and n.count(".") > 1]
root = tasks.support.cluster.__file__.removesuffix("tasks/support/cluster.py")
assert ours and all(file.removeprefix(root).startswith(FOLDERS) for file in ours), ours
print([name for name in {ABSENT!r} if importlib.util.find_spec(name)])
"""
    python = worker_environment / "bin" / "python"
    done = subprocess.run([python, "-I", "-c", code], capture_output=True, text=True, cwd=worker_environment)
    assert (done.stdout.strip(), done.returncode) == ("[]", 0), done.stderr


def test_a_worker_gives_the_bits_that_the_driver_gives(cluster: Cluster, tmp_path: Path) -> None:
    cluster.start_worker()
    here = initialise_home(tmp_path / "here", on_purpose=True)
    there = initialise_home(tmp_path / "there", on_purpose=True)
    on_gpu = ModelReference("nli-mini", entry=replace(SUPPORT_MODELS["nli-mini"], needs_gpu=True))
    assert verdicts(there, on_gpu) == verdicts(here, ModelReference("nli-mini"))
    assert len(set(verdicts(initialise_home(tmp_path / "again", on_purpose=True), on_gpu)[1].values())) == 2


def test_an_audit_with_a_worker_seals_the_counts_that_it_has_without(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.start_worker()
    corpus, counts = write_corpus(tmp_path / "reviews.parquet"), dict[float, list[int]]()
    for seconds in (0.0, 1e9):  # at most so long in this process
        monkeypatch.setattr(scoring, "IN_PROCESS_SECONDS", seconds)
        home = capped(initialise_home(tmp_path / f"home {seconds}", on_purpose=True))
        run = new_run(home, settings_for(corpus, model="nli-mini", statements=3))
        run_audit(run)
        asked = version_path(run, run.partitions()[0]), run.proposal()[0]
        fingerprint = load_support_model(ModelReference("nli-mini")).fingerprint
        counts[seconds] = support_counts(*asked, fingerprint, UnitSupport.ANY, home).tolist()
    assert counts[0.0] == counts[1e9]
    assert sum(counts[0.0]) > 0


def test_a_driver_without_the_model_learns_of_it_from_a_worker(cluster: Cluster, home: Home, log: Path) -> None:
    reference = Scripted(log=log, needs="HAS_THE_MODEL").reference(needs_gpu=True)
    with pytest.raises(UserError, match="not on this machine"):
        load_support_model(reference)
    cluster.start_worker(HAS_THE_MODEL="1")
    records = records_of(30)
    version = version_of(home, records)
    assert score_version(version, STATEMENTS, reference, home) == ScoringSummary(330, 0)
    assert all(is_in(cluster.environment, pid) for pid in pairs_by_process(log))
    assert len(pairs_by_process(log)) == 1
    assert_counts_are_right(home, version, records, reference)


def test_what_a_worker_lacks_is_said_by_name(cluster: Cluster, home: Home) -> None:
    cluster.start_worker()
    reference = Scripted(needs="HAS_THE_MODEL").reference(needs_gpu=True)
    with pytest.raises(UserError, match="scripted is not on this machine"):
        score_version(version_of(home, records_of(3)), STATEMENTS, reference, home)


@pytest.mark.parametrize("version", ["changed", "older"])
def test_a_worker_with_another_version_of_the_code_is_refused(
    cluster: Cluster, home: Home, tmp_path: Path, log: Path, version: str
) -> None:
    code = tmp_path / "code"
    if version == "changed":
        for name in ("tasks", "schemas"):
            shutil.copytree(ROOT / name, code / name, ignore=shutil.ignore_patterns("__pycache__"))
        with (code / "tasks" / "support" / "bits.py").open("a") as file:
            file.write("# another rule\n")
    else:
        (code / "tasks").mkdir(parents=True)
        (code / "tasks" / "__init__.py").write_text("")
    cluster.start_worker(code=code)
    with pytest.raises(UserError, match=r"DASK_SCHEDULER_ADDRESS: .* another version of privcert"):
        score_version(version_of(home, records_of(3)), STATEMENTS, Scripted(log=log).reference(needs_gpu=True), home)
    assert pairs_by_process(log) == {}


def test_a_killed_worker_is_started_again_and_costs_at_most_its_chunk(
    cluster: Cluster, home: Home, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """kill -9 of the only worker; its nanny starts another."""
    monkeypatch.setattr(scoring, "CHUNK_SECONDS", 0.3)
    cluster.start_worker()
    records, reference = records_of(120), Scripted(seconds=0.005, log=log).reference(needs_gpu=True)
    version, killed = version_of(home, records), list[int]()
    killer = threading.Thread(target=kill_the_first_to_score, args=(log, 200, killed))
    killer.start()
    assert score_version(version, STATEMENTS, reference, home) == ScoringSummary(120 * 11, 0)
    killer.join()
    assert len(pairs_by_process(log)) == 2
    assert killed[0] in pairs_by_process(log)
    assert_each_pair_once_but_for_a_chunk(log, 120 * 11)
    assert_counts_are_right(home, version, records, reference)


def test_two_workers_share_the_work_and_one_goes_on_when_the_other_machine_is_lost(
    cluster: Cluster, home: Home, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scoring, "CHUNK_SECONDS", 0.3)
    workers = {cluster.start_worker("--no-nanny").pid for _ in range(2)}
    with client.dask_client(home.private) as dask:
        dask.wait_for_workers(2, timeout=180)
    records, reference = records_of(200), Scripted(seconds=0.005, log=log).reference(needs_gpu=True)
    version, killed = version_of(home, records), list[int]()
    killer = threading.Thread(target=kill_the_first_to_score, args=(log, 300, killed))
    killer.start()
    assert score_version(version, STATEMENTS, reference, home) == ScoringSummary(200 * 11, 0)
    killer.join()
    assert set(pairs_by_process(log)) == workers
    (survivor,) = workers - set(killed)
    assert pairs_by_process(log)[survivor] > 1000
    assert_each_pair_once_but_for_a_chunk(log, 200 * 11)
    assert_counts_are_right(home, version, records, reference)


def kill_the_first_to_score(log: Path, pairs: int, killed: list[int]) -> None:
    """kill -9 the first worker that has scored some pairs, when this many are scored in all."""
    wait_for(lambda: pairs_by_process(log).total() >= pairs)
    killed.append(next(iter(pairs_by_process(log))))
    os.kill(killed[0], signal.SIGKILL)


def assert_each_pair_once_but_for_a_chunk(log: Path, pairs: int) -> None:
    times = Counter(scored_pairs(log))
    assert len(times) == pairs
    assert sum(times.values()) - len(times) <= 120  # 0.3 s of 5 ms a pair, at a first estimate that was too high
