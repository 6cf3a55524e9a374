"""Score cache: verdicts by (model fingerprint, text key, statement id), in scores/FINGERPRINT/ of home or store.

A part is an immutable Parquet file with one row a text: `text_key`, and two bitmaps over the part's statements,
`known` and `verdict`. Parts are written all or nothing and may overlap; small ones are merged now and then, also
while other processes read and write. A part whose SHA-256 or form is wrong is never read as verdicts: it is renamed
to refused-NAME, named in the operator's log, and its pairs are scored again. In a store a part is one object, put once;
merging never loses a verdict there either, as long as every reader sees at once what any writer has put or removed.
"""

import errno
import hashlib
import json
import re
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from schemas.errors import UserError
from tasks.storage.atomic import DISK_REFUSES, write_bytes
from tasks.storage.home import PRIVATE_DIRECTORY, Home
from tasks.storage.objects import AnyPath, StoredPath, read_several
from tasks.support.bits import Bits, empty, row_blocks, take_columns, width_of
from tasks.support.operator_log import logs_folder, note_for_operator
from tasks.support.texts import KEY, KEY_BYTES, Keys, key_array

MERGE_FROM_PARTS = 64  # so many small parts are worth merging
SMALL_PART_BYTES = 32 << 20
MERGED_PART_BYTES = 64 << 20
_FORMAT = 1
_METADATA = b"privcert.part"
_STALE_SECONDS = 3600.0
_FINGERPRINT = re.compile(r"[0-9a-f]{64}\Z")
_PART = re.compile(r"[0-9a-f]{32}\.parquet\Z")
_DISK_ERRORS = DISK_REFUSES | {errno.EFBIG, errno.EACCES, errno.EPERM}


