"""Small audits for tests: a corpus of a few authors, the keyword model, and faults on demand."""

import os
import signal
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from schemas.audit import AuditSettings
from tasks.audits.run import Run, begin_run, open_run, write_request
from tasks.ledger.log import ReleaseLog
from tasks.storage.home import Home

LIKES = "The food was delicious and the staff were friendly."
DISLIKES = "The service was slow and the soup was cold."


def write_corpus(path: Path, authors: int = 40, *, records: int = 2, opening: str = "") -> Path:
    """`authors` authors with `records` reviews each; the first half likes the food, the second half does not."""
    rows = [
        {
            "id": f"r{author}-{record}",
            "author": f"author {author}",
            "text": f"{opening}{LIKES if author < authors // 2 else DISLIKES} Visit {record}.",
        }
        for author in range(authors)
        for record in range(records)
    ]
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path


def settings_for(source: Path, **changes: object) -> AuditSettings:
    """A private audit of `source` by the keyword model: 12 statements, epsilon 2; of however few authors."""
    values: dict[str, object] = {
        "source": str(source),
        "corpus": "reviews",
        "unit": "author",
        "domain": "restaurant-reviews",
        "statements": 12,
        "model": "keyword",
        "epsilon": Decimal(2),
        "theta": Decimal("0.05"),
        "allow_vacuous": True,
    }
    return AuditSettings.model_validate(values | changes)


def new_run(home: Home, settings: AuditSettings) -> Run:
    """A run of these settings, not yet started."""
    return open_run(str(home.root), begin_run(str(home.root), str(write_request(home, settings))))


def capped(home: Home, epsilon: str = "8", account: str = "reviews") -> Home:
    """The home, with a cap on the account."""
    ReleaseLog(home).set_cap(account, Decimal(epsilon))
    return home


def release_files(home: Home) -> dict[str, bytes]:
    """Every file of the release zone, by relative path."""
    root = home.release
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def in_child(work: Callable[[], object], crash_at: str | None = None) -> int:
    """Run `work` in a forked process; its wait status: 0 when it ended well, -9 when it killed itself."""
    pid = os.fork()
    if pid == 0:
        try:
            if crash_at:
                os.environ["PRIVCERT_CRASH_AT"] = crash_at
            work()
            os._exit(0)
        except BaseException:  # the parent must see a code, whatever happened
            import traceback

            traceback.print_exc()
            sys.stderr.flush()
            os._exit(1)
    _, status = os.waitpid(pid, 0)
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


KILLED = -int(signal.SIGKILL)
