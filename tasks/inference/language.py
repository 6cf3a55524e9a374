"""The language model that a run means: what its answers depend on, and a client of it when one is needed.

Servers of the user are reached by their URLs. Else a server of the installed engine is started when the first question
is asked, owned by this process, and ended with it.
"""

import atexit
import contextlib
import hashlib
import os
import platform
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from schemas.engines import EngineMode, EngineSettings
from schemas.errors import UserError
from tasks.inference.engine import Engine, engine_folder, engine_here, find_engine
from tasks.inference.engine_daemon import home_server
from tasks.inference.protocol import EngineUnavailableError
from tasks.inference.vllm_child import ServerSettings, VllmChild
from tasks.inference.vllm_server import ServerAccess, VllmServer
from tasks.storage.home import PRIVATE_DIRECTORY

_ON_A_HUB = re.compile(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}\Z", re.ASCII)
_BATCHED_IN_FLIGHT = 32  # of one server: enough to fill its batches
_RESTARTS = 1  # of a server of ours that ended by itself, in one process

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class LanguageReference:
    """Everything a process needs to reach one language model; small, picklable, without a key.

    urls: the user's servers; none: a server of the installed engine.
    model: as in EngineSettings.language_model.
    one_by_one: no request meets another (see EngineMode).
    context_tokens: of a server that is started.
    engine, logs: folder of the installed engine, and the folder for a server's own words, in the private zone: there
    the process that needs the key of the home's own server finds it.
    """

    urls: tuple[str, ...]
    model: str | None
    one_by_one: bool
    context_tokens: int
    engine: Path
    logs: Path


def language_reference(settings: EngineSettings, private_zone: Path, *, is_private: bool) -> LanguageReference:
    """The language model that the settings name.

    private_zone: of the home. is_private: whether it will read a private corpus.
    Raises UserError by name: batches on a private corpus, no name for what the URLs serve, no such folder or commit.
    """
    if is_private and settings.engine_mode is EngineMode.BATCHED:
        raise UserError(
            "engine_mode: in batches an answer may depend on other records; a private corpus is read one_by_one"
        )
    model = settings.language_model
    if len(set(settings.engine_url)) < len(settings.engine_url):
        raise UserError("engine_url: one server is named twice")
    if settings.engine_url and model is None:
        own = home_server(private_zone, settings.engine_url)
        if own is None:
            raise UserError(
                "language_model: say by --language-model under which name the servers of --engine-url serve their model"
            )
        model = own.model
    if not settings.engine_url and model is not None and not _ON_A_HUB.match(model):
        model = str(Path(model).expanduser().absolute())
        if not Path(model, "config.json").is_file():
            raise UserError("language_model: neither OWNER/NAME@COMMIT (all 40 digits) nor a folder with a checkpoint")
    mode = settings.engine_mode or (EngineMode.ONE_BY_ONE if is_private else EngineMode.BATCHED)
    return LanguageReference(
        urls=settings.engine_url,
        model=model,
        one_by_one=mode is EngineMode.ONE_BY_ONE,
        context_tokens=settings.engine_context_tokens,
        engine=engine_folder(private_zone),
        logs=private_zone / "logs",
    )


class Language:
    """One language model in this process; see `open_language`."""

    def __init__(self, reference: LanguageReference) -> None:
        self._reference = reference
        self._owned = contextlib.ExitStack()
        self._client: VllmServer | None = None
        self._child: VllmChild | None = None
        self._restarts = 0
        self._starting = threading.Lock()

    @cached_property
    def facts(self) -> dict[str, str]:
        """What an answer may depend on besides its prompt, as public strings; nothing is started for it.

        Raises: UserError where no engine is installed; EngineError where the user's servers do not answer.
        """
        if self._reference.urls:
            batches = "declared one request at a time, salted cache" if self._reference.one_by_one else "shared batches"
            return self.client.facts() | {"batch_shape": batches}
        settings = self._settings
        return {"model": settings.name(), "weights": _identity(self._engine, settings)} | settings.facts(self._engine)

    @property
    def client(self) -> VllmServer:
        """The client; the first use starts the server, where it is ours. Raises EngineError, UserError."""
        with self._starting:
            if self._client is None:
                self._client = self._owned.enter_context(VllmServer(self._access(), self._has_ended))
            return self._client

    def ask(self, question: Callable[[VllmServer], Answer]) -> Answer:
        """What the question says of the client. Where a server of ours ended meanwhile, another one is asked again.

        Raises what the question raises, and what starting a server does.
        """
        client = self.client
        try:
            return question(client)
        except EngineUnavailableError:
            if not self._forgot_ended(client):
                raise
        return question(self.client)

    def _has_ended(self) -> bool:
        return self._child is not None and self._child.has_ended()

    def _forgot_ended(self, client: VllmServer) -> bool:
        """Whether `client` is no more the client, because its server ended; several threads may see that it did."""
        with self._starting:
            if self._client is client and self._has_ended() and self._restarts < _RESTARTS:
                self._restarts += 1
                self._client = None  # closed with the rest: other threads may still use it
            return self._client is not client

    def close(self) -> None:
        """End the server, where it is ours; a later question starts another one."""
        with self._starting:
            self._client, self._child = None, None
            self._owned.close()

    def _access(self) -> ServerAccess:
        in_flight = 1 if self._reference.one_by_one else _BATCHED_IN_FLIGHT
        if self._reference.urls:
            own = home_server(self._reference.logs.parent, self._reference.urls)
            key = os.environ.get("VLLM_API_KEY") if own is None else own.api_key
            access = ServerAccess(
                self._reference.urls, str(self._reference.model), key, in_flight=in_flight, probed=True
            )
        else:
            self._reference.logs.mkdir(exist_ok=True, mode=PRIVATE_DIRECTORY)
            log = self._reference.logs / f"language-server-{platform.node()}-{os.getpid()}.log"
            self._child = VllmChild(self._engine, self._settings, log)
            access = self._owned.enter_context(self._child).access(in_flight)
        return replace(access, salted=self._reference.one_by_one)

    @property
    def _engine(self) -> Engine:
        return find_engine(engine_here(self._reference.engine))

    @property
    def _settings(self) -> ServerSettings:
        asked = self._reference
        return ServerSettings(asked.model, one_by_one=asked.one_by_one, context_tokens=asked.context_tokens)


def open_language(reference: LanguageReference) -> Language:
    """The language model that is meant, one a process; what it started ends with the process."""
    with _opening:
        if reference not in _opened:
            _opened[reference] = Language(reference)
        return _opened[reference]


@atexit.register
def close_languages() -> None:
    """End all servers that this process owns."""
    with _opening:
        for language in _opened.values():
            language.close()


def _identity(engine: Engine, settings: ServerSettings) -> str:
    """The commit of a hub, or a digest over all files of a checkpoint's folder."""
    if settings.revision is not None:
        return f"commit {settings.revision}"
    return f"sha256 of the checkpoint's files {checkpoint_sha256(Path(settings.model or engine.small_model))}"


def checkpoint_sha256(folder: Path) -> str:
    """SHA-256 (hex) over names and contents of all files below a folder."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        digest.update(f"{path.relative_to(folder).as_posix()}\0{content}\n".encode())
    return digest.hexdigest()


_opened: dict[LanguageReference, Language] = {}
_opening = threading.Lock()
