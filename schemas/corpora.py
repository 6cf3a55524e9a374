"""What ingestion is asked: where the records are, what a unit is, how the corpus is partitioned."""

import re
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from schemas.errors import UserError
from schemas.values import Theta, Whole

RECORD = "record"  # name of the unit where every record is one
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}\Z")


def _public_name(value: str) -> str:
    if not _NAME.match(value):
        raise ValueError("must be 1 to 63 of a-z, 0-9, '-' and '_', starting with a letter or a digit")
    return value


def check_public_name(value: str, name: str) -> str:
    """The value of a flag as a public name. Raises UserError that names the flag."""
    try:
        return _public_name(value)
    except ValueError as error:
        raise UserError(f"{name}: {error}") from None


def _is_plain(key: str) -> bool:
    return 0 < len(key) <= 200 and key == key.strip() and key.isprintable()


PublicName = Annotated[str, AfterValidator(_public_name)]


class Visibility(StrEnum):
    """Immutable. `private` needs a home made by `privcert init`; simulations refuse it."""

    PRIVATE = "private"
    PUBLIC = "public"
    SYNTHETIC = "synthetic"


class SourceFormat(StrEnum):
    """How the source is read; `auto` goes by the file's ending, a folder is a folder of text files."""

    AUTO = "auto"
    PARQUET = "parquet"
    CSV = "csv"
    TSV = "tsv"
    JSONL = "jsonl"
    TEXT = "text"


class TimeGrid(StrEnum):
    """Length of a time partition; its key is the start of the period (2026, 2026-Q4, 2026-11, 2026-11-30)."""

    YEAR = "year"
    QUARTER = "quarter"
    MONTH = "month"
    DAY = "day"


class UnitRule(StrEnum):
    """How two written unit ids are compared.

    `exact`: equal text; ids that differ only by case, outer space, Unicode form or leading zeros stop the run.
    `as_written`: equal text, and look-alikes are declared to be different units.
    `folded`: NFKC, outer space removed, case folded; look-alikes are declared to be one unit.
    """

    EXACT = "exact"
    AS_WRITTEN = "as_written"
    FOLDED = "folded"


class CorpusSettings(BaseModel):
    """A corpus and its source; a wrong value stops the run before any data is read."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    source: str = Field(min_length=1)
    """File, folder or fsspec URL with the records."""
    corpus: PublicName
    """Public name of the corpus; its budget account has this name unless --account says otherwise."""
    visibility: Visibility = Visibility.PRIVATE
    """private, public or synthetic; immutable once registered."""
    format: SourceFormat = SourceFormat.AUTO
    """parquet, csv, tsv, jsonl or text (a folder of text files); auto goes by the ending."""
    text: str = "text"
    """Column with the text."""
    id: str | None = None
    """Column with the record id; default `id`, for a folder of text files the file's path."""
    unit: str | None = None
    """Column with the id of the protected unit (a user, an author, a case); default: every record is a unit."""
    unit_rule: UnitRule = UnitRule.EXACT
    """How unit ids are compared: exact, as_written or folded."""
    unit_namespace: str = Field(default="", max_length=63)
    """Declared space of the unit ids; the same id in two private corpora of one namespace is the same unit."""
    partition_column: str | None = None
    """Column that decides the partition; default: one partition, `all`."""
    partitions: tuple[str, ...] = ()
    """The public, declared list of partition keys; a key outside it stops the run."""
    time_grid: TimeGrid | None = None
    """year, quarter, month or day: partition by time instead of by a list; units may recur, their charges add up."""
    first_period: str | None = None
    """First declared period of the time grid, e.g. 2026-01."""
    last_period: str | None = None
    """Last declared period of the time grid, e.g. 2026-12."""
    account: PublicName | None = None
    """Budget account; two corpora that share records or units must share one."""
    delimiter: str = Field(default=",", min_length=1, max_length=1)
    """CSV: the character between fields (TSV: tab)."""
    quote: str = Field(default='"', min_length=1, max_length=1)
    """CSV: the quote character."""
    encoding: str = "utf-8"
    """Of CSV, TSV, JSONL and text files."""
    max_characters: Whole = Field(default=200_000, ge=1, le=100_000_000)
    """A longer record is kept in n, supports nothing and is listed for the operator."""
    max_unreadable: Theta = Decimal("0.05")
    """Registration stops when a larger share of the records cannot be read (an unprotected precondition)."""
    replace: bool = False
    """Register changed content under a known partition key as a new version on the same account."""

    @model_validator(mode="after")
    def _partitioning_is_one_scheme(self) -> Self:
        if self.partition_column is None and (self.partitions or self.time_grid):
            raise ValueError("partition_column: name the column that --partitions or --time-grid refers to")
        if self.partition_column is not None and bool(self.partitions) == bool(self.time_grid):
            raise ValueError("partitions: declare either a list of keys or a time_grid for the partition column")
        if self.time_grid and not (self.first_period and self.last_period):
            raise ValueError("first_period: a time grid needs its first and last period, declared without looking")
        if len(set(self.partitions)) != len(self.partitions):
            raise ValueError("partitions: a key is declared twice")
        if "all" in self.partitions or not all(_is_plain(key) for key in self.partitions):
            raise ValueError("partitions: keys must be 1 to 200 printable characters, not padded with space, not 'all'")
        return self

    @model_validator(mode="after")
    def _unit_is_no_sentinel(self) -> Self:
        if self.unit == RECORD:
            raise ValueError("unit: the name `record` means that every record is a unit; rename the column")
        return self

    @model_validator(mode="after")
    def _dialect_is_unambiguous(self) -> Self:
        if self.delimiter == self.quote or "\n" in (self.delimiter, self.quote):
            raise ValueError("delimiter: must differ from the quote character and from a line's end")
        return self

    @property
    def account_name(self) -> str:
        """The account that is charged."""
        return self.account or self.corpus

    @property
    def units_recur(self) -> bool:
        """A unit may occur in several partitions (by time), so all their charges add up on one account."""
        return self.time_grid is not None
