"""Counts: one bit a unit, whatever its records say."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scripted_models import STATEMENTS, Record, Scripted, expected_counts, write_version

from schemas.audit import UnitSupport
from tasks.storage.home import Home
from tasks.support import counts as counts_module
from tasks.support.counts import MissingVerdictError, support_counts
from tasks.support.models import load_support_model
from tasks.support.scoring import score_version

REFERENCE = Scripted().reference()
FINGERPRINT = load_support_model(REFERENCE).fingerprint
records_of_corpora = st.lists(
    st.tuples(st.sampled_from("abcd"), st.just("id"), st.one_of(st.none(), st.sampled_from(["x", "y", "z", "wéird"]))),
    max_size=25,
)
_versions = iter(range(10**9))


def counts_of(home: Home, records: list[Record], units: str, unit_support: UnitSupport) -> list[int]:
    path = write_version(home, home.root / f"version-{next(_versions)}", records, units)
    score_version(path, STATEMENTS, REFERENCE, home)
    return support_counts(path, STATEMENTS, FINGERPRINT, unit_support, home).tolist()


@pytest.mark.parametrize("unit_support", list(UnitSupport))
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(records=records_of_corpora)
def test_counts_are_those_of_the_definition(home: Home, records: list[Record], unit_support: UnitSupport) -> None:
    expected = expected_counts(records, STATEMENTS, all_records=unit_support is UnitSupport.ALL)
    assert counts_of(home, records, "abcdef", unit_support) == expected


@pytest.mark.parametrize("unit_support", list(UnitSupport))
@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(records=records_of_corpora, other=records_of_corpora)
def test_replacing_one_units_records_moves_each_count_by_at_most_one(
    home: Home, records: list[Record], other: list[Record], unit_support: UnitSupport
) -> None:
    neighbour = [r for r in records if r[0] != "a"] + [("a", record_id, text) for _, record_id, text in other]
    here, there = (np.array(counts_of(home, side, "abcd", unit_support)) for side in (records, neighbour))
    assert np.abs(here - there).max() <= 1


@pytest.mark.parametrize("unit_support", list(UnitSupport))
def test_a_unit_without_a_readable_record_supports_nothing(home: Home, unit_support: UnitSupport) -> None:
    assert counts_of(home, [("a", "1", None), ("a", "2", None)], "ab", unit_support) == [0] * len(STATEMENTS)


def test_one_unreadable_record_makes_all_records_false_and_leaves_any_record_alone(home: Home) -> None:
    records: list[Record] = [("a", "1", "x"), ("a", "2", None)]
    assert counts_of(home, records, "a", UnitSupport.ALL) == [0] * len(STATEMENTS)
    assert counts_of(home, records, "a", UnitSupport.ANY) == counts_of(home, records[:1], "a", UnitSupport.ANY)


def test_a_missing_verdict_stops_counting(home: Home, tmp_path: Path) -> None:
    path = write_version(home, tmp_path / "version", [("a", "1", "x"), ("b", "1", "y")], "ab")
    score_version(path, STATEMENTS[:-1], REFERENCE, home)
    with pytest.raises(MissingVerdictError):
        support_counts(path, STATEMENTS, FINGERPRINT, UnitSupport.ANY, home)


def test_an_empty_corpus_counts_nothing_and_no_statement_gives_no_count(home: Home) -> None:
    assert counts_of(home, [], "", UnitSupport.ANY) == [0] * len(STATEMENTS)
    path = write_version(home, home.root / "version", [("a", "1", "x")], "a")
    assert support_counts(path, [], FINGERPRINT, UnitSupport.ANY, home).shape == (0,)


def test_blocks_of_statements_and_of_records_change_no_count(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    records: list[Record] = [(f"u{i % 17}", str(i), f"text {i % 29}" if i % 5 else None) for i in range(150)]
    units = {unit for unit, _, _ in records}
    path = write_version(home, home.root / "version", records, sorted(units))
    score_version(path, STATEMENTS, REFERENCE, home)
    monkeypatch.setattr(counts_module, "_BIT_MATRIX_BYTES", 1)
    monkeypatch.setattr("tasks.support.bits._CELLS_AT_ONCE", 64)
    for unit_support in UnitSupport:
        counts = support_counts(path, STATEMENTS, FINGERPRINT, unit_support, home).tolist()
        assert counts == expected_counts(records, STATEMENTS, all_records=unit_support is UnitSupport.ALL)


def test_statements_that_are_not_distinct_are_refused(home: Home, tmp_path: Path) -> None:
    path = write_version(home, tmp_path / "version", [("a", "1", "x")], "a")
    with pytest.raises(ValueError, match="distinct"):
        support_counts(path, [*STATEMENTS, STATEMENTS[0]], FINGERPRINT, UnitSupport.ANY, home)
