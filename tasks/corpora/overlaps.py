"""What partition folders have in common: units, records, texts. Answers are functions of private content.

Memory grows with the keys of the new folders, never with those of the known ones, which are streamed past them.
"""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

_UNIT_KEYS = {"unit_key": pl.Binary(), "look_key": pl.Binary()}


def shares_units(new: Sequence[Path], known: Sequence[Path], column: str = "unit_key") -> bool:
    """Is a unit of the new folders in a known one? column: unit_key, or look_key to compare as ids look."""
    return bool(new and known) and _any(_units(known).join(_units(new), on=column, how="semi"))


def shares_records(new: Sequence[Path], known: Sequence[Path]) -> bool:
    """Is a membership key of the new folders (a record of a unit, or a long text) in a known one?"""
    if not (new and known):
        return False
    ours, theirs = (pl.scan_parquet([folder / "record_keys.parquet" for folder in side]) for side in (new, known))
    return _any(theirs.join(ours, on="record_key", how="semi"))


def looks_like_another(new: Sequence[Path], known: Sequence[Path]) -> bool:
    """Does a new unit look like a known one without being it? The new units do not look alike among themselves."""
    if not (new and known):
        return False
    ours = _units(new)
    return _any(_units(known).join(ours, on="look_key", how="semi").join(ours, on="unit_key", how="anti"))


def most_texts_in_one(new: Sequence[Path], groups: Sequence[Sequence[Path]]) -> bool:
    """Does one group of folders hold at least half of the distinct readable texts of the new ones?"""
    group_of = {str(part): number for number, group in enumerate(groups) for part in _parts(group)}
    ours = _parts(new)
    if not (ours and group_of):
        return False
    distinct = pl.scan_parquet(ours).select("text_key").drop_nulls().unique().collect(engine="streaming")
    # one scan of all files: a scan for each group would hold its buffers at the same time as the others
    known = pl.scan_parquet(list(group_of), include_file_paths="file").select("text_key", "file")
    group = pl.col("file").replace_strict(group_of, return_dtype=pl.Int64)
    common = (
        known.join(distinct.lazy(), on="text_key", how="semi").select("text_key", group).unique().group_by("file").len()
    )
    most = common.select(pl.col("len").max()).collect(engine="streaming").item()
    return most is not None and 2 * int(most) >= distinct.height


def _units(folders: Sequence[Path]) -> pl.LazyFrame:
    """Both keys of every unit; look_key is null in versions from before it was written, and matches nothing then."""
    files = [folder / "units.parquet" for folder in folders]
    return pl.scan_parquet(files, schema=_UNIT_KEYS, missing_columns="insert", extra_columns="ignore")


def _parts(folders: Sequence[Path]) -> list[Path]:
    """Their files of records."""
    return [part for folder in folders for part in sorted(folder.glob("records/part-*.parquet"))]


def _any(rows: pl.LazyFrame) -> bool:
    return not rows.head(1).collect(engine="streaming").is_empty()
