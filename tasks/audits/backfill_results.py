"""What a backfill may tell: public facts of every partition, and what the operator alone may see."""

from collections.abc import Collection, Sequence
from decimal import Decimal
from fractions import Fraction

from schemas.errors import UserError
from schemas.values import decimal_text
from tasks.audits.backfill_plan import ANSWERED, PlannedAudit, Standing
from tasks.audits.backfill_record import Backfill
from tasks.audits.backfill_survey import Surveyed
from tasks.audits.rates import Rate
from tasks.audits.results import line_facts
from tasks.audits.run import Run
from tasks.ledger.amounts import exact_text
from tasks.ledger.budget import Line
from tasks.ledger.foreseen import Need, missing_of
from tasks.ledger.log import ReleaseLog
from tasks.plans.cost import scoring_hours
from tasks.privacy.thresholds import emits

_TOLD = (Standing.DUE, *ANSWERED)


def survey_facts(
    corpora: Sequence[Surveyed], needs: Sequence[Need], expected: Rate | None, uncapped: Collection[str] = ()
) -> dict[str, object]:
    """What a backfill would do and cost; for the operator's terminal, since pairs are counts of records.

    expected: hours are null without. Fewer pairs are scored where texts are equal, or known already. uncapped: accounts
    that need a cap and have none.
    """
    rate = None if expected is None else expected.pairs_per_second
    rows = [_due_row(one, planned, rate) for one in corpora for planned in one.planned]
    pairs = sum(int(str(row["pairs"])) for row in rows)
    return {
        "partitions": rows,
        "pairs": pairs,
        "pairs_per_second": None if rate is None else float(rate),
        "rate": None if expected is None else expected.source,
        "rate_runs": None if expected is None or expected.source != "measured" else expected.runs,
        "hours": None if rate is None else scoring_hours(pairs, rate),
        "budget": [_need_facts(need) for need in needs],
        "missing": [says for need in needs if (says := missing_of(need)) is not None],
        "caps_needed": _caps_needed(needs, uncapped),
        "changed": _changed([planned for one in corpora for planned in one.planned]),
    }


def backfill_results(run: Run) -> dict[str, object]:
    """What came of every partition, the budget, and the operator's part."""
    backfill, log = Backfill(run), ReleaseLog(run.home)
    theta, plan = backfill.definition.theta, backfill.plan()
    notes = [facts for audit in backfill.made() for facts in audit.notes().values()]
    accounts = {backfill.settings_of(one).account_name for one in plan}
    return {
        "backfill": run.run_id,
        "theta": decimal_text(theta),
        "complete": not backfill.not_made(),
        "stopped": backfill.stopped(),
        "partitions": [_row(backfill, log, number, one) for number, one in enumerate(plan)],
        "budget": [line_facts(line) for line in _lines(log) if line.account in accounts],
        "database": str(run.home.release / "release.duckdb"),
        "operator": {
            "pairs_scored": sum(int(str(facts["pairs_scored"])) for facts in notes),
            "pairs_reused": sum(int(str(facts["pairs_reused"])) for facts in notes),
            "changed": _changed(plan),
            "vacuous": _vacuous(plan),
        },
    }


def _lines(log: ReleaseLog) -> list[Line]:
    """None of a log that is refused: `stopped` says why."""
    try:
        return log.budget_lines()
    except UserError:
        return []


def _row(backfill: Backfill, log: ReleaseLog, number: int, planned: PlannedAudit) -> dict[str, object]:
    outcome, key = backfill.outcome(number), planned.release_key
    standing: str = planned.standing
    if planned.standing is Standing.DUE:
        standing = "audited" if outcome.is_sealed else "failed" if outcome.failure else "not_begun"
    if outcome.is_sealed and outcome.run is not None:
        facts = Run(backfill.run.home, outcome.run).notes()[planned.partition]
        key = str(facts["release_key"])
    return {
        "corpus": planned.corpus,
        "partition": planned.partition,
        "standing": standing,
        "n": planned.n if planned.standing in _TOLD else None,  # public once registered
        "release_key": key,
        "emitted": None if key is None else _emitted(log, key, backfill.definition.theta),
        "reason": outcome.failure or (None if planned.standing is Standing.VACUOUS else planned.reason),
    }


def _emitted(log: ReleaseLog, key: str, theta: Decimal) -> int:
    """How many statements reach the threshold."""
    payload = log.payload(key)
    n = payload["described"]["partition"]["n"]
    return sum(emits(units, n, Fraction(theta)) for units in payload["answer"]["certificate_units"])


def _due_row(one: Surveyed, planned: PlannedAudit, rate: Decimal | None) -> dict[str, object]:
    pairs = planned.records * len(one.asked.statements) if planned.standing is Standing.DUE else 0
    return {
        "corpus": planned.corpus,
        "partition": planned.partition,
        "standing": str(planned.standing),
        "n": planned.n if planned.standing in (*_TOLD, Standing.VACUOUS) else None,
        "pairs": pairs,
        "hours": None if rate is None else scoring_hours(pairs, rate),
        "reason": planned.reason,
    }


def _need_facts(need: Need) -> dict[str, object]:
    return {
        "account": need.account,
        "partition": need.line,
        "audits": need.audits,
        "audits_that_fit": need.fitting,
        "needed": {name: exact_text(amount) for name, amount in need.needed.items()},
        "left": None if need.cap is None else {name: exact_text(amount) for name, amount in need.left.items()},
    }


def _caps_needed(needs: Sequence[Need], accounts: Collection[str]) -> list[dict[str, object]]:
    """The least cap of each of these accounts, nothing where nothing is due: of lines, the dearest decides."""
    least: dict[str, dict[str, Fraction]] = {account: {} for account in accounts}
    for need in needs:
        if need.account in least and need.cap is None:
            before = least[need.account]
            before |= {name: max(amount, before.get(name, amount)) for name, amount in need.needed.items()}
    return [
        {"account": account, "cap": {name: exact_text(amount) for name, amount in parts.items() if amount}}
        for account, parts in sorted(least.items())
    ]


def _vacuous(planned: Sequence[PlannedAudit]) -> list[dict[str, object]]:
    """Partitions of too few units, for the operator: what is not registered is not public."""
    return [
        {"corpus": one.corpus, "partition": one.partition, "n": one.n, "reason": one.reason}
        for one in planned
        if one.standing is Standing.VACUOUS
    ]


def _changed(planned: Sequence[PlannedAudit]) -> list[dict[str, object]]:
    """Partitions whose records are others than those that were released, for the operator."""
    return [
        {
            "corpus": one.corpus,
            "partition": one.partition,
            "records": one.records,
            "records_when_released": one.records_before,
        }
        for one in planned
        if one.standing is Standing.CHANGED
    ]
