"""Read a partition version again, staged or registered."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from schemas.records import RECORDS, UNITS


def iterate_records(version_path: Path, batch_rows: int) -> Iterator[pa.Table]:
    """Tables of the schema RECORDS with at most `batch_rows` rows, in the order of the files; none is empty."""
    for path in sorted((version_path / "records").glob("part-*.parquet")):
        with pq.ParquetFile(path, pre_buffer=False) as file:
            for batch in file.iter_batches(batch_rows, use_threads=False):
                yield pa.Table.from_batches([batch]).cast(RECORDS)


def read_units(version_path: Path) -> pa.Table:
    """The table UNITS: row number = unit index, length = n."""
    return pq.read_table(version_path / "units.parquet", schema=UNITS)
