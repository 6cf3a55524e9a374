"""Write a file all or nothing: temporary name beside it, fsync, rename."""

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tasks.storage.crash import crash_point

DISK_REFUSES = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS})  # whoever writes, and wherever
PRIVATE_FILE = 0o600
RELEASE_FILE = 0o644


@contextmanager
def replacing(path: Path, mode: int = PRIVATE_FILE, folder: Path | None = None) -> Iterator[Path]:
    """A temporary path beside `path`, or in `folder` of the same file system; renamed over it, durably, at the end.

    Nothing is renamed when the block raises. A reader sees the old file or the new one, never a part; after a crash the
    temporary file may remain, with a name that starts with '.tmp-' and ends in '.part' (patterns such as *.json do not
    find it).
    """
    temporary = (folder or path.parent) / f".tmp-{secrets.token_hex(8)}.part"
    try:
        yield temporary
        os.chmod(temporary, mode)
        sync(temporary)
        crash_point("before_rename")
        os.replace(temporary, path)
        sync(path.parent)
        crash_point("after_rename")
    finally:
        temporary.unlink(missing_ok=True)


def remove_leftovers(folder: Path) -> None:
    """Remove what killed processes left half-written below `folder`; nobody else may be writing there."""
    for left in folder.rglob(".tmp-*.part*"):  # a database leaves its write-ahead log beside it
        left.unlink(missing_ok=True)


def write_bytes(path: Path, content: bytes, mode: int = PRIVATE_FILE) -> None:
    """Put `content` at `path`, all or nothing, with these permission bits from the start."""
    with replacing(path, mode) as temporary:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(content)


def write_table(path: Path, table: pa.Table, mode: int = PRIVATE_FILE) -> None:
    """Put a Parquet file (zstd) at `path`, all or nothing."""
    with replacing(path, mode) as temporary:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            pq.write_table(table, file, compression="zstd")


def sync(path: Path) -> None:
    """Make a file, or the names in a folder, durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
