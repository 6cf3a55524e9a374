"""Fixtures that every part of the tests may use."""

import os
from pathlib import Path

import pytest
from running_engine import cuda_device, cuda_engine, engine, language_model, language_server, shared_key  # noqa: F401 (fixtures)
from worker_machines import cluster, wheel, worker_environment  # noqa: F401 (fixtures)

from tasks.storage.home import Home, initialise_home

ROOT = Path(__file__).parent.parent


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A fresh home, initialised on purpose."""
    return initialise_home(tmp_path / "home", on_purpose=True)


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """Public corpora and golden values that do not belong to the repository."""
    path = Path(os.environ.get("PRIVCERT_SHARED") or ROOT.parent / "shared")
    if not path.is_dir():
        pytest.skip("no shared data folder: set PRIVCERT_SHARED to run this test")
    return path


ONE_PROCESS = {"engine", "wheel", "worker_environment"}  # fixtures that are made once a run, whatever it costs


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """For pytest-xdist: a file stays in one process, and so do all tests of the language model and of worker machines.

    These come first: they take longest, and another process goes on with the rest meanwhile.
    """

    def group(item: pytest.Item) -> str:
        dear = ONE_PROCESS.intersection(getattr(item, "fixturenames", ()))
        return "language model and workers" if dear else str(item.path.relative_to(ROOT))

    for item in items:
        item.add_marker(pytest.mark.xdist_group(group(item)))
    items.sort(key=lambda item: group(item) != "language model and workers")
