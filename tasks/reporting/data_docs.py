"""What the suites said, as a page: release/data-docs/index.html with booleans, private/data-docs/ also with counts.

One file each, without script, style sheet or font of another host. Written by us, since the pages of Great Expectations
link nine other hosts and show observed values. A function of suites and outcomes alone: no clock, no value of a row.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schemas.errors import UserError
from tasks.reporting.validation import Validation, stated
from tasks.storage.atomic import PRIVATE_FILE, RELEASE_FILE, remove_leftovers, write_bytes
from tasks.storage.home import PRIVATE_DIRECTORY, Home
from tasks.storage.locks import one_writer

if TYPE_CHECKING:
    from jinja2 import Template

PAGE = "index.html"
Table = dict[str, Any]


def release_docs(home: Home) -> Path:
    """Where the page for analysts lies."""
    return home.release / "data-docs" / PAGE


def private_docs(home: Home) -> Path:
    """Where the page for the operator lies."""
    return home.private / "data-docs" / PAGE


def write_release_docs(home: Home, validations: Sequence[Validation]) -> Path:
    """Booleans only, of the tables of the release database."""
    tables = [_table(validation, counts=False) for validation in validations]
    home.release_folder("data-docs")
    path = release_docs(home)
    write_bytes(path, _render("Release database", {"release.duckdb": tables}, counts=False), RELEASE_FILE)
    return path


def note_validation(home: Home, subject: str, validations: Sequence[Validation]) -> None:
    """Keep the outcomes of one subject (a database, the inputs of a partition version), and renew the operator's page.

    private/validation/SUBJECT.json: for each table its expectations with `passed`, and counts of rows where asked for.
    """
    folder = home.private / "validation"
    tables = [_table(validation, counts=True) for validation in validations]
    for each in (folder, private_docs(home).parent):
        each.mkdir(exist_ok=True, mode=PRIVATE_DIRECTORY)
    with one_writer(home.private / "validation.lock"):
        for each in (folder, private_docs(home).parent):
            remove_leftovers(each)
        write_bytes(folder / f"{subject}.json", json.dumps(tables, indent=1).encode(), PRIVATE_FILE)
        noted = {path.stem: _read(path) for path in sorted(folder.glob("*.json"))}
        write_bytes(private_docs(home), _render("Everything that was validated", noted, counts=True), PRIVATE_FILE)


def _table(validation: Validation, *, counts: bool) -> Table:
    view = validation.view
    return {
        "name": view.name,
        "grain": view.grain if view.sql else "",
        "passed": not validation.failed,
        "expectations": [
            {"says": stated(outcome.expectation), "passed": outcome.passed}
            | ({"checked": outcome.checked, "unmet": outcome.unmet} if counts else {})
            for outcome in validation.outcomes
        ],
    }


def _read(path: Path) -> list[Table]:
    try:
        tables: list[Table] = json.loads(path.read_bytes())
    except ValueError:
        raise UserError(f"private/validation/{path.name} cannot be read: remove it") from None
    return tables


def _render(title: str, subjects: Mapping[str, Sequence[Table]], *, counts: bool) -> bytes:
    return _template().render(title=title, subjects=subjects, counts=counts).encode()


@cache
def _template() -> "Template":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("tasks.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("data_docs.html")
