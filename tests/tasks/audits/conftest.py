"""What backfills without an orchestrator are tried on."""

import datetime
from pathlib import Path

import pytest
from backfills import write_dated

from tasks.audits import backfill_survey


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Four quarters of reviews."""
    return write_dated(tmp_path / "reviews.parquet")


@pytest.fixture
def autumn(monkeypatch: pytest.MonkeyPatch) -> None:
    """The third quarter of 2026 is not over."""
    monkeypatch.setattr(backfill_survey, "today", lambda: datetime.date(2026, 9, 30))
