"""Inputs of a small release as they should be: two units, four records (one cannot be read), three statements."""

import pyarrow as pa

from schemas.inputs import INPUT_SCHEMAS

ROWS: dict[str, list[dict[str, object]]] = {
    "asked": [{"units": 2, "statements": 3}],
    "records": [
        {"unit_index": unit, "record_id": name, "status": status, "has_text": readable, "has_text_key": readable}
        for unit, name, status, readable in (
            (0, "a", "ok", True),
            (0, "b", "ok", True),
            (0, "c", "empty", False),
            (1, "a", "ok", True),
        )
    ],
    "units": [
        {"unit_index": index, "unit_id": name, "has_unit_key": True, "records": records}
        for index, name, records in ((0, "u", 3), (1, "v", 1))
    ],
    "verdicts": [{"position": at, "texts": 3, "known": 3, "supporting": at} for at in range(3)],
}


def input_tables(**rows: list[dict[str, object]]) -> dict[str, pa.Table]:
    """Tables with these rows in the place of the good ones."""
    return {name: pa.Table.from_pylist(rows.get(name, ROWS[name]), schema) for name, schema in INPUT_SCHEMAS.items()}


def with_one(table: str, row: int, **values: object) -> dict[str, pa.Table]:
    """Good tables, except for these values in one row of one of them."""
    rows = [one | (values if at == row else {}) for at, one in enumerate(ROWS[table])]
    return input_tables(**{table: rows})
