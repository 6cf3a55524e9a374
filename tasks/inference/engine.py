"""Where the environment of the language models lies, and what is installed in it."""

import ctypes
import json
import os
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Self

from schemas.errors import UserError
from tasks.storage.atomic import write_bytes

_STAMP = "engine.json"
_CUDA_LIBRARY = "libcuda.so.1"


class Build(StrEnum):
    """Which vLLM is installed."""

    CPU = "cpu"
    CUDA = "cuda"


@dataclass(frozen=True, slots=True)
class Engine:
    """One finished environment.

    recipe_sha256: digest (hex) of everything that it was made from; the environment's identity.
    """

    folder: Path
    build: Build
    recipe_sha256: str

    @property
    def python(self) -> Path:
        """The interpreter that has vLLM."""
        return environment(self.folder) / "bin" / "python"

    @property
    def small_model(self) -> Path:
        """Checkpoint of SmolLM2-135M-Instruct, there without a hub."""
        return small_model(self.folder)

    def write(self) -> Self:
        """Say that the environment is whole; written last."""
        facts = asdict(self) | {"folder": str(self.folder)}
        write_bytes(self.folder / _STAMP, json.dumps(facts, sort_keys=True).encode())
        return self


def environment(folder: Path) -> Path:
    """The virtual environment inside an engine's folder."""
    return folder / "env"


def small_model(folder: Path) -> Path:
    """The checkpoint inside an engine's folder."""
    return folder / "models" / "smollm2-135m-instruct"


def installed(folder: Path) -> Engine | None:
    """The finished environment in a folder; None where there is none, or an unfinished one."""
    try:
        facts = json.loads((folder / _STAMP).read_text())
        engine = Engine(folder, Build(facts["build"]), facts["recipe_sha256"])
    except (OSError, ValueError, LookupError):
        return None
    return engine if engine.python.exists() else None


def forget(folder: Path) -> None:
    """Say that the environment in a folder is not whole: it is about to be changed."""
    (folder / _STAMP).unlink(missing_ok=True)


def find_engine(folder: Path) -> Engine:
    """The finished environment in a folder. Raises UserError where there is none."""
    engine = installed(folder)
    if engine is None:
        raise UserError(f"no language-model engine at {folder}: run `privcert engine install`, or set PRIVCERT_ENGINE")
    return engine


def engine_folder(private: Path) -> Path:
    """PRIVCERT_ENGINE, or the folder of that name in a home's private zone."""
    return engine_here(private / "engine")


def engine_here(folder: Path) -> Path:
    """PRIVCERT_ENGINE of this machine, or `folder`, where another machine may have its own."""
    return Path(os.environ.get("PRIVCERT_ENGINE") or folder).absolute()


def build_for_this_machine() -> Build:
    """CUDA where its driver finds a device, else CPU."""
    try:
        driver, count = ctypes.CDLL(_CUDA_LIBRARY), ctypes.c_int(0)
    except OSError:
        return Build.CPU
    found = driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0
    return Build.CUDA if found else Build.CPU
