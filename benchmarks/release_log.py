"""A release of 1,000 statements through the log: seconds, against the noise alone and against an empty transaction.

    python benchmarks/release_log.py [--statements 1000] [--rounds 5] [--releases 48] [--url URL]

One release is everything from the question to the durable commit: designs, exact margins, look-up, caps, draw, payload,
charge, chain. The first peer is what draws the same noise one count at a time, a fresh OpenDP measurement for each
count; the second is a transaction of the same log that appends one entry. Medians over the rounds; the home is new.

Then 1, 2, 4 and 8 processes seal so many different questions between them: releases a second, against one process.
The log is in SQLite, or with --url in that empty PostgreSQL database.
"""

import argparse
import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from decimal import Decimal
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

from schemas.audit import Scope, UnitSupport
from schemas.corpora import CorpusSettings
from schemas.statements import Statement
from tasks.ledger.designs import Parameters
from tasks.ledger.log import ReleaseLog
from tasks.ledger.question import Question, RegisteredPartition
from tasks.storage.home import Home, initialise_home

UNITS = 20_000
PATIENCE_SECONDS = 300  # a process that fails breaks the gate then
HALF = Decimal("0.5")
THETA = Decimal("0.05")
MECHANISMS: dict[str, Parameters] = {
    "frontier": Parameters(),
    "geometric": Parameters(),
    "staircase": Parameters(theta=THETA),
    "discrete_gaussian": Parameters(delta=Decimal("0.00001")),
    "hist": Parameters(contributions=5),
    "svt": Parameters(theta=THETA, selected=20, selection_share=HALF),
    "topk": Parameters(selected=20, selection_share=HALF),
}


class Staged:
    """An empty folder as ingestion hands it over; releases do not read it."""

    key, units, content_key = "all", UNITS, b"\x00" * 32

    def __init__(self, path: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        from schemas.records import RECORDS

        self.path = path
        (path / "records").mkdir(parents=True)
        pq.write_table(RECORDS.empty_table(), path / "records" / "part-00000.parquet")
        for name, column in (("units", "unit_key"), ("record_keys", "record_key")):
            pq.write_table(pa.table({column: pa.array([], pa.binary())}), path / f"{name}.parquet")


def open_log(folder: Path) -> tuple[ReleaseLog, RegisteredPartition]:
    """A new home with one public partition on an account that counts epsilon and delta."""
    home = initialise_home(folder / "home", on_purpose=True)
    log = ReleaseLog(home)
    log.set_cap("reviews", Decimal(900_000), delta=HALF)
    settings = CorpusSettings(source="records.csv", corpus="reviews", visibility="public")
    return log, log.register(settings, [Staged(home.private / "staging" / "one")])[0]


def question(
    partition: RegisteredPartition, mechanism: str, statements: int, edition: int, *, weighted: bool = False
) -> Question:
    """So many statements at 100 nats; weighted: every one with a weight of its own."""
    asked = (Statement.of(f"Statement {at}.", Decimal(1 + at if weighted else 1)) for at in range(statements))
    return Question(
        partition=partition,
        statements=tuple(asked),
        proposer="file",
        model="keyword",
        model_fingerprint="f" * 64,
        model_description={},
        unit_support=UnitSupport.ANY,
        mechanism=mechanism,
        epsilon=Decimal(100),
        beta=THETA,
        scope=Scope.REPORT,
        parameters=MECHANISMS[mechanism],
        edition=edition,
    )


def one_by_one(counts: list[int]) -> None:
    """The first peer."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    for count in counts:
        space = dp.atom_domain(T="i64"), dp.absolute_distance(T="i64")
        (space >> dp.m.then_laplace(scale=10.0))(count)


def seconds(work: Callable[[], Any]) -> float:
    """Of one call."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def side_by_side(home: Home, questions: list[list[Question]], counts: list[int]) -> float:
    """Seconds until all are sealed, by one process for each list; they begin together, when all are ready."""
    spawned = multiprocessing.get_context("spawn")
    gate = spawned.Barrier(len(questions) + 1)
    processes = [spawned.Process(target=seal_all, args=(home, asks, counts, gate)) for asks in questions]
    for process in processes:
        process.start()
    gate.wait(PATIENCE_SECONDS)
    took = seconds(lambda: gate.wait(PATIENCE_SECONDS))
    for process in processes:
        process.join()
    return took


def seal_all(home: Home, questions: list[Question], counts: list[int], gate: Barrier) -> None:
    """What each of them does."""
    log = ReleaseLog(home)
    one_by_one(counts[:10])  # imports
    gate.wait()
    for one in questions:
        log.seal(one, counts)
    gate.wait()


def print_side_by_side(
    root: Path, partition: RegisteredPartition, asked: argparse.Namespace, counts: list[int]
) -> None:
    """One line for each number of processes. root: of the home."""
    home = initialise_home(root, on_purpose=True)
    print(f"{asked.releases} releases of {asked.statements} statements, frontier, {os.cpu_count()} cores")
    alone = 0.0
    for run, processes in enumerate((1, 2, 4, 8), start=1):
        editions = range(1000 * run, 1000 * run + asked.releases)
        asks = [question(partition, "frontier", asked.statements, edition) for edition in editions]
        rate = asked.releases / side_by_side(home, [asks[at::processes] for at in range(processes)], counts)
        alone = alone or rate
        print(f"{processes} at once {rate:27.1f} releases/s   {rate / alone:5.2f} x one process")


def main() -> None:
    """Print one line for each mechanism, and one for each number of processes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--statements", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--releases", type=int, default=48)
    parser.add_argument("--url", help="postgresql+psycopg://HOST/DATABASE; SQLite without it")
    asked = parser.parse_args()
    os.environ["PRIVCERT_LOG_URL"] = asked.url or ""
    counts = [1500 if at % 20 == 0 else 17 * at % 20 for at in range(asked.statements)]  # few above theta, as usual
    one_by_one(counts[:10])  # imports
    with tempfile.TemporaryDirectory() as folder:
        log, partition = open_log(Path(folder))
        rounds = range(asked.rounds)
        bare = statistics.median(seconds(lambda: one_by_one(counts)) for _ in rounds)
        # a cap that changes is one entry, and nothing else
        empty = statistics.median(
            seconds(lambda at=at: log.set_cap("reviews", Decimal(900_000 - at - 1), delta=HALF)) for at in rounds
        )
        print(f"{asked.statements} statements, median of {asked.rounds} rounds")
        print(f"{'empty transaction':28} {empty:8.3f} s")
        print(f"{'noise, count by count':28} {bare:8.3f} s")
        for name, weighted in [*((name, False) for name in MECHANISMS), ("frontier", True)]:
            asks = [question(partition, name, asked.statements, at + 1, weighted=weighted) for at in rounds]
            took = statistics.median(seconds(lambda one=one: log.seal(one, counts)) for one in asks)
            title = f"{name}, all weights differ" if weighted else name
            print(f"{title:28} {took:8.3f} s   {took / bare:5.2f} x the noise, {took / empty:5.1f} x a transaction")
        print_side_by_side(Path(folder) / "home", partition, asked, counts)


if __name__ == "__main__":
    main()
