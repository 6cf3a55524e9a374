"""A relay in front of a real PostgreSQL server, which does something at a wanted moment of a transaction."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from enum import Enum
from pathlib import Path
from types import TracebackType
from typing import Self

WRITES_RELEASE, COMMITS = b"INSERT INTO release ", b"COMMIT"
_BYTES = 1 << 16


class Moment(Enum):
    """Of the transaction that writes a release: it is open, or its commit has been done and nobody was told."""

    OPEN = "its transaction is open"
    COMMITTED = "its commit is done, and not yet answered"


class LogRelay:
    """Use it as a context manager; `url` is the log's through it. After the moment it relays as before.

    directory: of the server's socket. then: called once, at the moment; the connection is cut afterwards.
    """

    def __init__(self, directory: Path, user: str, database: str, moment: Moment, then: Callable[[], None]) -> None:
        self._target = str(directory / ".s.PGSQL.5432")
        self._moment, self._then = moment, then
        self.happened = False
        self._listener = socket.create_server(("127.0.0.1", 0))
        port = self._listener.getsockname()[1]
        self.url = f"postgresql+psycopg://{user}@127.0.0.1:{port}/{database}?sslmode=disable&gssencmode=disable"

    def __enter__(self) -> Self:
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _serve(self) -> None:
        with suppress(OSError):  # closed
            while True:
                threading.Thread(target=self._relay, args=(self._listener.accept()[0],), daemon=True).start()

    def _relay(self, client: socket.socket) -> None:
        unheard = threading.Event()  # the client is told nothing more
        with client, socket.socket(socket.AF_UNIX) as server:
            with suppress(OSError):  # either side is gone: so is the other
                server.connect(self._target)
                threading.Thread(target=_copy, args=(server, client, unheard), daemon=True).start()
                self._from_client(client, server, unheard)

    def _from_client(self, client: socket.socket, server: socket.socket, unheard: threading.Event) -> None:
        writes = False
        while sent := client.recv(_BYTES):
            writes = writes or WRITES_RELEASE in sent
            if not self.happened and writes and (self._moment is Moment.OPEN or COMMITS in sent):
                self.happened = True
                unheard.set()
                if self._moment is Moment.COMMITTED:
                    _send_and_await_the_end(server, sent)
                self._then()
                return
            server.sendall(sent)


def _send_and_await_the_end(server: socket.socket, sent: bytes) -> None:
    """It reads what was sent, does it, and closes."""
    server.sendall(sent)
    server.shutdown(socket.SHUT_WR)
    with suppress(OSError):
        while server.recv(_BYTES):
            pass


def _copy(source: socket.socket, target: socket.socket, unheard: threading.Event) -> None:
    with suppress(OSError):
        while received := source.recv(_BYTES):
            if not unheard.is_set():
                target.sendall(received)
        if not unheard.is_set():
            target.shutdown(socket.SHUT_RDWR)
