"""What a partition holds until all records are read: texts on disk, ids and hashes in memory.

A unit's index is known only when every unit is, so records are written twice: here, lightly compressed, and then in
their table. Memory grows with the number of records (about 25 bytes each, and the ids), never with their texts.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tasks.corpora.keyed import KEY_BYTES
from tasks.corpora.private_files import key_bytes, private_file
from tasks.corpora.readers.batches import BATCH_ROWS

PREPARED = pa.schema(
    [
        pa.field("unit_id", pa.large_string()),
        pa.field("record_id", pa.large_string()),
        pa.field("status", pa.int8()),  # index into texts.STATUSES
        pa.field("text", pa.large_string()),  # NFC; null unless ok
        pa.field("text_key", pa.binary(KEY_BYTES)),  # null unless ok
        pa.field("content_key", pa.binary(KEY_BYTES)),  # equal for exact duplicates only
    ]
)

_SPOOLED = pa.schema([field for field in PREPARED if field.name != "unit_id"])
_OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4")


class Spool:
    """Records of one partition, in the order they came."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._pending: list[pa.Table] = []
        self._units: list[pa.DictionaryArray] = []
        self._identities: list[NDArray[np.uint64]] = []
        self._statuses: list[NDArray[np.int8]] = []
        self.pending_bytes = 0

    def add(self, records: pa.Table) -> None:
        """Keep records of the schema PREPARED."""
        if records.num_rows:
            self._pending.append(records)
            self.pending_bytes += records.nbytes

    def flush(self) -> None:
        """Move what is pending to the file: a sequence of whole Arrow streams, so that it is never held open."""
        if not self._pending:
            return
        table = pa.concat_tables(self._pending).combine_chunks()
        self._pending, self.pending_bytes = [], 0
        self._units.extend(table["unit_id"].dictionary_encode().chunks)
        # Half of a keyed hash tells records apart: two different ones meet with a chance below 2^-80.
        keys = np.frombuffer(key_bytes(table["content_key"]), np.uint64).reshape(-1, KEY_BYTES // 8)
        self._identities.append(keys[:, :2].copy())
        self._statuses.append(table["status"].to_numpy())
        with private_file(self._path, append=True) as file:
            with pa.ipc.new_stream(file, _SPOOLED, options=_OPTIONS) as stream:
                stream.write_table(table.select(_SPOOLED.names), max_chunksize=BATCH_ROWS)

    def units(self) -> tuple[pa.Array, NDArray[np.int64]]:
        """Distinct unit ids in ascending order (of their UTF-8 bytes), and each record's index into them."""
        if not self._units:
            return pa.array([], pa.large_string()), np.empty(0, np.int64)
        chunks = pa.chunked_array(self._units).unify_dictionaries().chunks
        codes = np.concatenate([chunk.indices.to_numpy() for chunk in chunks])
        distinct = chunks[0].dictionary
        order = pc.sort_indices(distinct)
        rank = np.empty(len(order), np.int64)
        rank[order.to_numpy()] = np.arange(len(order))
        return distinct.take(order), rank[codes]

    def identities(self) -> NDArray[np.uint64]:
        """128 bits per record, equal for exact duplicates only; shape (records, 2)."""
        return np.concatenate([np.empty((0, 2), np.uint64), *self._identities])

    def statuses(self) -> NDArray[np.int8]:
        """Status code of each record, shape (records,)."""
        return np.concatenate([np.empty(0, np.int8), *self._statuses])

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The records again, without their unit ids, in the same order; the file is removed at the end."""
        if not self._path.exists():
            return
        with pa.OSFile(str(self._path)) as file:
            while file.tell() < file.size():
                yield from pa.ipc.open_stream(file)
        self._path.unlink()
