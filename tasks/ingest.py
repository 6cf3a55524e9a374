"""Stage `ingest` as a Prefect task."""

from prefect import task
from prefect.cache_policies import NO_CACHE

from tasks.audits.guard import guarded
from tasks.audits.stages import ingest_stage


@task(cache_policy=NO_CACHE, persist_result=False)
def ingest(home: str, run: str) -> list[str]:
    """Read and register the corpus; returns its declared partition keys."""
    return guarded(ingest_stage, home, run)
