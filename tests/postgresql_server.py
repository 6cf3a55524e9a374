"""A real PostgreSQL server for the tests, where its binaries are installed; on a Unix socket only."""

import glob
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest


@dataclass
class Server:
    """A running server; each database is one release log."""

    binaries: Path
    folder: Path
    user: str

    def create_database(self, name: str) -> str:
        """The URL of a new, empty database."""
        with psycopg.connect(host=str(self.folder), user=self.user, dbname="postgres", autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"')
        return f"postgresql+psycopg://{self.user}@/{name}?host={self.folder}"

    def stop(self) -> None:
        self.control("stop", "-m", "immediate")

    @property
    def is_running(self) -> bool:
        """Neither stopped nor never started."""
        return (self.folder / "data" / "postmaster.pid").exists()

    def start(self) -> None:
        options = f"-k {self.folder} -c listen_addresses='' -c max_connections=60 -c fsync=off"
        self.control("start", "-w", "-o", options, "-l", str(self.folder / "server.log"))

    def control(self, *arguments: str) -> None:
        run = [str(self.binaries / "pg_ctl"), "-D", str(self.folder / "data"), *arguments]
        subprocess.run(run, check=True, user=_owner(), cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def find_binaries() -> Path | None:
    """The folder of initdb and pg_ctl."""
    places = [*sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True), *os.environ.get("PATH", "").split(":")]
    return next((Path(place) for place in places if (Path(place) / "initdb").exists()), None)


@contextmanager
def running_server(binaries: Path) -> Iterator[Server]:
    """Start a server in a folder of its own (a short path: sockets allow 107 bytes) and stop it at the end."""
    folder, owner = Path(tempfile.mkdtemp(prefix="privcert-pg-")), _owner()
    server = Server(binaries, folder, owner or pwd.getpwuid(os.getuid()).pw_name)
    if owner:
        shutil.chown(folder, owner)
    make = [str(binaries / "initdb"), "-D", str(folder / "data"), "-U", server.user, "-A", "trust", "--no-sync"]
    try:
        subprocess.run(make, check=True, user=owner, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        server.start()
        try:
            yield server
        finally:
            if server.is_running:
                server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _owner() -> str | None:
    """The server refuses to run as root."""
    if os.getuid() != 0:
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in ("postgres", "nobody") if name in known)


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Server]:
    """A server for the session."""
    binaries = find_binaries()
    if binaries is None:
        pytest.skip("no PostgreSQL server is installed (initdb, pg_ctl)")
    with running_server(binaries) as server:
        yield server
