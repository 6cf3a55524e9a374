"""Stage `publish` as a Prefect task."""

from prefect import task
from prefect.cache_policies import NO_CACHE

from tasks.audits.guard import guarded
from tasks.audits.stages import publish_stage


@task(cache_policy=NO_CACHE, persist_result=False)
def publish(home: str, run: str) -> None:
    """Project the release log into the databases, the report and the certificate files."""
    guarded(publish_stage, home, run)
