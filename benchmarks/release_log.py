"""A release of 1,000 statements through the log: seconds, against the noise alone and against an empty transaction.

    python benchmarks/release_log.py [--statements 1000] [--rounds 5]

One release is everything from the question to the durable commit: designs, exact margins, look-up, caps, draw, payload,
charge, chain. The first peer is what draws the same noise one count at a time, a fresh OpenDP measurement for each
count; the second is a transaction of the same log that appends one entry. Medians over the rounds; the home is new.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

from schemas.audit import Scope, UnitSupport
from schemas.corpora import CorpusSettings
from schemas.statements import Statement
from tasks.ledger.designs import Parameters
from tasks.ledger.log import ReleaseLog
from tasks.ledger.question import Question, RegisteredPartition
from tasks.storage.home import initialise_home

UNITS = 20_000
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

        self.path = path
        path.mkdir(parents=True)
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


def main() -> None:
    """Print one line for each mechanism."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--statements", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
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


if __name__ == "__main__":
    main()
