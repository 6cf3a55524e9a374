"""A backfill in a process of its own whose first audit does not go on before the third has begun.

Run by test_parallel_backfill.py: python gated_backfill.py HOME AUDIT_FILE OPTIONS_FILE
"""

import sys
import threading
from pathlib import Path

from tasks.audits import backfilling
from tasks.audits.backfill_record import Backfill
from tasks.audits.prefect_environment import use_private_prefect
from tasks.storage.home import open_home

third_began, audit = threading.Event(), backfilling._audit


def gated(backfill: Backfill, number: int) -> None:
    if number == 0:
        assert third_began.wait(60)
    elif number == 2:
        third_began.set()
    audit(backfill, number)


if __name__ == "__main__":
    home, audit_file, options_file = sys.argv[1:]
    use_private_prefect(open_home(Path(home)))
    from flows.backfill_support import backfill_support

    backfilling._audit = gated
    backfill_support(home, audit_file, options_file)
