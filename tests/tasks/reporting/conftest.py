"""A small disk for databases that do not fit."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from mounted import small_file_system


@pytest.fixture
def small_home_folder(tmp_path: Path) -> Iterator[Path]:
    """A file system of 6 MB, empty. Needs the right to mount."""
    with small_file_system(tmp_path / "disk", 6) as path:
        yield path
