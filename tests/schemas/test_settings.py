"""Settings of an audit that contradict each other are refused by the name of the setting."""

from decimal import Decimal
from typing import Any

import pytest
from pydantic import ValidationError

from schemas.audit import AuditSettings, ProposalSettings

RIGHT: dict[str, Any] = {
    "source": "reviews.parquet",
    "corpus": "reviews",
    "domain": "restaurant-reviews",
    "epsilon": Decimal(2),
    "theta": Decimal("0.05"),
}
TIME = {"partition_column": "day", "time_grid": "month"}


def test_right_settings_are_taken_as_they_are() -> None:
    settings = AuditSettings(**RIGHT)
    assert settings.epsilon == Decimal(2)
    assert settings.account_name == "reviews"
    assert not settings.units_recur


def test_a_time_grid_lets_units_recur() -> None:
    assert AuditSettings(**RIGHT, **TIME, first_period="2026-01", last_period="2026-03").units_recur


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "unknown setting": ({"colour": "red"}, "colour"),
    "no source": ({"source": ""}, "source"),
    "corpus with a space": ({"corpus": "my reviews"}, "corpus"),
    "corpus with a line end": ({"corpus": "reviews\n"}, "corpus"),
    "corpus that goes up": ({"corpus": "../x"}, "corpus"),
    "epsilon as a float": ({"epsilon": 0.1}, "epsilon"),
    "epsilon of zero": ({"epsilon": Decimal(0)}, "epsilon"),
    "beta of one half": ({"beta": Decimal("0.5")}, "beta"),
    "theta above one": ({"theta": Decimal("1.1")}, "theta"),
    "theta missing": ({"theta": None}, "theta"),
    "unknown scope": ({"scope": "all"}, "scope"),
    "edition of zero": ({"edition": 0}, "edition"),
    "no statements": ({"statements": 0}, "statements"),
    "statements as a float": ({"statements": 20.0}, "statements"),
    "negative seed": ({"seed": -1}, "seed"),
    "neither domain nor file": ({"domain": None}, "domain"),
    "both domain and file": ({"statements_file": "mine.txt", "declare_blind": True}, "domain"),
    "file that is not declared": ({"domain": None, "statements_file": "mine.txt"}, "declare_blind"),
    "partitions without a column": ({"partitions": ("a", "b")}, "partition_column"),
    "column without partitions": ({"partition_column": "group"}, "partitions"),
    "list and grid": ({**TIME, "partitions": ("a",)}, "partitions"),
    "grid without its ends": (TIME, "first_period"),
    "partition twice": ({"partition_column": "group", "partitions": ("a", "a")}, "twice"),
    "partition called all": ({"partition_column": "group", "partitions": ("all",)}, "partitions"),
    "padded partition": ({"partition_column": "group", "partitions": (" a",)}, "partitions"),
    "unknown unit rule": ({"unit_rule": "fuzzy"}, "unit_rule"),
    "unknown visibility": ({"visibility": "secret"}, "visibility"),
    "delimiter of two characters": ({"delimiter": "||"}, "delimiter"),
    "share above one": ({"max_unreadable": "1.5"}, "max_unreadable"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_wrong_settings_are_refused_by_name(kind: str) -> None:
    wrong, says = REFUSED[kind]
    with pytest.raises(ValidationError, match=says):
        AuditSettings(**{**RIGHT, **wrong})


def test_settings_cannot_be_changed_afterwards() -> None:
    settings = ProposalSettings(domain="court-cases")
    with pytest.raises(ValidationError, match="frozen"):
        settings.seed = 1  # type: ignore[misc]
