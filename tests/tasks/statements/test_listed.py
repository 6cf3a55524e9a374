"""What is read out of a language model's answer: all that is there, and nothing left out in silence."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.statements.listed import Listed, read_list

TWO = '{"claims": ["The food was good.", "The soup was cold."]}'
TEXTS = ("The food was good.", "The soup was cold.")

WHOLE = {
    "bare": TWO,
    "in a code fence": f"```json\n{TWO}\n```",
    "after words with braces": f"Sure {{see}} [1], here is {{'claims'}}:\n{TWO}\nI hope that helps! [2]",
    "spread over lines": json.dumps(json.loads(TWO), indent=4),
    "inside another object": f'{{"answer": {TWO}, "n": 2}}',
    "two objects": '{"claims": ["The food was good."]} {"claims": ["The soup was cold."]}',
    "one key twice": '{"claims": ["The food was good."], "claims": ["The soup was cold."]}',
    "a list without a key": '["The food was good.", "The soup was cold."]',
    "a list without a key after references": 'As in [1] and [2, 3]: ["The food was good.", "The soup was cold."]',
    "a comma too many": '{"claims": ["The food was good.", "The soup was cold.",]}',
}


@pytest.mark.parametrize("kind", WHOLE)
def test_the_items_are_found(kind: str) -> None:
    assert read_list(WHOLE[kind], "claims") == Listed(TEXTS, has_list=True)


BROKEN = {
    "in a text": ('{"claims": ["The food was good.", "The soup w', TEXTS[:1], '"The soup w'),
    "after a comma": ('{"claims": ["The food was good.",', TEXTS[:1], ""),
    "before any item": ('{"claims": [', (), ""),
    "a list without a key": ('["The food was good.", "The so', TEXTS[:1], '"The so'),
    "in the second object": (f'{TWO} {{"claims": ["We wai', TEXTS, '"We wai'),
    "no comma": ('{"claims": ["The food was good." "The soup was cold."]}', TEXTS[:1], '"The soup was cold."]}'),
    "a quote within": ('{"claims": ["The food was good.", "The "soup" was cold."]}', (*TEXTS[:1], "The "),
                       'soup" was cold."]}'),
    "a second object after a broken one": (f'{{"claims": [oops]}} {TWO}', (), f"oops]}} {TWO}"),
    "a number of too many digits": ('{"claims": ["The food was good.", ' + "9" * 5000, TEXTS[:1], "9" * 5000),
}  # fmt: skip


@pytest.mark.parametrize("kind", BROKEN)
def test_what_follows_the_last_whole_item_is_kept_as_the_rest(kind: str) -> None:
    answer, texts, rest = BROKEN[kind]
    assert read_list(answer, "claims") == Listed(texts, rest=rest, has_list=True)


def test_items_that_are_no_texts_are_told_apart() -> None:
    answer = '{"claims": ["a", 1, null, true, ["b"], {"claim": "c"}, -1.5e3, NaN, "d"]}'
    found = read_list(answer, "claims")
    assert found.texts == ("a", "d")
    assert found.odd == ("1", "null", "true", '["b"]', '{"claim": "c"}', "-1.5e3", "NaN")


@pytest.mark.parametrize("answer", ["", "No claims.", "{}", '{"statements": "x"}', '{"claims": {}}', "[1]", "[" * 9999])
def test_an_answer_without_a_list_has_none(answer: str) -> None:
    assert not read_list(answer, "claims").has_list


def test_an_empty_list_is_one() -> None:
    assert read_list('{"claims": []}', "claims") == read_list("```\n[]\n```", "claims") == Listed(has_list=True)


def test_odd_characters_come_through() -> None:
    texts = ["a\0b", "\x1b[0m", "🍜🙂", "الطعام لذيذ جدا", "\ud800", "line\nend", 'a "claims": [ b', "‮x"]
    assert read_list(json.dumps({"claims": texts}), "claims").texts == tuple(texts)
    assert read_list('{"claims": ["a\0b\n\tc"]}', "claims").texts == ("a\0b\n\tc",)  # not escaped, as it should be


def test_ten_thousand_items_and_deep_nests_are_read() -> None:
    many = [f"Statement number {number}." for number in range(10_000)]
    whole = json.dumps({"claims": many})
    assert read_list(whole, "claims").texts == tuple(many)
    assert read_list(whole[:-5], "claims").texts == tuple(many[:-1])
    deep = '{"claims": ["a", ' + "[" * 100_000
    assert read_list(deep, "claims").texts == ("a",)
    assert len(read_list(deep, "claims").rest) == 100_000


@given(st.lists(st.text()), st.booleans(), st.integers(0, 400))
def test_every_beginning_of_an_answer_gives_a_beginning_of_its_items(
    texts: list[str], ascii_only: bool, cut: int
) -> None:
    answer = json.dumps({"claims": texts}, ensure_ascii=ascii_only)
    assert read_list(answer, "claims").texts == tuple(texts)
    some = read_list(answer[:cut], "claims").texts
    assert some == tuple(texts[: len(some)])


@given(st.text(alphabet='{}[]",:\\ claims\n1'))
def test_no_answer_makes_it_fail(answer: str) -> None:
    assert isinstance(read_list(answer, "claims").texts, tuple)  # and nothing was raised
