"""Declared lists and time grids."""

import time
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from corpus_files import Row, corpus, stage, write_csv, write_parquet
from hypothesis import given
from hypothesis import strategies as st

from schemas.corpora import TimeGrid
from schemas.errors import UserError
from tasks.corpora.partitions import is_over, partition_scheme, period_after, period_keys
from tasks.corpora.problems import SourceError
from tasks.ledger.clock import today
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


QUARTERS = dict(zip(range(1, 13), "111222333444", strict=True))


def key_of(day: date, grid: TimeGrid) -> str:
    """The period of a day, said in another way than the product does."""
    if grid is TimeGrid.QUARTER:
        return f"{day.isoformat()[:4]}-Q{QUARTERS[day.month]}"
    return day.isoformat()[: {TimeGrid.YEAR: 4, TimeGrid.MONTH: 7, TimeGrid.DAY: 10}[grid]]


@given(st.datetimes(), st.sampled_from(TimeGrid), st.integers(-23, 23))
def test_every_way_to_write_a_time_gives_the_same_period(moment: datetime, grid: TimeGrid, hours: int) -> None:
    expected = key_of(moment.date(), grid)
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


DAYS_OUTSIDE = (6_681_200, 2_932_897, 2**31 - 1, -719_163, -719_529, -(2**31))  # 20262, 10000, last, 0, -1, first
DAYS_INSIDE = {-719_162: date.min, 2_932_896: date.max}


@pytest.mark.parametrize("grid", TimeGrid)
@pytest.mark.parametrize("kind", ["date32", "date64", "s", "ms", "us"])
def test_a_date_that_no_calendar_of_four_digits_has_is_no_date(grid: TimeGrid, kind: str) -> None:
    """20261-03-01 is not a day of 2026, nor a year before the first one a day of another."""
    column = pa.array([*DAYS_OUTSIDE, *DAYS_INSIDE], pa.int32()).cast(pa.date32())
    if kind == "date64":
        column = column.cast(pa.date64())
    elif kind != "date32":
        unit = {"s": 1, "ms": 1000, "us": 10**6}[kind]
        moments = [days * 86_400 * unit for days in (*DAYS_OUTSIDE, *DAYS_INSIDE)]
        column = pa.array([max(-(2**63), min(moment, 2**63 - 1)) for moment in moments]).cast(pa.timestamp(kind))
    expected = [*(None for _ in DAYS_OUTSIDE), *(key_of(day, grid) for day in DAYS_INSIDE.values())]
    assert period_keys(column, grid).to_pylist() == expected


def test_the_last_moments_of_64_bits_are_no_dates_in_seconds_and_dates_in_nanoseconds() -> None:
    ends = pa.array([2**63 - 1, -(2**63) + 1])
    assert period_keys(ends.cast(pa.timestamp("s")), TimeGrid.YEAR).to_pylist() == [None, None]
    assert period_keys(ends.cast(pa.timestamp("ns")), TimeGrid.YEAR).to_pylist() == ["2262", "1677"]


def test_a_record_of_the_year_20261_stops_the_corpus_by_name(tmp_path: Path, home: Home) -> None:
    days = pa.array([20_513, 6_681_200], pa.int32()).cast(pa.date32())
    table = pa.table({"id": ["a", "b"], "author": ["a", "b"], "text": ["t", "u"], "when": days})
    pq.write_table(table, tmp_path / "c.parquet")
    grid = {"time_grid": "year", "first_period": "2026", "last_period": "2027", "partition_column": "when"}
    with pytest.raises(UserError, match="partition_column: a value is null or no date"):
        stage(corpus(tmp_path / "c.parquet", **grid), home)


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
    assert period_keys(written, TimeGrid.QUARTER).to_pylist() == [None, "2026-Q2", "2026-Q2"]
    assert period_keys(written, TimeGrid.DAY).to_pylist() == [None, None, "2026-05-06"]


def test_a_quarter_may_be_written_as_its_key_where_quarters_are_meant() -> None:
    written = pa.array(["2026-Q4", "2026-Q5", "2026-q4", "2026-Q4 "], pa.large_string())
    assert period_keys(written, TimeGrid.QUARTER).to_pylist() == ["2026-Q4", None, None, None]
    assert period_keys(written, TimeGrid.MONTH).to_pylist() == [None] * 4


