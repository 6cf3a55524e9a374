"""What the pages tell a reader to type is typed here, in order, into one home, and shows what they say it shows."""

import json
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from pages import DOCS, NOT_RUN, ROOT, Block, Reader, expected_output, page, shows, table
from prefect_servers import server  # noqa: F401 (fixture)

import flows.cli
from tasks.audits.publishing import refresh_operator_database
from tasks.reporting.sql import run_sql
from tasks.storage.home import open_home

PAGES = ("tutorial", "certificates", "cookbook", "operations")  # each goes on where the one before ended

Answers = dict[int, Any]  # by the number of the block


@pytest.fixture(scope="module")
def read(server: str, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Answers]:  # noqa: F811
    """Reads a page, and before it those it builds on, each once: its blocks with what they did."""
    reader = Reader(tmp_path_factory.mktemp("reader"), server)
    done: dict[str, Answers] = {}

    def read_page(name: str) -> Answers:
        for earlier in PAGES[: PAGES.index(name) + 1]:
            if earlier not in done:
                done[earlier] = dict(answers(reader, page(earlier)))
        return done[name]

    return read_page


def answers(reader: Reader, of: list[Block]) -> Iterator[tuple[int, Any]]:
    for number, block in enumerate(of):
        if block.is_run:
            yield number, reader.types(block)
        elif block.language == "sql":
            yield number, rows_of(reader.folder / "home", block)


def rows_of(root: Path, block: Block) -> list[dict[str, Any]]:
    home, is_operator = open_home(root), "--operator" in block.title
    if is_operator:
        refresh_operator_database(home)
    return list(json.loads(str(run_sql(home, block.content, operator=is_operator, output="json"))))


@pytest.mark.parametrize("name", PAGES)
def test_every_command_of_a_page_runs_and_shows_what_the_page_shows(name: str, read: Callable[[str], Answers]) -> None:
    of, done = page(name), read(name)
    for number, block in enumerate(of):
        if block.is_run:
            answer, expected = done[number], expected_output(of, number)
            assert answer.returncode == 0, f"{block.content}\n{answer.stdout}"
            assert expected is None or shows(expected, answer.stdout), f"{block.content}\n{answer.stdout}"
    assert done


def test_every_query_of_the_cookbook_gives_the_result_below_it(read: Callable[[str], Answers]) -> None:
    done = read("cookbook")
    queries = [(block, done[number]) for number, block in enumerate(page("cookbook")) if block.language == "sql"]
    wrong = [f"{block.content}\n{as_table(rows)}" for block, rows in queries if not fits(table(block.below), rows)]
    assert wrong == [], "\n".join(wrong)
    assert len(queries) >= 10


def fits(shown: list[list[str]], rows: list[dict[str, Any]]) -> bool:
    """The same columns, and row for row the same cells; no table where there are no rows."""
    if not rows or not shown:
        return not rows and not shown
    columns = [name.strip("`") for name in shown[0]]
    return len(shown) == len(rows) + 1 and all(
        columns == list(row) and all(map(is_cell, cells, row.values()))
        for cells, row in zip(shown[1:], rows, strict=True)
    )


def is_cell(shown: str, value: Any) -> bool:
    """~ before a number: noise moves it, by less than a quarter."""
    if shown.startswith("~"):
        return abs(float(shown[1:]) - float(value)) < abs(float(shown[1:])) / 4
    return shown == written(value)


def written(value: Any) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def as_table(rows: list[dict[str, Any]]) -> str:
    """To be pasted into the page."""
    if not rows:
        return "no rows"
    lines = [list(rows[0]), ["---"] * len(rows[0]), *([written(value) for value in row.values()] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def test_what_is_not_run_is_marked_and_is_this_only() -> None:
    marked = {(path.stem, block.title) for path in DOCS.glob("*.md") for block in page(path.stem) if block.title}
    assert {(name, title.removeprefix(NOT_RUN)) for name, title in marked if title.startswith(NOT_RUN)} == {
        ("operations", "a crontab"),
        ("operations", "they go on until stopped"),
        ("operations", "needs a PostgreSQL server"),
        ("operations", "needs a bucket"),
        ("operations", "needs a Dask cluster or a GPU"),
    }


def commands_in(markdown: str) -> list[list[str]]:
    """Arguments of every indented or fenced line that starts with `privcert`, its continuation lines joined."""
    lines = markdown.replace("\\\n", " ").splitlines()
    typed = [line.strip() for line in lines if line.strip().startswith("privcert ")]
    words = [shlex.split(line.split("#")[0], posix=True) for line in typed if line.count('"') % 2 == 0]
    return [line[1 : next((at for at, word in enumerate(line) if word in ("|", ">", "||")), None)] for line in words]


SPOKEN = [
    (path.name, arguments)
    for path in (ROOT / "README.md", *sorted(DOCS.glob("*.md")))
    for arguments in commands_in(path.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize(("name", "arguments"), SPOKEN, ids=lambda value: value if isinstance(value, str) else "")
def test_every_command_that_is_shown_anywhere_takes_the_flags_it_is_shown_with(name: str, arguments: list[str]) -> None:
    command: click.Command = flows.cli.cli
    rest = list(arguments)
    while isinstance(command, click.Group):
        found = command.get_command(click.Context(command), rest.pop(0))
        assert found is not None, arguments
        command = found
    command.make_parser(click.Context(command)).parse_args(rest)  # raises for what it does not know
