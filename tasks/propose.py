"""Stage `propose` as a Prefect task."""

from prefect import task
from prefect.cache_policies import NO_CACHE

from tasks.audits.guard import guarded
from tasks.audits.stages import propose_stage


@task(cache_policy=NO_CACHE, persist_result=False)
def propose(home: str, run: str) -> None:
    """Choose the candidate statements."""
    guarded(propose_stage, home, run)
