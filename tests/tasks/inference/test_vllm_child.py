"""A real server lives as long as its owner, and two of them answer everything though one is killed."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
from click.testing import CliRunner, Result

import flows.cli
from schemas.engines import EngineSettings
from schemas.errors import UserError
from tasks.inference.engine import Engine
from tasks.inference.engine_daemon import home_server
from tasks.inference.language import Language, language_reference
from tasks.inference.protocol import EngineRefusedError, Message, Prompt
from tasks.inference.vllm_child import EngineStartError, RunningServer, ServerSettings, VllmChild
from tasks.inference.vllm_server import ServerAccess, VllmServer
from tests.running_engine import KEY

OWNER = """
import sys
from pathlib import Path
from tasks.inference.engine import find_engine
from tasks.inference.vllm_child import ServerSettings, launch
server, process = launch(find_engine(Path(sys.argv[1])), ServerSettings(), Path(sys.argv[2]))
print(server.pid, flush=True)
process.wait()
"""


def group(pid: int) -> list[psutil.Process]:
    """All living processes of a server."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, ProcessLookupError):
            if os.getpgid(process.pid) == pid and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def server_process(watchdog_pid: int) -> psutil.Process:
    """The vLLM server itself."""
    return next(
        process
        for process in psutil.Process(watchdog_pid).children()
        if "vllm.entrypoints.openai.api_server" in process.cmdline()
    )


def wait_for(condition: Callable[[], bool], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def run(*words: str) -> Result:
    return CliRunner().invoke(flows.cli.cli, ["engine", *words, "--json"], catch_exceptions=False)


@pytest.fixture
def daemon(
    engine: Engine, shared_key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[dict[str, object]]:
    """A second server, started by the command in a home of its own; what `start` printed."""
    monkeypatch.setenv("PRIVCERT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PRIVCERT_ENGINE", str(engine.folder))
    started = run("start")
    assert started.exit_code == 0
    yield json.loads(started.stdout)
    run("stop")


def test_a_server_ends_with_all_its_children_when_its_owner_is_killed(engine: Engine, tmp_path: Path) -> None:
    command = [sys.executable, "-c", OWNER, str(engine.folder), str(tmp_path / "log")]
    owner = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    pid = int(owner.stdout.readline())
    wait_for(lambda: len(group(pid)) >= 4)  # watchdog, guard, server and a child of it
    processes = group(pid)
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    wait_for(lambda: not any(process.is_running() for process in processes))
    assert group(pid) == []


def test_a_server_that_cannot_start_says_where_its_log_is_and_leaves_nothing(engine: Engine, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with pytest.raises(EngineStartError, match="ended while it started"):
        with VllmChild(engine, ServerSettings(model=str(tmp_path / "missing")), log):
            pass
    assert log.stat().st_mode & 0o077 == 0
    assert log.stat().st_size > 0


def test_all_answers_arrive_each_once_when_one_of_two_servers_is_killed(
    language_model: VllmServer, language_server: RunningServer, daemon: dict[str, object]
) -> None:
    """The daemon's life is seen on the way: started again, it is the same; killed, nothing of it is left."""
    assert daemon["running"] is daemon["healthy"] is True
    assert json.loads(run("start").stdout) == daemon == json.loads(run("status").stdout)
    other_settings = CliRunner().invoke(flows.cli.cli, ["engine", "start", "--batched"])
    assert "other settings" in str(other_settings.exception)

    asked = [Prompt(f"q{place}", (Message("user", f"Is {place} even? " * (place % 9 + 1)),)) for place in range(120)]
    alone = language_model.choose_first_token(asked, ("Yes", "No"))
    pid = int(str(daemon["pid"]))
    urls = (language_server.url, str(daemon["url"]))
    access = ServerAccess(urls, language_server.model, language_server.api_key, in_flight=4)
    with VllmServer(access) as client, ThreadPoolExecutor(1) as threads:
        client.choose_first_token(asked[:16], ("Yes", "No"))
        busy = client._pool._servers[urls[1]]
        call = threads.submit(client.choose_first_token, asked, ("Yes", "No"))
        wait_for(lambda: busy.busy == 4)
        time.sleep(0.5)
        assert not call.done()
        server = next(process for process in group(pid) if "vllm.entrypoints" in " ".join(process.cmdline()))
        server.kill()
        answers = call.result(timeout=300)
    assert answers == alone

    wait_for(lambda: group(pid) == [])
    nothing = dict.fromkeys(("url", "model", "pid", "log"))
    assert json.loads(run("status").stdout) == {"running": False, "healthy": False, **nothing}
    assert json.loads(run("stop").stdout) == {"stopped": False}


def test_a_run_of_the_home_reaches_its_server_by_address_alone(
    daemon: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VLLM_API_KEY")
    private, url = tmp_path / "home" / "private", str(daemon["url"])
    asked = language_reference(EngineSettings(engine_url=(url,)), private, is_private=True)
    assert asked.model == daemon["model"]
    assert Language(asked).facts["model"] == daemon["model"]
    assert KEY not in repr(asked)
    elsewhere = language_reference(
        EngineSettings(engine_url=(url,), language_model=str(daemon["model"])), tmp_path / "other", is_private=True
    )
    with pytest.raises(EngineRefusedError, match=r"HTTP 401; .* set VLLM_API_KEY"):
        _ = Language(elsewhere).facts
    assert home_server(private, (url, "http://127.0.0.1:9")) is None  # its key goes to nobody else
    with pytest.raises(UserError, match="--language-model"):
        language_reference(EngineSettings(engine_url=(url, "http://127.0.0.1:9")), private, is_private=True)


def test_stop_ends_a_server_and_its_children(daemon: dict[str, object]) -> None:
    pid = int(str(daemon["pid"]))
    assert len(group(pid)) >= 4
    assert json.loads(run("stop").stdout) == {"stopped": True}
    assert group(pid) == []
    assert json.loads(run("status").stdout)["running"] is False
