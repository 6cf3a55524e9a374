"""release.duckdb and operator.duckdb: projections, built aside, validated, renamed over the old file.

release.duckdb is made of a `Projection` (sealed payloads, public settings and n) and nothing else; operator.duckdb of
files in the private zone. A damaged or lost file is one call away.
"""

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from schemas.releases import BUDGETS, CERTIFICATES, CHARGES, RELEASES, THRESHOLDS, Projection
from tasks.reporting.database import building, create_table, fill, marker_of, read_marker, reading
from tasks.reporting.operator import OPERATOR_SCHEMAS, operator_sources, operator_tables
from tasks.reporting.validation import validate_views
from tasks.storage.atomic import PRIVATE_FILE, RELEASE_FILE, replacing
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
    """One publisher at a time, so that an older projection never replaces a newer one: read the log inside."""
    descriptor = os.open(home.private / "publish.lock", os.O_RDWR | os.O_CREAT, PRIVATE_FILE)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
