"""Declared lists and time grids."""

from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from corpus_files import Row, corpus, stage, write_csv, write_parquet
from hypothesis import given
from hypothesis import strategies as st

from schemas.corpora import TimeGrid
from tasks.corpora.partitions import partition_scheme, period_keys
from tasks.storage.home import Home


def test_a_declared_list_makes_all_its_partitions_in_order(tmp_path: Path, home: Home) -> None:
    rows: list[Row] = [{"id": n, "author": f"u{n}", "year": 2000 + n, "text": "t"} for n in range(3)]
    declared = {"partition_column": "year", "partitions": ("2002", "1999", "2001", "2000")}
    for path in (write_parquet(tmp_path / "c.parquet", rows), write_csv(tmp_path / "c.csv", rows)):
        seen = stage(corpus(path, **declared), home)
        assert {key: sorted(unit for unit, *_ in one.records) for key, one in seen.items()} == {
            "2002": ["u2"],
            "1999": [],
            "2001": ["u1"],
            "2000": ["u0"],
        }
        assert list(seen) == ["2002", "1999", "2001", "2000"]
        assert seen["1999"].content_key == bytes(32)


def test_a_unit_may_recur_in_time(tmp_path: Path, home: Home) -> None:
    rows: list[Row] = [
        {"id": "1", "author": "ann", "when": "2026-01-31", "text": "same"},
        {"id": "1", "author": "ann", "when": "2026-02-01T00:30:00+01:00", "text": "same"},
        {"id": "1", "author": "ann", "when": "2026-03-01T10:00:00", "text": "same"},
    ]
    grid = {"time_grid": "month", "first_period": "2025-12", "last_period": "2026-03", "partition_column": "when"}
    seen = stage(corpus(write_csv(tmp_path / "c.csv", rows), **grid), home)
    assert {key: (one.units, one.duplicates) for key, one in seen.items()} == {
        "2025-12": (0, 0),
        "2026-01": (1, 1),
        "2026-02": (0, 0),
        "2026-03": (1, 0),
    }


@given(st.datetimes(), st.sampled_from(TimeGrid), st.integers(-23, 23))
def test_every_way_to_write_a_time_gives_the_same_period(moment: datetime, grid: TimeGrid, hours: int) -> None:
    length = {TimeGrid.YEAR: 4, TimeGrid.MONTH: 7, TimeGrid.DAY: 10}[grid]
    expected = moment.date().isoformat()[:length]
    assert period_keys(
        pa.array([moment.isoformat(), moment.date().isoformat()], pa.large_string()), grid
    ).to_pylist() == [
        expected,
        expected,
    ]
    for kind in (pa.timestamp("us"), pa.timestamp("us", "Asia/Tokyo")):
        stored = pa.array([moment if kind.tz is None else moment.replace(tzinfo=UTC)], kind)
        assert period_keys(stored, grid).to_pylist() == [expected]
    for kind in (pa.date32(), pa.date64()):
        assert period_keys(pa.array([moment.date()], kind), grid).to_pylist() == [expected]
    if 2 < moment.year < 9998:
        elsewhere = moment.replace(tzinfo=UTC).astimezone(timezone(timedelta(hours=hours))).isoformat()
        assert period_keys(pa.array([elsewhere], pa.large_string()), grid).to_pylist() == [expected]


@pytest.mark.parametrize(
    "written",
    [
        *("", "soon", "2026-13", "2026-02-30", "26-01-01", "2026/01/01", "20260101", "2026-W01", " 2026", "２０２６"),
        *("2026-01-01T25:00", "2026-01-01 10", "2026-01-01T10:00 and more", "2026-01-01\n"),
    ],
)
def test_what_is_no_date_has_no_period(written: str) -> None:
    assert period_keys(pa.array([written], pa.large_string()), TimeGrid.YEAR).to_pylist() == [None]


def test_text_may_be_as_coarse_as_the_grid() -> None:
    written = pa.array(["2026", "2026-05", "2026-05-06"], pa.large_string())
    assert period_keys(written, TimeGrid.YEAR).to_pylist() == ["2026", "2026", "2026"]
    assert period_keys(written, TimeGrid.MONTH).to_pylist() == [None, "2026-05", "2026-05"]
    assert period_keys(written, TimeGrid.DAY).to_pylist() == [None, None, "2026-05-06"]


@given(st.dates(date(1, 1, 1), date(9999, 12, 31)), st.integers(0, 900))
def test_a_grid_holds_every_day_between_its_ends(first: date, days: int) -> None:
    last = min(first.toordinal() + days, date.max.toordinal())
    for grid, length in ((TimeGrid.YEAR, 4), (TimeGrid.MONTH, 7), (TimeGrid.DAY, 10)):
        ends = {
            "first_period": first.isoformat()[:length],
            "last_period": date.fromordinal(last).isoformat()[:length],
        }
        scheme = partition_scheme(corpus("x.csv", partition_column="d", time_grid=grid, **ends))
        each_day = (date.fromordinal(day).isoformat()[:length] for day in range(first.toordinal(), last + 1))
        assert list(scheme.keys) == list(dict.fromkeys(each_day))


def test_timestamps_of_parquet_are_taken_in_utc(tmp_path: Path, home: Home) -> None:
    moments = pa.array([datetime(2026, 1, 1, 3, tzinfo=UTC)], pa.timestamp("ns", "America/New_York"))
    pq.write_table(pa.table({"id": ["1"], "author": ["a"], "text": ["t"], "at": moments}), tmp_path / "c.parquet")
    grid = {"time_grid": "day", "first_period": "2025-12-31", "last_period": "2026-01-01", "partition_column": "at"}
    seen = stage(corpus(tmp_path / "c.parquet", **grid), home)
    assert {key: one.units for key, one in seen.items()} == {"2025-12-31": 0, "2026-01-01": 1}
