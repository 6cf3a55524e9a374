"""The data dictionary: no column without a meaning, no meaning without a column."""

import pytest

from tasks.reporting.dictionary import data_dictionary
from warehouse import dictionary
from warehouse.dictionary import meanings


def test_every_column_of_both_databases_has_a_meaning() -> None:
    rows = data_dictionary().to_pylist()
    assert {(row["zone"], row["table_schema"]) for row in rows} == {
        (zone, schema) for zone in ("release", "private") for schema in ("main", "staging", "base")
    }
    assert [row for row in rows if not row["meaning"].strip()] == []
    assert ("release", "data_dictionary", "meaning") in {(r["zone"], r["table_name"], r["column_name"]) for r in rows}


def test_a_column_without_a_meaning_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {name: meaning for name, meaning in meanings().items() if name != "theta"}
    monkeypatch.setattr(dictionary, "meanings", lambda: kept)
    data_dictionary.cache_clear()
    with pytest.raises(KeyError, match=r"columns\.yaml says nothing of \w+\.theta"):
        data_dictionary()
    data_dictionary.cache_clear()


def test_every_meaning_belongs_to_a_column() -> None:
    rows = data_dictionary().to_pylist()
    known = {row["column_name"] for row in rows} | {f"{row['table_name']}.{row['column_name']}" for row in rows}
    assert sorted(set(meanings()) - known) == []


def test_numbers_have_a_unit() -> None:
    """Text has none, unless it is an exact decimal; whether something is so has none."""
    without = {
        f"{row['table_name']}.{row['column_name']}"
        for row in data_dictionary().to_pylist()
        if row["unit"] is None and row["type"] in ("bigint", "double", "date", "timestamp")
    }
    assert without == set()


def test_a_column_that_ends_in_a_unit_has_that_unit() -> None:
    rows = data_dictionary().to_pylist()
    wrong = {
        row["column_name"]
        for row in rows
        for ending, unit in (("_nats", "nats"), ("_units", "units"))
        if row["column_name"].endswith(ending) and row["unit"] != unit
    }
    assert wrong == set()
