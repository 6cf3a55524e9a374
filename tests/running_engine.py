"""Real language-model servers for tests: one for the whole run, of SmolLM2 on the CPU build.

They skip where `privcert engine install` was not run (PRIVCERT_ENGINE names its folder, else the home's is taken), and
with PRIVCERT_NO_ENGINE.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tasks.inference.engine import Build, Engine, build_for_this_machine, engine_folder, installed
from tasks.inference.vllm_child import RunningServer, ServerSettings, VllmChild
from tasks.inference.vllm_server import VllmServer
from tasks.storage.home import default_home

KEY = "the-key-of-the-tests"


@pytest.fixture(scope="session")
def engine() -> Engine:
    """The installed environment."""
    if os.environ.get("PRIVCERT_NO_ENGINE"):
        pytest.skip("PRIVCERT_NO_ENGINE is set: no language-model engine is used")
    folder = engine_folder(default_home() / "private")
    found = installed(folder)
    if found is None:
        pytest.skip("no language-model engine: run `privcert engine install` and set PRIVCERT_ENGINE to its folder")
    return found


@pytest.fixture(scope="session")
def cuda_device() -> None:
    """There is a CUDA device."""
    if build_for_this_machine() is not Build.CUDA:
        pytest.skip("no CUDA device: the tests marked gpu need one")


@pytest.fixture(scope="session")
def cuda_engine(cuda_device: None, engine: Engine) -> Engine:
    """The installed environment, which is the CUDA build."""
    if engine.build is not Build.CUDA:
        pytest.skip("the language-model engine is the CPU build: run `privcert engine install --build cuda`")
    return engine


@pytest.fixture(scope="session")
def language_server(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server that answers one request at a time."""
    log: Path = tmp_path_factory.mktemp("language-server") / "server.log"
    with VllmChild(engine, ServerSettings(), log, api_key=KEY) as server:
        yield server


@pytest.fixture(scope="session")
def language_model(language_server: RunningServer) -> Iterator[VllmServer]:
    """A client of that server."""
    with VllmServer(language_server.access()) as client:
        yield client


@pytest.fixture
def shared_key(monkeypatch: pytest.MonkeyPatch) -> str:
    """Servers that are started from now on take the key of the server of the tests."""
    monkeypatch.setitem(os.environ, "VLLM_API_KEY", KEY)
    return KEY
