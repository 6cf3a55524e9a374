"""Studies in the release database: loaded, kept by a rebuild, and named when they cannot be read."""

import shutil
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from schemas.errors import UserError
from tasks.reporting.projection import build_release_database
from tasks.reporting.validation import InvalidWarehouseError
from tasks.storage.home import Home
from tests.projections import few_releases
from tests.study_rows import study_tables_of


def put(home: Home, folder: str, **cell: object) -> Path:
    """A study's folder as `privcert study` leaves it: one cell, one seed."""
    place = home.release / "studies" / folder
    place.mkdir(parents=True)
    same = {name: value for name, value in cell.items() if name in ("study", "study_key")}
    for name, (table, _) in study_tables_of(study_runs=[same], study_cells=[cell]).items():
        pq.write_table(table, place / f"{name}.parquet")
    return place


def answer(home: Home, query: str) -> list[tuple[object, ...]]:
    with duckdb.connect(str(home.release / "release.duckdb"), read_only=True) as connection:
        return connection.execute(query).fetchall()


def test_studies_are_in_the_release_database_beside_the_releases(home):
    put(home, "small-1")
    put(home, "other-2", study="other", study_key="a" * 64, mechanism="hist")
    build_release_database(few_releases(), home)
    assert answer(home, "select study, mechanism from study_by_mechanism") == [("other", "hist"), ("small", "frontier")]
    assert answer(home, "select count(*) from releases") == [(3,)]
    assert answer(home, "select count(*) from study_runs") == [(2,)]


def test_a_home_without_studies_has_empty_views(home):
    build_release_database(few_releases(), home)
    assert answer(home, "select * from study_cells") == []


def test_a_new_study_builds_the_database_again_and_nothing_new_does_not(home):
    put(home, "small-1")
    path = build_release_database(few_releases(), home)
    built = path.stat().st_ino
    assert build_release_database(few_releases(), home).stat().st_ino == built
    put(home, "other-2", study_key="a" * 64)
    assert build_release_database(few_releases(), home).stat().st_ino != built
    assert answer(home, "select count(*) from study_cells") == [(2,)]


def test_a_rebuild_keeps_studies_and_a_removed_one_goes(home):
    place = put(home, "small-1")
    before = build_release_database(few_releases(), home).read_bytes()
    (home.release / "release.duckdb").unlink()
    assert build_release_database(few_releases(), home, rebuild=True).read_bytes() == before
    shutil.rmtree(place)
    build_release_database(few_releases(), home)
    assert answer(home, "select count(*) from study_cells") == [(0,)]


@pytest.mark.parametrize("file", ["study_runs.parquet", "study_cells.parquet"])
def test_a_study_that_cannot_be_read_is_named(home, file):
    (put(home, "small-1") / file).write_bytes(b"PAR1")
    with pytest.raises(UserError, match="release/studies/small-1 cannot be read: run that study again, or remove"):
        build_release_database(few_releases(), home)


def test_a_half_written_study_is_not_there(home):
    (put(home, "small-1") / "study_cells.parquet").unlink()
    build_release_database(few_releases(), home)
    assert answer(home, "select count(*) from study_runs") == [(0,)]


def test_an_exact_rate_outside_theorem_4_stops_the_publication(home):
    put(home, "small-1", exact_emit_rate_share=0.5, theorem4_lower_share=0.1, theorem4_upper_share=0.4)
    with pytest.raises(InvalidWarehouseError, match="study_by_mechanism"):
        build_release_database(few_releases(), home)