@pytest.mark.parametrize("first", ["2026-11", "2026", "2026-11-30", "2026-Q0"])
def test_the_ends_of_a_grid_of_quarters_are_quarters(first: str) -> None:
    grid = {"time_grid": "quarter", "first_period": first, "last_period": "2027-Q1", "partition_column": "d"}
    with pytest.raises(SourceError, match="first_period: write a quarter as 2026-Q4"):
        partition_scheme(corpus("x.csv", **grid))


def test_periods_follow_each_other_and_are_over_on_the_day_after_their_last() -> None:
    for grid, key, after, last_day in (
        (TimeGrid.YEAR, "2026", "2027", date(2026, 12, 31)),
        (TimeGrid.QUARTER, "2026-Q4", "2027-Q1", date(2026, 12, 31)),
        (TimeGrid.MONTH, "2028-02", "2028-03", date(2028, 2, 29)),
        (TimeGrid.DAY, "2026-03-29", "2026-03-30", date(2026, 3, 29)),
    ):
        assert period_after(key, grid) == after
        assert [is_over(key, grid, day) for day in (last_day, last_day + timedelta(days=1))] == [False, True]


# In New York clocks went forward on 2026-03-08 and back on 2026-11-01; Apia is at +13 all year.
AROUND_CLOCK_CHANGES = ("2026-03-08T02:30:00", "2026-03-08T23:59:59-04:00", "2026-11-01T01:30:00-05:00", "2026-11-01")


@pytest.mark.parametrize("zone", ["America/New_York", "Pacific/Apia", "UTC"])
def test_the_clock_of_the_machine_moves_no_record_to_another_period(zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        texts = pa.array(AROUND_CLOCK_CHANGES, pa.large_string())
        moments = pa.array([datetime(2026, 11, 1, 23, 59, 59), datetime(2026, 3, 8, 2, 30)], pa.timestamp("ms"))
        zoned = moments.cast(pa.timestamp("ms", "America/New_York"))
        assert period_keys(texts, TimeGrid.DAY).to_pylist() == ["2026-03-08", "2026-03-09", "2026-11-01", "2026-11-01"]
        for column in (moments, zoned):
            assert period_keys(column, TimeGrid.DAY).to_pylist() == ["2026-11-01", "2026-03-08"]
        whole_year = {"first_period": "2026-01-01", "last_period": "2026-12-31", "partition_column": "d"}
        assert len(partition_scheme(corpus("x.csv", time_grid="day", **whole_year)).keys) == 365
        assert today() == datetime.now(UTC).date()
    finally:
        monkeypatch.undo()
        time.tzset()


@given(st.dates(date(1, 1, 1), date(9999, 12, 31)), st.integers(0, 900))
def test_a_grid_holds_every_day_between_its_ends(first: date, days: int) -> None:
    last = min(first.toordinal() + days, date.max.toordinal())
    for grid in TimeGrid:
        ends = {
            "first_period": key_of(first, grid),
            "last_period": key_of(date.fromordinal(last), grid),
        }
        scheme = partition_scheme(corpus("x.csv", partition_column="d", time_grid=grid, **ends))
        each_day = (key_of(date.fromordinal(day), grid) for day in range(first.toordinal(), last + 1))
        assert list(scheme.keys) == list(dict.fromkeys(each_day))


def test_timestamps_of_parquet_are_taken_in_utc(tmp_path: Path, home: Home) -> None:
    moments = pa.array([datetime(2026, 1, 1, 3, tzinfo=UTC)], pa.timestamp("ns", "America/New_York"))
    pq.write_table(pa.table({"id": ["1"], "author": ["a"], "text": ["t"], "at": moments}), tmp_path / "c.parquet")
    grid = {"time_grid": "day", "first_period": "2025-12-31", "last_period": "2026-01-01", "partition_column": "at"}
    seen = stage(corpus(tmp_path / "c.parquet", **grid), home)
    assert {key: one.units for key, one in seen.items()} == {"2025-12-31": 0, "2026-01-01": 1}
