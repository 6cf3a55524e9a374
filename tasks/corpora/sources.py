"""Where the source lies: local paths, globs, folders and fsspec URLs become a list of files of one format."""

import codecs
import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import BinaryIO, TextIO

import fsspec

from schemas.corpora import CorpusSettings, SourceFormat
from tasks.corpora.listing import files_below, files_like
from tasks.corpora.problems import SourceError

_ENDINGS = {
    ".parquet": SourceFormat.PARQUET,
    ".pq": SourceFormat.PARQUET,
    ".csv": SourceFormat.CSV,
    ".tsv": SourceFormat.TSV,
    ".jsonl": SourceFormat.JSONL,
    ".ndjson": SourceFormat.JSONL,
}
_COMPRESSED = {".gz", ".bz2", ".xz", ".zst"}


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file of the source.

    name: path relative to the folder, in POSIX form (the whole path when the source is not a folder). Private.
    """

    filesystem: fsspec.AbstractFileSystem
    path: str
    name: str

    @contextmanager
    def open_bytes(self, *, decompress: bool = False) -> Iterator[BinaryIO]:
        """The file's bytes; with `decompress`, what .gz, .bz2, .xz (.zst where there is a codec) hold."""
        compression = "infer" if decompress else None
        with self.filesystem.open(self.path, "rb", compression=compression) as file:
            yield file

    @contextmanager
    def open_text(self, encoding: str, newline: str) -> Iterator[TextIO]:
        """The file as text; bytes that cannot be decoded become the surrogates U+DC80 to U+DCFF."""
        with self.open_bytes(decompress=True) as file:
            with io.TextIOWrapper(file, encoding, errors="surrogateescape", newline=newline) as text:
                yield text


@dataclass(frozen=True, slots=True)
class Source:
    """What is read. files: sorted by path; the result of ingestion does not depend on their order."""

    format: SourceFormat
    files: tuple[SourceFile, ...]
    encoding: str


def find_source(settings: CorpusSettings) -> Source:
    """Look the source up without opening a file.

    Raises SourceError when nothing is there, or the format is unknown or mixed.
    """
    encoding = python_encoding(settings.encoding)
    try:
        filesystem, root = fsspec.core.url_to_fs(settings.source)
    except (ValueError, ImportError):
        raise SourceError("source: unknown protocol in the URL, or its file system is not installed") from None
    if filesystem.isdir(root):
        return _folder(settings.format, filesystem, root, encoding)
    paths = [root] if filesystem.exists(root) else files_like(filesystem, root)
    if "file" in filesystem.protocol and filesystem.exists(root) and not filesystem.isfile(root):
        raise SourceError("source: it is a pipe or a device, and no file")  # reading could block, or never end
    if not paths:  # what is not there and what may not be seen look alike to most file systems
        raise SourceError("source: no such file or folder, or it may not be read")
    formats = {_format(settings.format, path) for path in paths}
    if len(formats) > 1:
        raise SourceError("format: the source holds files of several formats; say which one")
    files = tuple(SourceFile(filesystem, path, path) for path in paths)
    return Source(formats.pop(), files, encoding)


def python_encoding(name: str) -> str:
    """The codec to decode with; UTF-8 takes an optional byte order mark. SourceError when there is none."""
    try:
        codec = codecs.lookup(name)
        b"".decode(name)
        io.TextIOWrapper(io.BytesIO(), name)
    except (LookupError, ValueError, UnicodeError, TypeError):
        raise SourceError("encoding: unknown text encoding") from None
    return "utf-8-sig" if codec.name == "utf-8" else name


def _folder(wanted: SourceFormat, filesystem: fsspec.AbstractFileSystem, root: str, encoding: str) -> Source:
    prefix = len(root.rstrip("/")) + 1
    found = files_below(filesystem, root)
    files = tuple(SourceFile(filesystem, path, path[prefix:]) for path in found if not _hidden(path[prefix:]))
    tables = {file.name: _by_ending(file.name) for file in files}
    if wanted is SourceFormat.AUTO and any(tables.values()):
        raise SourceError("format: the folder holds table files; say parquet, csv, tsv, jsonl or text")
    if wanted in (SourceFormat.AUTO, SourceFormat.TEXT):
        return Source(SourceFormat.TEXT, files, encoding)
    chosen = tuple(file for file in files if tables[file.name] is wanted)
    if not chosen:
        raise SourceError("source: the folder holds no file of this format")
    return Source(wanted, chosen, encoding)


def _format(wanted: SourceFormat, path: str) -> SourceFormat:
    if wanted is SourceFormat.TEXT:
        raise SourceError("format: text reads a folder of text files, and the source is not a folder")
    found = wanted if wanted is not SourceFormat.AUTO else _by_ending(path)
    if found is None:
        raise SourceError("format: the ending tells no format; say parquet, csv, tsv or jsonl")
    return found


def _by_ending(path: str) -> SourceFormat | None:
    name = PurePosixPath(path.lower())
    if name.suffix not in _COMPRESSED:
        return _ENDINGS.get(name.suffix)
    inner = _ENDINGS.get(PurePosixPath(name.stem).suffix)
    return inner if inner is not SourceFormat.PARQUET else None  # Parquet compresses itself


def _hidden(name: str) -> bool:
    return any(part.startswith(".") for part in PurePosixPath(name).parts)
