"""A desk at the release log: stages partitions, asks questions, and does so in processes that get killed."""

import hashlib
import os
import pickle
import secrets
import signal
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import opendp.prelude  # noqa: F401  forked children find it imported
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import raw_log
from sqlalchemy import Connection

from schemas.audit import Scope, UnitSupport
from schemas.corpora import CorpusSettings
from schemas.records import RECORDS
from schemas.statements import Statement
from tasks.ledger import registration
from tasks.ledger.designs import Parameters
from tasks.ledger.log import ReleaseLog
from tasks.ledger.question import Question, RegisteredPartition
from tasks.ledger.sealing import Sealed
from tasks.storage.home import Home

PATIENCE_SECONDS = 120
THETA = Decimal("0.05")
# Each mechanism that releases, with what it takes: for questions about a few statements.
PARAMETERS: dict[str, dict[str, str | int]] = {
    "frontier": {},
    "geometric": {},
    "staircase": {"theta": "0.05"},
    "discrete_gaussian": {"delta": "0.00001"},
    "hist": {"contributions": 5},
    "svt": {"theta": "0.05", "selected": 2, "selection_share": "0.5"},
    "topk": {"selected": 2, "selection_share": "0.5"},
}


@dataclass
class Staged:
    """What ingestion hands over."""

    key: str
    path: Path
    units: int
    content_key: bytes


def hashed(*parts: str) -> bytes:
    """32 bytes that stand for a keyed hash."""
    return hashlib.sha256("|".join(parts).encode()).digest()


@dataclass
class Desk:
    """One home and its log."""

    home: Home

    @property
    def log(self) -> ReleaseLog:
        return ReleaseLog(self.home)

    @property
    def database(self) -> Path:
        """The file, where the log is in SQLite."""
        return self.home.private / "release_log.sqlite"

    def stage(self, key: str = "all", n: int = 100, content: str = "a", units: Iterable[str] | None = None) -> Staged:
        """A partition whose records and units follow from `content`, or have these names."""
        names = [f"{key}-{content}-{i}" for i in range(3)] if units is None else list(units)
        folder = self.home.private / "staging" / secrets.token_hex(8)
        (folder / "records").mkdir(parents=True)
        pq.write_table(RECORDS.empty_table(), folder / "records" / "part-00000.parquet")  # no test of the log reads one
        for file, column, kind in (
            ("units.parquet", "unit_key", "u"),
            ("record_keys.parquet", "record_key", "r"),
        ):
            pq.write_table(
                pa.table({column: pa.array([hashed(kind, name) for name in names], pa.binary())}), folder / file
            )
        return Staged(key, folder, n, hashed(key, content))

    def register(self, *staged: Staged, corpus: str = "reviews", **settings: Any) -> list[RegisteredPartition]:
        """Register, by default as one private corpus with an author column."""
        asked = {"source": "records.csv", "corpus": corpus, "unit": "author"} | settings
        return self.log.register(CorpusSettings(**asked), staged or [self.stage()])

    def seal(self, question: Question, count: int = 50) -> Sealed:
        return self.log.seal(question, [count] * len(question.statements))

    def publish(self, question: Question, count: int = 50) -> Path:
        """What an audit does at its end."""
        log = self.log
        key = log.seal(question, [count] * len(question.statements)).release_key
        log.ask_threshold(key, THETA)
        log.project()
        return log.write_certificate(key, THETA)

    def charges(self) -> list[dict[str, Any]]:
        return list(self.log.project().charges.to_pylist())

    def releases(self) -> list[dict[str, Any]]:
        return list(self.log.project().releases.to_pylist())

    def left(self, line: int = 0) -> str | None:
        """Of epsilon."""
        return self.log.budget_lines()[line].epsilon.left

    def back_up(self) -> str:
        """What `restore` takes."""
        return raw_log.back_up(self.home.log_url)

    def restore(self, copy: str) -> None:
        raw_log.restore(self.home.log_url, copy)

    def empty(self) -> None:
        """As if there had been no log yet."""
        raw_log.empty(self.home.log_url)

    def alter(self, *statements: str) -> None:
        """Change the database behind the log's back."""
        raw_log.alter(self.home.log_url, *statements)


def ask(
    partition: RegisteredPartition,
    epsilon: str = "0.1",
    edition: int = 1,
    statements: Sequence[str] = ("A", "B"),
    mechanism: str = "frontier",
    scope: Scope = Scope.REPORT,
    parameters: Mapping[str, str | int] | None = None,
    weights: Sequence[str] | None = None,
    **other: Any,
) -> Question:
    """A question about the partition; parameters: those of Parameters, as decimal text or whole numbers."""
    asked: dict[str, Any] = {
        "partition": partition,
        "statements": tuple(
            Statement.of(text, Decimal(weight))
            for text, weight in zip(statements, weights or ["1"] * len(statements), strict=True)
        ),
        "parameters": Parameters(
            **{name: Decimal(value) if isinstance(value, str) else value for name, value in (parameters or {}).items()}  # type: ignore[arg-type]
        ),
        "proposer": "file",
        "model": "keyword",
        "model_fingerprint": "f" * 64,
        "model_description": {"rules": "of a test"},
        "unit_support": UnitSupport.ANY,
        "mechanism": mechanism,
        "epsilon": Decimal(epsilon),
        "beta": Decimal("0.05"),
        "scope": scope,
        "edition": edition,
    }
    return Question(**(asked | other))


@dataclass
class Ended:
    """How a child process ended: by a signal, or with what its action returned or raised."""

    signal: int
    value: Any = None
    error: str | None = None


def in_child(action: Callable[[], Any], crash_at: str | None = None) -> Ended:
    """Run in a forked process that kills itself at the named place."""
    return in_children([action], crash_at)[0]


def in_children(actions: Sequence[Callable[[], Any]], crash_at: str | None = None) -> list[Ended]:
    """Run each in its own forked process; all wait for each other before they start."""
    gate, opener = os.pipe()
    children = [_start(action, gate, opener, crash_at) for action in actions]
    os.close(gate)
    os.close(opener)
    return [_end(*child) for child in children]


def _start(action: Callable[[], Any], gate: int, opener: int, crash_at: str | None) -> tuple[int, int]:
    reader, writer = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writer)
        return pid, reader
    try:
        signal.alarm(PATIENCE_SECONDS)
        os.close(opener)
        os.read(gate, 1)
        if crash_at:
            os.environ["PRIVCERT_CRASH_AT"] = crash_at
        try:
            answer = Ended(0, action())
        except Exception as error:
            answer = Ended(0, None, f"{type(error).__name__}: {error}")
        with os.fdopen(writer, "wb") as pipe:
            pickle.dump(answer, pipe)
    finally:
        os._exit(0)


def _end(pid: int, reader: int) -> Ended:
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read()
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        return Ended(os.WTERMSIG(status))
    ended: Ended = pickle.loads(said)
    return ended


def fail_at_partition(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is full when this partition is chained, in the middle of a registration."""
    append = registration.append

    def fail(connection: Connection, kind: str, body: Mapping[str, object]) -> int:
        if body.get("partition") == key:
            raise OSError("disk full")
        return append(connection, kind, body)

    monkeypatch.setattr(registration, "append", fail)
