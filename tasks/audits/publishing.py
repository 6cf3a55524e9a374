"""The release zone as a projection of the release log."""

from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path

from tasks.ledger.log import ReleaseLog
from tasks.reporting.projection import build_operator_database, build_release_database, publishing
from tasks.reporting.report import write_report
from tasks.storage.home import Home


def publish(home: Home, wanted: Iterable[tuple[str, Decimal]], *, rebuild: bool = False) -> list[Path]:
    """Release database, then a certificate file and a report for each (release key, theta); what was written.

    Reads sealed payloads only; what has not changed is left as it is, to the byte.
    """
    log = ReleaseLog(home)
    with publishing(home):  # one publisher at a time: an older projection never replaces a newer one
        projection = log.project()
        files = [build_release_database(projection, home, rebuild=rebuild)]
        for key, theta in wanted:
            files += [log.write_certificate(key, theta), write_report(projection, key, theta, home)]
    return files


def rebuild_everything(home: Home) -> list[Path]:
    """Every file of the release zone and the operator's database, from the log alone."""
    thresholds = ReleaseLog(home).project().thresholds.to_pylist()
    files = publish(home, [(row["release_key"], Decimal(row["theta"])) for row in thresholds], rebuild=True)
    return [*files, build_operator_database(home, rebuild=True)]
