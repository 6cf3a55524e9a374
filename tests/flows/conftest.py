"""The command line in this process: exit code, standard output, one line of error."""

from collections.abc import Callable
from typing import NamedTuple

import pytest

import flows.cli


class Answer(NamedTuple):
    """What a command did."""

    code: int
    out: str
    err: str


@pytest.fixture
def privcert(monkeypatch, capsys, tmp_path) -> Callable[..., Answer]:
    """Run `privcert ARGS…` with a home of its own; no private zone of this machine is touched."""
    monkeypatch.setenv("PRIVCERT_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Answer:
        monkeypatch.setattr("sys.argv", ["privcert", *arguments])
        code = 0
        try:
            flows.cli.main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        captured = capsys.readouterr()
        return Answer(code, captured.out, captured.err)

    return run
