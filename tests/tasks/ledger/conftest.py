"""Desks at a release log in SQLite or, where a server can be had, PostgreSQL."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from desk import Desk
from mounted import small_file_system
from postgresql_server import Server
from small_disks import SmallDisk

from tasks.storage.home import Home, initialise_home


@pytest.fixture(params=["sqlite", "postgresql"])
def backend(request: pytest.FixtureRequest) -> str:
    """Every test of the log runs on both; one about a file or a server alone parametrises this name, and says why.

    A third kind is the server with the isolation that its database sets: `postgresql, serializable`.
    """
    return str(request.param)


@pytest.fixture
def desk(home: Home, backend: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A home with an empty log."""
    monkeypatch.delenv("PRIVCERT_LOG_URL", raising=False)
    kind, _, isolation = backend.partition(", ")
    if kind == "postgresql":
        server: Server = request.getfixturevalue("postgresql")
        name = f"log {isolation}".strip().replace(" ", "_")
        monkeypatch.setenv("PRIVCERT_LOG_URL", server.empty_database(name, isolation or None))
    return Desk(home)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """Needs the right to mount."""
    with small_file_system(tmp_path / "disk", 2) as path:
        yield SmallDisk(path)


@pytest.fixture
def small_desk(small_disk: SmallDisk, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A home on the small disk."""
    monkeypatch.delenv("PRIVCERT_LOG_URL", raising=False)
    return Desk(initialise_home(small_disk.path / "home", on_purpose=True))
