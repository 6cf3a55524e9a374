"""Public corpora that do not belong to the repository."""

from pathlib import Path

import polars as pl
from corpus_files import corpus, stage, stage_one

from tasks.storage.home import Home


def test_airline_reviews_by_author(shared_dir: Path, home: Home) -> None:
    path = shared_dir / "data" / "reviews_skytrax.parquet"
    table = pl.read_parquet(path)
    seen = stage_one(corpus(path, unit="author_key"), home)
    assert seen.units == table["author_key"].n_unique()
    assert {(unit, record) for unit, record, *_ in seen.records} == set(table.select("author_key", "id").iter_rows())


def test_airline_reviews_by_month_hold_every_record_once(shared_dir: Path, home: Home) -> None:
    path = shared_dir / "data" / "reviews_skytrax.parquet"
    table = pl.read_parquet(path)
    first, last = table["date"].min(), table["date"].max()
    grid = {"time_grid": "month", "first_period": str(first)[:7], "last_period": str(last)[:7]}
    seen = stage(corpus(path, unit="author_key", partition_column="date", **grid), home)
    months = table.group_by(pl.col("date").str.slice(0, 7)).agg(pl.col("author_key").n_unique())
    assert {key: one.units for key, one in seen.items() if one.units} == dict(months.iter_rows())


def test_court_cases_by_case(shared_dir: Path, home: Home) -> None:
    path = shared_dir / "data" / "tab_cases.parquet"
    seen = stage_one(corpus(path, id="doc_id", unit=None), home)
    assert (seen.units, len(seen.records), seen.unreadable) == (254, 254, {})


def test_court_cases_by_applicant(shared_dir: Path, home: Home) -> None:
    path = shared_dir / "data" / "tab_cases.parquet"
    seen = stage_one(corpus(path, id="doc_id", unit="applicant"), home)
    assert seen.units == pl.read_parquet(path)["applicant"].n_unique()


def test_comments_reuse_numbers_across_authors(shared_dir: Path, home: Home) -> None:
    path = shared_dir / "data" / "synthpai_comments.parquet"
    table = pl.read_parquet(path)
    seen = stage_one(corpus(path, id="comment_idx", unit="author"), home)
    assert seen.units == table["author"].n_unique()
    assert len(seen.records) + seen.duplicates == table.height
