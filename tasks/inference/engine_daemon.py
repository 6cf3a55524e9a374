"""One vLLM server of a home that stays when the command that started it ends."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil

from schemas.errors import UserError
from tasks.inference.engine import Engine
from tasks.inference.vllm_child import RunningServer, ServerSettings, end_group, launch, let_stay, wait_until_healthy
from tasks.storage.atomic import write_bytes
from tasks.storage.home import PRIVATE_DIRECTORY
from tasks.storage.locks import one_process


@dataclass(frozen=True, slots=True)
class EngineDaemon:
    """The server of a home.

    folder: in the private zone; holds the server's log, and its pid and key in a file that only the operator may read.
    """

    folder: Path

    def start(self, engine: Engine, settings: ServerSettings, seconds: float) -> RunningServer:
        """The healthy server; started, unless one with the same settings is already there.

        Raises: UserError when one with other settings runs; EngineStartError when it does not start in `seconds`.
        """
        self.folder.mkdir(parents=True, exist_ok=True, mode=PRIVATE_DIRECTORY)
        with one_process(self.folder):  # two starts at once make one server
            running = self.running()
            if running is not None:
                if self._written()["settings"] != _plain(settings, engine):
                    raise UserError(
                        "a language-model server with other settings is running: `privcert engine stop` first"
                    )
                return running
            server, process = launch(engine, settings, self.folder / "server.log")
            try:
                self._write(server, _plain(settings, engine))
                wait_until_healthy(server, process, seconds)
                let_stay(process)
            except BaseException:  # an interrupt too: no server stays that nobody knows of
                end_group(server.pid)
                self._file.unlink(missing_ok=True)
                raise
            return server

    def running(self) -> RunningServer | None:
        """The server whose process is alive, healthy or not; None where there is none."""
        try:
            written = self._written()
            process = psutil.Process(written["server"]["pid"])
            if process.create_time() != written["created"] or process.status() == psutil.STATUS_ZOMBIE:
                return None  # the number belongs to another process by now, or to none that works
        except (FileNotFoundError, psutil.NoSuchProcess):
            return None
        return RunningServer(**written["server"] | {"log": Path(written["server"]["log"])})

    def stop(self) -> bool:
        """End the server and its children; whether there was one."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=PRIVATE_DIRECTORY)
        with one_process(self.folder):  # two starts at once make one server
            running = self.running()
            if running is not None:
                end_group(running.pid)
            self._file.unlink(missing_ok=True)
            return running is not None

    @property
    def _file(self) -> Path:
        return self.folder / "server.json"

    def _written(self) -> dict[str, Any]:
        written: dict[str, Any] = json.loads(self._file.read_text())
        return written

    def _write(self, server: RunningServer, settings: dict[str, object]) -> None:
        facts = asdict(server) | {"log": str(server.log)}
        created = psutil.Process(server.pid).create_time()
        write_bytes(self._file, json.dumps({"server": facts, "created": created, "settings": settings}).encode())


def home_server(private_zone: Path, urls: Sequence[str]) -> RunningServer | None:
    """The running server that `privcert engine start` made for the home, where `urls` name it and no other.

    Its key goes to nobody else: beside another server it is not taken.
    """
    own = engine_daemon(private_zone).running()
    return own if own is not None and tuple(urls) == (own.url,) else None


def engine_daemon(private_zone: Path) -> EngineDaemon:
    """The server of the home with this private zone, running or not."""
    return EngineDaemon(private_zone / "engine-server")


def _plain(settings: ServerSettings, engine: Engine) -> dict[str, object]:
    """Settings as JSON gives them back, and the environment that runs them."""
    plain: dict[str, object] = json.loads(json.dumps(asdict(settings)))
    return plain | {"engine": engine.recipe_sha256, "folder": str(engine.folder)}
