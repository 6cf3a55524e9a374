"""Objects of a bucket as paths: where a home has a store, its registered records and verdicts lie there.

A StoredPath is to a store what a Path is to a disk, as far as our code asks. An object is put whole or not at all. What
one process has put or removed, every other sees at once, in listings too: S3, Google Cloud Storage and Azure Blob
Storage promise that, and merging the score cache rests on it.

Credentials come from where fsspec's file systems look for them (for S3: AWS_* variables, ~/.aws, the instance's role),
never from a setting. A client's error may quote a key or an address: what leaves here is a StoreError without one.
"""

import errno
import io
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias, cast

from schemas.errors import UserError
from tasks.storage.atomic import DISK_REFUSES
from tasks.storage.crash import crash_point

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

PROTOCOLS = {"s3": "s3fs", "gs": "gcsfs", "az": "adlfs", "abfs": "adlfs"}  # by which package
_WHOLE_BYTES = 8 << 20  # a smaller object is read in one request, a larger one range by range
_AT_ONCE_BYTES, _AT_ONCE = 32 << 20, 16  # of objects that are fetched beside each other
_REFUSED = {"NoCredentialsError", "PartialCredentialsError", "CredentialRetrievalError", "TokenRetrievalError"}


class StoreError(UserError):
    """The store did not do what was asked of it; `str` is public, the client's own words are its cause."""


@dataclass(frozen=True, slots=True, order=True)
class StoredPath:
    """An object of a store, or the prefix of several. Pickled as its URL: each process finds its own credentials."""

    url: str

    def __truediv__(self, name: str) -> "StoredPath":
        return StoredPath(f"{self.url}/{name}")

    def __str__(self) -> str:
        return self.url

    @property
    def name(self) -> str:
        """The last part."""
        return self.url.rpartition("/")[2]

    @property
    def parent(self) -> "StoredPath":
        """All but the last part."""
        return StoredPath(self.url.rpartition("/")[0])

    def read_bytes(self) -> bytes:
        """The object. Raises FileNotFoundError, StoreError."""
        with _named_errors():
            content: bytes = self._filesystem.cat_file(self.url)
            return content

    def read_range(self, start: int, stop: int) -> bytes:
        """Bytes of the object in one request. Raises FileNotFoundError, StoreError."""
        with _named_errors():
            content: bytes = self._filesystem.cat_file(self.url, start=start, end=stop)
            return content

    def write_bytes(self, content: bytes) -> None:
        """Put the object, all or nothing and durably. Raises StoreError."""
        self._put(lambda filesystem: filesystem.pipe_file(self.url, content))

    def upload(self, file: Path) -> None:
        """Put a local file, all or nothing and durably. Raises StoreError."""
        self._put(lambda filesystem: filesystem.put_file(str(file), self.url))

    def download(self, file: Path) -> None:
        """Fetch the object into a local file. Raises FileNotFoundError, StoreError."""
        with _named_errors():
            self._filesystem.get_file(self.url, str(file))

    def unlink(self, missing_ok: bool = False) -> None:
        """Remove the object. Raises StoreError, and without missing_ok, on some stores, FileNotFoundError."""
        try:
            with _named_errors():
                self._filesystem.rm_file(self.url)
        except FileNotFoundError:
            if not missing_ok:
                raise

    def size(self) -> int:
        """Bytes of the object. Raises FileNotFoundError, StoreError."""
        with _named_errors():
            return int(self._filesystem.size(self.url))

    def objects(self) -> dict["StoredPath", int]:
        """All objects below this prefix, sorted, with their sizes in bytes: a request for each thousand.

        Raises StoreError, also where there is no such bucket.
        """
        try:
            with _named_errors():
                self._filesystem.invalidate_cache()
                found = self._filesystem.find(self.url, detail=True)
        except FileNotFoundError:
            raise StoreError("store: there is no such bucket, or it may not be listed") from None
        prefix = self._filesystem._strip_protocol(self.url).rstrip("/") + "/"
        names = {name: int(info["size"]) for name, info in found.items() if name.startswith(prefix)}
        return {self / name.removeprefix(prefix): names[name] for name in sorted(names)}

    def open(self) -> BinaryIO:
        """The object as a file for reading at any place. Raises FileNotFoundError, StoreError, when it is read too."""
        size = self.size()
        if size <= _WHOLE_BYTES:
            return io.BytesIO(self.read_range(0, size) if size else b"")
        return cast(BinaryIO, _Ranges(self, size))

    @property
    def _filesystem(self) -> "AbstractFileSystem":
        return _filesystem("/".join(self.url.split("/")[:3]), os.getpid())

    def _put(self, put: Any) -> None:
        crash_point("before_put")
        try:
            with _named_errors():
                put(self._filesystem)
        except FileNotFoundError:
            raise StoreError("store: there is no such bucket") from None
        crash_point("after_put")


