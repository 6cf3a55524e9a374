"""Parquet files on a disk or in a store, read alike."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from tasks.storage.objects import AnyPath, StoredPath, StoreError


@contextmanager
def parquet_file(path: AnyPath, *, streamed: bool = False) -> Iterator[pq.ParquetFile]:
    """The file, open. Of a store, all columns of a row group are asked for at once, unless it is `streamed` in batches.

    Raises OSError, or StoreError of a store.
    """
    if isinstance(path, Path):
        with pq.ParquetFile(path) as file:
            yield file
    else:
        with _object(path) as content, pq.ParquetFile(content, pre_buffer=not streamed) as file:
            yield file


def read_parquet(path: AnyPath, columns: Sequence[str] | None = None, schema: pa.Schema | None = None) -> pa.Table:
    """The whole file, or some of its columns. Raises as `parquet_file`."""
    if isinstance(path, Path):
        return pq.read_table(path, columns=columns, schema=schema)
    with _object(path) as content:
        return pq.read_table(content, columns=columns, schema=schema)


def _object(path: StoredPath) -> BinaryIO:
    try:
        return path.open()
    except FileNotFoundError:  # all Parquet files of a store are of versions that were there in full
        raise StoreError(
            "store: objects of a registered version are missing: restore the bucket from its backup"
        ) from None
