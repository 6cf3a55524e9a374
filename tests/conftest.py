"""Fixtures that every part of the tests may use."""

import os
from pathlib import Path

import pytest
from beside import BesideEachOther, in_order
from object_store import object_store, s3_server  # noqa: F401 (fixtures)
from postgresql_server import postgresql  # noqa: F401 (fixtures)
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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest comes first, so that another process goes on with the rest meanwhile."""
    in_order(items)


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> BesideEachOther:
    """Which process of pytest-xdist runs what."""
    return BesideEachOther(config, log)
