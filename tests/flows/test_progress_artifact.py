"""What the Prefect server shows of a running audit: tens of percent of a stage, under the partition's public name."""

import sqlite3
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import pytest
from audits import capped, write_corpus
from commands import run_privcert
from prefect.settings import PREFECT_CLIENT_MAX_RETRIES

from tasks import progress_artifact
from tasks.audits.progress import report
from tasks.storage.home import initialise_home


def test_the_server_sees_percent_and_the_partition_alone(tmp_path: Path) -> None:
    home = capped(initialise_home(tmp_path / "home", on_purpose=True))
    source = write_corpus(tmp_path / "reviews.parquet", authors=37)
    asked = ("--corpus", "reviews", "--unit", "author", "--domain", "restaurant-reviews", "--statements", "12")
    done = run_privcert(
        home.root, "audit", str(source), *asked, "--model", "keyword", "--epsilon", "2", "--theta", "0.05"
    )
    assert done.returncode == 0, done.stderr
    with closing(sqlite3.connect(home.private / "prefect" / "prefect.db")) as connection:
        shown = connection.execute("select key, type, data, description from artifact").fetchall()
    assert [(key, kind, Decimal(str(data).strip('"')), text) for key, kind, data, text in shown] == [
        ("score", "progress", 100, "score all")
    ]


def test_only_tens_of_percent_are_told_and_no_failure_of_the_server_stops_a_stage(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[float] = []

    def unreachable(*_: object, **__: object) -> None:
        raise ConnectionError

    monkeypatch.setattr(progress_artifact, "create_progress_artifact", lambda *_, **__: "artifact")
    monkeypatch.setattr(progress_artifact, "update_progress_artifact", lambda _, done: told.append(done))
    with progress_artifact.progress_shown("score", "all"):
        for share in (0.0, 0.04, 0.137, 0.139, 0.55, 0.5):
            report("score", share)
        report("ingest", 0.9)
    assert told == [10.0 * step for step in range(1, 11)]  # as many for every content
    for name in ("create_progress_artifact", "update_progress_artifact"):
        monkeypatch.setattr(progress_artifact, name, unreachable)
    with progress_artifact.progress_shown("score", "all"):
        report("score", 0.5)


def test_a_server_that_went_away_is_asked_once_and_without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    retries: list[int] = []

    def gone(*_: object, **__: object) -> None:
        retries.append(PREFECT_CLIENT_MAX_RETRIES.value())
        raise ConnectionError

    monkeypatch.setattr(progress_artifact, "create_progress_artifact", lambda *_, **__: "artifact")
    monkeypatch.setattr(progress_artifact, "update_progress_artifact", gone)
    with progress_artifact.progress_shown("score", "all"):
        for share in (0.1, 0.2, 0.9):
            report("score", share)
    assert retries == [0]
    assert PREFECT_CLIENT_MAX_RETRIES.value() > 0
