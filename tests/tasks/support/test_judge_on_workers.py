"""A judge on a worker that lends a GPU: its engine is a child of the worker. Here it is the CPU build."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from scripted_models import Record, write_version
from worker_machines import Cluster

from schemas.engines import EngineSettings
from schemas.errors import UserError
from schemas.statements import Statement
from tasks.inference.engine import Engine
from tasks.inference.language import LanguageReference, language_reference
from tasks.inference.vllm_child import RunningServer
from tasks.storage.home import Home
from tasks.support import placement
from tasks.support.bits import unpack
from tasks.support.cache import ScoreCache
from tasks.support.models import ModelReference, load_support_model
from tasks.support.scoring import ScoringSummary, score_version
from tasks.support.texts import index_texts, read_texts

CLAIMS = [Statement.of(f"The reviewer {what}.") for what in ("liked the food", "complains about the service")]
KINDS = ("lovely", "awful", "cheap", "noisy", "far from home")


def records_of(name: str, number: int) -> list[Record]:
    texts = [f"{name.title()} {i}: the place was {KINDS[i % 5]}, we came {i} times." for i in range(number)]
    return [(f"u{i}", "0", text) for i, text in enumerate(texts)]


def version_of(home: Home, name: str, number: int) -> Path:
    records = records_of(name, number)
    return write_version(home, home.root / name, records, [unit for unit, _, _ in records], files=1)


def bits_of(home: Home, version: Path, fingerprint: str) -> dict[str, list[bool]]:
    index = index_texts(version)
    texts, _ = read_texts(version, index.where)
    found = ScoreCache.of(home, fingerprint).read(index.keys, [claim.statement_id for claim in CLAIMS])
    assert unpack(found.known, len(CLAIMS)).all()
    return dict(zip(texts, unpack(found.verdict, len(CLAIMS)).tolist(), strict=True))


def servers(nanny: "subprocess.Popen[bytes]") -> list[psutil.Process]:
    """The vLLM servers below a Dask worker's nanny."""
    found = psutil.Process(nanny.pid).children(recursive=True)
    return [process for process in found if "vllm.entrypoints.openai.api_server" in process.cmdline()[:4]]


def worker_of(server: psutil.Process) -> psutil.Process:
    """The Dask worker that owns a server: its watchdog's parent."""
    watchdog = server.parent()
    assert watchdog is not None
    worker = watchdog.parent()
    assert worker is not None
    return worker


def family(server: psutil.Process) -> list[psutil.Process]:
    """A server with its watchdog and all their children."""
    watchdog = server.parent()
    assert watchdog is not None
    return [watchdog, *watchdog.children(recursive=True)]


def wait_for(condition: Callable[[], bool], seconds: float = 180) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def gone(processes: list[psutil.Process]) -> bool:
    return not any(process.is_running() and process.status() != psutil.STATUS_ZOMBIE for process in processes)


@pytest.fixture
def judge(home: Home, monkeypatch: pytest.MonkeyPatch) -> ModelReference:
    """As a driver without an engine names it."""
    monkeypatch.setenv("PRIVCERT_ENGINE", str(home.root / "no-engine"))
    monkeypatch.setattr(placement, "_answers", {})
    language = language_reference(EngineSettings(), home.private, is_private=True)
    return ModelReference("judge", language=language)


def test_a_driver_without_engine_or_cluster_is_told_what_to_do(home: Home, judge: ModelReference) -> None:
    with pytest.raises(UserError, match="privcert engine install"):
        score_version(version_of(home, "review", 2), CLAIMS, judge, home)


def test_a_worker_without_engine_is_told_what_to_do(cluster: Cluster, home: Home, judge: ModelReference) -> None:
    cluster.start_worker()
    with pytest.raises(UserError, match="privcert engine install"):
        score_version(version_of(home, "review", 2), CLAIMS, judge, home)


@pytest.mark.slow
def test_a_worker_owns_one_server_that_lives_and_dies_with_it(
    engine: Engine, language_server: RunningServer, cluster: Cluster, home: Home, judge: ModelReference
) -> None:
    """Two scorings, one server; kill -9 of the worker in the third ends its server, and another worker ends the work;
    a worker that is asked to end takes its server along."""
    nanny = cluster.start_worker(PRIVCERT_ENGINE=str(engine.folder))
    first = version_of(home, "review", 9)
    assert score_version(first, CLAIMS, judge, home) == ScoringSummary(18, 0)
    (server,) = servers(nanny)
    assert score_version(version_of(home, "ticket", 9), CLAIMS, judge, home) == ScoringSummary(18, 0)
    assert servers(nanny) == [server]
    assert bits_of(home, first, placement.describe_model(judge, home).fingerprint) == bits_here(home, language_server)

    processes, killed = family(server), list[int]()

    def kill_the_worker(_: float) -> None:
        if not killed:
            killed.append(worker_of(server).pid)
            os.kill(killed[0], signal.SIGKILL)

    summary = score_version(version_of(home, "letter", 24), CLAIMS, judge, home, progress=kill_the_worker)
    assert summary == ScoringSummary(48, 0)
    wait_for(lambda: gone(processes))
    (other,) = servers(nanny)
    assert worker_of(other).pid not in killed

    processes = family(other)
    nanny.terminate()
    nanny.wait(timeout=180)
    wait_for(lambda: gone(processes))


def bits_here(home: Home, server: RunningServer) -> dict[str, list[bool]]:
    """What a judge of this process says with another server of the same settings."""
    language = LanguageReference((server.url,), server.model, True, 2048, Path("unused"), home.private / "logs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VLLM_API_KEY", server.api_key)
        model = load_support_model(ModelReference("judge", language=language))
        texts = [str(text) for _, _, text in records_of("review", 9)]
        bits = model.verdicts(texts, [claim.text for claim in CLAIMS])
    return dict(zip(texts, bits.tolist(), strict=True))
