"""Stage `score` as a Prefect task."""

from prefect import task
from prefect.cache_policies import NO_CACHE

from tasks.audits.guard import guarded
from tasks.audits.stages import score_stage
from tasks.progress_artifact import progress_shown


@task(cache_policy=NO_CACHE, persist_result=False)
def score(home: str, run: str, partition: str) -> None:
    """Score the records of one partition against the candidates; what was scored before is reused."""
    with progress_shown("score", partition):
        guarded(score_stage, home, run, partition)
