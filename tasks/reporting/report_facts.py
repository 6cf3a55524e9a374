"""What one report speaks of: the views of the release database, and the certificate file that lies beside it."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import duckdb

from tasks.reporting.report_budget import Gauge, gauges
from tasks.reporting.report_power import Curve, power_curves
from tasks.reporting.wording import Units

Row = Mapping[str, Any]
_RELEASE = "select * from releases where release_key = ?"
_STATEMENTS = """
    select * from statements_at_thresholds
    where release_key = ? and theta = ?
    order by certificate_units desc, position
"""
_CHANGES = """
    select * from changes_between_releases
    where release_key = ? and theta = ?
    order by certificate_units desc, statement_id
"""
_READINGS = """
    select releases.release_key, releases.corpus, releases.partition, releases.edition, releases.day, thresholds.theta
    from staging.releases as releases
    inner join staging.thresholds as thresholds using (release_key)
    where releases.question_key = (select question_key from staging.releases where release_key = ?)
    order by releases.edition, releases.sequence, thresholds.theta_share, thresholds.theta
"""


@dataclass(frozen=True, slots=False)
class Facts:
    """One release at one threshold; functions of sealed payloads, public settings and n only.

    certificate: the signed document (tasks/ledger/export.py). statements: ranked by certificate. changes: against the
    release before it in its lineage. readings: this question at every asked threshold, in every edition. rejects: of a
    released text, as it was read for this release; None where they were not kept.
    """

    certificate: Mapping[str, Any]
    release: Row
    statements: Sequence[Row]
    changes: Sequence[Row]
    readings: Sequence[Row]
    rejects: Sequence[Row] | None

    @cached_property
    def parameters(self) -> dict[str, str]:
        """What only this mechanism takes, exact text."""
        found: dict[str, str] = json.loads(self.release["parameters"])
        return found

    @property
    def theta(self) -> str:
        """Exact text."""
        return str(self.certificate["theta"])

    @property
    def threshold_units(self) -> int:
        """ceil(n theta)."""
        return int(self.certificate["threshold_units"])

    @property
    def n(self) -> int:
        """Units; public."""
        return int(self.release["n"])

    @property
    def is_movable(self) -> bool:
        """Do the certificates answer every threshold?"""
        return "theta" not in self.parameters and self.n > 0

    @property
    def margins(self) -> tuple[int, int]:
        """Smallest and largest, in units: they differ where public weights do."""
        margins = [int(row["margin_units"]) for row in self.statements]
        return min(margins, default=0), max(margins, default=0)

    @property
    def units(self) -> Units:
        """What is counted, in words."""
        return Units(str(self.release["unit"]), str(self.release["unit_support"]))

    @cached_property
    def budget(self) -> list[Gauge]:
        """Of the account, at the moment of the seal."""
        return gauges(self.certificate)

    @cached_property
    def power(self) -> list[Curve]:
        """Of the lightest and the heaviest statements, exact; empty where nothing was asked."""
        return power_curves(self.release, self.statements, self.parameters, self.theta)


def read_facts(
    connection: duckdb.DuckDBPyConnection, certificate: Mapping[str, Any], rejects: Sequence[Row] | None
) -> Facts:
    """The facts of the release and the threshold that the certificate names.

    The same views that analysts ask, so that report and SQL cannot differ.
    """
    key, theta = str(certificate["release_key"]), str(certificate["theta"])
    return Facts(
        certificate=certificate,
        release=select(connection, _RELEASE, [key])[0],
        statements=select(connection, _STATEMENTS, [key, theta]),
        changes=select(connection, _CHANGES, [key, theta]),
        readings=select(connection, _READINGS, [key]),
        rejects=rejects,
    )


def readings_of(connection: duckdb.DuckDBPyConnection, keys: Iterable[str]) -> list[Row]:
    """Every edition and asked threshold of the questions that these releases answer, each once."""
    found = {(row["release_key"], row["theta"]): row for key in keys for row in select(connection, _READINGS, [key])}
    return list(found.values())


def select(connection: duckdb.DuckDBPyConnection, query: str, values: Sequence[str] = ()) -> list[Row]:
    """The rows of a query, as dictionaries."""
    return list(connection.sql(query, params=list(values)).to_arrow_table().to_pylist())
