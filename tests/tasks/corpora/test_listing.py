"""Patterns find files as in a shell."""

from pathlib import Path

import fsspec
import pytest

from tasks.corpora.listing import files_like

TREE = (".hidden.parquet", ".tmp/part.parquet", "a.parquet", "sub/.part.parquet", "sub/b.parquet", "sub/.c/d.parquet")


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.parquet", ["a.parquet"]),
        ("**/*.parquet", ["a.parquet", "sub/b.parquet"]),
        ("*/*.parquet", ["sub/b.parquet"]),
        ("[.a]*.parquet", ["a.parquet"]),
        (".*.parquet", [".hidden.parquet"]),
        (".tmp/*.parquet", [".tmp/part.parquet"]),
        ("sub/.?/*", ["sub/.c/d.parquet"]),
        ("?idden.parquet", []),
    ],
)
def test_names_that_start_with_a_dot_are_found_where_the_pattern_says_so(
    tmp_path: Path, pattern: str, found: list[str]
) -> None:
    root = tmp_path / ".inbox"  # what the user wrote out himself may start with one
    for name in TREE:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    (root / ".gone").symlink_to(root / "nowhere")  # no file, and hidden: it stops nothing
    listed = files_like(fsspec.filesystem("file"), f"{root}/{pattern}") if not pattern.startswith(".*") else None
    if listed is None:
        (root / ".gone").unlink()
        listed = files_like(fsspec.filesystem("file"), f"{root}/{pattern}")
    assert listed == [f"{root}/{name}" for name in found]
