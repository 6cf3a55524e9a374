"""privcert engine."""

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from flows.cli.options import WholeRange, json_option
from flows.cli.output import home_for, present_home, print_json
from schemas.errors import StageError

if TYPE_CHECKING:
    from tasks.inference.engine_daemon import EngineDaemon

_FOLDER = click.option(
    "--folder",
    type=click.Path(path_type=Path),
    help="Where the environment lies; default PRIVCERT_ENGINE, or the private zone of the home.",
)


@click.group(name="engine")
def command() -> None:
    """Install vLLM in an environment of its own, and run a server of it.

    Example: privcert engine install
    """


@command.command()
@_FOLDER
@click.option("--build", type=click.Choice(["cpu", "cuda"]), help="Default: cuda where a CUDA device is found.")
@click.option(
    "--recipe", type=click.Path(path_type=Path), help="Another recipe; default: the one that comes with privcert."
)
@json_option
def install(folder: Path | None, build: str | None, recipe: Path | None, as_json: bool) -> None:
    """Build the environment of the language models; again: complete or check it.

    Needs Python 3.11, a package registry and 3.5 GB (CPU build).

    Example: privcert engine install --folder /srv/engine
    """
    from tasks.inference import engine_install
    from tasks.inference.engine import Build, build_for_this_machine

    begun = time.monotonic()
    chosen = build_for_this_machine() if build is None else Build(build)
    made = engine_install.install(
        (recipe or engine_install.default_recipe()).absolute(),
        _engine_folder(folder),
        chosen,
        lambda step: None if as_json else click.echo(step, err=True),
    )
    seconds = round(time.monotonic() - begun, 1)
    if as_json:
        print_json(
            {"folder": str(made.folder), "build": made.build, "model": made.small_model.name, "seconds": seconds}
        )
    else:
        click.echo(f"{made.build} build in {made.folder} ({seconds:.0f} s)")


@command.command()
@_FOLDER
@click.option("--model", help="Checkpoint folder or name on a hub; default the small model of the engine.")
@click.option(
    "--one-by-one/--batched",
    default=True,
    show_default=True,
    help="One request at a time, so that no answer depends on another request; or shared batches and prefixes.",
)
@click.option("--context-tokens", type=WholeRange(64), default=2048, show_default=True, help="Prompt and answer.")
@click.option("--kv-cache-gib", type=WholeRange(1), default=1, show_default=True, help="Of the CPU build.")
@click.option("--seconds", type=WholeRange(1), default=600, show_default=True, help="How long a start may take.")
@json_option
def start(
    folder: Path | None,
    model: str | None,
    one_by_one: bool,
    context_tokens: int,
    kv_cache_gib: int,
    seconds: int,
    as_json: bool,
) -> None:
    """Start a server in the background, on this machine alone; return when it answers. Again: says where it is.

    Example: privcert engine start --batched
    """
    from tasks.inference.engine import find_engine
    from tasks.inference.protocol import EngineError
    from tasks.inference.vllm_child import ServerSettings

    settings = ServerSettings(model, one_by_one, context_tokens, kv_cache_gib)
    try:
        _daemon(home_for("synthetic").private).start(find_engine(_engine_folder(folder)), settings, seconds)
    except EngineError as error:
        raise StageError(str(error)) from None
    _show_status(as_json)


@command.command()
@json_option
def status(as_json: bool) -> None:
    """Say whether the server of this home runs and is healthy, and where it is.

    Example: privcert engine status --json
    """
    _show_status(as_json)


@command.command()
@json_option
def stop(as_json: bool) -> None:
    """End the server of this home and all its children.

    Example: privcert engine stop
    """
    stopped = _daemon(present_home().private).stop()
    if as_json:
        print_json({"stopped": stopped})
    else:
        click.echo("stopped" if stopped else "no server was running")


def _show_status(as_json: bool) -> None:
    server = _daemon(present_home().private).running()
    healthy = server is not None and server.healthy()
    facts = {name: None if server is None else getattr(server, name) for name in ("url", "model", "pid", "log")}
    if as_json:
        print_json({"running": server is not None, "healthy": healthy, **facts})
    elif server is None:
        click.echo("no server is running")
    else:
        click.echo(f"{server.model} at {server.url}, {'healthy' if healthy else 'not healthy'}, process {server.pid}")


def _engine_folder(folder: Path | None) -> Path:
    from tasks.inference.engine import engine_folder

    named = folder or os.environ.get("PRIVCERT_ENGINE")  # then no home is needed, and none is made
    return Path(named).absolute() if named else engine_folder(home_for("synthetic").private)


def _daemon(private: Path) -> "EngineDaemon":
    from tasks.inference.engine_daemon import engine_daemon

    return engine_daemon(private)
