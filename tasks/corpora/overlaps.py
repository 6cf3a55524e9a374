"""What partition folders have in common: units, records, texts. Answers are functions of private content.

Memory grows with the keys of the new folders, never with those of the known ones, which are streamed past them. New
folders are staged ones, on the disk; known ones lie there or in the home's store.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pyarrow as pa

from schemas.errors import UserError
from tasks.corpora.versions import UNITS_FILE, record_files
from tasks.storage.objects import AnyPath, StoredPath
from tasks.storage.parquet import RESTORE, parquet_file

_UNIT_KEYS: Mapping[str, pl.DataType] = {"unit_key": pl.Binary(), "look_key": pl.Binary()}
_ROWS_AT_ONCE = 100_000


def shares_units(new: Sequence[Path], known: Sequence[AnyPath], column: str = "unit_key") -> bool:
    """Is a unit of the new folders in a known one? column: unit_key, or look_key to compare as ids look."""
    if not (new and known):
        return False
    ours = _units(new)
    with _naming_damage(folder / UNITS_FILE for folder in known):
        return _any(_units(known, ours, column).join(ours, on=column, how="semi"))


def shares_records(new: Sequence[Path], known: Sequence[AnyPath]) -> bool:
    """Is a membership key of the new folders (a record of a unit, or a long text) in a known one?"""
    if not (new and known):
        return False
    ours = pl.scan_parquet([folder / "record_keys.parquet" for folder in new])
    files = [folder / "record_keys.parquet" for folder in known]
    with _naming_damage(files):
        return _any(_keys(files, {"record_key": pl.Binary()}, ours).join(ours, on="record_key", how="semi"))


def looks_like_another(new: Sequence[Path], known: Sequence[AnyPath]) -> bool:
    """Does a new unit look like a known one without being it? The new units do not look alike among themselves."""
    if not (new and known):
        return False
    ours = _units(new)
    with _naming_damage(folder / UNITS_FILE for folder in known):
        theirs = _units(known, ours, "look_key")
        return _any(theirs.join(ours, on="look_key", how="semi").join(ours, on="unit_key", how="anti"))


def most_texts_in_one(new: Sequence[Path], groups: Sequence[Sequence[AnyPath]]) -> bool:
    """Does one group of folders hold at least half of the distinct readable texts of the new ones?"""
    group_of = {
        part: number for number, group in enumerate(groups) for folder in group for part in record_files(folder)
    }
    ours = [str(part) for folder in new for part in record_files(folder)]
    if not (ours and group_of):
        return False
    distinct = pl.scan_parquet(ours).select("text_key").drop_nulls().unique().collect(engine="streaming")
    with _naming_damage(group_of):
        common = _grouped(group_of, distinct).join(distinct.lazy(), on="text_key", how="semi").unique()
        counted = common.group_by("group").len()
        most = counted.select(pl.col("len").max()).collect(engine="streaming").item()
    return most is not None and 2 * int(most) >= distinct.height


@contextmanager
def _naming_damage(known: Iterable[AnyPath]) -> Iterator[None]:
    """Raises UserError where one of these files, of a registered version, is not there or cannot be read."""
    try:
        yield
    except (pl.exceptions.PolarsError, FileNotFoundError):
        for file in known:  # a scan of many does not say which
            with parquet_file(file) as parquet:
                for _ in parquet.iter_batches(_ROWS_AT_ONCE):
                    pass
        raise UserError(f"records: a file of a registered version cannot be read; {RESTORE}") from None


def _units(folders: Sequence[AnyPath], among: pl.LazyFrame | None = None, column: str = "") -> pl.LazyFrame:
    """Both keys of every unit; look_key is null in versions from before it was written, and matches nothing then.

    among, column: of units in a store, only those whose key is among these are needed.
    """
    files = [folder / UNITS_FILE for folder in folders]
    return _keys(files, _UNIT_KEYS, None if among is None else among.select(column))


def _keys(files: Sequence[AnyPath], columns: Mapping[str, pl.DataType], among: pl.LazyFrame | None) -> pl.LazyFrame:
    """Rows of these files; of those in a store, the ones whose key is `among`, which has one column."""
    local = [file for file in files if isinstance(file, Path)]
    stored = [file for file in files if isinstance(file, StoredPath)]
    frames = []
    if local:
        frames.append(pl.scan_parquet(local, schema=columns, missing_columns="insert", extra_columns="ignore"))
    if stored and among is not None:
        wanted = among.unique().collect(engine="streaming")
        (on,) = wanted.columns
        found = (batch.join(wanted, on=on, how="semi") for file in stored for batch in _batches(file, columns))
        frames.append(pl.concat([pl.DataFrame(schema=columns), *found]).lazy())
    return pl.concat(frames)


def _grouped(group_of: Mapping[AnyPath, int], distinct: pl.DataFrame) -> pl.LazyFrame:
    """Text keys of these files with their groups; of those in a store, the ones among `distinct`."""
    local = {str(file): group for file, group in group_of.items() if isinstance(file, Path)}
    stored = {file: group for file, group in group_of.items() if isinstance(file, StoredPath)}
    frames = []
    if local:
        # one scan of all files: a scan for each group would hold its buffers at the same time as the others
        group = pl.col("file").replace_strict(local, return_dtype=pl.Int64)
        known = pl.scan_parquet(list(local), include_file_paths="file").select("text_key", "file")
        frames.append(known.join(distinct.lazy(), on="text_key", how="semi").select("text_key", group.alias("group")))
    if stored:
        found = (
            batch.join(distinct, on="text_key", how="semi").unique().select("text_key", group=pl.lit(number, pl.Int64))
            for file, number in stored.items()
            for batch in _batches(file, {"text_key": pl.Binary()})
        )
        empty = pl.DataFrame(schema={"text_key": pl.Binary(), "group": pl.Int64()})
        frames.append(pl.concat([empty, *found]).lazy())
    return pl.concat(frames)


def _batches(file: StoredPath, columns: Mapping[str, pl.DataType]) -> Iterator[pl.DataFrame]:
    """These columns of an object, batch by batch; null where it has none of that name."""
    with parquet_file(file, streamed=True) as parquet:
        present = [name for name in columns if name in parquet.schema_arrow.names]
        for batch in parquet.iter_batches(_ROWS_AT_ONCE, columns=present):
            arrow = {name: batch.column(name).cast(pa.large_binary()) for name in present}
            absent = {name: pa.nulls(batch.num_rows, pa.large_binary()) for name in columns if name not in present}
            frame = pl.from_arrow(pa.table({name: (arrow | absent)[name] for name in columns}))
            yield frame if isinstance(frame, pl.DataFrame) else frame.to_frame()


def _any(rows: pl.LazyFrame) -> bool:
    return not rows.head(1).collect(engine="streaming").is_empty()
