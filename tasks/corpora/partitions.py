"""Which partition a record lies in: `all`, a declared list, or a time grid. No key ever comes from the data."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from schemas.corpora import CorpusSettings, TimeGrid
from tasks.corpora.problems import SourceError

ALL = "all"
_MOST_PERIODS = 10_000
_CALENDAR_SECONDS = (-62_135_596_800, 253_402_300_800)  # 0001-01-01 and 10000-01-01, from 1970 on
_KEY_LENGTH = {TimeGrid.YEAR: 4, TimeGrid.QUARTER: 7, TimeGrid.MONTH: 7, TimeGrid.DAY: 10}  # of 2026-11-30, 2026-Q4
_WRITTEN = re.compile(r"\d{4}(-\d{2}(-\d{2}([T ]\d{2}:\d{2}.*)?)?)?\Z", re.ASCII)
_QUARTER = re.compile(r"\d{4}-Q[1-4]\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class Scheme:
    """keys: every declared partition, in order. grid: set when they are periods of time."""

    keys: tuple[str, ...]
    grid: TimeGrid | None = None

    def codes(self, column: pa.Array | None, rows: int) -> NDArray[np.int64]:
        """Index into `keys` of each record, shape (rows,). SourceError for a value outside the declared keys."""
        if column is None:
            return np.zeros(rows, np.int64)
        if self.grid is None and not pa.types.is_large_string(column.type):
            raise SourceError("partition_column: it holds dates; declare a time_grid, or make it text")
        keys = column if self.grid is None else period_keys(column, self.grid)
        if keys.null_count:
            raise SourceError(f"partition_column: a value is null{' or no date' if self.grid else ''}")
        codes = pc.index_in(keys, pa.array(self.keys, keys.type))
        if codes.null_count:
            declared = "partitions" if self.grid is None else "first_period, last_period"
            raise SourceError(f"{declared}: a record lies outside the declared partitions")
        return np.asarray(codes.to_numpy(), np.int64)


def partition_scheme(settings: CorpusSettings) -> Scheme:
    """The declared scheme. SourceError when first or last period is not written as the grid wants it."""
    if settings.time_grid is None:
        return Scheme(settings.partitions or (ALL,))
    first = _start("first_period", settings.first_period or "", settings.time_grid)
    last = _start("last_period", settings.last_period or "", settings.time_grid)
    if first > last:
        raise SourceError("last_period: it lies before first_period")
    return Scheme(tuple(_periods(first, last, settings.time_grid)), settings.time_grid)


def period_keys(column: pa.Array, grid: TimeGrid) -> pa.Array:
    """Key of the period of each date, time or ISO 8601 text; times with a zone are taken in UTC; null if no date.

    What lies outside the years 1 to 9999 is no date here, however it is stored: its key would be that of another year.
    Text may be as short as the grid allows (2026-11 on a grid of months, quarters or years), or the key of a quarter.
    """
    if pa.types.is_large_string(column.type):
        encoded = column.dictionary_encode()
        parsed = [_written_key(value, grid) for value in encoded.dictionary.to_pylist()]
        return pa.array(parsed, pa.string()).take(encoded.indices)
    if pa.types.is_timestamp(column.type):  # Arrow stores UTC; dropping the zone keeps it
        column = column.cast(pa.int64()).cast(pa.timestamp(column.type.unit))
    else:
        column = column.cast(pa.timestamp("ms"))
    column = _in_calendar(column)
    if grid is TimeGrid.QUARTER:
        number = pc.cast(pc.quarter(column), pa.string())
        return pc.binary_join_element_wise(pc.strftime(column, "%Y"), number, "-Q")
    return pc.utf8_slice_codeunits(pc.strftime(column, "%Y-%m-%d"), 0, _KEY_LENGTH[grid])


def _in_calendar(moments: pa.Array) -> pa.Array:
    """Null where a timestamp lies outside the years 1 to 9999; its number is compared, since no year may overflow."""
    a_second = 10 ** (3 * ("s", "ms", "us", "ns").index(moments.type.unit))
    start, end = _CALENDAR_SECONDS
    first, last = max(-(2**63), start * a_second), min(end * a_second - 1, 2**63 - 1)
    number = moments.cast(pa.int64())
    is_inside = pc.and_(pc.greater_equal(number, first), pc.less_equal(number, last))
    return pc.if_else(is_inside, moments, pa.scalar(None, moments.type))


def period_of(day: date, grid: TimeGrid) -> str:
    """Key of the period that this day lies in; keys sort as the periods follow each other."""
    if grid is TimeGrid.QUARTER:
        return f"{day.year:04}-Q{(day.month + 2) // 3}"
    return day.isoformat()[: _KEY_LENGTH[grid]]


def is_period(key: str, grid: TimeGrid) -> bool:
    """Whether this is the key of a period."""
    return _written_key(key, grid) == key


def is_over(key: str, grid: TimeGrid, day: date) -> bool:
    """Whether the whole period lies before this day."""
    return key < period_of(day, grid)


def period_after(key: str, grid: TimeGrid) -> str:
    """Key of the next period. Raises OverflowError after the year 9999."""
    return period_of(_next(_first_day(key), grid), grid)


def _written_key(value: str | None, grid: TimeGrid) -> str | None:
    if value is None or len(value) < _KEY_LENGTH[grid]:
        return None
    if grid is TimeGrid.QUARTER and _QUARTER.match(value):
        value = _first_month(value)
    if not _WRITTEN.match(value):
        return None
    try:
        if len(value) <= 10:
            return period_of(_first_day(value), grid)
        moment = datetime.fromisoformat(value)
        return period_of((moment if moment.tzinfo is None else moment.astimezone(UTC)).date(), grid)
    except (ValueError, OverflowError):
        return None


def _start(setting: str, value: str, grid: TimeGrid) -> date:
    if not is_period(value, grid):
        example = period_of(date(2026, 11, 30), grid)
        raise SourceError(f"{setting}: write a {grid} as {example}")
    return _first_day(value)


def _first_day(period: str) -> date:
    written = _first_month(period) if _QUARTER.match(period) else period
    return date.fromisoformat(written + "0001-01-01"[len(written) :])


def _first_month(quarter: str) -> str:
    return f"{quarter[:4]}-{3 * int(quarter[-1]) - 2:02}"


def _periods(first: date, last: date, grid: TimeGrid) -> Iterator[str]:
    moment, count = first, 0
    while moment <= last:
        count += 1
        if count > _MOST_PERIODS:
            raise SourceError(f"time_grid: more than {_MOST_PERIODS} periods are declared; use longer ones")
        yield period_of(moment, grid)
        try:
            moment = _next(moment, grid)
        except OverflowError:  # the calendar ends with the year 9999
            return


def _next(moment: date, grid: TimeGrid) -> date:
    if grid is TimeGrid.DAY:
        return moment + timedelta(days=1)
    # From the first day of a period, this many days always end in the first month of the next one.
    if grid is TimeGrid.MONTH:
        return (moment + timedelta(days=31)).replace(day=1)
    if grid is TimeGrid.QUARTER:
        return (moment + timedelta(days=92)).replace(day=1)
    return (moment + timedelta(days=366)).replace(month=1, day=1)
