"""HTML reports: one file a release and threshold, one index over all; no other file or host is asked for anything.

A report is a function of public files alone: release.duckdb, the release's certificate file, and kept rejects of
released texts. The same files give the same bytes.
"""

import json
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb

from schemas.errors import UserError
from schemas.releases import file_stem
from schemas.values import decimal_text
from tasks.reporting.database import check_there, reading
from tasks.reporting.places import is_published_here
from tasks.reporting.projection import release_database
from tasks.reporting.rejects import read_rejects
from tasks.reporting.report_facts import Facts, Row, read_facts, readings_of, select
from tasks.reporting.report_index import render_index
from tasks.reporting.report_page import render_report
from tasks.storage.atomic import RELEASE_FILE, write_bytes
from tasks.storage.home import Home

INDEX = "index.html"
_PLACE = "select corpus, partition, release_key from releases where release_key = ?"
_ASKED = "select release_key, theta from staging.thresholds order by asked"


def write_reports(home: Home, wanted: Iterable[tuple[str, Decimal]]) -> list[Path]:
    """Write these reports and the index under home.release/reports, from the files that were published; their paths.

    What was written of the same questions before (other thresholds and editions) is written anew, since each names its
    siblings. A file is named after corpus, partition, the first 12 digits of the key, and theta.
    Raises KeyError when the release database holds no such release, or nobody asked it for this threshold.
    """
    folder = home.release_folder("reports")
    with reading(release_database(home)) as connection:
        asked = {(key, decimal_text(theta)): None for key, theta in wanted}
        siblings = {
            (row["release_key"], row["theta"]): row for row in readings_of(connection, (key for key, _ in asked))
        }
        there = {pair: None for pair, row in siblings.items() if _certificate_file(home, row).exists()}
        missing = [f"{key} at {theta}" for key, theta in asked if (key, theta) not in siblings]
        if missing:
            raise KeyError(f"no release was asked for {missing[0]}")
        rows = [siblings[pair] for pair in asked | there]
        written = [_write(folder, _facts(connection, home, row)) for row in rows]
        index = folder / INDEX
        _replace(index, render_index(connection))
    return [*written[: len(asked)], index]


def report_page(home: Home, release_key: str, theta: str) -> str:
    """The report as one HTML text that links to no file beside it; reads the release zone only.

    release_key, theta: as `find_report` gives them.
    """
    with reading(release_database(home)) as connection:
        rows = [row for row in readings_of(connection, [release_key]) if row["release_key"] == release_key]
        return render_report(_facts(connection, home, next(row for row in rows if row["theta"] == theta)), links=False)


def find_report(home: Home, release: str, theta: Decimal | None) -> tuple[str, str]:
    """The release whose key starts with `release`, at this asked theta (without one: the newest).

    Raises UserError by name where there is none, or more than one.
    """
    check_there(release_database(home))
    with reading(release_database(home)) as connection:
        asked = [(row["release_key"], row["theta"]) for row in select(connection, _ASKED)]
    found = [pair for pair in asked if pair[0].startswith(release)]
    keys = list(dict.fromkeys(key for key, _ in found))
    if len(keys) != 1:
        raise UserError(f"release: {'more than one' if keys else 'no'} release starts with {release!r}")
    key = found[-1][0]
    thetas = [text for one, text in found if one == key]
    if theta is None:
        return key, thetas[-1]
    if decimal_text(theta) not in thetas:
        raise UserError(
            f"theta: this release was read at {', '.join(thetas)} only; `privcert report build {key[:12]} --theta "
            f"{decimal_text(theta)}` adds another threshold, which is free where the mechanism answers every one"
        )
    return key, decimal_text(theta)


def missing_report(home: Home, here: str) -> str:
    """What to do about it: where the home publishes, `here` says; a reader's home cannot make one."""
    if is_published_here(home):
        return f"report: {here}"
    return (
        "report: only the database was pulled, no report and no certificate: ask who publishes it for the files that "
        "`privcert report export` and `privcert export release` write there"
    )


def report_path(home: Home, release_key: str, theta: str) -> Path:
    """Where `write_reports` puts it."""
    with reading(release_database(home)) as connection:
        [row] = select(connection, _PLACE, [release_key])
    return home.release / "reports" / f"{_stem({**row, 'theta': theta})}.html"


def _write(folder: Path, facts: Facts) -> Path:
    path = folder / f"{_stem({**facts.release, 'theta': facts.theta})}.html"
    _replace(path, render_report(facts, links=True))
    return path


def _replace(path: Path, page: str) -> None:
    content = page.encode()
    if not path.exists() or path.read_bytes() != content:
        write_bytes(path, content, RELEASE_FILE)


def _facts(connection: duckdb.DuckDBPyConnection, home: Home, row: Row) -> Facts:
    file = _certificate_file(home, row)
    if not file.is_file():
        raise UserError(missing_report(home, f"{file.name} is missing; `privcert warehouse rebuild` writes it again"))
    certificate: dict[str, Any] = json.loads(file.read_bytes())
    proposer = certificate["payload"]["described"]["proposer"]
    return read_facts(connection, certificate, read_rejects(home.release, proposer))


def _certificate_file(home: Home, row: Row) -> Path:
    return home.release / "certificates" / f"{_stem(row)}.json"


def _stem(row: Row) -> str:
    return file_stem(row["corpus"], row["partition"], row["release_key"], row["theta"])
