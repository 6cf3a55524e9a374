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

    def create_database(self, name: str, isolation: str | None = None) -> str:
        """The URL of a new, empty database. isolation: of its transactions, where they do not say their own."""
        self.execute(f'CREATE DATABASE "{name}"')
        if isolation is not None:
            self.execute(f"ALTER DATABASE \"{name}\" SET default_transaction_isolation = '{isolation}'")
        return self._url(name)

    def empty_database(self, name: str, isolation: str | None = None) -> str:
        """The same of a database that is emptied where it is there: much cheaper than another one."""
        if not self.execute(f"SELECT 1 FROM pg_database WHERE datname = '{name}'"):
            return self.create_database(name, isolation)
        self.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public", name)
        return self._url(name)

    def execute(self, statement: str, database: str = "postgres") -> list[tuple[object, ...]]:
        """As the server's owner, outside any transaction; its rows."""
        with psycopg.connect(host=str(self.folder), user=self.user, dbname=database, autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def _url(self, database: str) -> str:
        return f"postgresql+psycopg://{self.user}@/{database}?host={self.folder}"

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
