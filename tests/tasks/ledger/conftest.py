"""Desks at a release log in SQLite or, where a server can be had, PostgreSQL."""

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest
from desk import Desk
from mounted import small_file_system
from postgresql_server import Server
from small_disks import SmallDisk

from tasks.storage.home import Home, initialise_home


@pytest.fixture
def backend() -> str:
    """sqlite; a test that asks for both parametrises this name."""
    return "sqlite"


@pytest.fixture
def desk(home: Home, backend: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A home with an empty log."""
    monkeypatch.delenv("PRIVCERT_LOG_URL", raising=False)
    if backend == "postgresql":
        server: Server = request.getfixturevalue("postgresql")
        monkeypatch.setenv("PRIVCERT_LOG_URL", server.create_database(f"log_{secrets.token_hex(6)}"))
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
