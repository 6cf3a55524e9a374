"""A wall clock that moves under one command; libfaketime cannot leave the other clocks alone, and breaks sleeping."""

import shutil
import subprocess
from pathlib import Path

from breaking.scene import NotHereError

DAY_SECONDS = 86_400
_SOURCE = Path(__file__).with_name("wall_clock.c")


def moved_clock(folder: Path, seconds: int) -> dict[str, str]:
    """The environment of a command whose clock is so many seconds off. Raises NotHereError without a C compiler."""
    compiler, library = shutil.which("cc"), folder / "wall_clock.so"
    if compiler is None:
        raise NotHereError("no C compiler (cc)")
    if not library.exists():
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(_SOURCE)], check=True)
    set_clock(folder, seconds)
    return {"LD_PRELOAD": str(library), "WALL_CLOCK_SHIFT": str(_shift(folder))}


def set_clock(folder: Path, seconds: int) -> None:
    """While the command runs, and from its start."""
    _shift(folder).write_text(str(seconds))


def _shift(folder: Path) -> Path:
    return folder / "wall_clock.seconds"
