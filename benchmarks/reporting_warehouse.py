"""The warehouse over 50 audits of 200 statements: what each view takes, the publication, the size of the file.

    python benchmarks/reporting_warehouse.py [--audits 50] [--statements 200]

Every audit is sealed by the real log (25 versions of a public corpus, each asked of two models, the statements of a
shipped domain), asked at two thresholds, and projected. Views are read whole into Arrow, best of five; the peer of a
view is a plain table of its rows, that of the publication is the same without running a suite.
Times are wall clock and CPU: on a busy machine the second says more.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from schemas.audit import Scope, UnitSupport
from schemas.corpora import CorpusSettings
from schemas.statements import Statement
from tasks.ledger.designs import Parameters
from tasks.ledger.log import ReleaseLog
from tasks.ledger.question import Question, RegisteredPartition
from tasks.reporting import validation
from tasks.reporting.places import release_database
from tasks.reporting.projection import build_release_database
from tasks.statements.domains import load_domain
from tasks.statements.tag_template import propose_from_domain
from tasks.storage.home import Home, initialise_home

UNITS = 5_000
MODELS = ("a", "b")


class Staged:
    """An empty folder as ingestion hands it over; releases do not read it."""

    units = UNITS

    def __init__(self, path: Path, key: str, version: int) -> None:
        self.path, self.key, self.content_key = path, key, bytes([version]) * 32
        path.mkdir(parents=True)
        for name, column in (("units", "unit_key"), ("record_keys", "record_key")):
            pq.write_table(pa.table({column: pa.array([], pa.binary())}), path / f"{name}.parquet")


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Wall-clock and CPU seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def sealed_audits(folder: Path, audits: int, count: int) -> tuple[Home, ReleaseLog]:
    """A home whose log has this many releases of this many statements."""
    home = initialise_home(folder / "home", on_purpose=True)
    log, domain = ReleaseLog(home), load_domain("restaurant-reviews")
    statements = tuple(propose_from_domain(domain, count, 0))
    proposer = f"tag_template {domain.name} seed 0 sha256 {domain.sha256}"
    settings = CorpusSettings(source="none", corpus="reviews", unit="author", visibility="public", replace=True)
    for audit in range(audits):
        if audit % len(MODELS) == 0:
            version = audit // len(MODELS)
            staged = Staged(folder / f"staged{version}", "all", version)
            [partition] = log.register(settings, [staged])
        sealed = log.seal(question(partition, statements, proposer, MODELS[audit % len(MODELS)]), counts(audit, count))
        for theta in ("0.05", "0.1"):
            log.ask_threshold(sealed.release_key, Decimal(theta))
    return home, log


def counts(audit: int, count: int) -> list[int]:
    """Supports that move a little from audit to audit."""
    return [(at * at * 37 + audit * 11) % UNITS for at in range(count)]


def question(partition: RegisteredPartition, statements: tuple[Statement, ...], proposer: str, model: str) -> Question:
    """The same question of each version and model."""
    return Question(
        partition=partition,
        statements=statements,
        proposer=proposer,
        model=model,
        model_fingerprint=model * 64,
        model_description={},
        unit_support=UnitSupport.ANY,
        mechanism="frontier",
        epsilon=Decimal(10),
        beta=Decimal("0.05"),
        scope=Scope.REPORT,
        parameters=Parameters(),
    )


def main() -> None:
    """Print one line a view, then the publication and the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--audits", type=int, default=50)
    parser.add_argument("--statements", type=int, default=200)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home, log = sealed_audits(Path(folder), asked.audits, asked.statements)
        cold = timed(lambda: build_release_database(log.project(), home))
        validation._passed.clear()
        warm = timed(lambda: build_release_database(log.project(), home, rebuild=True))
        alone = timed(lambda: build_release_database(log.project(), home, rebuild=True))  # every suite is known
        print_views(release_database(home))
        size = release_database(home).stat().st_size
        print(f"publication, library to be loaded: {cold[0]:.2f} s, CPU {cold[1]:.2f} s")
        print(f"publication, library loaded: {warm[0]:.2f} s, CPU {warm[1]:.2f} s; without suites {alone[1]:.2f} s CPU")
        print(f"release.duckdb: {size / 1e6:.2f} MB for {asked.audits * asked.statements} certificates")


def print_views(path: Path) -> None:
    """Each view read whole, against a plain table of its rows."""
    with duckdb.connect(str(path), read_only=True) as connection:
        names = "select table_name from information_schema.tables where table_schema = 'main' order by 1"
        for (name,) in connection.execute(names).fetchall():
            rows = connection.sql(f"select * from {name}").to_arrow_table()
            with duckdb.connect() as plain:
                plain.register("rows", rows)
                plain.execute("create table copied as select * from rows")
                peer = best(lambda plain=plain: plain.sql("select * from copied").to_arrow_table())
            view = best(lambda name=name: connection.sql(f"select * from {name}").to_arrow_table())
            says = (
                f"{view[0] * 1000:6.0f} ms, CPU {view[1] * 1000:6.0f} ms, {view[1] / max(peer[1], 1e-4):5.1f} x a table"
            )
            print(f"{name:30} {len(rows):7,} rows {says}")


def best(work: Callable[[], object]) -> tuple[float, float]:
    """The best of five."""
    return min(timed(work) for _ in range(5))


if __name__ == "__main__":
    main()