AnyPath: TypeAlias = Path | StoredPath


def read_several(sizes: Mapping[StoredPath, int]) -> Iterator[tuple[StoredPath, bytes]]:
    """The objects, a few at a time; sizes in bytes, as a listing told. One that is gone meanwhile is left out.

    Raises StoreError.
    """
    yield from ((path, b"") for path, size in sizes.items() if not size)  # nothing to ask a range of
    for lot in _lots({path: size for path, size in sizes.items() if size}):
        with _named_errors():
            urls, ends = [path.url for path in lot], [sizes[path] for path in lot]
            answers = lot[0]._filesystem.cat_ranges(urls, 0, ends, on_error="return")
        for path, answer in zip(lot, answers, strict=True):
            if isinstance(answer, FileNotFoundError):
                continue
            with _named_errors():
                if isinstance(answer, BaseException):
                    raise answer
            yield path, answer


@lru_cache(maxsize=8)
def _filesystem(bucket: str, _process: int) -> "AbstractFileSystem":
    """One client a bucket and process: a forked one must not share the connections of its parent."""
    import fsspec

    protocol = bucket.partition("://")[0]
    try:
        with _named_errors():
            filesystem: AbstractFileSystem = fsspec.core.url_to_fs(bucket, use_listings_cache=False)[0]
            return filesystem
    except ImportError:
        raise UserError(
            f"store: {protocol} needs the package {PROTOCOLS.get(protocol, protocol)}, which is not installed here"
        ) from None


def _lots(sizes: Mapping[StoredPath, int]) -> Iterator[Sequence[StoredPath]]:
    lot: list[StoredPath] = []
    held = 0
    for path, size in sizes.items():
        if lot and (len(lot) == _AT_ONCE or held + size > _AT_ONCE_BYTES):
            yield lot
            lot, held = [], 0
        lot.append(path)
        held += size
    if lot:
        yield lot


@contextmanager
def _named_errors() -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise FileNotFoundError(errno.ENOENT, "no such object in the store") from None
    except (UserError, ImportError):
        raise
    except OSError as error:
        if error.errno in DISK_REFUSES:  # the own disk, in a download: no client means its store by them
            raise
        raise StoreError(_reason(error)) from error
    except Exception as error:  # of any client: its text may quote keys, addresses and credentials
        raise StoreError(_reason(error)) from error


def _reason(error: Exception) -> str:
    if isinstance(error, PermissionError) or type(error).__name__ in _REFUSED:
        return (
            "store: access is refused: check the credentials and that they may list, read, write and delete below the "
            "prefix, then run the same command again"
        )
    return (
        f"store: it does not answer as it should ({type(error).__name__}): check endpoint and network, then run the "
        "same command again; what is scored is kept"
    )


class _Ranges(io.RawIOBase):
    """A large object: each read is one request for just its bytes."""

    def __init__(self, path: StoredPath, size: int) -> None:
        self._path, self._size, self._at = path, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence] + offset
        return self._at

    def readinto(self, buffer: Any) -> int:
        content = self.read(len(buffer))
        buffer[: len(content)] = content
        return len(content)

    def read(self, size: int = -1) -> bytes:
        stop = self._size if size < 0 else min(self._at + size, self._size)
        if stop <= self._at:
            return b""
        content = self._path.read_range(self._at, stop)
        self._at += len(content)
        return content
