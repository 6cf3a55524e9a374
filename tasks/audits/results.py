"""What a finished run may tell: public facts of its releases, and what it cost for the operator's eyes."""

from collections import Counter
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from schemas.payloads import LOSS_PARTS
from schemas.releases import file_stem
from schemas.values import decimal_text
from tasks.audits.run import Run
from tasks.ledger.budget import Line
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
        "proposer": run.proposal()[1],
        "rejects": run.rejects(),
        "partitions": partitions,
        "budget": [line_facts(line) for line in budget],
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
    margins = [int(group["margin_units"]) for group in answer["groups"]]
    lines = zip(answer["certificate_units"], payload["described"]["statements"], answer["reasons"], strict=True)
    ranked = sorted(lines, key=lambda line: (-line[0], line[1]))
    emitted = [
        {"statement": text, "certificate": units / n, "certificate_units": units, "has_certificate": reason is None}
        for units, text, reason in ranked
        if emits(units, n, exact)
    ]
    abstained = Counter(
        reason or "below_threshold"
        for units, reason in zip(answer["certificate_units"], answer["reasons"], strict=True)
        if not emits(units, n, exact)
    )
    stem = file_stem(run.settings.corpus, payload["question"]["partition"], release_key, decimal_text(theta))
    return {
        "partition": payload["question"]["partition"],
        "n": n,
        "unit": payload["described"]["partition"]["unit"],
        "release_key": release_key,
        "mechanism": payload["question"]["mechanism"],
        "meaning": payload["described"]["meaning"],
        "parameters": payload["question"]["parameters"],
        "epsilon": payload["question"]["epsilon"],
        "charge": dict(payload["charge"]),
        "scope": payload["question"]["scope"],
        "margin_units": max(margins),
        "margin": max(margins) / n if n else None,
        "vacuous": is_vacuous(Fraction(min(margins)), n, exact),
        "emitted": emitted,
        "abstained": len(ranked) - len(emitted),
        "abstain_reasons": dict(sorted(abstained.items())),
        "certificate": _under(run.home.release, "certificates", f"{stem}.json"),
        "report": _under(run.home.release, "reports", f"{stem}.html"),
    }


def line_facts(line: Line) -> dict[str, Any]:
    """One budget line: cap and left by the amounts that its composition counts, spent by all; exact text."""
    parts = {name: getattr(line, name) for name in LOSS_PARTS}
    counted = {name: part for name, part in parts.items() if part.cap is not None}
    return {
        "account": line.account,
        "partition": line.line,
        "composition": line.composition,
        "cap": {name: part.cap for name, part in counted.items()} or None,
        "spent": {name: part.spent for name, part in parts.items()},
        "left": {name: part.left for name, part in counted.items()} or None,
    }


def _under(root: Path, folder: str, name: str) -> str:
    return str(root / folder / name)
