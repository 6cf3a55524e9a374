"""Which of several equal servers takes the next request: bounded, the least busy first, the dead ones asked again."""

import threading
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from tasks.inference.protocol import EngineUnavailableError

_RECHECK_SECONDS = 5.0  # of a server that is down while another works
_IMPATIENT_SECONDS = 0.5  # the same while none works


@dataclass(slots=True)
class _Server:
    url: str
    busy: int = 0
    up: bool = False
    checked: float = float("-inf")  # monotonic time of the last health check or failure


class ServerPool:
    """Slots on servers; threads may share it.

    healthy: asks one server by URL; what it raises goes to the caller of `take`.
    in_flight: requests that one server has at most.
    patience_seconds: how long `take` waits while no server is healthy.
    """

    def __init__(
        self, urls: Sequence[str], healthy: Callable[[str], bool], in_flight: int, patience_seconds: float
    ) -> None:
        if not urls or len(set(urls)) != len(urls) or in_flight < 1:
            raise ValueError("a pool needs different URLs, and one request in flight at least")
        self._servers = {url: _Server(url) for url in urls}
        self._healthy, self._in_flight, self._patience = healthy, in_flight, patience_seconds
        self._changed = threading.Condition()

    def ask_all(self) -> None:
        """Ask every server for its health now. Raises EngineUnavailableError where one is not healthy."""
        for server in self._servers.values():
            self._settle(server)
        if not all(server.up for server in self._servers.values()):
            raise self._not_healthy()

    def take(self, tried: Collection[str] = ()) -> str:
        """URL of a healthy server, one slot of it taken; one that is not in `tried` where there is one.

        Blocks while all slots are taken. Raises EngineUnavailableError when none was healthy for the whole patience.
        """
        alone_since = time.monotonic()
        while True:
            if (due := self._take_due()) is not None:
                self._settle(due)
            with self._changed:
                up = [server for server in self._servers.values() if server.up]
                free = [server for server in up if server.busy < self._in_flight]
                if free:
                    best = min(free, key=lambda server: (server.url in tried, server.busy))
                    best.busy += 1
                    return best.url
                if up:
                    alone_since = time.monotonic()
                elif time.monotonic() - alone_since > self._patience:
                    raise self._not_healthy()
                self._changed.wait(_IMPATIENT_SECONDS)

    def give(self, url: str, *, failed: bool) -> None:
        """Return a slot; a server that failed is asked for its health before it gets another request."""
        with self._changed:
            server = self._servers[url]
            server.busy -= 1
            if failed:
                server.up, server.checked = False, time.monotonic() - _RECHECK_SECONDS + _IMPATIENT_SECONDS
            self._changed.notify_all()

    def _take_due(self) -> _Server | None:
        """A server that is down and was not asked for a while, marked as being asked by this thread."""
        with self._changed:
            any_up = any(server.up for server in self._servers.values())
            latest = time.monotonic() - (_RECHECK_SECONDS if any_up else _IMPATIENT_SECONDS)
            down = [server for server in self._servers.values() if not server.up and server.checked <= latest]
            due = min(down, key=lambda server: server.checked, default=None)
            if due is not None:
                due.checked = time.monotonic()
            return due

    def _not_healthy(self) -> EngineUnavailableError:
        """By address; an address holds no key and no password (see `ServerAccess`)."""
        down = [server.url for server in self._servers.values() if not server.up]
        verb = "is" if len(down) == 1 else "are"
        return EngineUnavailableError(
            f"{len(down)} of {len(self._servers)} language-model servers {verb} not healthy: {', '.join(down)}"
        )

    def _settle(self, server: _Server) -> None:
        up = self._healthy(server.url)
        with self._changed:
            server.up, server.checked = up, time.monotonic()
            self._changed.notify_all()
