"""What the records of a partition are, as one keyed hash: of what is staged, and again of what lies in the home.

The release log holds the hash of every registered version. A folder that holds anything else was altered, or swapped
with another: what is asked of it would be answered, and charged, about other records.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from schemas.errors import UserError
from tasks.corpora.keyed import KEY_BYTES, KeyedHash
from tasks.corpora.versions import read_units, record_files
from tasks.storage.home import Home
from tasks.storage.objects import AnyPath
from tasks.storage.parquet import RESTORE, parquet_file

_COLUMNS = ["unit_index", "record_id", "status", "text", "text_key"]
_NEVER_NULL = ("unit_index", "record_id", "status")
_ROWS_AT_ONCE = 1024
_BYTES_AT_ONCE = 16 << 20  # of columns; long texts end a batch early, so that memory stays flat


class ContentSum:
    """Sum modulo 2^256 of the content keys of distinct records: their order and their repetitions do not matter."""

    def __init__(self) -> None:
        self._limbs = np.zeros(KEY_BYTES // 4, np.uint64)

    def add(self, keys: bytes) -> None:
        """Add content keys, one after another."""
        self._limbs += np.frombuffer(keys, ">u4").reshape(-1, KEY_BYTES // 4).sum(0, dtype=np.uint64)

    def key(self) -> bytes:
        """The content key of all that was added, 32 bytes."""
        limbs_up: list[int] = self._limbs[::-1].tolist()
        content = sum(limb << (32 * place) for place, limb in enumerate(limbs_up))
        return (content & ((1 << 8 * KEY_BYTES) - 1)).to_bytes(KEY_BYTES, "big")


def check_content(version_path: AnyPath, registered: bytes, home: Home) -> None:
    """See that a version holds the records with this content key. Raises UserError where it holds others, or none.

    Ids, statuses and texts are read, and hashed as staging hashed them, a few MB at a time: about a third of what
    registering takes. Each text must have the key that lies beside it: the score cache keeps verdicts by that key, so
    what is scored after this check is kept with the text that was registered. It does not look at verdicts that the
    cache holds already: those that an earlier version, which read no texts here, scored on altered ones stay in it,
    under the keys of the registered ones, until private/scores is removed.
    """
    if _content_key(version_path, KeyedHash(home)) != registered:
        raise UserError(
            f"records: what lies in the folder of version {version_path.name} is not what was registered as it "
            f"(altered, or swapped with another); {RESTORE}"
        )


def _content_key(version_path: AnyPath, keyed: KeyedHash) -> bytes | None:
    """None where a record is of no unit, lacks a column, or has the key of another text."""
    unit_ids = read_units(version_path)["unit_id"].cast(pa.large_binary()).combine_chunks()
    total = ContentSum()
    for path in record_files(version_path):
        with parquet_file(path, streamed=True) as file:
            if not set(_COLUMNS) <= set(file.schema_arrow.names):
                return None
            for batch in file.iter_batches(_rows_at_once(file.metadata), columns=_COLUMNS, use_threads=False):
                keys = _content_keys(batch, unit_ids, keyed)
                if keys is None:
                    return None
                total.add(keys)
    return total.key()


def _rows_at_once(metadata: pq.FileMetaData) -> int:
    size: int = sum(metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups))
    rows: int = metadata.num_rows
    return max(1, min(_ROWS_AT_ONCE, rows * _BYTES_AT_ONCE // max(size, 1)))


def _content_keys(records: pa.RecordBatch, unit_ids: pa.Array, keyed: KeyedHash) -> bytes | None:
    """One after another; None as of `_content_key`."""
    index = records["unit_index"]
    if any(records[name].null_count for name in _NEVER_NULL):
        return None
    if len(index) and not 0 <= pc.min(index).as_py() <= pc.max(index).as_py() < len(unit_ids):
        return None
    ids, statuses, texts = (_encoded(records[name]) for name in ("record_id", "status", "text"))
    text_keys = [None if text is None else keyed.text_key(text) for text in texts]
    if text_keys != records["text_key"].to_pylist():
        return None
    identities = zip(unit_ids.take(index).to_pylist(), ids, statuses, text_keys, strict=True)
    return b"".join([keyed.content_key(*identity) for identity in identities])


def _encoded(column: pa.Array) -> list[bytes]:
    encoded: list[bytes] = column.cast(pa.large_binary()).to_pylist()
    return encoded
