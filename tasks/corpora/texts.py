"""Texts become NFC and nothing else; what cannot be read gets a status and loses its text."""

import unicodedata

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from schemas.records import RecordStatus

STATUSES = tuple(RecordStatus)  # a status code is an index into this
OK = STATUSES.index(RecordStatus.OK)


def read_texts(texts: pa.Array, faults: pa.Array, max_characters: int) -> tuple[pa.Array, NDArray[np.int8]]:
    """Readable texts and the status of each record.

    texts: large_string with nulls. faults: a RecordStatus found while reading, or null. Length is counted in
    characters of the NFC text. Returns the NFC texts, null unless the status is ok, and status codes, shape (rows,).
    """
    texts = nfc(texts)
    length = pc.fill_null(pc.utf8_length(texts), 0).to_numpy(zero_copy_only=False)
    blank = pc.fill_null(pc.utf8_is_space(texts), False).to_numpy(zero_copy_only=False)
    codes = np.full(len(texts), OK, np.int8)
    codes[length > max_characters] = STATUSES.index(RecordStatus.TOO_LONG)
    codes[(length == 0) | blank] = STATUSES.index(RecordStatus.EMPTY)
    codes[texts.is_null().to_numpy(zero_copy_only=False)] = STATUSES.index(RecordStatus.MISSING)
    for fault in (RecordStatus.BROKEN_ENCODING, RecordStatus.LONE_SURROGATE, RecordStatus.NOT_TEXT):
        codes[pc.fill_null(pc.equal(faults, str(fault)), False).to_numpy(zero_copy_only=False)] = STATUSES.index(fault)
    return pc.if_else(pa.array(codes == OK), texts, pa.scalar(None, pa.large_string())), codes


def nfc(texts: pa.Array) -> pa.Array:
    """Unicode NFC of each text, as in statements (`unicodedata`); ASCII is its own NFC and is not touched."""
    other = pc.fill_null(pc.invert(pc.string_is_ascii(texts)), False)
    if not pc.any(other).as_py():
        return texts
    changed = [unicodedata.normalize("NFC", text) for text in texts.filter(other).to_pylist()]
    return pc.replace_with_mask(texts, other, pa.array(changed, pa.large_string()))


def status_names(codes: NDArray[np.int8]) -> pa.Array:
    """Status codes as the text that the table holds."""
    return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array([str(s) for s in STATUSES])).cast(pa.string())
