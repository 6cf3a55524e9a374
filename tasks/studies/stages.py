"""The stages of a study; each may be repeated after a crash, and finds what was done before."""

from pathlib import Path

from tasks.audits.progress import report
from tasks.storage.home import open_home
from tasks.studies.study import Study, open_study, simulate, summarise, write


def simulate_stage(home: str, settings_file: str, workers: int | None) -> None:
    """Simulate every cell and seed that was not simulated before. workers: see `simulate_chunks`."""
    report("simulate", 0)
    simulate(_study(home, settings_file), workers, lambda share: report("simulate", share))


def publish_stage(home: str, settings_file: str) -> str:
    """Tables and plots into the release zone, and the tables into the release database; the study's folder name."""
    from tasks.audits.publishing import publish  # late: the stage before it needs no DuckDB
    from tasks.reporting.projection import publishing

    report("publish", 0)
    study = _study(home, settings_file)
    tables = summarise(study, simulate(study, workers=0))
    with publishing(study.home):  # a publisher removes what lies half-written in the release zone
        write(study, *tables)
    publish(study.home, ())
    report("publish", 1)
    return study.stem


def _study(home: str, settings_file: str) -> Study:
    return open_study(open_home(Path(home)), Path(settings_file))
