"""The suites on inputs: what is damaged stops before anything is spent, by name and without a value."""

import json

import pytest
from input_tables import ROWS, input_tables, with_one

from schemas.errors import UserError
from tasks.reporting.data_docs import private_docs
from tasks.reporting.inputs import validate_inputs
from tasks.storage.home import Home

CANARY = "CANARY-6d10f2"


def test_good_inputs_pass_and_booleans_and_counts_are_noted_for_the_operator(home: Home) -> None:
    validate_inputs(home, "v-1", input_tables())
    noted = json.loads((home.private / "validation" / "inputs-v-1.json").read_text())
    assert [(table["name"], table["passed"]) for table in noted] == [
        ("ingested_records", True),
        ("ingested_units", True),
        ("verdict_matrix", True),
    ]
    assert {one["checked"] for table in noted for one in table["expectations"]} == {None, 4, 2, 3}
    assert "inputs-v-1" in private_docs(home).read_text()
    assert not (home.release / "data-docs").exists()


BROKEN = {
    "no record at all": (input_tables(records=[]), "ingested_records", "expect_table_row_count_to_be_between"),
    "an unknown status": (with_one("records", 0, status=CANARY), "ingested_records", "be_in_set of status"),
    "a status that is missing": (with_one("records", 0, status=None), "ingested_records", "not_be_null of status"),
    "a record without an id": (with_one("records", 0, record_id=""), "ingested_records", "be_in_set of has_record_id"),
    "a record twice": (with_one("records", 1, record_id="a"), "ingested_records", "be_in_set of is_first_of_its_id"),
    "a record of no unit": (with_one("records", 3, unit_index=2), "ingested_records", "be_in_set of is_of_a_unit"),
    "a text without its key": (with_one("records", 0, has_text_key=False), "ingested_records", "has_text_key"),
    "a text that could not be read": (with_one("records", 2, has_text=True), "ingested_records", "is_readable"),
    "a unit less than registered": (
        input_tables(asked=[{"units": 3, "statements": 3}]),
        "ingested_units",
        "expect_table_row_count_to_equal",
    ),
    "a unit without an id": (with_one("units", 0, unit_id=None), "ingested_units", "be_in_set of has_unit_id"),
    "a unit twice": (with_one("units", 1, unit_id="u"), "ingested_units", "be_in_set of is_first_of_its_id"),
    "a unit whose records are gone": (with_one("units", 1, records=2), "ingested_units", "records and records_found"),
    "no verdict at all": (input_tables(verdicts=[]), "verdict_matrix", "expect_table_row_count_to_equal"),
    "a verdict that is missing": (with_one("verdicts", 1, known=2), "verdict_matrix", "be_equal of texts and known"),
    "a verdict of what was not scored": (
        with_one("verdicts", 1, supporting=4),
        "verdict_matrix",
        "greater_than_b of known and supporting",
    ),
    "a statement twice": (with_one("verdicts", 1, position=0), "verdict_matrix", "be_unique of position"),
}


@pytest.mark.parametrize(("tables", "view", "expectation"), BROKEN.values(), ids=BROKEN.keys())
def test_a_damaged_input_stops_and_says_which_expectation_of_which_table(home, tables, view, expectation) -> None:
    with pytest.raises(UserError, match=rf"view {view} does not pass .*{expectation}.*nothing was drawn") as raised:
        validate_inputs(home, "v-1", tables)
    assert raised.value.__cause__ is None
    kept = [*(home.private / "validation").iterdir(), private_docs(home)]
    assert CANARY not in "".join([str(raised.value), *(path.read_text() for path in kept)])
    failed = [table["name"] for table in json.loads((home.private / "validation/inputs-v-1.json").read_text())
              if not table["passed"]]  # fmt: skip
    assert view in failed


def test_a_partition_without_units_may_be_empty(home: Home) -> None:
    verdicts = [row | {"texts": 0, "known": 0, "supporting": 0} for row in ROWS["verdicts"]]
    validate_inputs(
        home, "v-1", input_tables(asked=[{"units": 0, "statements": 3}], records=[], units=[], verdicts=verdicts)
    )
