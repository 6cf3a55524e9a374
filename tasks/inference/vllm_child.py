"""A vLLM server process on this machine: how it is started, and one that lives as long as its owner."""

import contextlib
import http.client
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from tasks.inference import watchdog
from tasks.inference.cpu import cpu_kernel_class
from tasks.inference.engine import Build, Engine
from tasks.inference.protocol import EngineError, Message, Prompt
from tasks.inference.vllm_server import ServerAccess, VllmServer

_HOST = "127.0.0.1"
_POLL_SECONDS = 0.5


class EngineStartError(EngineError):
    """A vLLM server did not come up. The message names its log, which lies in the private zone."""


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """How one server runs; everything here may change an answer's bits.

    model: checkpoint folder, or OWNER/NAME or OWNER/NAME@COMMIT of a hub; None: the small model of the engine.
    one_by_one: one request at a time and no prefix cache, so that an answer depends on its prompt alone. False:
        requests share batches and prefixes, for public corpora.
    context_tokens: prompt and answer together, at most.
    kv_cache_gib: memory for keys and values (CPU build).
    cores: CPU cores of the CPU build, one thread each; None: all that this process may use.
    """

    model: str | None = None
    one_by_one: bool = True
    context_tokens: int = 2048
    kv_cache_gib: int = 1
    cores: tuple[int, ...] | None = None

    def facts(self, engine: Engine) -> dict[str, str]:
        """Everything that the server adds to what an answer depends on, as public strings."""
        batches = "one request at a time, no prefix cache" if self.one_by_one else "shared batches, prefix cache"
        return {
            "engine_recipe_sha256": engine.recipe_sha256,
            "engine_build": engine.build.value,
            "batch_shape": batches,
            "context_tokens": str(self.context_tokens),
            "threads": str(len(self._cores())) if engine.build is Build.CPU else "decided by vLLM",
            "cpu": cpu_kernel_class(),
        }

    def name(self) -> str:
        """The name under which the model is served: public, no path."""
        return "smollm2-135m-instruct" if self.model is None else Path(self.model).name.split("@")[0]

    @property
    def revision(self) -> str | None:
        """The commit of a hub that is pinned; None for a folder."""
        return self.model.partition("@")[2] or None if self.model and not Path(self.model).is_dir() else None

    def command(self, engine: Engine, port: int) -> list[str]:
        """The server's command line. Neither requests nor accesses are logged."""
        batches = ["--max-num-seqs", "1", "--no-enable-prefix-caching"] if self.one_by_one else []
        return [
            *(str(engine.python), "-m", "vllm.entrypoints.openai.api_server"),
            *("--model", self._checkpoint(engine), "--served-model-name", self.name()),
            *(("--revision", self.revision, "--tokenizer-revision", self.revision) if self.revision else ()),
            *("--host", _HOST, "--port", str(port)),
            *("--max-model-len", str(self.context_tokens), "--generation-config", "vllm"),
            *("--structured-outputs-config", '{"disable_any_whitespace": true, "backend": "xgrammar"}'),
            *("--no-enable-log-requests", "--disable-uvicorn-access-log", "--disable-log-stats"),
            *(["--enforce-eager"] if engine.build is Build.CPU else []),
            *batches,
        ]

    def environment(self, api_key: str) -> dict[str, str]:
        """The server's environment: ours, without what belongs to another Python, and nothing sent anywhere."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
        return kept | {
            "VLLM_API_KEY": api_key,
            "VLLM_NO_USAGE_STATS": "1",
            "DO_NOT_TRACK": "1",
            "VLLM_CPU_OMP_THREADS_BIND": ",".join(map(str, self._cores())),
            "VLLM_CPU_KVCACHE_SPACE": str(self.kv_cache_gib),
            **({"HF_HUB_OFFLINE": "1"} if self.model is None or Path(self.model).is_dir() else {}),
        }

    def _checkpoint(self, engine: Engine) -> str:
        if self.model is None:
            return str(engine.small_model)
        return self.model if self.revision is None else self.model.partition("@")[0]

    def _cores(self) -> tuple[int, ...]:
        return self.cores or tuple(sorted(os.sched_getaffinity(0)))


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A server process that was started; not necessarily healthy.

    pid: its watchdog, the leader of its process group.
    """

    pid: int
    url: str
    model: str
    log: Path
    api_key: str = field(repr=False)

    def access(self, in_flight: int = 8) -> ServerAccess:
        """How a client reaches this server alone."""
        return ServerAccess((self.url,), self.model, self.api_key, in_flight=in_flight)

    def healthy(self) -> bool:
        """Whether the server answers at once that it is well."""
        connection = http.client.HTTPConnection(self.url.removeprefix("http://"), timeout=5)
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status == http.client.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


