"""The files of one partition version: records, units, quarantine, keys for membership checks."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from schemas.records import RECORDS, UNITS
from tasks.corpora.contents import ContentSum
from tasks.corpora.keyed import KEY_BYTES, KeyedHash
from tasks.corpora.private_files import key_bytes, key_column, private_folder, private_parquet
from tasks.corpora.resolved import Resolved
from tasks.corpora.sorted_keys import SortedKeys
from tasks.corpora.texts import status_names
from tasks.corpora.units import look

QUARANTINE = pa.schema(
    [
        pa.field("unit_id", pa.string(), nullable=False),
        pa.field("record_id", pa.string(), nullable=False),
        pa.field("status", pa.string(), nullable=False),  # RecordStatus, never ok
    ]
)
"""Records that cannot be read, for the operator. They stay in n and in `records`."""

_PART_BYTES = 256 << 20  # of records before compression
_MEMBERSHIP_CHARACTERS = 40  # shorter texts recur by chance: alone they identify no record
_UNITS_PER_GROUP = 100_000


def write_partition(
    folder: Path, resolved: Resolved, spooled: Iterable[pa.RecordBatch], keyed: KeyedHash, namespace: str
) -> bytes:
    """Write all files of a partition into `folder`, which can be moved; returns its content key, 32 bytes.

    spooled: the batches that `resolved` describes, in its order. The content key depends neither on the order of
    records nor on repetitions.
    """
    unit_keys = _write_units(folder / "units.parquet", resolved, keyed, namespace.encode())
    keys, total = SortedKeys(folder), ContentSum()
    with (
        _Parts(private_folder(folder / "records")) as parts,
        private_parquet(folder / "quarantine.parquet", QUARANTINE) as quarantine,
    ):
        for records in _kept(resolved, spooled):
            parts.write(records.select(RECORDS.names).cast(RECORDS))
            quarantine.write_table(_unreadable(records, resolved.unit_ids))
            keys.add(_membership_keys(records.filter(pc.is_valid(records["text_key"])), unit_keys, keyed))
            total.add(key_bytes(records["content_key"]))
    keys.write(folder / "record_keys.parquet")
    return total.key()


def _write_units(path: Path, resolved: Resolved, keyed: KeyedHash, namespace: bytes) -> bytes:
    """Write units.parquet; returns the unit keys, one after another."""
    records = np.bincount(resolved.unit_index[resolved.kept], minlength=len(resolved.unit_ids))
    written = []
    with private_parquet(path, UNITS) as writer:
        for start in range(0, len(resolved.unit_ids), _UNITS_PER_GROUP):
            ids = resolved.unit_ids.slice(start, _UNITS_PER_GROUP)
            names: list[str] = ids.to_pylist()
            keys = b"".join(keyed.unit_key(namespace, name.encode()) for name in names)
            looks = b"".join(keyed.look_key(namespace, look(name).encode()) for name in names)
            counts = pa.array(records[start : start + _UNITS_PER_GROUP])
            columns = [ids.cast(pa.string()), key_column(keys), key_column(looks), counts]
            writer.write_table(pa.table(columns, schema=UNITS))
            written.append(keys)
    return b"".join(written)


def _kept(resolved: Resolved, spooled: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Tables with the columns of RECORDS and content_key, without duplicates."""
    start = 0
    for batch in spooled:
        rows = slice(start, start + batch.num_rows)
        start += batch.num_rows
        columns = {
            "unit_index": pa.array(resolved.unit_index[rows]),
            "record_id": batch.column("record_id").cast(pa.string()),
            "status": status_names(resolved.statuses[rows]),
            "text": batch.column("text"),
            "text_key": batch.column("text_key"),
            "content_key": batch.column("content_key"),
        }
        kept = resolved.kept[rows]
        table = pa.table(columns)
        yield table if kept.all() else table.filter(pa.array(kept))


def _unreadable(records: pa.Table, unit_ids: pa.Array) -> pa.Table:
    rows = records.filter(pc.is_null(records["text_key"]))
    ids = unit_ids.take(rows["unit_index"].combine_chunks()).cast(pa.string())
    return pa.table([ids, rows["record_id"], rows["status"]], schema=QUARANTINE)


def _membership_keys(readable: pa.Table, unit_keys: bytes, keyed: KeyedHash) -> bytes:
    """By which another corpus knows these records: (namespace, unit id, text), and the text alone if it is long."""
    text_keys = key_bytes(readable["text_key"])
    units: NDArray[np.int64] = readable["unit_index"].to_numpy() * KEY_BYTES
    pairs = [
        keyed.record_key(unit_keys[unit : unit + KEY_BYTES], text_keys[place : place + KEY_BYTES])
        for unit, place in zip(units.tolist(), range(0, len(text_keys), KEY_BYTES), strict=True)
    ]
    long = readable.filter(pc.greater_equal(pc.utf8_length(readable["text"]), _MEMBERSHIP_CHARACTERS))
    return b"".join(pairs) + key_bytes(long["text_key"])


class _Parts:
    """records/part-NNNNN.parquet: a new part when one is large; at least one, so that a reader finds a schema."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._number = 0
        self._bytes = 0
        self._open = ExitStack()
        self._writer = self._next()

    def __enter__(self) -> "_Parts":
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def write(self, records: pa.Table) -> None:
        if self._bytes > _PART_BYTES:
            self._open.close()
            self._number, self._bytes = self._number + 1, 0
            self._writer = self._next()
        self._writer.write_table(records)
        self._bytes += records.nbytes

    def _next(self) -> pq.ParquetWriter:
        path = self._folder / f"part-{self._number:05d}.parquet"
        return self._open.enter_context(private_parquet(path, RECORDS))
