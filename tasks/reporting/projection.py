"""release.duckdb and operator.duckdb: projections, built aside, validated, renamed over the old file.

release.duckdb is made of a `Projection` (sealed payloads, public settings and n) and of studies on public or synthetic
data, and nothing else; operator.duckdb of files in the private zone. A damaged or lost file is one call away.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import duckdb
import pyarrow as pa

from schemas.errors import UserError
from schemas.releases import Projection
from tasks.reporting.data_docs import note_validation, release_docs, write_release_docs
from tasks.reporting.database import WAREHOUSE_VERSION, building, create_table, fill, marker_of, read_origin
from tasks.reporting.dictionary import data_dictionary
from tasks.reporting.dimensions import domain_files, statement_dimensions
from tasks.reporting.operator import OPERATOR_SCHEMAS, operator_sources, operator_tables
from tasks.reporting.places import operator_database as operator_database
from tasks.reporting.places import release_database as release_database
from tasks.reporting.studies import studies_digest, study_tables
from tasks.reporting.tables import RELEASE_SCHEMAS, release_tables
from tasks.reporting.validation import InvalidWarehouseError, validate_views
from tasks.storage.atomic import PRIVATE_FILE, RELEASE_FILE, remove_leftovers, replacing
from tasks.storage.crash import crash_point
from tasks.storage.home import PRIVATE_DIRECTORY, Home
from tasks.storage.locks import one_writer
from tasks.storage.objects import AnyPath
from warehouse.dictionary import meanings
from warehouse.views import View, database_views

Tables = dict[str, tuple[pa.Table, pa.Schema]]
_DISK_ERRORS = (duckdb.IOException, duckdb.TransactionException, duckdb.FatalException)  # a commit without room
_ORIGIN = pa.schema(
    [
        *(pa.field(name, pa.string(), nullable=False) for name in ("ledger_id", "chain_head", "product_version")),
        pa.field("warehouse_version", pa.int64(), nullable=False),
        pa.field("marker", pa.string(), nullable=False),
    ]
)


@contextmanager
def publishing(home: Home) -> Iterator[None]:
    """One publisher at a time, so that an older projection never replaces a newer one: read the log inside.

    What killed publishers left half-written in the release zone is removed.
    """
    with one_writer(home.private / "publish.lock"):
        remove_leftovers(home.release)
        yield


def build_release_database(projection: Projection, home: Home, *, rebuild: bool = False) -> Path:
    """Put the projection and the report views into home.release/release.duckdb; do nothing when they are there.

    rebuild: build it even so (`privcert warehouse rebuild`, a damaged file).
    Raises InvalidWarehouseError when a view does not pass its suite; the old file then stays. UserError for a file that
    a newer privcert built, and where the disk is full or read-only.
    """
    path, marker = release_database(home), release_marker(projection, home)
    if rebuild or not (_is_built(path, marker) and release_docs(home).is_file()):
        tables = release_tables(projection) | study_tables(home) | _public_tables(projection, home)
        origin = {"ledger_id": projection.ledger_id, "chain_head": projection.chain_head, "marker": marker}
        _publish(home, path, RELEASE_FILE, tables, database_views("reports", tables), origin)
    return path


def build_operator_database(projection: Projection, home: Home, *, rebuild: bool = False) -> Path:
    """Put budgets, run summaries, quarantine and the operator's views into operator.duckdb, if they changed.

    Raises UserError when a run's summary cannot be read, and as above; InvalidWarehouseError as above.
    """
    path, marker = operator_database(home), operator_marker(projection, home)
    if rebuild or not _is_built(path, marker):
        with one_writer(home.private / "operator.lock"):
            remove_leftovers(_folder_for_building(home, path))
            origin = {"ledger_id": home.ledger_id, "chain_head": projection.chain_head, "marker": marker}
            tables = operator_tables(projection, home)
            _publish(home, path, PRIVATE_FILE, tables, database_views("operator", OPERATOR_SCHEMAS), origin)
    return path


def release_marker(projection: Projection, home: Home) -> str:
    """Changes when the release database must. Certificates are not hashed: the chain head speaks for them."""
    hashed = [projection.releases, projection.thresholds, projection.charges, projection.budgets]
    stated = [sorted(map(str, table.to_pylist())) for table in hashed]
    public = [studies_digest(home), sorted(domain_files(projection, home)), sorted(map(str, meanings().items()))]
    return marker_of(
        database_views("reports", RELEASE_SCHEMAS), projection.ledger_id, projection.chain_head, stated, public
    )


def operator_marker(projection: Projection, home: Home) -> str:
    """Changes when the operator's database must."""
    sources = [_stamp(path, home) for path in operator_sources(home)]
    stated = [sorted(map(str, table.to_pylist())) for table in (projection.charges, projection.budgets)]
    return marker_of(database_views("operator", OPERATOR_SCHEMAS), sources, projection.chain_head, stated)


def _public_tables(projection: Projection, home: Home) -> Tables:
    """What is no part of a projection: functions of public files."""
    return {
        "statement_dimensions": (
            statement_dimensions(projection, domain_files(projection, home)),
            RELEASE_SCHEMAS["statement_dimensions"],
        ),
        "data_dictionary": (data_dictionary(), RELEASE_SCHEMAS["data_dictionary"]),
    }


def published_chain_head(home: Home) -> str | None:
    """The chain head that the release database was built at; None when there is no readable one."""
    origin = read_origin(release_database(home))
    return None if origin is None else str(origin["chain_head"])


def _is_built(path: Path, marker: str) -> bool:
    origin = read_origin(path)
    return origin is not None and origin["marker"] == marker


def _publish(
    home: Home, database: Path, mode: int, tables: Tables, views: list[View], origin: Mapping[str, str]
) -> None:
    """Build the file aside, validate it, rename it over the old one. Raises UserError where the disk refuses."""
    row = {**origin, "product_version": version("privcert"), "warehouse_version": WAREHOUSE_VERSION}
    try:
        with (
            replacing(database, mode, _folder_for_building(home, database)) as temporary,
            building(temporary) as connection,
        ):
            fill(connection, tables, views)
            create_table(connection, "origin", pa.Table.from_pylist([row], _ORIGIN))
            crash_point("after_fill")
            _validate(home, database, connection, views)
    except (OSError, *_DISK_ERRORS):  # their texts hold paths
        raise UserError(
            f"{database} cannot be written (disk full or read-only?): nothing is lost, make room and run "
            "`privcert warehouse rebuild`"
        ) from None


def _folder_for_building(home: Home, database: Path) -> Path:
    """Where a file grows: in the private zone apart from what others write there, which is not ours to remove."""
    if database == release_database(home):
        return home.release
    folder = home.private / "building"
    folder.mkdir(exist_ok=True, mode=PRIVATE_DIRECTORY)
    return folder


def _validate(home: Home, database: Path, connection: duckdb.DuckDBPyConnection, views: list[View]) -> None:
    """Run the suites and say so in Data Docs; those of the release zone change only when everything passed."""
    is_released = database == release_database(home)
    try:
        validations = validate_views(connection, views, counts=not is_released)
    except InvalidWarehouseError as error:
        note_validation(home, database.name, error.validations)
        raise
    if is_released:
        write_release_docs(home, validations)
    note_validation(home, database.name, validations)


def _stamp(path: AnyPath, home: Home) -> tuple[str, tuple[int, ...]]:
    """Changes when the content does; what lies in a store never changes."""
    if not isinstance(path, Path):
        return str(path), ()
    status = path.stat()
    return str(path.relative_to(home.private)), (status.st_size, status.st_mtime_ns)