def launch(
    engine: Engine, settings: ServerSettings, log: Path, api_key: str | None = None
) -> tuple[RunningServer, subprocess.Popen[bytes]]:
    """Start a server on a free port of this machine alone; it is not waited for.

    api_key: None: VLLM_API_KEY, so that several servers may have one, or a fresh random one.

    It ends when the standard input of the returned process is closed, by us or by our death, unless `let_stay` came
    first.
    """
    port, key = _free_port(), api_key or os.environ.get("VLLM_API_KEY") or secrets.token_urlsafe(32)
    command = [sys.executable, "-I", watchdog.__file__]
    with open(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as output:
        process = subprocess.Popen(  # noqa: S603
            command + settings.command(engine, port),
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=settings.environment(key),
            cwd=engine.folder,
            start_new_session=True,
        )
    return RunningServer(process.pid, f"http://{_HOST}:{port}", settings.name(), log, key), process


def let_stay(process: subprocess.Popen[bytes]) -> None:
    """From now on the server outlives us."""
    if process.stdin is not None:
        process.stdin.write(watchdog.STAY)
        process.stdin.close()


def wait_until_healthy(server: RunningServer, process: subprocess.Popen[bytes], seconds: float) -> None:
    """Return when the server has answered one prompt: its first one is slow.

    Raises EngineStartError when it ends or takes longer.
    """
    deadline = time.monotonic() + seconds
    while not server.healthy():
        if process.poll() is not None:
            raise EngineStartError(f"the language-model server ended while it started; its log: {server.log}")
        if time.monotonic() > deadline:
            raise EngineStartError(f"the language-model server did not start in {seconds:g} s; its log: {server.log}")
        time.sleep(_POLL_SECONDS)
    with VllmServer(server.access()) as client:
        client.generate([Prompt("first", (Message("user", "Hello."),))], max_tokens=2)


def end_group(pid: int, seconds: float = 2 * watchdog.GRACE_SECONDS) -> None:
    """End a server, its watchdog and all their children; return when none is left."""
    deadline = time.monotonic() + seconds
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    while _group_lives(pid):
        if time.monotonic() > deadline:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        time.sleep(0.05)


def _group_lives(pid: int) -> bool:
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, ProcessLookupError):
            if os.getpgid(process.pid) == pid and process.status() != psutil.STATUS_ZOMBIE:
                return True
    return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_HOST, 0))
        port: int = probe.getsockname()[1]
        return port


class VllmChild:
    """A server that this process owns, as a context manager: healthy inside the block, gone after it.

    It also ends, with its children, when this process dies in any way.
    """

    def __init__(
        self, engine: Engine, settings: ServerSettings, log: Path, *, api_key: str | None = None, seconds: float = 600
    ) -> None:
        """log: file for the server's own words, replaced. seconds: how long a start may take."""
        self._engine, self._settings, self._log, self._key, self._seconds = engine, settings, log, api_key, seconds

    def __enter__(self) -> RunningServer:
        server, self._process = launch(self._engine, self._settings, self._log, self._key)
        try:
            wait_until_healthy(server, self._process, self._seconds)
        except BaseException:  # an interrupt too: __exit__ will not be called
            self.close()
            raise
        return server

    def __exit__(self, *_: object) -> None:
        self.close()

    def has_ended(self) -> bool:
        """Whether the server is gone though nobody closed it."""
        return self._process.poll() is not None

    def close(self) -> None:
        """End the server and its children; return when they are gone."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        end_group(self._process.pid)
        self._process.wait()
