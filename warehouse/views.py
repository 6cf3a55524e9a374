"""The SQL files of this package as objects: a view's text, what it reads, and the suite it must pass.

Every file starts with two comment lines, first the grain, then `-- Reads: a, b.`; the second one decides the order
in which views are created. A file that says `create table` instead is computed once, when its database is built; its
third line says why.
"""

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from graphlib import TopologicalSorter
from importlib.resources import files
from typing import TypeAlias

Value: TypeAlias = "bool | int | float | str | list[Value] | dict[str, Value] | None"

_READS = re.compile(r"^-- Reads: ([a-z_., ]+)\.$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Expectation:
    """One Great Expectations expectation, in plain data.

    kwargs: as Great Expectations takes them, except that {"sql": QUERY} stands for the single value that QUERY gives
    on the database under validation (a row count to reconcile with: map expectations pass on an empty table).
    """

    type: str
    kwargs: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class View:
    """One SQL file (also one that creates a table). Those of `staging` live in that schema, others in the main one."""

    name: str
    folder: str
    sql: str
    expectations: tuple[Expectation, ...]

    @property
    def qualified(self) -> str:
        """The name that other views read it by."""
        return f"staging.{self.name}" if self.folder == "staging" else self.name

    @property
    def grain(self) -> str:
        """What one row is, in words."""
        return self.sql.splitlines()[0].removeprefix("-- ")

    @property
    def is_table(self) -> bool:
        """Computed once, when its database is built."""
        return f"\ncreate table {self.qualified} as\n" in self.sql

    @property
    def reads(self) -> tuple[str, ...]:
        """Tables and views that the file says it reads, as it names them."""
        stated = _READS.search(self.sql)
        if stated is None:
            raise ValueError(f"warehouse/{self.folder}/{self.name}.sql has no line '-- Reads: ...'")
        return tuple(stated[1].split(", "))


def folder_views(folder: str) -> list[View]:
    """The views of one folder (staging, reports, operator), by name."""
    room = files("warehouse") / folder
    names = sorted(file.name.removesuffix(".sql") for file in room.iterdir() if file.name.endswith(".sql"))
    return [_view(folder, name) for name in names]


def database_views(folder: str, base_tables: Collection[str]) -> list[View]:
    """The views of `folder` and the staging views of these base tables, each after the views it reads."""
    staging = [view for view in folder_views("staging") if view.name in base_tables]
    views = {view.qualified: view for view in [*staging, *folder_views(folder)]}
    reads = {name: [other for other in view.reads if other in views] for name, view in views.items()}
    return [views[name] for name in TopologicalSorter(reads).static_order()]


def _view(folder: str, name: str) -> View:
    room = files("warehouse") / folder
    suite = room / f"{name}.json"
    stated = json.loads(suite.read_text()) if suite.is_file() else []
    expectations = tuple(Expectation(type=one["type"], kwargs=one["kwargs"]) for one in stated)
    return View(name, folder, (room / f"{name}.sql").read_text(), expectations)
