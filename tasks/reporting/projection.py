"""release.duckdb and operator.duckdb: projections, built aside, validated, renamed over the old file.

release.duckdb is made of a `Projection` (sealed payloads, public settings and n) and of studies on public or synthetic
data, and nothing else; operator.duckdb of files in the private zone. A damaged or lost file is one call away.
"""

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import pyarrow as pa

from schemas.releases import BUDGETS, CERTIFICATES, CHARGES, RELEASES, THRESHOLDS, Projection
from tasks.reporting.database import building, create_table, fill, marker_of, read_marker, reading
from tasks.reporting.operator import OPERATOR_SCHEMAS, operator_sources, operator_tables
from tasks.reporting.studies import STUDY_SCHEMAS, no_studies, studies_digest, study_tables
from tasks.reporting.validation import validate_views
from tasks.storage.atomic import PRIVATE_FILE, RELEASE_FILE, remove_leftovers, replacing
from tasks.storage.home import Home
from warehouse.views import View, database_views

Tables = Mapping[str, tuple[pa.Table, pa.Schema]]
_ORIGIN = pa.schema(
    [pa.field(name, pa.string(), nullable=False) for name in ("ledger_id", "chain_head", "product_version", "marker")]
)


def release_database(home: Home) -> Path:
    """Where the release database lies."""
    return home.release / "release.duckdb"


def operator_database(home: Home) -> Path:
    """Where the operator's database lies."""
    return home.private / "operator.duckdb"


@contextmanager
def publishing(home: Home) -> Iterator[None]:
    """One publisher at a time, so that an older projection never replaces a newer one: read the log inside.

    What killed publishers left half-written in the release zone is removed.
    """
    descriptor = os.open(home.private / "publish.lock", os.O_RDWR | os.O_CREAT, PRIVATE_FILE)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        remove_leftovers(home.release)
        yield
    finally:
        os.close(descriptor)


def build_release_database(projection: Projection, home: Home, *, rebuild: bool = False) -> Path:
    """Put the projection and the report views into home.release/release.duckdb; do nothing when they are there.

    rebuild: build it even so (`privcert warehouse rebuild`, a damaged file).
    Raises InvalidWarehouseError when a view does not pass its suite; the old file then stays.
    """
    path, tables = release_database(home), release_tables(projection) | study_tables(home)
    views = database_views("reports", tables)
    # The certificates are not hashed: the chain head speaks for them.
    unhashed = {"certificates", *STUDY_SCHEMAS}
    stated = [sorted(map(str, tables[name][0].to_pylist())) for name in sorted(tables) if name not in unhashed]
    marker = marker_of(views, projection.ledger_id, projection.chain_head, stated, studies_digest(home))
    if rebuild or read_marker(path) != marker:
        origin = {"ledger_id": projection.ledger_id, "chain_head": projection.chain_head, "marker": marker}
        _publish(path, RELEASE_FILE, tables, views, origin)
    return path


def build_operator_database(home: Home, *, rebuild: bool = False) -> Path:
    """Put run summaries, quarantine and the operator's views into home.private/operator.duckdb, when they changed.

    Raises UserError when a run's summary cannot be read, InvalidWarehouseError as above.
    """
    views = database_views("operator", OPERATOR_SCHEMAS)
    sources = [(str(path.relative_to(home.private)), _stamp(path)) for path in operator_sources(home)]
    marker = marker_of(views, sources)
    path = operator_database(home)
    if rebuild or read_marker(path) != marker:
        origin = {"ledger_id": home.ledger_id, "chain_head": "", "marker": marker}
        _publish(path, PRIVATE_FILE, operator_tables(home), views, origin)
    return path


def release_tables(projection: Projection) -> dict[str, tuple[pa.Table, pa.Schema]]:
    """The base tables of the release database, each with its schema; those of studies are empty."""
    return {
        "releases": (projection.releases, RELEASES),
        "certificates": (projection.certificates, CERTIFICATES),
        "thresholds": (projection.thresholds, THRESHOLDS),
        "charges": (projection.charges, CHARGES),
        "budgets": (projection.budgets, BUDGETS),
        **no_studies(),
    }


def published_chain_head(home: Home) -> str | None:
    """The chain head that the release database was built at; None when there is no readable one."""
    path = release_database(home)
    if read_marker(path) is None:
        return None
    with reading(path) as connection:
        return str(connection.execute("select chain_head from base.origin").fetchall()[0][0])


def _publish(path: Path, mode: int, tables: Tables, views: list[View], origin: Mapping[str, str]) -> None:
    """Build the file aside, validate it, rename it over the old one."""
    row = {**origin, "product_version": version("privcert")}
    with replacing(path, mode) as temporary, building(temporary) as connection:
        fill(connection, tables, views)
        create_table(connection, "origin", pa.Table.from_pylist([row], _ORIGIN))
        validate_views(connection, views)


def _stamp(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns
