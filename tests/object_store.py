"""A real S3 server on this machine for tests: moto's, which keeps its buckets in memory and logs every request.

Tests talk to it through a relay of bytes, so that it can be out of reach for a while and come back with what it held.
"""

import contextlib
import os
import re
import secrets
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import fsspec
import pytest

from tasks.inference import watchdog
from tasks.storage.objects import _filesystem

_ADDRESS = re.compile(r"Running on http://127\.0\.0\.1:(\d+)")
_REQUEST = re.compile(r'"([A-Z]+) (/\S*) HTTP/1\.1" (\d+)')
_START_SECONDS = 60
_VERBS = {"PUT": "put", "DELETE": "delete", "HEAD": "head", "POST": "post"}


@dataclass
class Way:
    """A relay of bytes to the server's port. before: called with each first chunk of a request, to see or hold it."""

    target: int
    port: int = 0
    before: Callable[[bytes], None] | None = None
    _listening: socket.socket | None = None
    _open: list[socket.socket] = field(default_factory=list)

    def start(self) -> None:
        """Take connections, at the same port as before."""
        self._listening = socket.create_server(("127.0.0.1", self.port), backlog=128)
        self.port = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, args=(self._listening,), daemon=True).start()

    def stop(self) -> None:
        """Refuse connections, and cut those that are open."""
        if self._listening is not None:
            with contextlib.suppress(OSError):
                self._listening.shutdown(socket.SHUT_RDWR)
            self._listening.close()
            self._listening = None
        for end in self._open:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        self._open.clear()

    def _accept(self, listening: socket.socket) -> None:
        while True:
            try:
                client, _ = listening.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self.target))
            except OSError:  # it was killed: refused here too, and asked again for the next one
                client.close()
                continue
            self._open += [client, server]
            for ends in ((client, server, True), (server, client, False)):
                threading.Thread(target=self._pass_on, args=ends, daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket, is_asking: bool) -> None:
        with contextlib.suppress(OSError):
            while content := source.recv(1 << 16):
                if is_asking and self.before is not None:
                    self.before(content)
                target.sendall(content)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@dataclass
class ObjectStore:
    """The server. environment: what a process needs to reach it, besides the URL of a bucket."""

    log: Path
    way: Way

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.way.port}"

    @property
    def environment(self) -> dict[str, str]:
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": "key-of-the-tests",
            "AWS_SECRET_ACCESS_KEY": "secret-of-the-tests",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_MAX_ATTEMPTS": "2",  # a server that is gone is known to be gone soon
        }

    def new_bucket(self) -> str:
        """Its name."""
        name = f"bucket-{secrets.token_hex(6)}"
        self.files().mkdir(name)
        return name

    def files(self) -> fsspec.AbstractFileSystem:
        """What is there, seen past the product's code."""
        return fsspec.filesystem("s3", use_listings_cache=False, skip_instance_cache=True)

    def keys(self, url: str) -> set[str]:
        """Names of all objects below a URL."""
        found = self.files().find(url)
        return {name.removeprefix(url.removeprefix("s3://") + "/") for name in found}

    def requests(self, since: int = 0) -> list[tuple[str, str]]:
        """Verb and path of every request after the first `since`: get, list, put, delete, head, post."""
        found = _REQUEST.findall(self.log.read_text())[since:]
        return [(_VERBS.get(verb, "list" if "list-type=" in path else "get"), path) for verb, path, _ in found]

    def ask_for_keys_after(self, requests: int) -> None:
        """After so many requests the server wants an access key that it gave; it gave none."""
        headers = {"Content-Type": "text/plain"}
        url = f"http://127.0.0.1:{self.way.target}/moto-api/reset-auth"
        urllib.request.urlopen(urllib.request.Request(url, str(requests).encode(), headers, method="POST"))

    def counted(self, since: int) -> Counter[str]:
        """How many requests of each kind there were."""
        return Counter(kind for kind, _ in self.requests(since))


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Path]]:
    """A port and a log; the process ends with this one."""
    log = tmp_path_factory.mktemp("object-store") / "requests.log"
    command = [sys.executable, watchdog.__file__, sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=output, stderr=output)
    try:
        deadline = time.monotonic() + _START_SECONDS
        while (address := _ADDRESS.search(log.read_text())) is None:
            assert process.poll() is None and time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)
        yield int(address[1]), log
    finally:
        process.terminate()
        process.wait(30)


@pytest.fixture
def object_store(s3_server: tuple[int, Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    """The server, reached by a way of this test alone, which this process and its children use from now on."""
    port, log = s3_server
    way = Way(port)
    way.start()
    store = ObjectStore(log, way)
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in store.environment.items():
        monkeypatch.setenv(name, value)
    forget_clients()
    try:
        yield store
    finally:
        way.stop()
        forget_clients()


def forget_clients() -> None:
    """The next request of this process is made with the environment as it is then."""
    _filesystem.cache_clear()
    fsspec.get_filesystem_class("s3").clear_instance_cache()
