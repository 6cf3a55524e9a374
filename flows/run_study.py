"""Simulations over grids and seeds."""

from prefect import flow

from tasks.study import publish_study, simulate_study


@flow(persist_result=False)
def run_study(home: str, settings_file: str, workers: int | None = None) -> str:
    """Simulate → publish; returns the name of the study's folder under release/studies.

    home: folder of the installation. settings_file: YAML file of a study. workers: processes on this machine; 0: no
    Dask; None: Dask where there is more than a few seconds' work.
    """
    simulate_study(home, settings_file, workers)
    return publish_study(home, settings_file)
