"""Tests in several processes (pytest-xdist): a file stays in one, and so do all that need a language model or a worker.

Their servers and environments are made once a run, whatever they cost. pytest-xdist's own groups do not work with
pytest 9.2, whose node ids cannot be changed.
"""

import re
from functools import cache
from pathlib import Path

import pytest
from xdist.scheduler import LoadScopeScheduling

ROOT = Path(__file__).parent.parent
DEAR = "language model and workers"
_FIXTURES = re.compile(r"def \w+\([^)]*\b(engine|language_server|language_model|wheel|worker_environment|cluster)\b")


@cache
def group_of(file: str) -> str:
    """What runs in one process with this file of tests, given by its path below ROOT."""
    return DEAR if _FIXTURES.search((ROOT / file).read_text(encoding="utf-8")) else file


def in_order(items: list[pytest.Item]) -> None:
    """The dear ones first, the others as they come."""
    items.sort(key=lambda item: group_of(_file(item.nodeid)) != DEAR)


class BesideEachOther(LoadScopeScheduling):
    """Gives a process one group after the other."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(_file(nodeid))


def _file(nodeid: str) -> str:
    return nodeid.partition("::")[0]
