"""What a stage may say when it fails: a public reason; the rest goes to the operator's log in the private zone."""

import os
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from schemas.errors import StageError, UserError
from tasks.audits.events import recorded
from tasks.audits.run import Run, open_run
from tasks.storage.home import PRIVATE_DIRECTORY

Result = TypeVar("Result")


def guarded(stage: Callable[..., Result], home: str, run_id: str, *arguments: str) -> Result:
    """Run a stage; errors leave it without a text, an id or a traceback of private values.

    arguments: a partition, or nothing.

    Raises UserError with its public reason, or StageError that names the stage.
    """
    run = open_run(home, run_id)
    name, partition = stage.__name__.removesuffix("_stage"), arguments[0] if arguments else None
    try:
        with recorded(run, name, partition):
            return stage(run, *arguments)
    except UserError as error:
        failure: Exception = UserError(str(error))
        _keep_for_operator(run)
    except Exception:  # whatever it is, its text may hold private values
        failure = StageError(f"{stage.__name__} failed; the reason is in the operator's log of run {run_id}")
        _keep_for_operator(run)
    raise failure  # outside the handler: no context that a logger could print


def _keep_for_operator(run: Run) -> None:
    folder = run.home.private / "logs"
    with suppress(OSError):  # a full disk must not turn a public reason into a private traceback
        folder.mkdir(exist_ok=True, mode=PRIVATE_DIRECTORY)
        descriptor = os.open(folder / f"{run.run_id}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with open(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(traceback.format_exc())