class ContradictoryVerdictsError(Exception):
    """One pair was answered twice, differently: the fingerprint does not cover what the model depends on."""

    def __init__(self) -> None:
        super().__init__("the support model gave two different answers to one question; its fingerprint is incomplete")


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What is known about some texts and statements.

    keys: text keys, ascending and distinct, shape (t,).
    statement_ids: distinct, length m.
    known: bit set where the pair has been scored, shape (t, width_of(m)).
    verdict: bit set where the text supports the statement; only where known.
    """

    keys: Keys
    statement_ids: tuple[str, ...]
    known: Bits
    verdict: Bits

    @classmethod
    def nothing(cls, keys: Keys, statement_ids: Sequence[str]) -> "Verdicts":
        """Nothing known yet about these texts and statements."""
        rows, columns = len(keys), len(statement_ids)
        return cls(keys, tuple(statement_ids), empty(rows, columns), empty(rows, columns))

    def absorb(self, other: "Verdicts") -> None:
        """Take over what `other` knows about texts and statements of this one.

        Raises ContradictoryVerdictsError when both know a pair and differ.
        """
        columns = {statement: column for column, statement in enumerate(self.statement_ids)}
        shared = [(i, columns[s]) for i, s in enumerate(other.statement_ids) if s in columns]
        source, target = np.array(shared, np.int64).reshape(-1, 2).T
        places = np.searchsorted(self.keys, other.keys)
        places[places == len(self.keys)] = 0
        rows = np.flatnonzero(self.keys[places] == other.keys) if len(self.keys) else places[:0]
        if not len(rows) or not len(source):
            return
        for block in row_blocks(len(rows), 8 * (self.known.shape[1] + other.known.shape[1])):
            known, verdict = other.known[rows[block]], other.verdict[rows[block]]
            if self.statement_ids != other.statement_ids:
                known = take_columns(known, source, target, len(self.statement_ids))
                verdict = take_columns(verdict, source, target, len(self.statement_ids))
            self._absorb_rows(places[rows[block]], known, verdict)

    def _absorb_rows(self, rows: NDArray[np.int64], known: Bits, verdict: Bits) -> None:
        if np.any(known & self.known[rows] & (verdict ^ self.verdict[rows])):
            raise ContradictoryVerdictsError
        self.known[rows] |= known
        self.verdict[rows] |= verdict


class ScoreCache:
    """The cache of one model in one home; several processes may use it at once."""

    def __init__(self, folder: AnyPath, fingerprint: str, logs: Path) -> None:
        """folder: where the parts lie; fingerprint: of the model; logs: the operator's folder."""
        self.folder, self.fingerprint, self.logs = folder, fingerprint, logs

    @classmethod
    def of(cls, home: Home, fingerprint: str) -> "ScoreCache":
        """The cache of this model in this home, made when it is missing.

        Raises ValueError for a fingerprint that is no SHA-256 in hex, UserError when the disk refuses.
        """
        if not _FINGERPRINT.match(fingerprint):
            raise ValueError("a fingerprint is a SHA-256 in hex")
        with _disk_errors_named():
            folder = home.scores / fingerprint
            if isinstance(folder, Path):
                folder.mkdir(exist_ok=True, mode=PRIVATE_DIRECTORY)
            return cls(folder, fingerprint, logs_folder(home))

    def read(self, keys: Keys, statement_ids: Sequence[str]) -> Verdicts:
        """Everything known about these texts (ascending, distinct) and statements (distinct).

        Raises ContradictoryVerdictsError.
        """
        found = Verdicts.nothing(keys, statement_ids)
        for part in self._read_all():
            found.absorb(part)
        return found

    def write(self, part: Verdicts) -> None:
        """Add a part, durably. Raises UserError when the disk is full or read-only; then nothing was added."""
        content = _part_bytes(part, self.fingerprint)
        with _disk_errors_named():
            _put(self.folder / f"{secrets.token_hex(16)}.parquet", content)

    def compact(self) -> None:
        """Merge small parts when there are many, smallest first, and drop what crashed writers left behind.

        The merged part is durable before its sources go, and each source was read whole: nothing is ever lost.
        Raises UserError when the disk refuses.
        """
        self._drop_stale_files()
        sizes = self._sizes()
        small = sorted((path for path in sizes if sizes[path] < SMALL_PART_BYTES), key=sizes.__getitem__)
        if len(small) < MERGE_FROM_PARTS:
            return
        sources = _mergeable(self._read_parts({path: sizes[path] for path in small}))
        if len(sources) > 1:
            self.write(_merged([part for _, part in sources]))
            for path, _ in sources:
                path.unlink(missing_ok=True)

    def _sizes(self) -> dict[AnyPath, int]:
        """The parts as they are now, with their sizes in bytes."""
        if not isinstance(self.folder, Path):
            return {path: size for path, size in self.folder.objects().items() if _PART.match(path.name)}
        sizes: dict[AnyPath, int] = {}
        for path in sorted(path for path in self.folder.glob("*.parquet") if _PART.match(path.name)):
            with suppress(FileNotFoundError):  # another process may merge
                sizes[path] = path.stat().st_size
        return sizes

    def _read_all(self) -> Iterator[Verdicts]:
        done: set[AnyPath] = set()
        # again until nothing is new: a merge may replace parts
        while fresh := {path: size for path, size in self._sizes().items() if path not in done}:
            done.update(fresh)
            yield from (part for _, part in self._read_parts(fresh))

    def _read_parts(self, sizes: Mapping[AnyPath, int]) -> Iterator[tuple[AnyPath, Verdicts]]:
        """Those that are still there and not refused."""
        for path, content in _contents(sizes):
            part = self._part_or_refused(path, content)
            if part is not None:
                yield path, part

    def _part_or_refused(self, path: AnyPath, content: bytes) -> Verdicts | None:
        try:
            return _part_of(content, self.fingerprint)
        except (pa.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
            note_for_operator(self.logs, f"score cache: refused {path.name} ({error}); its pairs are scored again")
            _refuse(path, content)
            return None

    def _drop_stale_files(self) -> None:
        """Of a disk; a store knows no half-written object."""
        if not isinstance(self.folder, Path):
            return
        for path in self.folder.glob(".tmp-*"):
            with suppress(FileNotFoundError):
                if time.time() - path.stat().st_mtime > _STALE_SECONDS:
                    path.unlink()


def _contents(sizes: Mapping[AnyPath, int]) -> Iterator[tuple[AnyPath, bytes]]:
    """The files or objects that were not merged away meanwhile."""
    yield from read_several({path: size for path, size in sizes.items() if isinstance(path, StoredPath)})
    for path in sizes:
        if isinstance(path, Path):
            with suppress(FileNotFoundError):
                yield path, path.read_bytes()


def _put(path: AnyPath, content: bytes) -> None:
    if isinstance(path, Path):
        write_bytes(path, content)
    else:
        path.write_bytes(content)


def _refuse(path: AnyPath, content: bytes) -> None:
    """Keep the part aside under a name that nobody reads."""
    if isinstance(path, Path):
        with suppress(FileNotFoundError):
            path.rename(path.with_name(f"refused-{path.name}"))
    else:  # objects have no other name: a copy, then the part goes
        (path.parent / f"refused-{path.name}").write_bytes(content)
        path.unlink(missing_ok=True)


def _mergeable(parts: Iterable[tuple[AnyPath, Verdicts]]) -> list[tuple[AnyPath, Verdicts]]:
    """The first parts whose union, as one rectangle, stays within MERGED_PART_BYTES."""
    rows, statements = 0, set[str]()

    def fits(item: tuple[AnyPath, Verdicts]) -> bool:
        nonlocal rows
        rows += len(item[1].keys)
        statements.update(item[1].statement_ids)
        return rows * (KEY_BYTES + 2 * width_of(len(statements))) <= MERGED_PART_BYTES

    return list(takewhile(fits, parts))


def _merged(parts: Sequence[Verdicts]) -> Verdicts:
    statements = dict.fromkeys(statement for part in parts for statement in part.statement_ids)
    union = Verdicts.nothing(np.unique(np.concatenate([part.keys for part in parts])), tuple(statements))
    for part in parts:
        union.absorb(part)
    return union


def _part_bytes(part: Verdicts, fingerprint: str) -> bytes:
    width = part.known.shape[1]
    columns = [_fixed(part.keys.tobytes(), KEY_BYTES), _fixed(part.known.tobytes(), width)]
    columns.append(_fixed(part.verdict.tobytes(), width))
    header = {"format": _FORMAT, "fingerprint": fingerprint, "statement_ids": list(part.statement_ids)}
    metadata = {_METADATA: json.dumps({**header, "sha256": _digest(header, part)})}
    fields = [pa.field(name, pa.binary(size), nullable=False) for name, size in _columns(width)]
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns, schema=pa.schema(fields, metadata)), sink, compression="zstd")
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _part_of(content: bytes, fingerprint: str) -> Verdicts:
    """The part in these bytes. Raises ValueError and its kin when anything about it is not as it was written."""
    table = pq.read_table(pa.BufferReader(content))
    header = json.loads((table.schema.metadata or {})[_METADATA])
    sha256 = header.pop("sha256")
    statement_ids = tuple(header["statement_ids"])
    width = width_of(len(statement_ids))
    if [(field.name, field.type) for field in table.schema] != [(n, pa.binary(size)) for n, size in _columns(width)]:
        raise ValueError("unknown columns")
    keys = key_array(table["text_key"])
    part = Verdicts(keys, statement_ids, _matrix(table["known"], width), _matrix(table["verdict"], width))
    if header["format"] != _FORMAT or header["fingerprint"] != fingerprint:
        raise ValueError("written for another model or by another version")
    if _digest(header, part) != sha256:
        raise ValueError("its SHA-256 is wrong")
    if np.any(keys[1:] <= keys[:-1]) or np.any(part.verdict & ~part.known):
        raise ValueError("its rows are out of order")
    return part


def _digest(header: dict[str, object], part: Verdicts) -> str:
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for column in (part.keys, part.known, part.verdict):
        digest.update(np.ascontiguousarray(column).data.cast("B") if column.dtype != KEY else column.tobytes())
    return digest.hexdigest()


def _columns(width: int) -> list[tuple[str, int]]:
    return [("text_key", KEY_BYTES), ("known", width), ("verdict", width)]


def _fixed(content: bytes, width: int) -> pa.Array:
    return pa.Array.from_buffers(pa.binary(width), len(content) // width, [None, pa.py_buffer(content)])


def _matrix(column: pa.ChunkedArray, width: int) -> Bits:
    array = column.combine_chunks()
    if len(array) == 0:
        return np.zeros((0, width), np.uint8)
    start = array.offset * width
    flat = np.frombuffer(array.buffers()[1], np.uint8, count=len(array) * width, offset=start)
    return flat.reshape(len(array), width)


@contextmanager
def _disk_errors_named() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in _DISK_ERRORS:
            raise
        reason = errno.errorcode[error.errno]
        raise UserError(
            f"the score cache in the home cannot be written ({reason}): make room or access, then repeat the command"
        ) from None
