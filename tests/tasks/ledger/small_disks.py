"""A small file system that can be filled and made read-only."""

import subprocess
from pathlib import Path


class SmallDisk:
    """A file system of 2 MB."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def fill(self) -> Path:
        """Use up every byte; returns the file to remove again."""
        filler = self.path / "filler"
        with filler.open("wb", buffering=0) as file:
            for size in (65536, 4096, 1):
                try:
                    while True:
                        file.write(b"x" * size)
                except OSError:
                    continue
        return filler

    def remount(self, how: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{how}", str(self.path)], check=True)
