"""Scoring with a judge on real servers, which die, as drivers do: nothing is lost, asked twice or answered wrong."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import psutil
import pytest
from relayed_server import Relay
from scripted_models import write_version

from schemas.statements import Statement
from tasks.inference.engine import Engine
from tasks.inference.language import LanguageReference
from tasks.inference.vllm_child import RunningServer
from tasks.inference.vllm_server import ServerAccess
from tasks.storage.home import Home, initialise_home
from tasks.support.bits import population, unpack
from tasks.support.cache import ScoreCache
from tasks.support.chunks import START_AGAIN
from tasks.support.models import SUPPORT_MODELS, ModelReference, load_support_model
from tasks.support.scoring import ScoringError, ScoringSummary, score_version
from tasks.support.texts import index_texts

ROOT = Path(__file__).parents[3]
STATEMENTS = [Statement.of(text) for text in ("The food was good.", "The service was slow.", "It was cheap.")]
RECORDS = [(f"u{place}", f"r{place}", f"Dish {place} was {'cold' if place % 3 else 'lovely'}.") for place in range(12)]
PAIRS, A_CALL, IN_FLIGHT = len(RECORDS) * len(STATEMENTS), 6, 2 * 6
ENTRY = replace(SUPPORT_MODELS["judge"], pairs_a_call=A_CALL)
DRIVER = """
import sys
from dataclasses import replace
from pathlib import Path
from schemas.statements import Statement
from tasks.inference.language import LanguageReference
from tasks.storage.home import open_home
from tasks.support import chunks, models, scoring

root, version, engine, url, a_call, *texts = sys.argv[1:]
scoring.CHUNK_SECONDS = chunks.FLUSH_SECONDS = 0.0
home = open_home(Path(root))
language = LanguageReference(
    (url,) if url else (), "smollm2-135m-instruct" if url else None, True, 2048, Path(engine), home.private / "logs"
)
entry = replace(models.SUPPORT_MODELS["judge"], pairs_a_call=int(a_call))
reference = models.ModelReference("judge", entry=entry, language=language)
print(scoring.score_version(Path(version), [Statement.of(text) for text in texts], reference, home), flush=True)
"""


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tasks.support.scoring.CHUNK_SECONDS", 0.0)
    monkeypatch.setattr("tasks.support.chunks.FLUSH_SECONDS", 0.0)


@pytest.fixture
def version(home: Home, tmp_path: Path) -> Path:
    return write_version(home, tmp_path / "version", RECORDS, [unit for unit, _, _ in RECORDS])


def reference_to(engine: Engine, home: Home, *urls: str) -> ModelReference:
    name = "smollm2-135m-instruct" if urls else None
    language = LanguageReference(urls, name, True, 2048, engine.folder, home.private / "logs")
    return ModelReference("judge", entry=ENTRY, language=language)


def verdicts(home: Home, version: Path, fingerprint: str) -> list[list[bool]]:
    """What the cache holds; all pairs must be there."""
    cache = ScoreCache.of(home, fingerprint)
    found = cache.read(index_texts(version).keys, [statement.statement_id for statement in STATEMENTS])
    assert population(found.known) == PAIRS
    answer: list[list[bool]] = unpack(found.verdict, len(STATEMENTS)).tolist()
    return answer


def pairs_in_parts(home: Home) -> int:
    """Over all parts of all caches: more than the distinct pairs where one was scored twice."""
    folders = list(home.scores.iterdir())
    caches = [ScoreCache(folder, folder.name, home.private) for folder in folders]
    return sum(population(part.known) for cache in caches for part in cache._read_all())


def expected(engine: Engine, server: RunningServer, version: Path, root: Path) -> list[list[bool]]:
    """The verdicts of a run that nothing befell, in a home of its own."""
    home = initialise_home(root, on_purpose=True)
    reference = reference_to(engine, home, server.url)
    score_version(version, STATEMENTS, reference, home)
    return verdicts(home, version, load_support_model(reference).fingerprint)


def wait_for(condition: Callable[[], object], seconds: float = 600) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def when(condition: Callable[[], object], act: Callable[[], object]) -> threading.Thread:
    """Do something in the middle of what follows."""
    thread = threading.Thread(target=lambda: (wait_for(condition), act()))
    thread.start()
    return thread


def test_a_run_scores_every_pair_once_and_the_next_one_none(
    engine: Engine, language_server: RunningServer, shared_key: str, home: Home, version: Path
) -> None:
    with Relay(language_server.url) as relay:
        reference = reference_to(engine, home, relay.url)
        assert score_version(version, STATEMENTS, reference, home) == ScoringSummary(PAIRS, 0)
        assert score_version(version, STATEMENTS[::-1], reference, home) == ScoringSummary(0, PAIRS)
        assert len(set(relay.chats)) == len(relay.chats) == pairs_in_parts(home) == PAIRS
    model = load_support_model(reference_to(engine, home, language_server.url))
    texts = [text for _, _, text in RECORDS]
    order = np.argsort([home.keyed_hash(b"text", text.encode()) for text in texts])
    asked = model.verdicts([texts[place] for place in order[:3]], [statement.text for statement in STATEMENTS])
    assert verdicts(home, version, model.fingerprint)[:3] == asked.tolist()


def test_one_of_two_servers_that_dies_changes_nothing_but_time(
    engine: Engine, language_server: RunningServer, shared_key: str, home: Home, version: Path, tmp_path: Path
) -> None:
    with Relay(language_server.url) as lives, Relay(language_server.url) as dies:
        reference = reference_to(engine, home, dies.url, lives.url)
        end = when(lambda: len(dies.chats) >= 3 and len(lives.chats) >= 3, dies.end)
        assert score_version(version, STATEMENTS, reference, home) == ScoringSummary(PAIRS, 0)
        end.join()
        answered = Counter(dies.chats + lives.chats)
        assert len(dies.chats) < len(lives.chats)
        assert (len(answered), pairs_in_parts(home)) == (PAIRS, PAIRS)
        assert answered.total() == PAIRS
        fingerprint = load_support_model(reference).fingerprint
    assert verdicts(home, version, fingerprint) == expected(engine, language_server, version, tmp_path / "other")


def test_a_run_without_servers_ends_and_says_that_it_may_be_started_again(
    engine: Engine,
    language_server: RunningServer,
    shared_key: str,
    home: Home,
    version: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No answer is no verdict: what was not answered is scored by the next run."""
    monkeypatch.setattr("tasks.inference.language.ServerAccess", partial(ServerAccess, patience_seconds=0.5))
    with Relay(language_server.url) as relay:
        reference = reference_to(engine, home, relay.url)
        end = when(lambda: len(relay.chats) >= 2 * A_CALL, relay.end)
        with pytest.raises(ScoringError, match=f"language-model.*{START_AGAIN}"):
            score_version(version, STATEMENTS, reference, home)
        end.join()
        done, answered = pairs_in_parts(home), len(relay.chats)
        assert 0 < done <= answered < PAIRS
    with Relay(language_server.url) as again:
        summary = score_version(version, STATEMENTS, reference_to(engine, home, again.url), home)
        assert (summary, len(again.chats)) == (ScoringSummary(PAIRS - done, done), PAIRS - done)


