"""What breaks in mid-run, and what is left of it: one audit for each fault, then the same command again.

    python benchmarks/chaos.py [--only WORDS] [--authors 30] [--statements 30] [--list]

A Prefect server, a Dask scheduler with two workers and a PostgreSQL release log run on this machine, each in processes
of its own; every fault has a new home and a new log. Something is killed, stopped, filled or moved while the audit
scores or seals, then all that is gone is started again, and the same command is repeated. The line of a fault says how
both ended, what lies in the log, and whether the support counts are those of the undisturbed audit. The exit code is 1
where a release was lost, charged twice, or counted otherwise. Where what broke cannot come back (a store that lost all
it held), the same command must refuse and charge nothing. Rows that cannot be made here say why.
"""

import argparse
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]  # the same machines as the tests have

import pytest  # noqa: E402
from breaking.clock import moved_clock  # noqa: E402
from breaking.faults import FAULTS, Fault  # noqa: E402
from breaking.scene import CORPUS, DOMAIN, EPSILON, Ended, Left, NotHereError, Scene, copy_home, end, left  # noqa: E402
from breaking.store import BreakableStore, object_store  # noqa: E402

from tasks.corpora.synthetic import synthetic_reviews  # noqa: E402
from tasks.ledger.log import ReleaseLog  # noqa: E402
from tasks.statements.domains import load_domain  # noqa: E402
from tasks.storage.atomic import write_table  # noqa: E402
from tasks.storage.home import initialise_home, open_home  # noqa: E402
from tests.machines import PREFECT, SCHEDULER, WORKERS, Machines, machines  # noqa: E402
from tests.mounted import small_file_system  # noqa: E402
from tests.postgresql_server import Server, find_binaries, running_server  # noqa: E402

COLUMNS = (
    "fault", "stage", "first run: exit code and last line", "same command again", "releases", "charges",
    "epsilon charged / expected", "counts as undisturbed", "pairs scored twice",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """What came of one fault."""

    fault: Fault
    first: Ended
    second: Ended
    left: Left

    def is_right(self, counts: tuple[int, ...]) -> bool:
        """Ended well after the restart; one release, one charge, the counts of the undisturbed audit."""
        if self.fault.is_final:
            return (self.second.code, len(self.left.releases), self.left.charges) == (2, 0, 0)
        once = (len(self.left.releases), self.left.charges, self.left.epsilon) == (1, 1, EPSILON)
        return self.second.code == 0 and once and self.left.counts == counts

    def cells(self, counts: tuple[int, ...]) -> list[object]:
        """In the order of COLUMNS."""
        seen = self.left
        same = "yes" if seen.counts == counts else "NO" if seen.counts else "no release"
        spent = f"{seen.epsilon} / {EPSILON}"
        return [
            self.fault.name, self.fault.stage, self.first, self.second, len(seen.releases), seen.charges, spent, same,
            seen.pairs_twice,
        ]  # fmt: skip


@dataclass
class Stage:
    """Where all scenes play."""

    folder: Path
    machines: Machines
    postgresql: Server
    store: BreakableStore | None
    template: Path
    source: Path
    statements: int
    scenes: int = 0

    def play(self, fault: Fault) -> Row:
        """One fault in a new home with a new log. Raises NotHereError."""
        with ExitStack() as stack:
            scene = self._scene(fault, stack)
            then = moved_clock(scene.home.parent, fault.clock_seconds) if fault.clock_seconds else {}
            first = fault.first(scene)
            self._start_what_is_gone()
            return Row(fault, first, end(scene.begin(**then)), left(scene))

    def _scene(self, fault: Fault, stack: ExitStack) -> Scene:
        self.scenes += 1
        parent = self.folder / f"scene-{self.scenes}"
        if fault.disk_megabytes is None:
            parent.mkdir()
        else:
            stack.enter_context(_small_disk(parent, fault.disk_megabytes))
        home, url = copy_home(self.template, parent / "home"), self.postgresql.create_database(f"scene_{self.scenes}")
        scene = Scene(self.machines, self.postgresql, home, url, self.source, self.statements)
        if fault.stored:
            scene.store = self.store
            scene.bucket = scene.s3.new_bucket()
            initialise_home(home, on_purpose=True, store=f"s3://{scene.bucket}/private")
        os.environ["PRIVCERT_LOG_URL"] = url
        ReleaseLog(open_home(home)).set_cap(CORPUS, Decimal(EPSILON) * 4)  # room for a charge too many
        del os.environ["PRIVCERT_LOG_URL"]
        return scene

    def _start_what_is_gone(self) -> None:
        if not self.postgresql.is_running:
            self.postgresql.start()
        self.machines.start_again(PREFECT, SCHEDULER, *WORKERS)


@contextmanager
def _small_disk(path: Path, megabytes: int) -> Iterator[Path]:
    try:
        with small_file_system(path, megabytes) as disk:
            yield disk
    except pytest.skip.Exception as missing:
        raise NotHereError(str(missing)) from None


@contextmanager
def stage(folder: Path, authors: int, statements: int) -> Iterator[Stage]:
    """All machines, a home to copy, a corpus. Raises NotHereError without PostgreSQL."""
    binaries = find_binaries()
    if binaries is None:
        raise NotHereError("no PostgreSQL server is installed (initdb, pg_ctl)")
    template, source = folder / "template", folder / "reviews.parquet"
    initialise_home(template, on_purpose=True)
    write_table(source, synthetic_reviews(authors, 7, load_domain(DOMAIN)))
    with ExitStack() as stack:
        store = stack.enter_context(object_store(folder / "store"))  # first: the workers find it too
        postgresql = stack.enter_context(running_server(binaries))
        running = stack.enter_context(machines(folder / "machines"))
        yield Stage(folder, running, postgresql, store, template, source, statements)


def show(cells: list[object]) -> None:
    """One line of the table."""
    print("| " + " | ".join(str(cell).replace("|", "/") for cell in cells) + " |", flush=True)


def run(playing: Stage, chosen: list[Fault]) -> bool:
    """Print the table; whether every row is right."""
    counts, good = (), True
    show(list(COLUMNS))
    show(["---"] * len(COLUMNS))
    for fault in chosen:
        try:
            row = playing.play(fault)
        except NotHereError as missing:
            show([fault.name, fault.stage, f"skipped: {missing}"] + [""] * (len(COLUMNS) - 3))
            continue
        counts = counts or row.left.counts
        good = row.is_right(counts) and good
        show(row.cells(counts))
    return good


def main() -> None:
    """Run the faults that were asked for; the undisturbed audit always."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", help="faults whose name and stage hold these words; repeatable")
    parser.add_argument("--authors", type=int, default=30)
    parser.add_argument("--statements", type=int, default=30)
    parser.add_argument("--list", action="store_true", help="name the faults, and end")
    asked = parser.parse_args()
    wanted = asked.only or [""]
    chosen = [fault for fault in FAULTS if any(words in f"{fault.name}, {fault.stage}" for words in wanted)]
    if asked.list:
        print("\n".join(f"{fault.name}, {fault.stage}" for fault in chosen))
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # everything that was started is ended
    with tempfile.TemporaryDirectory() as folder:
        with stage(Path(folder), asked.authors, asked.statements) as playing:
            good = run(playing, [FAULTS[0], *(fault for fault in chosen if fault is not FAULTS[0])])
    sys.exit(not good)


if __name__ == "__main__":
    main()
