"""What commands print: one JSON object, or text."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from schemas.errors import UserError
from tasks.storage.home import Home, default_home, initialise_home, open_home, release_zone

if TYPE_CHECKING:
    from tasks.storage.outputs import Kind

_WIDE = 160  # columns, where nobody watches
_LONGEST_WORD = 24  # of text: a longer one is folded
_PADDING = 3  # columns between two cells


def print_json(value: Mapping[str, object]) -> None:
    """One JSON object with sorted keys."""
    click.echo(json.dumps(value, sort_keys=True, indent=1, default=str))


def print_table(columns: Sequence[str], rows: Sequence[Sequence[object]], title: str | None = None) -> None:
    """A table for the terminal; text that looks like markup is printed as it is. A file or a pipe gets wide lines.

    Only columns of words are folded, between words; a table that needs more columns than the terminal has is wider.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=None if title is None else Text(title), title_justify="left", box=box.SIMPLE_HEAD)
    table.show_edge = table.pad_edge = False
    needed = 0
    for place, column in enumerate(columns):
        cells = [column, *(str(row[place]) for row in rows)]
        is_words = any(" " in cell for cell in cells[1:])
        widest = max(len(word) for cell in cells for word in ((cell.split() or [""]) if is_words else [cell]))
        narrowest = max(min(widest, _LONGEST_WORD), len(column)) if is_words else widest
        table.add_column(Text(column), no_wrap=not is_words, overflow="fold", min_width=narrowest)
        needed += narrowest + _PADDING
    for row in rows:
        table.add_row(*(Text(str(value)) for value in row))
    console = Console(highlight=False)
    console.width = max(console.width if console.is_terminal else _WIDE, needed)
    console.print(table)


def home_for(visibility: str) -> Home:
    """The home in use; made when missing for public and synthetic corpora, never for private ones."""
    root = default_home()
    if visibility == "private":
        return open_home(root)
    return initialise_home(root, on_purpose=False)


def present_home() -> Home:
    """The home in use. Raises UserError when there is none, or no private zone."""
    root = default_home()
    if (root / "release").is_dir() and not (root / "private").exists():
        raise UserError(
            f"{root} has no private zone, only what was published: this has to be done in the home that publishes"
        )
    return open_home(root)


def release_zone_in_use() -> Home:
    """The home as an analyst sees it; its private zone is not read. Raises UserError when there is none."""
    return release_zone(default_home())


def short(path: Path) -> str:
    """A path as the user may type it."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def starting_with(keys: Sequence[str], digits: str) -> str:
    """The one release key that starts with these digits. Raises UserError for none or several."""
    found = [key for key in keys if key.startswith(digits)]
    if len(found) != 1:
        raise UserError(f"release: {'no' if not found else 'more than one'} release starts with {digits!r}")
    return found[0]


def writing_output(path: Path, content: bytes, kind: "Kind | None" = None) -> Path:
    """Put what --output asks for, all or nothing; anybody may read it.

    Raises UserError where it cannot be written, in a private zone, and over a file that is not of this kind.
    """
    from tasks.storage.atomic import RELEASE_FILE, write_bytes
    from tasks.storage.outputs import Kind, check_output

    check_output(path, kind or Kind.ANY)
    try:
        write_bytes(path, content, RELEASE_FILE)
    except OSError as error:
        raise UserError(f"output: {path.name} cannot be written: {error.strerror or type(error).__name__}") from None
    return path
