"""A home's release log stays in the kind of place where it was first opened: a second one would count afresh."""

from decimal import Decimal
from pathlib import Path

import pytest
from postgresql_server import Server

from schemas.errors import UserError
from tasks.ledger.log import ReleaseLog
from tasks.storage.home import Home

OWN = "release_log.sqlite"


@pytest.fixture
def url(postgresql: Server) -> str:
    """Of an empty database."""
    return postgresql.empty_database("place")


def test_a_home_on_a_server_makes_no_log_of_its_own(home: Home, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRIVCERT_LOG_URL", url)
    ReleaseLog(home).set_cap("reviews", Decimal(3))
    monkeypatch.delenv("PRIVCERT_LOG_URL")
    with pytest.raises(UserError, match=r"is a PostgreSQL server, for ever.*set PRIVCERT_LOG_URL to its URL"):
        ReleaseLog(home)
    assert not (home.private / OWN).exists()
    monkeypatch.setenv("PRIVCERT_LOG_URL", url)
    assert [line.epsilon.left for line in ReleaseLog(home).budget_lines()] == ["3"]


def test_a_home_with_a_log_of_its_own_makes_none_on_a_server(
    home: Home, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PRIVCERT_LOG_URL", raising=False)
    ReleaseLog(home).set_cap("reviews", Decimal(3))
    monkeypatch.setenv("PRIVCERT_LOG_URL", url)
    with pytest.raises(UserError, match=r"is the file in its private zone, for ever.*unset PRIVCERT_LOG_URL"):
        ReleaseLog(home)


def test_another_file_is_another_place(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may move, as a server may; forgetting it is refused."""
    monkeypatch.setenv("PRIVCERT_LOG_URL", f"sqlite:///{tmp_path / 'log'}")
    ReleaseLog(home).set_cap("reviews", Decimal(3))
    (tmp_path / "moved").mkdir()
    for path in tmp_path.glob("log*"):
        path.rename(tmp_path / "moved" / path.name)
    monkeypatch.setenv("PRIVCERT_LOG_URL", f"sqlite:///{tmp_path / 'moved' / 'log'}")
    assert [line.epsilon.left for line in ReleaseLog(home).budget_lines()] == ["3"]
    monkeypatch.delenv("PRIVCERT_LOG_URL")
    with pytest.raises(UserError, match="another SQLite file"):
        ReleaseLog(home)
