"""The stages of a study as Prefect tasks."""

from prefect import task
from prefect.cache_policies import NO_CACHE

from tasks.studies.stages import publish_stage, simulate_stage


@task(cache_policy=NO_CACHE, persist_result=False)
def simulate_study(home: str, settings_file: str, workers: int | None) -> None:
    """Simulate every cell and seed, on Dask where there is much to do; what was simulated before is reused."""
    simulate_stage(home, settings_file, workers)


@task(cache_policy=NO_CACHE, persist_result=False)
def publish_study(home: str, settings_file: str) -> str:
    """Write tables and plots, load them into the release database; the name of the study's folder."""
    return publish_stage(home, settings_file)
