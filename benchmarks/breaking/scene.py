"""One audit of one home, its log on PostgreSQL: what it was asked, how it ended, what it left."""

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq

from breaking.store import BreakableStore
from schemas.audit import UnitSupport
from schemas.statements import Statement
from tasks.ledger.log import ReleaseLog
from tasks.storage.home import Home, open_home
from tasks.storage.objects import AnyPath
from tasks.support.bits import population
from tasks.support.cache import ScoreCache
from tasks.support.counts import support_counts
from tasks.support.texts import index_texts
from tests.machines import Machines
from tests.postgresql_server import Server

PRIVCERT = str(Path(sys.executable).parent / "privcert")
DOMAIN, CORPUS, EPSILON = "restaurant-reviews", "reviews", "2"
PATIENCE_SECONDS = 300.0
PARTS_OF_A_RUN_UNDER_WAY = 4  # files in the score cache: the cluster has begun


class NotHereError(Exception):
    """What a fault needs is not on this machine; says what."""


class Ended(NamedTuple):
    """How a command ended: exit code or the signal's negative number, and its last line of error; None: it hung."""

    code: int | None
    line: str

    def __str__(self) -> str:
        return "hung, killed" if self.code is None else f"{self.code} {self.line}".strip()


@dataclass
class Scene:
    """machines, postgresql, store: what a fault may break. home: a copy of one and the same; url: of its log.

    store: keeps the home's records and verdicts in this bucket; None where they lie in the home.
    """

    machines: Machines
    postgresql: Server
    home: Path
    url: str
    source: Path
    statements: int
    store: BreakableStore | None = None
    bucket: str = ""

    @property
    def s3(self) -> BreakableStore:
        """The store of a scene that has one."""
        if self.store is None:
            raise NotHereError("no S3 server (moto, s3fs)")
        return self.store

    def begin(self, **environment: str) -> "subprocess.Popen[str]":
        """Start the audit, and return."""
        options = ["--corpus", CORPUS, "--unit", "author", "--domain", DOMAIN, "--statements", str(self.statements)]
        options += ["--model", "nli-mini", "--epsilon", EPSILON, "--theta", "0.05", "--allow-vacuous", "--json"]
        return subprocess.Popen(
            [PRIVCERT, "audit", str(self.source), *options],
            env=self.machines.environment(self.home, PRIVCERT_LOG_URL=self.url) | environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def until_scoring(self, process: "subprocess.Popen[str]") -> None:
        """Wait until some chunks are done, or the command has ended."""
        home = open_home(self.home)
        _until(lambda: len(_parts(home)) >= PARTS_OF_A_RUN_UNDER_WAY, process)

    def until_stage(self, process: "subprocess.Popen[str]", stage: str) -> None:
        """Wait until a stage begins, or the command has ended."""
        _until(lambda: stage in self._stages(), process)

    def _stages(self) -> list[str]:
        with suppress(OSError):
            lines = (self.home / "private" / "logs" / "events.jsonl").read_text().splitlines()
            return [json.loads(line)["stage"] for line in lines if line.endswith("}")]
        return []


def end(process: "subprocess.Popen[str]", number: signal.Signals | None = None) -> Ended:
    """Wait for a command, after a signal where one is named; kill one that does not end."""
    if number is not None:
        process.send_signal(number)
    try:
        _, error = process.communicate(timeout=PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return Ended(None, "")
    return Ended(process.returncode, (error.strip().splitlines() or [""])[-1])


def _until(what: Callable[[], bool], process: "subprocess.Popen[str]") -> None:
    patience = time.monotonic() + PATIENCE_SECONDS
    while not what() and process.poll() is None and time.monotonic() < patience:
        time.sleep(0.05)


class Left(NamedTuple):
    """What lies in log and score cache. counts: support counts behind the release, () without one."""

    releases: list[str]
    charges: int
    epsilon: str
    counts: tuple[int, ...]
    pairs_twice: int


def left(scene: Scene) -> Left:
    """Read it, after every check that the log has of itself."""
    with _log_of(scene) as home:
        log = ReleaseLog(home)
        log.check()
        keys, charges = log.release_keys(), log.project().charges
        spent = [line.epsilon.spent for line in log.budget_lines()]
        counts, twice = _support(home, log, keys[0]) if keys else ((), 0)
        return Left(keys, charges.num_rows, spent[0] or "0", counts, twice)


def copy_home(template: Path, root: Path) -> Path:
    """The same keys, and so the same names of texts in the cache."""
    shutil.copytree(template, root, symlinks=True)
    return root


def _support(home: Home, log: ReleaseLog, key: str) -> tuple[tuple[int, ...], int]:
    """The support counts behind a release, and how many pairs lie twice in the score cache."""
    payload = log.payload(key)
    question, statements = payload["question"], [Statement.of(one) for one in payload["described"]["statements"]]
    version, fingerprint = home.corpora / CORPUS / question["partition_version"], question["model_fingerprint"]
    counts = support_counts(version, statements, fingerprint, UnitSupport.ANY, home)
    texts, ids = index_texts(version).keys, [statement.statement_id for statement in statements]
    known = population(ScoreCache.of(home, fingerprint).read(texts, ids).known)
    return tuple(map(int, counts)), _pairs_in_parts(home) - known


def _parts(home: Home) -> list[AnyPath]:
    """The files or objects of the score cache."""
    folder = home.scores
    if isinstance(folder, Path):
        return list(folder.glob("*/*.parquet"))
    return [path for path in folder.objects() if path.name.endswith(".parquet")]


def _pairs_in_parts(home: Home) -> int:
    """(text, statement) pairs, as often as they were written."""
    tables = [pq.read_table(io.BytesIO(part.read_bytes()), columns=["known"]) for part in _parts(home)]
    return sum(int.from_bytes(bits, "big").bit_count() for table in tables for bits in table["known"].to_pylist())


@contextmanager
def _log_of(scene: Scene) -> Iterator[Home]:
    os.environ["PRIVCERT_LOG_URL"] = scene.url
    try:
        yield open_home(scene.home)
    finally:
        del os.environ["PRIVCERT_LOG_URL"]
