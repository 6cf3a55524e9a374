"""What a stage may say when it fails: a public reason; the rest goes to the operator's log in the private zone."""

import errno
import traceback
from collections.abc import Callable
from typing import TypeVar

from schemas.errors import StageError, UserError
from tasks.audits.events import recorded
from tasks.audits.run import Run, open_run
from tasks.storage.atomic import DISK_REFUSES
from tasks.support.operator_log import append_for_operator

Result = TypeVar("Result")


def guarded(
    stage: Callable[..., Result], home: str, run_id: str, *arguments: str, partition: str | None = None
) -> Result:
    """Run a stage; errors leave it without a text, an id or a traceback of private values.

    arguments: a partition, or nothing. partition: for the operator's log of events; default: the first argument.

    Raises UserError with its public reason, or StageError that names the stage.
    """
    run = open_run(home, run_id)
    name, about = stage.__name__.removesuffix("_stage"), partition or next(iter(arguments), None)
    try:
        with recorded(run, name, about):
            return stage(run, *arguments)
    except UserError as error:
        failure: Exception = UserError(str(error))
        _keep_for_operator(run)
    except Exception as error:  # whatever it is, its text may hold private values
        failure = _disk_failure(error) or StageError(
            f"{stage.__name__} failed; the reason is in the operator's log of run {run_id}"
        )
        _keep_for_operator(run)
    raise failure  # outside the handler: no context that a logger could print


def _disk_failure(error: Exception) -> UserError | None:
    """The public reason of a disk that refuses; None for any other error."""
    if not isinstance(error, OSError) or error.errno not in DISK_REFUSES:
        return None
    reason = errno.errorcode[error.errno]
    return UserError(f"the home cannot be written ({reason}): make room or access, then run the same command again")


def _keep_for_operator(run: Run) -> None:
    # a full disk loses it: it must not turn a public reason into a private traceback
    append_for_operator(run.home.private / "logs", traceback.format_exc(), f"{run.run_id}.log")
