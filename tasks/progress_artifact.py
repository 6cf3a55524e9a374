"""How far a stage is, on the pages of the Prefect server: a share in tens of percent, and nothing else."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import cast
from uuid import UUID

from prefect.artifacts import create_progress_artifact, update_progress_artifact
from prefect.settings import PREFECT_CLIENT_MAX_RETRIES, temporary_settings

from tasks.audits.progress import listening

_STEP = 10  # percent, every step told in its turn: how many are told at once would speak of how much there is to score


@contextmanager
def progress_shown(stage: str, partition: str) -> Iterator[None]:
    """While the block runs, one artifact of this task run says how much of the stage is done.

    A server that cannot show it does not stop the audit, nor hold it up: it is asked once, and after that no more.
    """
    artifact: UUID | None = None
    shown = 0
    with _asked_once():
        artifact = cast(UUID, create_progress_artifact(0.0, key=stage, description=f"{stage} {partition}"))

    def hear(heard: str, share: float) -> None:
        nonlocal artifact, shown
        while artifact is not None and heard == stage and shown + _STEP <= 100 * share:
            shown += _STEP
            told, artifact = artifact, None
            with _asked_once():
                update_progress_artifact(told, float(shown))
                artifact = told

    with listening(hear):
        yield
    hear(stage, 1.0)


@contextmanager
def _asked_once() -> Iterator[None]:
    """Prefect's client waits a minute for a server that went away, each time; here it does not, and raises nothing."""
    with suppress(Exception), temporary_settings({PREFECT_CLIENT_MAX_RETRIES: 0}):
        yield
