"""How far a stage is, on the pages of the Prefect server: a share in tens of percent, and nothing else."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import cast
from uuid import UUID

from prefect.artifacts import create_progress_artifact, update_progress_artifact

from tasks.audits.progress import listening

_STEP = 10  # percent, every step told in its turn: how many are told at once would speak of how much there is to score


@contextmanager
def progress_shown(stage: str, partition: str) -> Iterator[None]:
    """While the block runs, one artifact of this task run says how much of the stage is done.

    A server that cannot show it does not stop the audit.
    """
    artifact: UUID | None = None
    shown = 0
    with suppress(Exception):  # of Prefect's client, whatever it raises: the artifact is a courtesy
        artifact = cast(UUID, create_progress_artifact(0.0, key=stage, description=f"{stage} {partition}"))

    def hear(heard: str, share: float) -> None:
        nonlocal shown
        while artifact is not None and heard == stage and shown + _STEP <= 100 * share:
            shown += _STEP
            with suppress(Exception):  # as above
                update_progress_artifact(artifact, float(shown))

    with listening(hear):
        yield
    hear(stage, 1.0)
