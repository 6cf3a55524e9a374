"""Parquet files of registered versions, on a disk or in a store, read alike."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from schemas.errors import UserError
from tasks.storage.objects import AnyPath, StoredPath, StoreError

RESTORE = "restore private/corpora (or the store) from the same backup as the home; nothing was spent"
MISSING_RECORDS = f"records: those that were registered for this partition are not in this home; {RESTORE}"


@contextmanager
def parquet_file(path: AnyPath, *, streamed: bool = False) -> Iterator[pq.ParquetFile]:
    """The file, open. Of a store, all columns of a row group are asked for at once, unless it is `streamed` in batches.

    Raises UserError where it is not there or is damaged, also while it is read; OSError, or StoreError of a store.
    """
    with naming_damage(path):
        if isinstance(path, Path):
            with pq.ParquetFile(path, page_checksum_verification=True) as file:
                yield file
        else:
            pre_buffer = not streamed
            with (
                _object(path) as content,
                pq.ParquetFile(content, pre_buffer=pre_buffer, page_checksum_verification=True) as file,
            ):
                yield file


def read_parquet(path: AnyPath, columns: Sequence[str] | None = None, schema: pa.Schema | None = None) -> pa.Table:
    """The whole file, or some of its columns. Raises as `parquet_file`."""
    with naming_damage(path):
        if isinstance(path, Path):
            return pq.read_table(path, columns=columns, schema=schema, page_checksum_verification=True)
        with _object(path) as content:
            return pq.read_table(content, columns=columns, schema=schema, page_checksum_verification=True)


@contextmanager
def naming_damage(path: AnyPath) -> Iterator[None]:
    """While a file of a version is read: what Parquet cannot read is said with its name and without its content.

    Raises UserError; an error of the operating system stays what it is.
    """
    try:
        yield
    except FileNotFoundError:
        raise UserError(MISSING_RECORDS) from None
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        folder = path.parent.parent if path.parent.name == "records" else path.parent
        raise UserError(
            f"records: {path.name} of version {folder.name} cannot be read: it was altered or cut off; {RESTORE}"
        ) from None


def _object(path: StoredPath) -> BinaryIO:
    try:
        return path.open()
    except FileNotFoundError:  # all Parquet files of a store are of versions that were there in full
        raise StoreError(
            "store: objects of a registered version are missing: restore the bucket from its backup"
        ) from None
