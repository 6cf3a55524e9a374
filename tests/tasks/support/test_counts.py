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
from tasks.support.counts import MissingVerdictError, bounded_support_counts, support_counts, unit_verdicts
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


def bounded_counts_of(
    home: Home, records: list[Record], units: str, contributions: int, unit_support: UnitSupport = UnitSupport.ANY
) -> list[int]:
    path = write_version(home, home.root / f"version-{next(_versions)}", records, units)
    score_version(path, STATEMENTS, REFERENCE, home)
    return bounded_support_counts(path, STATEMENTS, FINGERPRINT, unit_support, home, contributions).tolist()


@pytest.mark.parametrize("unit_support", list(UnitSupport))
@pytest.mark.parametrize("contributions", [1, 3])
@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(records=records_of_corpora, other=records_of_corpora)
def test_replacing_one_units_records_moves_the_bounded_counts_by_twice_the_bound_in_all(
    home: Home, records: list[Record], other: list[Record], unit_support: UnitSupport, contributions: int
) -> None:
    """A unit may have many records: truncating records instead of units would move them further."""
    neighbour = [r for r in records if r[0] != "a"] + [("a", record_id, text) for _, record_id, text in other]
    here, there = (
        np.array(bounded_counts_of(home, side, "abcd", contributions, unit_support)) for side in (records, neighbour)
    )
    assert np.abs(here - there).sum() <= 2 * contributions
    assert np.abs(here - there).max() <= 1


@pytest.mark.parametrize("contributions", [1, 2, 5, 11, 100])
def test_a_unit_counts_for_its_first_statements_by_keyed_hash_and_for_all_within_the_bound(
    home: Home, tmp_path: Path, contributions: int
) -> None:
    records: list[Record] = [(f"u{i % 30}", str(i), f"text {i}") for i in range(120)]
    path = write_version(home, tmp_path / "version", records, sorted({unit for unit, _, _ in records}))
    score_version(path, STATEMENTS, REFERENCE, home)
    verdicts = unit_verdicts(path, STATEMENTS, FINGERPRINT, UnitSupport.ANY, home)
    counts = bounded_support_counts(path, STATEMENTS, FINGERPRINT, UnitSupport.ANY, home, contributions)
    assert counts.sum() == np.minimum(verdicts.sum(axis=1), contributions).sum()
    assert (counts <= verdicts.sum(axis=0)).all()
    if contributions == 1:  # no statement is favoured for every unit
        assert np.count_nonzero(counts) > 5


def test_which_statements_a_unit_counts_for_depends_on_that_unit_alone(home: Home) -> None:
    alone: list[Record] = [("b", str(i), f"text {i}") for i in range(6)]
    others: list[Record] = [("a", "0", "x"), ("c", "0", "y"), ("c", "1", "z")]
    with_others = np.array(bounded_counts_of(home, others + alone, "abc", 2))
    assert (
        with_others.tolist()
        == (
            np.array(bounded_counts_of(home, alone, "b", 2)) + np.array(bounded_counts_of(home, others, "ac", 2))
        ).tolist()
    )


def test_blocks_of_units_change_no_bounded_count(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    records: list[Record] = [(f"u{i % 17}", str(i), f"text {i % 29}" if i % 5 else None) for i in range(150)]
    path = write_version(home, home.root / "version", records, [*sorted({unit for unit, _, _ in records}), "zz"])
    score_version(path, STATEMENTS, REFERENCE, home)
    asked = [(support, bound) for support in UnitSupport for bound in (1, 3)]
    whole = [bounded_support_counts(path, STATEMENTS, FINGERPRINT, s, home, c).tolist() for s, c in asked]
    monkeypatch.setattr(counts_module, "_BIT_MATRIX_BYTES", 40)
    monkeypatch.setattr("tasks.support.bits._CELLS_AT_ONCE", 64)
    assert len(counts_module._unit_blocks(counts_module.index_texts(path), len(STATEMENTS))) > 5
    assert [bounded_support_counts(path, STATEMENTS, FINGERPRINT, s, home, c).tolist() for s, c in asked] == whole


def test_without_units_or_with_a_missing_verdict_there_is_no_bounded_count(home: Home, tmp_path: Path) -> None:
    assert bounded_counts_of(home, [], "", 2) == [0] * len(STATEMENTS)
    path = write_version(home, tmp_path / "version", [("a", "1", "x")], "a")
    score_version(path, STATEMENTS[:-1], REFERENCE, home)
    with pytest.raises(MissingVerdictError):
        bounded_support_counts(path, STATEMENTS, FINGERPRINT, UnitSupport.ANY, home, 2)
