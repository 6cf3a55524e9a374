"""The stages of a backfill as Prefect tasks."""

from prefect import task
from prefect.cache_policies import NO_CACHE

from tasks.audits.backfilling import guarded_audit, plan_stage, publish_stage
from tasks.audits.guard import guarded


@task(cache_policy=NO_CACHE, persist_result=False)
def plan_backfill(home: str, backfill: str) -> list[str]:
    """Look at every wanted partition and register what is due; the numbers of the audits to make."""
    return guarded(plan_stage, home, backfill)


@task(cache_policy=NO_CACHE, persist_result=False)
def audit_partition(home: str, backfill: str, number: str) -> None:
    """One audit of the plan: propose, score, certify."""
    guarded_audit(home, backfill, number)


@task(cache_policy=NO_CACHE, persist_result=False)
def publish_backfill(home: str, backfill: str) -> None:
    """Project the release log into databases, reports and certificate files."""
    guarded(publish_stage, home, backfill)
