"""Build the environment of the language models from its recipe, `deployments/vllm`: one call, resumable, idempotent."""

import hashlib
import importlib.metadata
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from schemas.errors import UserError
from tasks.inference.engine import Build, Engine, environment, forget, installed, small_model
from tasks.storage.home import PRIVATE_DIRECTORY
from tasks.storage.locks import one_process

PYTHON = "3.11"  # the one that the locks are made for
_SCRIPT = "convert_smollm2.py"


def default_recipe() -> Path:
    """`deployments/vllm` of the repository that this package is run from, or the copy that its wheel installed."""
    checkout = Path(__file__).parents[2] / "deployments" / "vllm"
    return checkout if checkout.is_dir() else _installed_recipe() or checkout


def _installed_recipe() -> Path | None:
    """The folder of the wheel's data files; where that is depends on how it was installed."""
    try:
        files = importlib.metadata.files("privcert") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    return next((Path(str(file.locate())).resolve().parent for file in files if file.name == _SCRIPT), None)


def install(recipe: Path, folder: Path, build: Build, report: Callable[[str], None]) -> Engine:
    """The environment in `folder`, made or completed; nothing is done when it is whole and of this recipe and build.

    report: told what is being done, for the terminal.
    Raises UserError where the recipe is missing, the machine is of another kind, or a package cannot be had.
    """
    digest = _digest(recipe, build)
    _check_machine()
    folder.mkdir(parents=True, exist_ok=True, mode=PRIVATE_DIRECTORY)
    with one_process(folder):
        engine = installed(folder)
        if engine == Engine(folder, build, digest):
            return engine
        forget(folder)
        uv = _find_uv(folder, recipe)
        _make_environment(uv, recipe / f"{build}.lock", folder, build, report)
        _convert(recipe / _SCRIPT, folder, report)
        return Engine(folder, build, digest).write()


def _digest(recipe: Path, build: Build) -> str:
    digest = hashlib.sha256()
    for name in (f"{build}.lock", _SCRIPT):
        if not (recipe / name).is_file():
            raise UserError(f"recipe: {recipe / name} is missing; name deployments/vllm of the repository by --recipe")
        digest.update((recipe / name).read_bytes())
    return digest.hexdigest()


def _check_machine() -> None:
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        raise UserError("the locks of the language-model engine are for 64-bit x86 Linux; run it there as a server")


def _find_uv(folder: Path, recipe: Path) -> str:
    """uv from the PATH, from where `make` puts it, or brought into the engine's folder."""
    own = folder / "uv"
    places = [os.environ.get("PATH", ""), *(str(place / "bin") for place in (recipe.parents[1] / ".uv", own))]
    found = shutil.which("uv", path=os.pathsep.join(places))
    if found is None:
        _run([sys.executable, "-m", "venv", str(own)], "make a folder for uv")
        _run([str(own / "bin" / "python"), "-m", "pip", "install", "--quiet", "uv"], "install uv")
        found = str(own / "bin" / "uv")
    return found


def _make_environment(uv: str, lock: Path, folder: Path, build: Build, report: Callable[[str], None]) -> None:
    env, wheels = environment(folder), folder / "wheels"
    if not (env / "bin" / "python").exists():
        report(f"Python {PYTHON}")
        shutil.rmtree(env, ignore_errors=True)
        _run([uv, "venv", "--quiet", "--python", PYTHON, str(env)], f"make an environment of Python {PYTHON}")
    options = _torch_options(uv, lock, env, wheels, report) if build is Build.CPU else []
    report(f"packages of {lock.name} (several gigabytes)")
    command = [
        uv,
        "pip",
        "sync",
        "--quiet",
        "--require-hashes",
        "--no-build",
        "--python",
        str(env),
        *options,
        str(lock),
    ]
    _run(command, "install the packages of the lock")
    shutil.rmtree(wheels, ignore_errors=True)


def _torch_options(uv: str, lock: Path, env: Path, wheels: Path, report: Callable[[str], None]) -> list[str]:
    """Where uv finds PyTorch's CPU build, which is not on PyPI: a wheel that pip knows of, or PyTorch's own index."""
    report("PyTorch, CPU build")
    _run([uv, "pip", "install", "--quiet", "--python", str(env), "pip"], "install pip")
    wheels.mkdir(exist_ok=True)
    pinned = wheels / "torch.txt"
    pinned.write_text(locked_requirement(lock.read_text(), "torch"))
    command = [str(env / "bin" / "python"), "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"]
    command += ["--dest", str(wheels), "--requirement", str(pinned)]
    if subprocess.run(command, capture_output=True, check=False).returncode == 0:  # noqa: S603
        return ["--find-links", str(wheels)]
    return ["--torch-backend", "cpu"]


def locked_requirement(lock: str, name: str) -> str:
    """The lines of one package in a lock: version and hashes. Raises UserError where it is not in it."""
    lines = iter(lock.splitlines())
    found: list[str] = []
    for line in lines:
        if found and not line.startswith(" "):
            break
        if found or line.startswith(f"{name}=="):
            found.append(line)
    if not found:
        raise UserError(f"recipe: the lock does not name {name}")
    return "\n".join(found) + "\n"


def _convert(script: Path, folder: Path, report: Callable[[str], None]) -> None:
    report("SmolLM2-135M-Instruct")
    target = small_model(folder)
    target.parent.mkdir(exist_ok=True, mode=PRIVATE_DIRECTORY)
    partial = target.with_name(".tmp-model")
    for old in (partial, target):
        shutil.rmtree(old, ignore_errors=True)
    _run([str(environment(folder) / "bin" / "python"), str(script), str(partial)], "make the checkpoint of SmolLM2")
    partial.rename(target)


def _run(command: Sequence[str], what: str) -> None:
    """Run a step; no private text is anywhere near it, so its last words may be shown."""
    done = subprocess.run(list(command), capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()[-600:]
        raise UserError(f"engine install could not {what}: {said}")
