"""The recipe of the language models' environment, and how a folder is told to be one."""

import re
from pathlib import Path

import pytest

from schemas.errors import UserError
from tasks.inference.engine import Build, Engine, engine_folder, find_engine, forget, installed
from tasks.inference.engine_install import default_recipe, install, locked_requirement

LOCKS = [f"{build}.lock" for build in Build]


def finished(folder: Path) -> Engine:
    """A folder that says of itself that it is whole."""
    engine = Engine(folder, Build.CPU, "0" * 64)
    engine.python.parent.mkdir(parents=True)
    engine.python.touch()
    return engine.write()


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_has_hashes_and_no_addresses(name: str) -> None:
    text = (default_recipe() / name).read_text()
    assert "://" not in text
    pinned = [line for line in text.splitlines() if re.match(r"[a-z0-9]", line)]
    assert len(pinned) > 100
    assert all("==" in line and line.endswith("\\") for line in pinned)


def test_the_cpu_lock_has_the_cpu_build_of_pytorch_and_nothing_of_cuda() -> None:
    text = (default_recipe() / "cpu.lock").read_text()
    assert re.fullmatch(
        r"torch==[0-9.]+\+cpu \\\n(    --hash=sha256:[0-9a-f]{64}( \\)?\n)+", locked_requirement(text, "torch")
    )
    assert "nvidia" not in text


def test_a_locked_requirement_is_told_from_other_packages() -> None:
    lock = "ab==2 \\\n    --hash=sha256:1 \\\n    --hash=sha256:2\na==1 \\\n    --hash=sha256:0\nc==3\n"
    assert locked_requirement(lock, "a") == "a==1 \\\n    --hash=sha256:0\n"
    assert locked_requirement(lock, "ab") == "ab==2 \\\n    --hash=sha256:1 \\\n    --hash=sha256:2\n"
    with pytest.raises(UserError, match="does not name b"):
        locked_requirement(lock, "b")


def test_an_environment_counts_only_when_it_was_finished(tmp_path: Path) -> None:
    assert installed(tmp_path) is None
    engine = finished(tmp_path)
    assert installed(tmp_path) == engine == find_engine(tmp_path)
    forget(tmp_path)
    assert installed(tmp_path) is None
    with pytest.raises(UserError, match="privcert engine install"):
        find_engine(tmp_path)


def test_an_environment_whose_python_is_gone_does_not_count(tmp_path: Path) -> None:
    finished(tmp_path).python.unlink()
    assert installed(tmp_path) is None


def test_a_broken_stamp_does_not_count(tmp_path: Path) -> None:
    finished(tmp_path)
    (tmp_path / "engine.json").write_text('{"build": "cp')
    assert installed(tmp_path) is None


def test_a_missing_recipe_is_said_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"recipe: .*cpu\.lock is missing"):
        install(tmp_path, tmp_path / "engine", Build.CPU, lambda _: None)
    assert not (tmp_path / "engine").exists()


def test_the_folder_is_the_one_that_the_environment_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PRIVCERT_ENGINE", raising=False)
    assert engine_folder(tmp_path) == tmp_path / "engine"
    monkeypatch.setenv("PRIVCERT_ENGINE", str(tmp_path / "other"))
    assert engine_folder(tmp_path) == tmp_path / "other"


def test_a_whole_environment_is_left_as_it_is(engine: Engine) -> None:
    """The real one; a changed recipe would rebuild it, so this says also that it is of this recipe."""
    before = engine.python.stat().st_ctime_ns
    steps: list[str] = []
    assert install(default_recipe(), engine.folder, engine.build, steps.append) == engine
    assert steps == []
    assert engine.python.stat().st_ctime_ns == before
