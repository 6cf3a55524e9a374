"""Read a partition version again, staged or registered, from the disk or from the home's store."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import pyarrow as pa

from schemas.errors import UserError
from schemas.records import RECORDS, UNITS
from tasks.storage.objects import AnyPath, StoredPath, StoreError
from tasks.storage.parquet import MISSING_RECORDS, parquet_file, read_parquet

UNITS_FILE = "units.parquet"  # uploaded last: a version that has it in a store has everything


def record_files(version_path: AnyPath) -> Sequence[AnyPath]:
    """The record files of a version, in their fixed order; at least one.

    Raises UserError where one is missing on the disk, StoreError where a store has lost the version.
    """
    if not isinstance(version_path, Path):
        return _stored_record_files(version_path)
    parts = sorted(version_path.glob("records/part-*.parquet"))
    if not parts or [path.name for path in parts] != [_part(number) for number in range(len(parts))]:
        raise UserError(MISSING_RECORDS)
    return parts


def iterate_records(version_path: AnyPath, batch_rows: int) -> Iterator[pa.Table]:
    """Tables of the schema RECORDS with at most `batch_rows` rows, in the order of the files; none is empty."""
    for path in record_files(version_path):
        with parquet_file(path, streamed=True) as file:
            for batch in file.iter_batches(batch_rows, use_threads=False):
                yield pa.Table.from_batches([batch]).cast(RECORDS)


def read_units(version_path: AnyPath) -> pa.Table:
    """The table UNITS: row number = unit index, length = n."""
    return read_parquet(version_path / UNITS_FILE, schema=UNITS)


@lru_cache(maxsize=64)  # a registered version never changes: one listing a process, not one a chunk
def _stored_record_files(version_path: StoredPath) -> tuple[StoredPath, ...]:
    found = version_path.objects()
    parts = tuple(path for path in found if path.parent.name == "records" and path.name.startswith("part-"))
    numbered = tuple(version_path / "records" / _part(number) for number in range(len(parts)))
    if version_path / UNITS_FILE not in found or parts != numbered:
        raise StoreError("store: objects of a registered version are missing: restore the bucket from its backup")
    return parts


def _part(number: int) -> str:
    return f"part-{number:05d}.parquet"
