"""Machines that only score, for tests: the environment of `deployments/worker` and processes of a Dask cluster in it.

The environment is built once a run from the lock and a wheel of this checkout, and holds nothing else. Where uv or a
package registry is missing, tests that need it skip and say so.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).parent.parent
LOCK = ROOT / "deployments" / "worker" / "cpu.lock"
_NO_NETWORK = re.compile(r"fetch|connect|dns|network|timed out|not found in the cache", re.IGNORECASE)
_START_SECONDS = 180


def find_uv() -> str:
    """uv from the PATH, or from where `make` puts it; skips without one."""
    found = shutil.which("uv", path=f"{os.environ['PATH']}{os.pathsep}{ROOT / '.uv' / 'bin'}")
    if found is None:
        pytest.skip("uv is not there to build an environment")
    return found


def build_wheel(folder: Path) -> Path:
    """A wheel of what git would take of this checkout: no leftovers of earlier builds are in it."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--deduplicate"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    source = folder / "source"
    for name in names:
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, source / name)
    run_or_skip([find_uv(), "build", "--quiet", "--wheel", "--out-dir", str(folder), str(source)])
    (wheel,) = folder.glob("*.whl")
    return wheel


def run_or_skip(command: list[str]) -> None:
    """Run uv; skip where it cannot reach a registry."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0 and _NO_NETWORK.search(done.stderr):
        pytest.skip(f"no package registry can be reached to build an environment: {done.stderr[-300:]}")
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of this checkout."""
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def worker_environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an environment made as deployments/worker/README.md says."""
    uv, environment = find_uv(), tmp_path_factory.mktemp("worker") / "env"
    run_or_skip([uv, "venv", "--quiet", "--python", sys.executable, str(environment)])
    run_or_skip([uv, "pip", "sync", "--quiet", "--require-hashes", "--python", str(environment), str(LOCK)])
    run_or_skip([uv, "pip", "install", "--quiet", "--no-deps", "--python", str(environment), str(wheel)])
    return environment


@dataclass
class Cluster:
    """A scheduler of this environment, and workers of the worker environment, each its own process.

    folder: for their files. address: of the scheduler.
    """

    environment: Path
    folder: Path
    address: str = ""
    processes: list["subprocess.Popen[bytes]"] = field(default_factory=list)

    def start(self, python: Path, *words: str, **variables: str) -> "subprocess.Popen[bytes]":
        """A `dask` command of an environment; nothing of this process's environment but the PATH reaches it."""
        log = self.folder / f"dask-{len(self.processes)}.log"
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), **variables}
        with log.open("wb") as output:
            process = subprocess.Popen(
                [str(python.parent / "dask"), *words], cwd=self.folder, env=environment, stdout=output, stderr=output
            )
        self.processes.append(process)
        return process

    def start_scheduler(self) -> None:
        """On a free port of this machine alone."""
        file = self.folder / "scheduler.json"
        options = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file))
        self.start(Path(sys.executable), "scheduler", *options, PYTHONPATH=os.pathsep.join(map(str, helper_folders())))
        deadline = time.monotonic() + _START_SECONDS
        while not self.address:
            assert time.monotonic() < deadline, "the scheduler did not start"
            time.sleep(0.1)
            with contextlib.suppress(OSError, ValueError):
                self.address = json.loads(file.read_text())["address"]

    def start_worker(self, *options: str, code: Path | None = None, **variables: str) -> "subprocess.Popen[bytes]":
        """A worker with one GPU to lend; code: a folder whose modules go before those of the wheel."""
        path = os.pathsep.join(map(str, [*([code] if code else []), *helper_folders()]))
        words = ("worker", self.address, "--host", "127.0.0.1", "--nthreads", "1", "--resources", "GPU=1")
        words += ("--memory-limit", "0", "--no-dashboard", "--local-directory", str(self.folder), *options)
        return self.start(self.environment / "bin" / "python", *words, PYTHONPATH=path, **variables)

    def stop(self) -> None:
        """End all processes that were started here, workers first, with their children."""
        for process in reversed(self.processes):
            with contextlib.suppress(psutil.NoSuchProcess):
                family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
                process.send_signal(signal.SIGTERM)
                for member in psutil.wait_procs(family, timeout=20)[1]:
                    member.kill()
            process.wait()


def helper_folders() -> list[Path]:
    """Where models live that only tests know."""
    return [ROOT / "tests" / "tasks" / "support"]


@pytest.fixture
def cluster(worker_environment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """A cluster without workers, which this process uses from now on."""
    folder = tmp_path / "cluster"
    folder.mkdir()
    started = Cluster(worker_environment, folder)
    try:
        started.start_scheduler()
        monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", started.address)
        yield started
    finally:
        started.stop()
