"""What a stage may say when it fails: a public reason; the rest goes to the operator's log in the private zone."""

import traceback
from collections.abc import Callable
from typing import TypeVar

from schemas.errors import StageError, UserError
from tasks.audits.events import recorded
from tasks.audits.run import Run, open_run
from tasks.support.operator_log import append_for_operator

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
    # a full disk loses it: it must not turn a public reason into a private traceback
    append_for_operator(run.home.private / "logs", traceback.format_exc(), f"{run.run_id}.log")
