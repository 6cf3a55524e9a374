"""A small file system of its own, to fill."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_file_system(path: Path, megabytes: int) -> Iterator[Path]:
    """An empty one at `path`, a new folder; the test skips where mounting is not possible."""
    path.mkdir()
    options = ["-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs"]
    try:
        mounted = subprocess.run(["mount", *options, str(path)], capture_output=True)
    except FileNotFoundError:
        pytest.skip("no mount command here")
    if mounted.returncode != 0:
        pytest.skip("mounting a small file system is not permitted here")
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)
