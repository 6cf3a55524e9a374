"""The distinct texts of a partition version: where each can be read, and which record has which."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from schemas.records import RecordStatus
from tasks.corpora.versions import UNITS_FILE, record_files
from tasks.storage.objects import AnyPath
from tasks.storage.parquet import parquet_file

Keys = NDArray[np.bytes_]  # (texts,), 32 bytes each: keyed hashes
KEY_BYTES = 32
KEY = np.dtype(f"S{KEY_BYTES}")  # trailing zero bytes compare equal to padding, harmless at a fixed width


@dataclass(frozen=True, slots=True)
class VersionTexts:
    """All records of one version without their texts; memory grows with records, not with their lengths.

    keys: the distinct text keys, ascending, shape (texts,).
    where: file number, row group and row of one record with that text, shape (texts, 3).
    text_of_record: index into keys, -1 for an unreadable record, shape (records,).
    unit_of_record: unit index, shape (records,).
    units: n, the number of rows of units.parquet.
    """

    keys: Keys
    where: NDArray[np.int64]
    text_of_record: NDArray[np.int64]
    unit_of_record: NDArray[np.int64]
    units: int


def index_texts(version_path: AnyPath) -> VersionTexts:
    """Read keys and units of a version, never a text.

    Raises UserError where they are not there or are damaged, ValueError when the tables contradict their schema (a
    fault of ours, without values).
    """
    keys, where, units_of = [np.empty(0, KEY)], [np.empty((0, 3), np.int64)], [np.empty(0, np.int64)]
    readable = [np.empty(0, np.bool_)]
    for number, path in enumerate(record_files(version_path)):
        with parquet_file(path) as file:
            for group in range(file.num_row_groups):
                table = file.read_row_group(group, columns=["unit_index", "status", "text_key"])
                valid = _readable(table)
                rows = np.flatnonzero(valid)
                keys.append(key_array(table["text_key"].drop_null()))
                where.append(np.stack([np.full_like(rows, number), np.full_like(rows, group), rows], axis=1))
                readable.append(valid)
                units_of.append(table["unit_index"].to_numpy().astype(np.int64, copy=False))
    distinct, first, inverse = np.unique(np.concatenate(keys), return_index=True, return_inverse=True)
    valid = np.concatenate(readable)
    text_of_record = np.full(len(valid), -1, np.int64)
    text_of_record[valid] = inverse
    unit_of_record = np.concatenate(units_of)
    units = _number_of_units(version_path)
    if len(unit_of_record) and not 0 <= unit_of_record.min() <= unit_of_record.max() < units:
        raise ValueError("records: a unit index lies outside units.parquet")
    return VersionTexts(distinct, np.concatenate(where)[first], text_of_record, unit_of_record, units)


def read_texts(version_path: AnyPath, where: NDArray[np.int64]) -> tuple[list[str], Keys]:
    """Texts and keys at these places (rows of VersionTexts.where), in that order."""
    texts, keys = np.empty(len(where), object), np.empty(len(where), KEY)
    files = record_files(version_path)
    for number, group in np.unique(where[:, :2], axis=0):
        here = np.flatnonzero((where[:, 0] == number) & (where[:, 1] == group))
        rows = _row_group(files[number], int(group)).take(pa.array(where[here, 2]))
        texts[here] = rows["text"].to_pylist()
        keys[here] = key_array(rows["text_key"])
    return list(texts), keys


def forget_texts() -> None:
    """Drop the texts that `read_texts` keeps at hand in this process."""
    _row_group.cache_clear()


def key_array(column: pa.ChunkedArray) -> Keys:
    """Fixed 32-byte keys of an Arrow column without nulls."""
    array = column.cast(pa.binary(KEY_BYTES)).combine_chunks()
    if len(array) == 0:
        return np.empty(0, KEY)
    return np.frombuffer(array.buffers()[1], KEY, count=len(array), offset=array.offset * KEY_BYTES)


@lru_cache(maxsize=1)  # neighbouring chunks read the same group; versions never change once registered
def _row_group(path: AnyPath, group: int) -> pa.Table:
    with parquet_file(path) as file:
        return file.read_row_group(group, columns=["text", "text_key"])


def _number_of_units(version_path: AnyPath) -> int:
    with parquet_file(version_path / UNITS_FILE) as file:
        return int(file.metadata.num_rows)


def _readable(table: pa.Table) -> NDArray[np.bool_]:
    has_key: NDArray[np.bool_] = pc.is_valid(table["text_key"]).to_numpy()
    is_ok: NDArray[np.bool_] = pc.equal(table["status"], RecordStatus.OK.value).to_numpy()
    if not np.array_equal(has_key, is_ok):
        raise ValueError("records: status and text_key disagree")
    return has_key
