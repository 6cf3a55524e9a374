"""Small corpora in every format, and what staging makes of them."""

import csv
import gzip
import json
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from schemas.corpora import CorpusSettings
from tasks.corpora.staging import StagedCorpus, stage_corpus
from tasks.corpora.versions import iterate_records, read_units
from tasks.storage.home import Home

Row = dict[str, str | int | None]
ROWS: list[Row] = [
    {"id": "r1", "author": "ann", "text": "The seat was clean."},
    {"id": "r2", "author": "bob", "text": "The crew was friendly and the meal was warm, for once."},
    {"id": "r3", "author": "ann", "text": "Cre\u0300me bru\u0302le\u0301e at last"},
]


def corpus(source: object, **settings: object) -> CorpusSettings:
    """Settings of a corpus with the unit column `author`, unless told otherwise."""
    return CorpusSettings.model_validate({"source": str(source), "corpus": "c", "unit": "author", **settings})


def write_parquet(path: Path, rows: Iterable[Row], schema: pa.Schema | None = None) -> Path:
    pq.write_table(pa.Table.from_pylist(list(rows), schema), path)
    return path


def write_csv(path: Path, rows: list[Row], delimiter: str = ",", quote: str = '"') -> Path:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "wt", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter, quotechar=quote)
        writer.writeheader()
        writer.writerows(rows)
    return path


def write_jsonl(path: Path, rows: list[Row], *, ascii_only: bool = False) -> Path:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "wt", encoding="utf-8", newline="\n") as file:
        file.writelines(json.dumps(row, ensure_ascii=ascii_only) + "\n" for row in rows)
    return path


@dataclass(frozen=True)
class Seen:
    """One staged partition, read back."""

    units: int
    duplicates: int
    unreadable: dict[str, int]
    content_key: bytes
    units_file: bytes
    record_keys_file: bytes
    records: frozenset[tuple[str, str, str, str | None, bytes | None]]  # unit id, record id, status, text, text key
    quarantine: frozenset[tuple[str, str, str]]


def stage(settings: CorpusSettings, home: Home) -> dict[str, Seen]:
    """Stage in a folder that is gone afterwards; what was staged, by partition key."""
    with tempfile.TemporaryDirectory(dir=home.private) as folder:
        return look_at(stage_corpus(settings, home, Path(folder) / "staging"))


def look_at(staged: StagedCorpus) -> dict[str, Seen]:
    """Read all partitions back, and check what holds of any of them."""
    seen = {}
    for partition in staged.partitions:
        units = read_units(partition.path)
        rows = [row for table in iterate_records(partition.path, 3) for row in table.to_pylist()]
        ids = units["unit_id"].to_pylist()
        assert ids == sorted(ids, key=str.encode)
        assert len(ids) == len(set(ids)) == partition.units
        assert sum(units["records"].to_pylist()) == len(rows) == partition.records
        quarantine = pq.read_table(partition.path / "quarantine.parquet").to_pylist()
        seen[partition.key] = Seen(
            units=partition.units,
            duplicates=partition.duplicates,
            unreadable=partition.unreadable,
            content_key=partition.content_key,
            units_file=(partition.path / "units.parquet").read_bytes(),
            record_keys_file=(partition.path / "record_keys.parquet").read_bytes(),
            records=frozenset(
                (ids[row["unit_index"]], row["record_id"], row["status"], row["text"], row["text_key"]) for row in rows
            ),
            quarantine=frozenset((row["unit_id"], row["record_id"], row["status"]) for row in quarantine),
        )
        assert len(seen[partition.key].records) == len(rows)
    return seen


def stage_one(settings: CorpusSettings, home: Home) -> Seen:
    """Stage a corpus that has one partition, `all`."""
    (seen,) = stage(settings, home).values()
    return seen
