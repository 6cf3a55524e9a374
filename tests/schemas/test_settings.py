"""Settings of an audit that contradict each other are refused by the name of the setting."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from schemas.audit import AuditSettings, ProposalSettings
from schemas.building import build, read_settings_file
from schemas.errors import UserError

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
    "epsilon of minus zero": ({"epsilon": Decimal("-0.0")}, "epsilon"),
    "negative epsilon": ({"epsilon": Decimal("-0.1")}, "epsilon"),
    "epsilon of a thousand": ({"epsilon": Decimal(1000)}, "epsilon"),
    "epsilon that is no number": ({"epsilon": Decimal("NaN")}, "epsilon"),
    "epsilon that signals": ({"epsilon": Decimal("sNaN")}, "epsilon"),
    "infinite epsilon": ({"epsilon": Decimal("Infinity")}, "epsilon"),
    "epsilon as NaN of doubles": ({"epsilon": float("nan")}, "epsilon"),
    "epsilon as a boolean": ({"epsilon": True}, "epsilon"),
    "epsilon as text": ({"epsilon": "2"}, "epsilon"),
    "epsilon as a list": ({"epsilon": [2]}, "epsilon"),
    "epsilon with a huge exponent": ({"epsilon": Decimal("1e-999999")}, "epsilon"),
    "epsilon of 61 digits": ({"epsilon": Decimal("0." + "1" * 61)}, "epsilon"),
    "epsilon missing": ({"epsilon": None}, "epsilon"),
    "beta of zero": ({"beta": Decimal(0)}, "beta"),
    "beta as text": ({"beta": "0.05"}, "beta"),
    "beta as a boolean": ({"beta": False}, "beta"),
    "beta that is no number": ({"beta": Decimal("NaN")}, "beta"),
    "theta below zero": ({"theta": Decimal("-0.05")}, "theta"),
    "theta just above one": ({"theta": Decimal("1.0000001")}, "theta"),
    "theta as a float": ({"theta": 0.05}, "theta"),
    "theta as a boolean": ({"theta": True}, "theta"),
    "theta that is no number": ({"theta": Decimal("NaN")}, "theta"),
    "edition as a boolean": ({"edition": True}, "edition"),
    "edition as text": ({"edition": "2"}, "edition"),
    "an edition beyond a million": ({"edition": 1_000_001}, "edition"),
    "statements as text": ({"statements": "20"}, "statements"),
    "statements as a boolean": ({"statements": True}, "statements"),
    "too many statements": ({"statements": 100_001}, "statements"),
    "negative statements": ({"statements": -5}, "statements"),
    "a seed beyond 63 bits": ({"seed": 2**63}, "seed"),
    "a seed as a decimal": ({"seed": Decimal(1)}, "seed"),
    "no characters": ({"max_characters": 0}, "max_characters"),
    "characters as a float": ({"max_characters": 1e3}, "max_characters"),
    "an account with a capital": ({"account": "Reviews"}, "account"),
    "an account of 64 letters": ({"account": "a" * 64}, "account"),
    "an empty account": ({"account": ""}, "account"),
    "unknown unit support": ({"unit_support": "most"}, "unit_support"),
    "unknown format": ({"format": "xml"}, "format"),
    "unknown time grid": ({"partition_column": "day", "time_grid": "week"}, "time_grid"),
    "an empty partition": ({"partition_column": "group", "partitions": ("",)}, "partitions"),
    "no quote": ({"quote": ""}, "quote"),
    "a namespace of 64 letters": ({"unit_namespace": "a" * 64}, "unit_namespace"),
    "replace as a word": ({"replace": "perhaps"}, "replace"),
    "beta of one half": ({"beta": Decimal("0.5")}, "beta"),
    "theta above one": ({"theta": Decimal("1.1")}, "theta"),
    "theta missing": ({"theta": None}, "theta"),
    "unknown scope": ({"scope": "all"}, "scope"),
    "edition of zero": ({"edition": 0}, "edition"),
    "no statements": ({"statements": 0}, "statements"),
    "delta of zero": ({"delta": Decimal(0)}, "delta"),
    "delta of one": ({"delta": Decimal(1)}, "delta"),
    "delta as a float": ({"delta": 1e-5}, "delta"),
    "delta that is no number": ({"delta": Decimal("NaN")}, "delta"),
    "no contributions": ({"contributions": 0}, "contributions"),
    "contributions as a boolean": ({"contributions": True}, "contributions"),
    "nothing selected": ({"selected": 0}, "selected"),
    "selected as a decimal": ({"selected": Decimal(3)}, "selected"),
    "a selection share of one": ({"selection_share": Decimal(1)}, "selection_share"),
    "a selection share as text": ({"selection_share": "0.5"}, "selection_share"),
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
    "delimiter equal to the quote": ({"quote": ","}, "delimiter"),
    "line end as delimiter": ({"delimiter": "\n"}, "delimiter"),
    "unit called record": ({"unit": "record"}, "unit: the name `record` means that every record is a unit"),
    "share above one": ({"max_unreadable": Decimal("1.5")}, "max_unreadable"),
    "share as text": ({"max_unreadable": "0.05"}, "max_unreadable"),
    "share as a float": ({"max_unreadable": 0.05}, "max_unreadable"),
    "share that is no number": ({"max_unreadable": Decimal("NaN")}, "max_unreadable"),
    "share as a boolean": ({"max_unreadable": True}, "max_unreadable"),
    "share below zero": ({"max_unreadable": Decimal("-0.01")}, "max_unreadable"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_wrong_settings_are_refused_by_name(kind: str) -> None:
    wrong, says = REFUSED[kind]
    with pytest.raises(ValidationError, match=says):
        AuditSettings(**{**RIGHT, **wrong})


@pytest.mark.parametrize("kind", REFUSED)
def test_the_user_reads_one_line_that_names_the_setting(kind: str) -> None:
    wrong, says = REFUSED[kind]
    with pytest.raises(UserError, match=says) as caught:
        build(AuditSettings, {**RIGHT, **wrong})
    said = str(caught.value)
    assert "\n" not in said and "Traceback" not in said and "pydantic" not in said
    assert caught.value.__cause__ is None and caught.value.__suppress_context__


def test_every_wrong_setting_is_named_at_once() -> None:
    with pytest.raises(UserError) as caught:
        build(AuditSettings, {**RIGHT, "epsilon": "2", "theta": Decimal(2), "colour": "red"})
    assert [part.split(":")[0] for part in str(caught.value).split("; ")] == ["epsilon", "theta", "colour"]


@pytest.mark.parametrize("epsilon", ["5e-324", "0.1", "999.999", "0." + "1" * 60, "1e-400"])
def test_an_odd_but_exact_epsilon_is_taken_as_it_is(epsilon: str) -> None:
    assert AuditSettings(**{**RIGHT, "epsilon": Decimal(epsilon)}).epsilon == Decimal(epsilon)


@pytest.mark.parametrize("share", ["0", "0.05", "0.123456789", "1"])
def test_the_share_of_unreadable_records_is_written_like_any_number(tmp_path: Path, share: str) -> None:
    (tmp_path / "audit.yaml").write_text(f"max_unreadable: {share}\n")
    settings = build(AuditSettings, RIGHT, read_settings_file(tmp_path / "audit.yaml"))
    assert settings.max_unreadable == Decimal(share)


def test_settings_cannot_be_changed_afterwards() -> None:
    settings = ProposalSettings(domain="court-cases")
    with pytest.raises(ValidationError, match="frozen"):
        settings.seed = 1  # type: ignore[misc]
