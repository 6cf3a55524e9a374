"""The release zone as a projection of the release log."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path

from schemas.errors import StageError, UserError
from schemas.manifests import Manifest
from tasks.audits.run import Run
from tasks.ledger.log import ReleaseLog
from tasks.reporting.checking import Checked, check_databases
from tasks.reporting.copies import push_database, pushed_url
from tasks.reporting.places import operator_database, release_database
from tasks.reporting.projection import build_operator_database, build_release_database, publishing
from tasks.reporting.rejects import Fields, keep_rejects
from tasks.reporting.report import write_reports
from tasks.reporting.validation import InvalidWarehouseError
from tasks.storage.home import Home


def publish(
    home: Home,
    wanted: Iterable[tuple[str, Decimal]],
    *,
    rejects: Mapping[str, Sequence[Fields]] | None = None,
    rebuild: bool = False,
) -> list[Path]:
    """Release database, then a certificate file and a report for each (release key, theta), and the index; their paths.

    Reads sealed payloads only; what has not changed is left as it is, to the byte. rejects: of released texts, by the
    public line about the proposer; as public as those texts. Those of no sealed release are not kept.
    """
    log = ReleaseLog(home)
    with publishing(home):  # one publisher at a time: an older projection never replaces a newer one
        projection = log.project()
        files = [build_release_database(projection, home, rebuild=rebuild)]
        sealed = set(projection.releases["proposer"].to_pylist())
        for proposer in sealed & set(rejects or {}):
            keep_rejects(home, proposer, (rejects or {})[proposer])
        asked = list(wanted)
        files += [log.write_certificate(key, theta) for key, theta in asked]
        files += write_reports(home, asked)
    return files


def publish_what_changed(home: Home) -> None:
    """After an act that changed the log: both databases say so at once. Nothing, where none was published yet.

    Raises UserError or StageError that says the act itself is done.
    """
    if not release_database(home).is_file():
        return
    try:
        publish(home, ())
        if operator_database(home).is_file():
            refresh_operator_database(home)
    except UserError as error:
        raise UserError(f"the release log has it, release.duckdb not yet: {error}") from None
    except InvalidWarehouseError as error:
        raise StageError(f"the release log has it, release.duckdb not yet: {error}") from None


def push(home: Home, url: str) -> Manifest:
    """Publish, so that no reader gets less than the log says; then put database and manifest at `url`.

    Raises UserError, before anything is written, for a URL that is not taken and where nothing was released yet;
    StoreError.
    """
    pushed_url(home, url)
    log = ReleaseLog(home)
    if not (release_database(home).is_file() or log.release_keys()):
        raise UserError("nothing was released yet: run `privcert audit` first")
    publish(home, ())
    return push_database(home, url, log.chain_hashes)


def rebuild_everything(home: Home) -> list[Path]:
    """Every file of the release zone and the operator's database, from the log alone; rejects as runs remember them."""
    projection = ReleaseLog(home).project()
    wanted = [(row["release_key"], Decimal(row["theta"])) for row in projection.thresholds.to_pylist()]
    files = publish(home, wanted, rejects=rejects_of_runs(home), rebuild=True)
    return [*files, refresh_operator_database(home, rebuild=True)]


def rejects_of_runs(home: Home) -> dict[str, list[dict[str, str | int]]]:
    """What of released texts was no claim, as the runs remember it, by the public line about the proposer."""
    runs = [Run(home, path.parent.name) for path in sorted(home.runs.glob("*/proposal.json"))]
    return {run.proposal()[1]: run.rejects() for run in runs}


def refresh_operator_database(home: Home, *, rebuild: bool = False) -> Path:
    """The operator's database as log, runs and quarantine are now."""
    return build_operator_database(ReleaseLog(home).project(), home, rebuild=rebuild)


def check_warehouse(home: Home) -> list[Checked]:
    """Both databases against the log and their suites; nothing is written there."""
    return check_databases(ReleaseLog(home).project(), home)
