"""The page of one release at one threshold."""

from collections.abc import Sequence
from typing import Any

from schemas.claims import RejectReason
from schemas.releases import file_stem
from schemas.rounding import at_most, written
from tasks.reporting.chart import certificate_chart, power_chart
from tasks.reporting.page import render
from tasks.reporting.report_facts import Facts, Row

REASONS = ("below_threshold", "not_selected", "not_reached")
CHANGES = ("newly_certified", "not_certified_this_time", "moved_up", "moved_down", "unchanged", "not_comparable")
_PER_STATEMENT = ("epsilon_per_statement_nats", "beta_per_statement")


def render_report(facts: Facts, *, links: bool) -> str:
    """links: to the index, the certificate file and other reports beside it; a report that is sent away has none."""
    certified = [row for row in facts.statements if row["has_certificate"]]
    abstained = {reason: [row for row in facts.statements if row["abstain_reason"] == reason] for reason in REASONS}
    curves = [(f"weight {curve.weight}", curve.points) for curve in facts.power]
    return render(
        "report.html",
        script="report.js",
        facts=facts,
        release=facts.release,
        units=facts.units,
        links=links,
        emitted=[row for row in facts.statements if row["decision"] == "emit"],
        abstained=abstained,
        certified=len(certified),
        is_vacuous=all(row["is_vacuous"] for row in facts.statements),
        per_statement={name: _span(facts.statements, name) for name in _PER_STATEMENT},
        chart=certificate_chart([row["certificate_units"] for row in certified], facts.threshold_units, facts.n),
        curves=power_chart(curves, facts.threshold_units) if curves else None,
        changes={change: [row for row in facts.changes if row["change"] == change] for change in CHANGES},
        rejects=_by_reason(facts.rejects or ()),
        readings=[_reading(facts, row) for row in facts.readings],
        stem=file_stem(facts.release["corpus"], facts.release["partition"], facts.release["release_key"], facts.theta),
    )


def _span(rows: Sequence[Row], name: str) -> str | None:
    """'0.01', or '0.01 to 0.02' where public weights make a difference, rounded up; None where there is none."""
    values = sorted({float(row[name]) for row in rows if row[name] is not None})
    if not values:
        return None
    return " to ".join(at_most(written(value), 6) for value in dict.fromkeys((values[0], values[-1])))


def _by_reason(rejects: Sequence[Row]) -> dict[str, list[str]]:
    """Texts by reason, in the order of the list of reasons."""
    found: dict[str, list[str]] = {str(reason): [] for reason in RejectReason}
    for reject in rejects:
        found.setdefault(str(reject["reason"]), []).append(str(reject["text"]))
    return {reason: texts for reason, texts in found.items() if texts}


def _reading(facts: Facts, row: Row) -> dict[str, Any]:
    """This question at another threshold or in another edition, or here itself."""
    is_here = (row["release_key"], row["theta"]) == (facts.release["release_key"], facts.theta)
    stem = file_stem(row["corpus"], row["partition"], row["release_key"], row["theta"])
    return {
        "theta": row["theta"],
        "edition": row["edition"],
        "day": row["day"],
        "is_here": is_here,
        "file": f"{stem}.html",
    }
