"""Stage `certify` as a Prefect task."""

from prefect import task
from prefect.cache_policies import NO_CACHE

from tasks.audits.guard import guarded
from tasks.audits.stages import certify_stage


@task(cache_policy=NO_CACHE, persist_result=False)
def certify(home: str, run: str, partition: str) -> None:
    """Seal the certificates of one partition, or find them sealed."""
    guarded(certify_stage, home, run, partition)
