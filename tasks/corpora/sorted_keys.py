"""A sorted set of keyed hashes larger than memory: buckets by first byte, each sorted by itself."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tasks.corpora.keyed import KEY_BYTES
from tasks.corpora.private_files import key_column, private_file, private_parquet

RECORD_KEYS = pa.schema([pa.field("record_key", pa.binary(KEY_BYTES), nullable=False)])

_KEY = np.dtype(
    f"S{KEY_BYTES}"
)  # numpy pads with zero bytes, which at a fixed width changes neither order nor equality
_BUFFERED_BYTES = 16 << 20
_BUCKETS = 16


class SortedKeys:
    """Takes keys in any order, with repetitions; writes each once, ascending.

    folder: where buckets may lie meanwhile; they are removed by `write`.
    """

    def __init__(self, folder: Path, buffered_bytes: int = _BUFFERED_BYTES) -> None:
        self._buckets = [folder / f"keys-{bucket:02d}.tmp" for bucket in range(_BUCKETS)]
        self._buffered_bytes = buffered_bytes
        self._buffer = bytearray()
        self._spilled = False

    def add(self, keys: bytes) -> None:
        """Add keys, one after another."""
        self._buffer += keys
        if len(self._buffer) >= self._buffered_bytes:
            self._spill()

    def write(self, path: Path) -> None:
        """Write the Parquet file RECORD_KEYS."""
        if self._spilled:
            self._spill()
        with private_parquet(path, RECORD_KEYS) as writer:
            for keys in self._sorted():
                writer.write_table(pa.table([key_column(keys.tobytes())], schema=RECORD_KEYS))

    def _spill(self) -> None:
        keys = np.frombuffer(bytes(self._buffer), np.uint8).reshape(-1, KEY_BYTES)
        buckets = keys[:, 0] // (256 // _BUCKETS)
        for bucket, path in enumerate(self._buckets):
            with private_file(path, append=True) as file:
                file.write(keys[buckets == bucket].tobytes())
        self._buffer.clear()
        self._spilled = True

    def _sorted(self) -> Iterator[NDArray[np.bytes_]]:
        if not self._spilled:
            yield _ascending(bytes(self._buffer))
            return
        for path in self._buckets:
            yield _ascending(path.read_bytes())
            path.unlink()


def _ascending(content: bytes) -> NDArray[np.bytes_]:
    keys = np.sort(np.frombuffer(content, _KEY))  # np.unique would hash every key first: eight times slower
    return keys[np.concatenate([[True], keys[1:] != keys[:-1]])] if len(keys) else keys
