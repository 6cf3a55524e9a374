"""Are the databases what the release log says, and do they pass their suites? Nothing is built or written."""

from dataclasses import dataclass, field
from pathlib import Path

from schemas.errors import UserError
from schemas.releases import Projection
from tasks.reporting.database import read_origin, reading
from tasks.reporting.operator import OPERATOR_SCHEMAS
from tasks.reporting.places import operator_database, release_database
from tasks.reporting.projection import operator_marker, release_marker
from tasks.reporting.tables import RELEASE_SCHEMAS
from tasks.reporting.validation import InvalidWarehouseError, stated, validate_views
from tasks.storage.home import Home
from warehouse.views import View, database_views


@dataclass(frozen=True, slots=True)
class Checked:
    """One database. state: current, outdated, missing, damaged or newer; failed: 'VIEW: EXPECTATION of COLUMN'."""

    path: Path
    state: str
    failed: list[str] = field(default_factory=list)

    @property
    def is_valid(self) -> bool:
        """As the log says, and passing every suite."""
        return self.state == "current" and not self.failed


def check_databases(projection: Projection, home: Home) -> list[Checked]:
    """The release database, then the operator's."""
    release, operator = database_views("reports", RELEASE_SCHEMAS), database_views("operator", OPERATOR_SCHEMAS)
    return [
        _check(release_database(home), release_marker(projection, home), release),
        _check(operator_database(home), operator_marker(projection, home), operator),
    ]


def _check(path: Path, marker: str, views: list[View]) -> Checked:
    if not path.is_file():
        return Checked(path, "missing")
    try:
        origin = read_origin(path)
    except UserError:
        return Checked(path, "newer")
    if origin is None:
        return Checked(path, "damaged")
    if origin["marker"] != marker:  # of other views, perhaps: its suites are not these
        return Checked(path, "outdated")
    return Checked(path, "current", _failed(path, views))


def _failed(path: Path, views: list[View]) -> list[str]:
    with reading(path) as connection:
        try:
            validate_views(connection, views)
        except InvalidWarehouseError as error:
            return [f"{one.view.name}: {stated(failed)}" for one in error.validations for failed in one.failed]
    return []
