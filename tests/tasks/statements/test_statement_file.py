"""A statement file: what is read, what is passed over, and what is refused with its line."""

from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.errors import UserError
from tasks.statements.statement_file import MAX_STATEMENTS, parse_statements, propose_from_file


def texts(content: bytes) -> list[str]:
    return [statement.text for statement in parse_statements(content)]


def test_comments_empty_lines_and_duplicates_are_passed_over_in_file_order() -> None:
    content = b"# mine\n\nThe food is good.\n   \nThe food is bad.\r\n  # again\nThe food is good.  \n"
    assert texts(content) == ["The food is good.", "The food is bad."]


def test_two_unicode_forms_of_one_statement_are_one() -> None:
    assert texts("caf\u00e9 noir\ncafe\u0301 noir\n".encode()) == ["caf\u00e9 noir"]


def test_a_byte_order_mark_and_a_missing_last_line_end_do_no_harm() -> None:
    assert texts(b"\xef\xbb\xbfOne statement.\nTwo statements.") == ["One statement.", "Two statements."]


def test_any_script_can_be_written() -> None:
    lines = ["المطعم جيد.", "レストランが良い。", "खाना अच्छा है।", "Bon appétit 👍🏽"]
    assert texts("\n".join(lines).encode()) == lines


def test_a_line_may_end_in_a_tab_and_a_weight() -> None:
    content = b"The food is good.\t2.5\r\nThe food is bad.\t\nThe staff are friendly.\nThe food is good.\t2.50\n"
    weights = {statement.text: statement.weight for statement in parse_statements(content)}
    assert weights == {"The food is good.": Decimal("2.5"), "The food is bad.": 1, "The staff are friendly.": 1}


REFUSED = {
    "not UTF-8": (b"Good one.\ncaf\xe9 noir\n", "line 2: is not UTF-8"),
    "surrogate in bytes": (b"Good one.\n\nx \xed\xa0\x80 y\n", "line 3: is not UTF-8"),
    "NUL": (b"Good\0one.\n", r"line 1: has the control character U\+0000"),
    "tab inside": (b"Good\tone.\n", "line 1: weight: what follows a TAB must be a number"),
    "two tabs inside": (b"Good\tone.\t2\n", r"line 1: has the control character U\+0009"),
    "a weight of zero": (b"Good one.\t0\n", "line 1: weight: must be between 0.000001 and 1000000"),
    "a negative weight": (b"Good one.\t-1\n", "line 1: weight: must be between 0.000001 and 1000000"),
    "a weight that is no number": (b"Good one.\tNaN\n", "line 1: weight: must be a number, not NaN"),
    "a weight in other digits": ("Good one.\t\u0665\n".encode(), "line 1: weight: what follows a TAB"),
    "a weight with an underscore": (b"Good one.\t1_0\n", "line 1: weight: what follows a TAB"),
    "a weight with a sign": (b"Good one.\t+1\n", "line 1: weight: what follows a TAB"),
    "a weight without digits before its point": (b"Good one.\t.5\n", "line 1: weight: what follows a TAB"),
    "a weight without digits behind its point": (b"Good one.\t1.\n", "line 1: weight: what follows a TAB"),
    "a weight after a blank of another kind": ("Good one.\t\u20032\n".encode(), "line 1: weight: what follows a TAB"),
    "too large a weight": (b"Good one.\t1e7\n", "line 1: weight: must be between"),
    "a weight with too many digits": (b"Good one.\t1.000000000001\n", "weight: must have at most 12 significant"),
    "two weights": (b"Good one.\nGood one.\t2\n", "a statement is written twice with different weights"),
    "a weight alone": (b"\t2\n", "line 1: must have 3 to 500 characters"),
    "escape": (b"\x1b[31mred one.\n", r"line 1: has the control character U\+001B"),
    "carriage return inside": (b"Good\rone.\n", r"line 1: has the control character U\+000D"),
    "line separator": ("Good\u2028one.\n".encode(), r"line 1: has the control character U\+2028"),
    "direction override": ("Good \u202eone.\n".encode(), r"line 1: has the direction override U\+202E"),
    "too short": (b"Good one.\nno\n", "line 2: must have 3 to 500 characters"),
    "too long": (b"x" * 501, "line 1: must have 3 to 500 characters"),
    "nothing": (b"", "has no statement"),
    "comments only": (b"# one\n# two\n", "has no statement"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_wrong_file_is_refused_with_its_line(kind: str) -> None:
    content, says = REFUSED[kind]
    with pytest.raises(UserError, match=says) as refusal:
        parse_statements(content)
    assert "Good" not in str(refusal.value)


def test_500_characters_are_counted_not_bytes() -> None:
    assert texts(("é" * 500).encode()) == ["é" * 500]


def test_more_statements_than_an_audit_may_ask_are_refused() -> None:
    content = "\n".join(f"Statement {number}." for number in range(MAX_STATEMENTS + 1)).encode()
    with pytest.raises(UserError, match="more than 100000"):
        parse_statements(content)


@pytest.mark.parametrize("name", ["missing.txt", "nul\0", "."])
def test_a_path_that_cannot_be_read_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match="statements_file: cannot read"):
        propose_from_file(f"{tmp_path}/{name}")


@settings(deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused_and_nothing_else(content: bytes) -> None:
    try:
        statements = parse_statements(content)
    except UserError as refusal:
        assert len(str(refusal).splitlines()) == 1
    else:
        assert all(3 <= len(statement.text) <= 500 for statement in statements)
