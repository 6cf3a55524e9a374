"""What a finished run may tell: public facts of its releases, and what it cost for the operator's eyes."""

from decimal import Decimal
from fractions import Fraction
from pathlib import Path

from schemas.releases import file_stem
from schemas.values import decimal_text
from tasks.audits.run import Run
from tasks.ledger.log import ReleaseLog
from tasks.privacy.thresholds import emits, is_vacuous


def run_results(run: Run) -> dict[str, object]:
    """One JSON-able object: partitions with their decisions, budget, pairs, and where the files lie."""
    log, settings = ReleaseLog(run.home), run.settings
    notes = run.notes()
    partitions = [_partition(run, log, str(facts["release_key"]), settings.theta) for facts in notes.values()]
    budget = [line for line in log.budget_lines() if line.account == settings.account_name]
    return {
        "corpus": settings.corpus,
        "run": run.run_id,
        "theta": decimal_text(settings.theta),
        "model": settings.model,
        "partitions": partitions,
        "budget": [
            {"account": line.account, "partition": line.line, "cap": line.cap, "spent": line.spent, "left": line.left}
            for line in budget
        ],
        "database": str(run.home.release / "release.duckdb"),
        "operator": {
            "pairs_scored": sum(int(str(facts["pairs_scored"])) for facts in notes.values()),
            "pairs_reused": sum(int(str(facts["pairs_reused"])) for facts in notes.values()),
            "answers_reused": sum(bool(facts["was_sealed"]) for facts in notes.values()),
        },
    }


def _partition(run: Run, log: ReleaseLog, release_key: str, theta: Decimal) -> dict[str, object]:
    payload, exact = log.payload(release_key), Fraction(theta)
    n, answer = payload["described"]["partition"]["n"], payload["answer"]
    margin = int(answer["margin_units"])
    lines = zip(payload["described"]["statements"], answer["certificate_units"], strict=True)
    ranked = sorted(((units, text) for text, units in lines), key=lambda line: (-line[0], line[1]))
    emitted = [
        {"statement": text, "certificate": units / n, "certificate_units": units}
        for units, text in ranked
        if emits(units, n, exact)
    ]
    stem = file_stem(run.settings.corpus, payload["question"]["partition"], release_key, decimal_text(theta))
    return {
        "partition": payload["question"]["partition"],
        "n": n,
        "unit": payload["described"]["partition"]["unit"],
        "release_key": release_key,
        "mechanism": payload["question"]["mechanism"],
        "epsilon": payload["question"]["epsilon"],
        "scope": payload["question"]["scope"],
        "margin_units": margin,
        "margin": margin / n if n else None,
        "vacuous": is_vacuous(Fraction(margin), n, exact),
        "emitted": emitted,
        "abstained": len(ranked) - len(emitted),
        "certificate": _under(run.home.release, "certificates", f"{stem}.json"),
        "report": _under(run.home.release, "reports", f"{stem}.html"),
    }


def _under(root: Path, folder: str, name: str) -> str:
    return str(root / folder / name)
