"""A relay in front of a real language-model server: it counts and names what it lets through, and may alter it.

Several relays of one server look like several servers, each of which can end or change without touching the real one.
"""

import hashlib
import http.client
import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

Change = Callable[[Any], Any]
CHAT = "/v1/chat/completions"


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # as many may connect at once


class Relay:
    """Use it as a context manager; `url` is where it listens.

    change_request, change_reply: of chats, their JSON. seconds: waited before a chat is let through.
    """

    def __init__(
        self, url: str, change_request: Change | None = None, change_reply: Change | None = None, seconds: float = 0
    ) -> None:
        self.target = url.removeprefix("http://")
        self.change_request, self.change_reply, self.seconds = change_request, change_reply, seconds
        self.chats: list[str] = []  # hashes of the messages that were answered, but for probes
        self.in_flight = 0
        relay = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                relay._pass_on(self, None)

            def do_POST(self) -> None:
                relay._pass_on(self, self.rfile.read(int(self.headers["Content-Length"])))

            def log_message(self, *_: object) -> None:
                pass

        self._server = _Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.end()

    def end(self) -> None:
        """No connection is taken any more, and open ones are cut before their replies."""
        self.target = ""
        self._server.shutdown()
        self._server.server_close()

    def _pass_on(self, handler: BaseHTTPRequestHandler, body: bytes | None) -> None:
        is_chat = handler.path == CHAT and body is not None
        self.in_flight += is_chat
        try:
            if is_chat:
                time.sleep(self.seconds)
                body = self._changed(body, self.change_request)
            status, reply = self._ask(handler, body)
            if is_chat and status == http.client.OK:
                reply = self._changed(reply, self.change_reply)
                asked = json.loads(body or b"")
                if "prompt_logprobs" not in asked:
                    self.chats.append(hashlib.sha256(json.dumps(asked["messages"]).encode()).hexdigest())
        except (OSError, http.client.HTTPException):
            handler.close_connection = True
            return
        finally:
            self.in_flight -= is_chat
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(reply)))
        handler.end_headers()
        handler.wfile.write(reply)

    def _ask(self, handler: BaseHTTPRequestHandler, body: bytes | None) -> tuple[int, bytes]:
        if not self.target:
            raise ConnectionError
        connection = http.client.HTTPConnection(self.target, timeout=600)
        kept = {name: handler.headers[name] for name in ("Authorization", "Content-Type", "X-Request-Id")}
        headers = {name: value for name, value in kept.items() if value}
        connection.request(handler.command, handler.path, body, headers)
        with connection.getresponse() as response:
            answer = response.status, response.read()
        connection.close()
        if not self.target:
            raise ConnectionError
        return answer

    @staticmethod
    def _changed(content: bytes | None, change: Change | None) -> bytes:
        if change is None:
            return content or b""
        return json.dumps(change(json.loads(content or b""))).encode()
