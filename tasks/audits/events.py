"""When stages of audits began and ended: one JSON object a line in private/logs/events.jsonl, for the operator.

Run, partition, stage and what happened: no text, id, count or reason. The times tell how long a stage took, which is
private. PRIVCERT_LOG_JSON=1 writes the same lines to standard error, for a collector inside the private zone.
"""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from schemas.errors import UserError
from tasks.audits.run import Run
from tasks.support.operator_log import append_for_operator

FILE = "events.jsonl"
STOPS = ("failed", "refused")  # how a stage ends that does not end well
TO_STDERR = "PRIVCERT_LOG_JSON"


@contextmanager
def recorded(run: Run, stage: str, partition: str | None) -> Iterator[None]:
    """Say that a stage begins, and how it ends: `ended`, `refused` (the user can mend it) or `failed`.

    A stage that is killed has no end.
    """
    _append(run, stage, partition, "began")
    try:
        yield
    except UserError:
        _append(run, stage, partition, "refused")
        raise
    except BaseException:  # an interrupt ends a stage too; it is noted, and goes on
        _append(run, stage, partition, "failed")
        raise
    _append(run, stage, partition, "ended")


def _append(run: Run, stage: str, partition: str | None, event: str) -> None:
    fields = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "run": run.run_id,
        "stage": stage,
        "partition": partition,
        "event": event,
    }
    line = f"{json.dumps(fields)}\n"
    append_for_operator(run.home.private / "logs", line, FILE)
    if os.environ.get(TO_STDERR):
        sys.stderr.write(line)
