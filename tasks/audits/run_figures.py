"""What folders of runs and the log of events tell the operator's monitoring."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tasks.audits.backfill_plan import Standing
from tasks.audits.backfill_record import OPTIONS, PLAN, is_open, outcome_in
from tasks.audits.events import FILE, STOPS
from tasks.reporting.metrics import RunFigures
from tasks.storage.home import Home


def run_figures(home: Home) -> RunFigures:
    """As they are now; private but for `unfinished`."""
    return RunFigures(_unfinished(home.runs), _stopped_stages(home.private / "logs" / FILE), _changed(home.runs))


def _unfinished(runs: Path) -> int:
    folders = [run for run in runs.iterdir() if run.is_dir()]
    return sum(is_open(run) if (run / OPTIONS).exists() else not (run / "summary.json").exists() for run in folders)


def _stopped_stages(log: Path) -> Counter[tuple[str, str]]:
    """Of each stage that ever began, how often it failed and was refused; 0 too, so that an alert sees it rise."""
    found: Counter[tuple[str, str]] = Counter()
    for line in _events(log):
        found.update({(line["stage"], stop): line["event"] == stop for stop in STOPS})
    return found


def _events(log: Path) -> Iterator[Mapping[str, Any]]:
    """Whole lines: one that is being written, or that a full disk cut, is left out."""
    if not log.exists():
        return
    with log.open(encoding="utf-8") as lines:
        for line in lines:
            try:
                yield json.loads(line)
            except ValueError:
                continue


def _changed(runs: Path) -> Counter[str]:
    """Partitions by corpus that stood as changed in the newest plan that has them; 0 for a corpus without any.

    One that stood so before, and is due since, counts until it is sealed.
    """
    changed: dict[tuple[str, str], bool] = {}
    for plan in sorted(runs.glob(f"*/{PLAN}"), key=lambda path: path.stat().st_mtime_ns):
        for number, one in enumerate(json.loads(plan.read_bytes())["audits"]):
            place = one["corpus"], one["partition"]
            is_left = one["standing"] == Standing.DUE and not outcome_in(plan.parent, number).is_sealed
            changed[place] = one["standing"] == Standing.CHANGED or (is_left and changed.get(place, False))
    found: Counter[str] = Counter()
    for (corpus, _), is_changed in changed.items():
        found[corpus] += is_changed
    return found
