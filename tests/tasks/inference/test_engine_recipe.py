"""Who installed a wheel has the recipe of the language models' environment without a checkout."""

import json
import subprocess
from pathlib import Path

from tasks.inference.engine import Engine
from tasks.inference.engine_install import default_recipe

FIND = "from tasks.inference.engine_install import default_recipe; print(default_recipe())"


def in_environment(environment: Path, *command: str, **variables: str) -> str:
    """What a program of the environment prints; it finds no checkout."""
    words = [str(environment / "bin" / command[0]), *command[1:]]
    variables["PATH"] = "/usr/bin:/bin"
    done = subprocess.run(words, capture_output=True, text=True, cwd=environment, env=variables)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_installs_every_file_of_the_recipe(worker_environment: Path) -> None:
    found = Path(in_environment(worker_environment, "python", "-I", "-c", FIND).strip())
    assert found.is_relative_to(worker_environment)
    tracked = {path.name: path.read_bytes() for path in default_recipe().iterdir() if path.is_file()}
    assert {path.name: path.read_bytes() for path in found.iterdir()} == tracked
    assert {"cpu.lock", "cuda.lock", "convert_smollm2.py"} <= set(tracked)


def test_a_machine_that_only_scores_installs_the_engine_by_the_same_command(
    worker_environment: Path, engine: Engine, tmp_path: Path
) -> None:
    """The recipe is the wheel's own; the environment that is there is of this recipe, so nothing is done."""
    command = ("privcert", "engine", "install", "--build", engine.build, "--json")
    variables = {"PRIVCERT_ENGINE": str(engine.folder), "HOME": str(tmp_path)}
    assert json.loads(in_environment(worker_environment, *command, **variables))["folder"] == str(engine.folder)
    assert list(tmp_path.iterdir()) == []  # no home was made
