"""How unit ids are compared."""

from pathlib import Path

import pyarrow as pa
import pytest
from corpus_files import Row, corpus, stage_one, write_parquet
from hypothesis import given
from hypothesis import strategies as st

from schemas.corpora import UnitRule
from schemas.errors import UserError
from tasks.corpora.problems import SourceError
from tasks.corpora.units import check_no_look_alikes, fold, look, unit_ids
from tasks.storage.home import Home

LOOK_ALIKES = [
    ("Ann", "ann"),
    ("ann", " ann "),
    ("é", "e\u0301"),
    ("17", "017"),
    ("ﬁ", "fi"),
    ("STRASSE", "straße"),
    ("１", "1"),
]


def rows(*authors: str) -> list[Row]:
    """One record a unit."""
    return [{"id": str(n), "author": author, "text": f"text {n}"} for n, author in enumerate(authors)]


@pytest.mark.parametrize("pair", LOOK_ALIKES)
def test_look_alikes_stop_an_exact_corpus_and_are_two_units_as_written(
    tmp_path: Path, home: Home, pair: tuple[str, str]
) -> None:
    path = write_parquet(tmp_path / "c.parquet", rows(*pair))
    with pytest.raises(UserError, match=r"^unit_rule: ambiguous unit ids"):
        stage_one(corpus(path), home)
    seen = stage_one(corpus(path, unit_rule="as_written"), home)
    assert {unit for unit, *_ in seen.records} == set(pair)


@pytest.mark.parametrize("pair", [pair for pair in LOOK_ALIKES if pair != ("17", "017")])
def test_folded_look_alikes_are_one_unit(tmp_path: Path, home: Home, pair: tuple[str, str]) -> None:
    seen = stage_one(corpus(write_parquet(tmp_path / "c.parquet", rows(*pair)), unit_rule="folded"), home)
    assert (seen.units, len(seen.records)) == (1, 2)


def test_folding_keeps_leading_zeros(tmp_path: Path, home: Home) -> None:
    seen = stage_one(corpus(write_parquet(tmp_path / "c.parquet", rows("17", "017")), unit_rule="folded"), home)
    assert seen.units == 2


def test_look_alikes_in_two_partitions_are_noticed(tmp_path: Path, home: Home) -> None:
    apart: list[Row] = [{**row, "p": f"p{n}"} for n, row in enumerate(rows("Ann", "ann"))]
    source = corpus(write_parquet(tmp_path / "c.parquet", apart), partition_column="p", partitions=("p0", "p1"))
    with pytest.raises(UserError, match=r"^unit_rule: ambiguous"):
        stage_one(source, home)


@given(st.lists(st.text(min_size=1).filter(str.strip), min_size=1, unique=True))
def test_vectorised_rules_agree_with_the_rule_of_one_id(ids: list[str]) -> None:
    folded = pa.array([fold(unit) for unit in ids], pa.large_string())
    clean = [unit for unit, after in zip(ids, folded.to_pylist(), strict=True) if after and after.isprintable()]
    got = unit_ids(pa.array(clean, pa.large_string()), UnitRule.FOLDED)
    assert got.to_pylist() == [fold(unit) for unit in clean]
    alike = len({look(unit) for unit in ids}) < len(ids)
    try:
        check_no_look_alikes(pa.array(ids, pa.large_string()))
    except SourceError:
        assert alike
    else:
        assert not alike


@given(st.from_regex(r"[ -~]{1,12}", fullmatch=True))
def test_ascii_ids_fold_to_lower_case_without_outer_space(unit: str) -> None:
    assert fold(unit) == unit.strip().lower()


@given(st.from_regex(r"[0-9]{1,12}", fullmatch=True))
def test_numbers_look_alike_when_they_are_equal(unit: str) -> None:
    assert look(unit) == str(int(unit))
    assert look(f" {unit} ") == str(int(unit))
    assert look(f"{unit}-") == f"{unit}-"


def test_units_are_sorted_by_their_bytes(tmp_path: Path, home: Home) -> None:
    names = ["z", "é", "\U0001f600", "\uffee", "a", "Z", "10", "9"]
    path = write_parquet(tmp_path / "c.parquet", rows(*names))
    assert stage_one(corpus(path, unit_rule="as_written"), home).units == len(names)  # order: checked by look_at
