"""Small deterministic support models, and versions to score, for the tests of this folder."""

import hashlib
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from schemas.errors import UserError
from schemas.records import RECORDS, UNITS
from schemas.statements import Statement
from tasks.storage.home import Home
from tasks.support.models import ModelEntry, ModelReference

Record = tuple[str, str, str | None]  # unit id, record id, text (None: unreadable)
STATEMENTS = [Statement.of(f"Statement number {number}.") for number in range(11)]
FAILING_TEXT = "canary-7f3a the text that breaks the model"


def true_verdict(text: str, statement: str) -> bool:
    """One fair bit of the pair."""
    return hashlib.sha256(f"{text}\0{statement}".encode()).digest()[0] % 2 == 1


@dataclass(frozen=True)
class Scripted:
    """Loads a model that takes `seconds` a pair, logs each pair to `log`, and may misbehave.

    fault: "raise" on FAILING_TEXT, "die" (SIGKILL of its own process) on FAILING_TEXT, "neighbours" (a verdict
    depends on the other texts of the call), "shape" (a wrong answer).
    needs: an environment variable without which a process cannot load it.
    """

    seconds: float = 0.0
    log: Path | None = None
    fault: str = ""
    needs: str = ""

    def __call__(self, reference: ModelReference) -> "ScriptedModel":
        if self.needs and self.needs not in os.environ:
            raise UserError(f"model: {reference.name} is not on this machine")
        return ScriptedModel(reference.name, self)

    def reference(self, name: str = "scripted", *, needs_gpu: bool = False) -> ModelReference:
        return ModelReference(name=name, entry=ModelEntry(self, needs_gpu=needs_gpu))


class ScriptedModel:
    def __init__(self, name: str, script: Scripted) -> None:
        self.name, self.script = name, script

    @property
    def fingerprint(self) -> str:
        return hashlib.sha256(self.name.encode()).hexdigest()

    @property
    def description(self) -> Mapping[str, str]:
        return {"revision": "1"}

    def verdicts(self, texts: Sequence[str], statements: Sequence[str]) -> NDArray[np.bool_]:
        if self.script.fault == "shape":
            return np.zeros((len(texts), 1 + len(statements)), np.bool_)
        answer = np.zeros((len(texts), len(statements)), np.bool_)
        for row, text in enumerate(texts):
            if text == FAILING_TEXT and self.script.fault == "raise":
                raise RuntimeError(f"cannot read {text!r}")
            if text == FAILING_TEXT and self.script.fault == "die":
                os.kill(os.getpid(), 9)
            for column, statement in enumerate(statements):
                time.sleep(self.script.seconds)
                self._note(text, statement)
                answer[row, column] = true_verdict(text, statement)
        return answer ^ (len(texts) % 2 == 1) if self.script.fault == "neighbours" else answer

    def _note(self, text: str, statement: str) -> None:
        if self.script.log is not None:
            with open(os.open(self.script.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab", 0) as file:
                file.write(f"{os.getpid()} {hashlib.sha256(f'{text}|{statement}'.encode()).hexdigest()}\n".encode())


def scored_pairs(log: Path) -> list[str]:
    """Hashes of the pairs in a side log, in the order of scoring."""
    return [line.split()[1] for line in log.read_text().splitlines()] if log.exists() else []


def write_version(home: Home, path: Path, records: Sequence[Record], units: Sequence[str], files: int = 2) -> Path:
    """A registered version as ingestion leaves it; `units` may name units without records."""
    (path / "records").mkdir(parents=True)
    order = {unit: index for index, unit in enumerate(sorted(set(units)))}
    rows = [
        {
            "unit_index": order[unit],
            "record_id": record_id,
            "status": "ok" if text is not None else "broken_encoding",
            "text": text,
            "text_key": None if text is None else home.keyed_hash(b"text", text.encode()),
        }
        for unit, record_id, text in records
    ]
    for number in range(files):
        table = pa.Table.from_pylist(rows[number::files], schema=RECORDS)
        pq.write_table(table, path / "records" / f"part-{number:05d}.parquet", row_group_size=7)
    table = pa.Table.from_pylist(
        [
            {"unit_id": unit, "unit_key": home.keyed_hash(b"unit", unit.encode()), "records": 0}
            | {"records": sum(unit == other for other, _, _ in records)}
            for unit in order
        ],
        schema=UNITS,
    )
    pq.write_table(table, path / "units.parquet")
    return path


def expected_counts(records: Sequence[Record], statements: Sequence[Statement], *, all_records: bool) -> list[int]:
    """Support counts by the definition, record by record."""
    by_unit: dict[str, list[str | None]] = {}
    for unit, _, text in records:
        by_unit.setdefault(unit, []).append(text)
    rule = all if all_records else any
    return [
        sum(rule(text is not None and true_verdict(text, s.text) for text in texts) for texts in by_unit.values())
        for s in statements
    ]
