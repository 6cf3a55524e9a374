"""The HTML report of one release at one threshold: one file, no script, no other host, the same bytes always."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from schemas.releases import Projection, file_stem
from schemas.values import decimal_text
from tasks.reporting.chart import certificate_chart
from tasks.reporting.database import fill
from tasks.reporting.projection import release_tables
from tasks.reporting.wording import Units, exact_percent, grouped, lower_percent, proposed, union_bound, upper_percent
from tasks.storage.atomic import RELEASE_FILE, write_bytes
from tasks.storage.home import Home
from warehouse.views import database_views

Row = Mapping[str, object]
_STATEMENTS = """
    select * from statements_at_thresholds
    where release_key = ? and theta = ?
    order by certificate_units desc, position
"""
_BUDGET = """
    select budget.* from budget
    where exists (
        select 1 from charges
        where charges.release_key = ? and charges.account = budget.account
            and charges.ledger_line = budget.ledger_line
    )
"""


def write_report(projection: Projection, release_key: str, theta: str | Decimal, home: Home) -> Path:
    """Write the report of a sealed release at an asked threshold under home.release/reports.

    The file is named after corpus, partition, the first 12 digits of the key, and theta.
    Raises KeyError when the projection holds no such release, or nobody asked it for this threshold.
    """
    facts = _facts(projection, release_key, decimal_text(Decimal(theta)))
    folder = home.release_folder("reports")
    corpus, partition, key = (str(facts.release[name]) for name in ("corpus", "partition", "release_key"))
    path = folder / f"{file_stem(corpus, partition, key, facts.theta)}.html"
    write_bytes(path, _render(facts).encode(), RELEASE_FILE)
    return path


@dataclass(frozen=True, slots=True)
class _Facts:
    """What one report speaks of, as the release database has it. Statements are ranked by certificate.

    parameters: what only this mechanism takes; with a theta, the answer holds at no other.
    """

    release: Row
    parameters: Mapping[str, str]
    theta: str
    threshold_units: int
    statements: list[Row]
    budget: list[Row]
    chain_head: str
    ledger_id: str

    @property
    def n(self) -> int:
        return int(str(self.release["n"]))

    @property
    def margins(self) -> tuple[int, int]:
        """Smallest and largest, in units: they differ where public weights do."""
        margins = [int(str(row["margin_units"])) for row in self.statements]
        return min(margins, default=0), max(margins, default=0)


def _facts(projection: Projection, release_key: str, theta: str) -> _Facts:
    """Ask the same views that analysts ask, so that report and SQL cannot differ."""
    tables = release_tables(_same_partition(projection, release_key))
    with duckdb.connect(config={"threads": 1, "python_enable_replacements": False}) as connection:
        fill(connection, tables, database_views("reports", tables))
        asked = [release_key, theta]
        releases = _select(connection, "select * from releases where release_key = ?", [release_key])
        thresholds = _select(connection, "select * from staging.thresholds where release_key = ? and theta = ?", asked)
        if not (releases and thresholds):
            raise KeyError(f"no release {release_key} that was asked for threshold {theta}")
        return _Facts(
            release=releases[0],
            parameters=json.loads(str(releases[0]["parameters"])),
            theta=theta,
            threshold_units=int(str(thresholds[0]["threshold_units"])),
            statements=_select(connection, _STATEMENTS, asked),
            budget=_select(connection, _BUDGET, [release_key]),
            chain_head=projection.chain_head,
            ledger_id=projection.ledger_id,
        )


def _same_partition(projection: Projection, release_key: str) -> Projection:
    """Only the releases of this one's partition, where all editions of its question are; budgets and charges whole."""
    rows = projection.releases.to_pylist()
    places = {(row["corpus"], row["partition"]) for row in rows if row["release_key"] == release_key}
    keys = pa.array([row["release_key"] for row in rows if (row["corpus"], row["partition"]) in places], pa.string())

    def kept(table: pa.Table) -> pa.Table:
        return table.filter(pc.is_in(table["release_key"], keys))

    return replace(
        projection,
        releases=kept(projection.releases),
        certificates=kept(projection.certificates),
        thresholds=kept(projection.thresholds),
    )


def _select(connection: duckdb.DuckDBPyConnection, query: str, values: list[str]) -> list[Row]:
    return list(connection.sql(query, params=values).to_arrow_table().to_pylist())


def _render(facts: _Facts) -> str:
    """The report as HTML; a function of the facts alone (no clock)."""
    certified = [row for row in facts.statements if row["is_certified"]]
    counts = [int(str(row["certificate_units"])) for row in certified]
    return _template().render(
        facts=facts,
        release=facts.release,
        emitted=[row for row in facts.statements if row["decision"] == "emit"],
        abstained=[row for row in facts.statements if row["decision"] != "emit"],
        is_vacuous=all(row["is_vacuous"] for row in facts.statements),
        certified=len(certified),
        per_statement={name: _span(facts.statements, name) for name in _PER_STATEMENT},
        chart=certificate_chart(counts, facts.threshold_units, facts.n),
        units=Units(str(facts.release["unit"]), str(facts.release["unit_support"])),
    )


_PER_STATEMENT = ("epsilon_per_statement_nats", "beta_per_statement")
_SYMBOLS = {"epsilon": "ε", "delta": "δ", "rho": "ρ"}


def _span(rows: Sequence[Row], name: str) -> str | None:
    """'0.01', or '0.01 to 0.02' where public weights make a difference; None where there is none."""
    values = sorted({float(str(row[name])) for row in rows if row[name] is not None})
    if not values:
        return None
    return f"{values[0]:.6g}" if len(values) == 1 else f"{values[0]:.6g} to {values[-1]:.6g}"


def _amounts(row: Row, kind: str) -> str:
    """One cell of the budget: cap, spent or left, by the amounts that the account counts (all, where it has no cap)."""
    counted = [name for name in _SYMBOLS if row[f"cap_{name}"] is not None or not row["is_capped"]]
    texts = {name: row[f"{kind}_{name}"] for name in counted}
    return ", ".join(f"{_SYMBOLS[name]} {text}" for name, text in texts.items() if text is not None) or "none"


def _template() -> Template:
    """Every value is escaped, and one that the template names but does not get is an error."""
    environment = Environment(
        loader=PackageLoader("tasks.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "grouped": grouped,
        "lower_percent": lower_percent,
        "upper_percent": upper_percent,
        "exact_percent": exact_percent,
        "union_bound": union_bound,
        "proposed": proposed,
        "amounts": _amounts,
    }
    return environment.get_template("report.html")
