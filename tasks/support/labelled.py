"""Labelled pairs: those of the package, or of a file with columns premise, hypothesis, label."""

from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl

from schemas.errors import UserError
from tasks.support.check_pairs import CHECK_PAIRS
from tasks.support.checking import LabelledPair

COLUMNS = ("premise", "hypothesis", "label")
ENTAILED = {"entailment", "entailed", "supported", "true", "yes", "1"}
NOT_ENTAILED = {"neutral", "contradiction", "not_entailment", "not_entailed", "not_supported", "false", "no", "0"}
_READERS: Mapping[str, Callable[[Path], pl.DataFrame]] = {
    ".parquet": pl.read_parquet,
    ".csv": pl.read_csv,
    ".jsonl": pl.read_ndjson,
    ".ndjson": pl.read_ndjson,
}


def packaged_pairs() -> list[LabelledPair]:
    """The pairs that come with the package."""
    return [
        LabelledPair(text, statement, entailed)
        for statement, (supporting, others) in CHECK_PAIRS.items()
        for entailed, texts in ((True, supporting), (False, others))
        for text in texts
    ]


def read_pairs(path: Path) -> list[LabelledPair]:
    """The pairs of a Parquet, CSV or JSONL file, by its ending.

    A label is a word, a number or a boolean: one of ENTAILED or NOT_ENTAILED, in any case. Raises UserError that names
    the column or the row, without quoting it.
    """
    table = _read(path)
    missing = [name for name in COLUMNS if name not in table.columns]
    if missing:
        raise UserError(f"pairs: the file has no column {', '.join(missing)}")
    if not table.height:
        raise UserError("pairs: the file has no rows")
    columns = table.select(pl.col(COLUMNS).cast(pl.String))
    return [
        LabelledPair(*_texts(premise, hypothesis, row), _label(label, row))
        for row, (premise, hypothesis, label) in enumerate(columns.iter_rows(), start=1)
    ]


def _read(path: Path) -> pl.DataFrame:
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise UserError(f"pairs: the file must end in one of {', '.join(_READERS)}")
    if not path.is_file():
        raise UserError("pairs: no such file, or it is no regular file")
    try:
        return reader(path)
    except (pl.exceptions.PolarsError, OSError):
        raise UserError(f"pairs: the file cannot be read as {path.suffix.lower()[1:]}") from None


def _texts(premise: str | None, hypothesis: str | None, row: int) -> tuple[str, str]:
    if premise is None or hypothesis is None:
        raise UserError(f"pairs: row {row} has no premise or no hypothesis")
    return premise, hypothesis


def _label(label: str | None, row: int) -> bool:
    word = (label or "").strip().lower()
    if word not in ENTAILED | NOT_ENTAILED:
        raise UserError(f"pairs: the label of row {row} is none of {', '.join(sorted(ENTAILED | NOT_ENTAILED))}")
    return word in ENTAILED
