"""Tables of a registered partition version, all in the private zone.

`records`: one row per record that was read, in any order. `units`: one row per unit, sorted by unit id; row
number = unit index; its length is n. Written by tasks/corpora, read by tasks/support.
"""

from enum import StrEnum

import pyarrow as pa


class RecordStatus(StrEnum):
    """Whether a record can be read; everything but `ok` supports nothing and stays in n."""

    OK = "ok"
    EMPTY = "empty"
    BROKEN_ENCODING = "broken_encoding"
    LONE_SURROGATE = "lone_surrogate"
    TOO_LONG = "too_long"
    MISSING = "missing"
    NOT_TEXT = "not_text"


RECORDS = pa.schema(
    [
        pa.field("unit_index", pa.int64(), nullable=False),  # row of `units`
        pa.field("record_id", pa.string(), nullable=False),
        pa.field("status", pa.string(), nullable=False),  # RecordStatus
        pa.field("text", pa.large_string(), nullable=True),  # NFC; null unless status is ok
        pa.field("text_key", pa.binary(32), nullable=True),  # keyed hash of text; null unless status is ok
    ]
)

UNITS = pa.schema(
    [
        pa.field("unit_id", pa.string(), nullable=False),
        pa.field("unit_key", pa.binary(32), nullable=False),  # keyed hash of (namespace, unit id)
        pa.field("look_key", pa.binary(32), nullable=True),  # equal for ids that look alike; null in old versions
        pa.field("records", pa.int64(), nullable=False),  # records of the unit, readable or not
    ]
)
