"""The one shape that every reader yields, and the buffer that builds it from Python rows."""

import re
from dataclasses import dataclass

import pyarrow as pa

from schemas.records import RecordStatus
from tasks.corpora.columns import Columns, IdKinds, values_as_text

BATCH_ROWS = 8_192
BATCH_CHARACTERS = 8_000_000  # long texts end a batch early, so that memory stays flat

_UNDECODABLE = re.compile("[\udc80-\udcff]")


@dataclass(frozen=True, slots=True)
class RawBatch:
    """Some records as the source has them; arrays of one length.

    ids: role (`id`, `unit`, `partition_column`) -> text, or dates and times for a partition column; may hold nulls.
    texts: large_string; null where missing or not text.
    faults: RecordStatus where the text is broken or is no text, else null.
    """

    ids: dict[str, pa.Array]
    texts: pa.Array
    faults: pa.Array


class RowBuffer:
    """Collects rows of Python values until a batch is full."""

    def __init__(self, columns: Columns) -> None:
        self._roles = [role for role in columns.roles if role != "text"]
        self._kinds = IdKinds()
        self._clear()

    def _clear(self) -> None:
        self._ids: dict[str, list[object]] = {role: [] for role in self._roles}
        self._texts: list[str | None] = []
        self._decoded: list[bool] = []
        self._is_text: list[bool] = []
        self._characters = 0

    def add(self, row: dict[str, object], text: str | None, *, decoded: bool, is_text: bool = True) -> None:
        """Add a record. row: role -> value. decoded: the source's bytes could all be decoded where it stood.

        is_text: false where the source has something else in the place of the text, which is None then.
        """
        for role in self._roles:
            self._ids[role].append(row[role])
        self._texts.append(text)
        self._decoded.append(decoded)
        self._is_text.append(is_text)
        self._characters += len(text or "")

    @property
    def full(self) -> bool:
        """Whether it is time to take the batch."""
        return len(self._texts) >= BATCH_ROWS or self._characters >= BATCH_CHARACTERS

    def take(self) -> RawBatch:
        """The rows so far as a batch; the buffer is empty afterwards. SourceError for ids of a wrong type."""
        ids = {role: values_as_text(role, values, self._kinds) for role, values in self._ids.items()}
        texts, faults = _texts_and_faults(self._texts, self._decoded, self._is_text)
        self._clear()
        return RawBatch(ids, texts, faults)


def _texts_and_faults(texts: list[str | None], decoded: list[bool], is_text: list[bool]) -> tuple[pa.Array, pa.Array]:
    faults: list[RecordStatus | None] = [None if known else RecordStatus.NOT_TEXT for known in is_text]
    try:
        return pa.array(texts, pa.large_string()), pa.array(faults, pa.string())
    except UnicodeEncodeError:
        rows = zip(texts, decoded, faults, strict=True)
        faults = [fault or _fault(text, whole) for text, whole, fault in rows]
        clean = [text if fault is None else None for text, fault in zip(texts, faults, strict=True)]
        return pa.array(clean, pa.large_string()), pa.array(faults, pa.string())


def _fault(text: str | None, decoded: bool) -> RecordStatus | None:
    try:
        (text or "").encode()
    except UnicodeEncodeError:
        # A JSON escape can write the very code points that stand for undecodable bytes.
        escaped = decoded or not _UNDECODABLE.search(text or "")
        return RecordStatus.LONE_SURROGATE if escaped else RecordStatus.BROKEN_ENCODING
    return None


def decodable(text: str) -> bool:
    """Whether the text holds no surrogate, that is, no byte that could not be decoded."""
    try:
        text.isascii() or text.encode()
    except UnicodeEncodeError:
        return False
    return True
