"""The command as a user runs it: a process of its own, with no Prefect settings of the test run."""

import os
import subprocess
import sys
from pathlib import Path


def run_privcert(home: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """What `privcert` did with this home; at most 20 minutes."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    return subprocess.run(
        [str(Path(sys.executable).parent / "privcert"), *arguments],
        env=environment | {"PRIVCERT_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=1200,
    )
