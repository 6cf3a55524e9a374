"""Tables that the suites on inputs look at, before anything is spent; private, and never kept.

What a release is computed from: the records and units of a partition version, and the verdicts on its texts.
"""

import pyarrow as pa


def _required(**kinds: pa.DataType) -> pa.Schema:
    return pa.schema([pa.field(name, kind, nullable=False) for name, kind in kinds.items()])


# One row: how many units the release log registered, and how many statements are asked.
INPUT_ASKED = _required(units=pa.int64(), statements=pa.int64())
# One row per record of the version; its text stays where it is.
INPUT_RECORDS = pa.schema(
    [
        pa.field("unit_index", pa.int64()),
        pa.field("record_id", pa.string()),
        pa.field("status", pa.string()),
        pa.field("has_text", pa.bool_()),
        pa.field("has_text_key", pa.bool_()),
    ]
)
# One row per unit; unit_index: its row in `units`.
INPUT_UNITS = pa.schema(
    [
        pa.field("unit_index", pa.int64()),
        pa.field("unit_id", pa.string()),
        pa.field("has_unit_key", pa.bool_()),
        pa.field("records", pa.int64()),
    ]
)
# One row per statement, in the order of the question: distinct texts, known verdicts, texts that support it.
INPUT_VERDICTS = _required(position=pa.int64(), texts=pa.int64(), known=pa.int64(), supporting=pa.int64())
INPUT_SCHEMAS = {
    "asked": INPUT_ASKED,
    "records": INPUT_RECORDS,
    "units": INPUT_UNITS,
    "verdicts": INPUT_VERDICTS,
}