def driver(engine: Engine, home: Home, version: Path, url: str = "") -> "subprocess.Popen[str]":
    """A process that scores all pairs; without a URL it owns a server."""
    texts = [statement.text for statement in STATEMENTS]
    arguments = [str(home.root), str(version), str(engine.folder), url, str(A_CALL), *texts]
    command = [sys.executable, "-c", DRIVER, *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)


def wait_for_parts(process: "subprocess.Popen[str]", home: Home, more_than: int = 0) -> None:
    """Until the driver has written verdicts; a driver that ended before has failed."""
    wait_for(lambda: process.poll() is not None or pairs_in_parts(home) > more_than, seconds=1200)
    assert process.poll() is None, process.communicate()


def test_kill_9_of_the_driver_loses_at_most_the_chunks_in_flight(
    engine: Engine, language_server: RunningServer, shared_key: str, home: Home, version: Path
) -> None:
    with Relay(language_server.url) as relay:
        process = driver(engine, home, version, relay.url)
        wait_for_parts(process, home)
        process.kill()
        process.communicate()
        done = pairs_in_parts(home)
        assert 0 < done < PAIRS
        output, errors = driver(engine, home, version, relay.url).communicate()
        assert output.startswith(f"ScoringSummary(pairs_scored={PAIRS - done}, pairs_reused={done})"), errors
        answered = Counter(relay.chats)
    assert (len(answered), pairs_in_parts(home)) == (PAIRS, PAIRS)
    assert answered.total() - PAIRS <= IN_FLIGHT


def server_of(process: "subprocess.Popen[str]") -> psutil.Process | None:
    """The vLLM server that a driver owns, once it runs."""
    with contextlib.suppress(psutil.Error):
        for child in psutil.Process(process.pid).children(recursive=True):
            if "vllm.entrypoints.openai.api_server" in child.cmdline():
                return child
    return None


def family(server: psutil.Process) -> list[psutil.Process]:
    """All processes of a server's group."""
    group, found = os.getpgid(server.pid), list[psutil.Process]()
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, ProcessLookupError):
            if os.getpgid(process.pid) == group:
                found.append(process)
    return found


@pytest.mark.slow
def test_a_server_of_ours_ends_with_a_killed_driver_and_is_started_again_when_it_is_killed(
    engine: Engine, language_server: RunningServer, shared_key: str, home: Home, version: Path, tmp_path: Path
) -> None:
    first = driver(engine, home, version)
    wait_for_parts(first, home)
    server = server_of(first)
    assert server is not None
    processes = family(server)
    assert len(processes) >= 4
    first.kill()
    first.communicate()
    wait_for(lambda: not any(process.is_running() for process in processes), seconds=60)
    done = pairs_in_parts(home)
    assert 0 < done < PAIRS

    second = driver(engine, home, version)
    wait_for_parts(second, home, more_than=done)
    server = server_of(second)
    assert server is not None
    processes = family(server)
    server.send_signal(signal.SIGKILL)
    output, errors = second.communicate()
    assert output.startswith(f"ScoringSummary(pairs_scored={PAIRS - done}, pairs_reused={done})"), errors
    assert pairs_in_parts(home) == PAIRS
    assert not any(process.is_running() for process in processes)
    (fingerprint,) = [folder.name for folder in home.scores.iterdir()]
    assert verdicts(home, version, fingerprint) == expected(engine, language_server, version, tmp_path / "other")
