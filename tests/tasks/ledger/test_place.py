"""A home's release log stays in the kind of place where it was first opened: a second one would count afresh."""

from decimal import Decimal
from pathlib import Path

import pytest
from postgresql_server import Server

from schemas.errors import UserError
from tasks.ledger.log import ReleaseLog
from tasks.storage.home import Home

OWN, PLACE = "release_log.sqlite", "release_log.place"


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


def test_a_log_of_a_version_that_did_not_write_its_place_is_where_it_is(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ReleaseLog(home).set_cap("reviews", Decimal(3))
    (home.private / PLACE).unlink()
    monkeypatch.setenv("PRIVCERT_LOG_URL", f"sqlite:///{tmp_path / 'other'}")
    with pytest.raises(UserError, match=r"is the file in its private zone, for ever"):
        ReleaseLog(home)
    assert not (tmp_path / "other").exists()
    monkeypatch.delenv("PRIVCERT_LOG_URL")
    ReleaseLog(home)
    assert (home.private / PLACE).read_text() == "HOME"


@pytest.mark.parametrize("content", ["x", "home", "HOME SERVER"])
def test_a_damaged_place_is_named(home: Home, content: str) -> None:
    (home.private / PLACE).write_text(content)
    with pytest.raises(UserError, match=r"release_log\.place is damaged: restore it, or write HOME or FILE or SERVER"):
        ReleaseLog(home)


@pytest.mark.parametrize("content", ["", "HOME\n"])
def test_one_that_was_cut_short_or_edited_serves(home: Home, content: str) -> None:
    (home.private / PLACE).write_text(content)
    ReleaseLog(home).set_cap("reviews", Decimal(3))
    assert (home.private / PLACE).read_text().strip() == "HOME"
