"""What each column means: columns.yaml of this package, by column name, and apart where a table means another thing."""

from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

import yaml


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a column says, in one sentence part, and the unit of its numbers (None: it has none)."""

    text: str
    unit: str | None


def meaning_of(table: str, column: str) -> Meaning | None:
    """The meaning of a column of this table or view (name without schema); None where none is written."""
    return meanings().get(f"{table}.{column}") or meanings().get(column)


@lru_cache(maxsize=1)
def meanings() -> dict[str, Meaning]:
    """Everything in columns.yaml, by `column` or `table.column`."""
    stated: dict[str, Any] = yaml.safe_load((files("warehouse") / "columns.yaml").read_text(encoding="utf-8"))
    return {name: _meaning(value) for name, value in stated.items()}


def _meaning(value: str | list[str]) -> Meaning:
    """Text alone, or [text, unit]."""
    return Meaning(value, None) if isinstance(value, str) else Meaning(value[0], value[1])
