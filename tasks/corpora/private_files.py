"""Files and folders that are private from the moment they exist: 0600 in 0700."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from tasks.storage.atomic import PRIVATE_FILE
from tasks.storage.home import PRIVATE_DIRECTORY


def private_folder(path: Path) -> Path:
    """The folder, made with mode 0700 unless it is there."""
    path.mkdir(exist_ok=True, mode=PRIVATE_DIRECTORY)
    return path


@contextmanager
def private_file(path: Path, *, append: bool = False) -> Iterator[BinaryIO]:
    """A file made with mode 0600, for writing; on disk when the block ends, unless it is only appended to."""
    flags = os.O_WRONLY | os.O_CREAT | (os.O_APPEND if append else os.O_EXCL)
    with open(os.open(path, flags, PRIVATE_FILE), "ab" if append else "wb") as file:
        yield file
        if not append:
            file.flush()
            os.fsync(file.fileno())


@contextmanager
def private_parquet(path: Path, schema: pa.Schema) -> Iterator[pq.ParquetWriter]:
    """A Parquet writer for a private file. Texts and keys gain nothing from dictionaries or statistics.

    Pages have checksums: a byte that a disk or a copy changed is found when it is read.
    """
    plain = {"use_dictionary": [name for name in schema.names if name == "status"], "write_statistics": False}
    kept = {"compression": "zstd", "compression_level": 1, "write_page_checksum": True}
    with private_file(path) as file, pq.ParquetWriter(file, schema, **plain, **kept) as writer:
        yield writer


def key_bytes(column: pa.Array | pa.ChunkedArray) -> bytes:
    """The bytes of a binary(32) column without nulls, one after another."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    width = column.type.byte_width
    return b"".join(
        chunk.buffers()[1].slice(chunk.offset * width, len(chunk) * width).to_pybytes()
        for chunk in chunks
        if len(chunk)
    )


def key_column(content: bytes) -> pa.Array:
    """The reverse of `key_bytes`."""
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(32), len(content) // 32, [None, pa.py_buffer(content)])
