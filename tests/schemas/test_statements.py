"""A statement's identity is its NFC text, and asking twice is asking once."""

import hashlib
import unicodedata

from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.statements import Statement, distinct, statement_id

texts = st.text(st.characters(exclude_categories=("Cs",)), min_size=1)


@settings(deadline=None)
@given(texts)
def test_all_unicode_forms_of_a_text_have_one_id(text: str) -> None:
    assert statement_id(unicodedata.normalize("NFD", text)) == statement_id(unicodedata.normalize("NFC", text))
    assert Statement.of(f"  {text}\n") == Statement.of(text)


def test_an_id_is_the_first_half_of_a_sha256() -> None:
    assert statement_id("The food is good.") == hashlib.sha256(b"The food is good.").hexdigest()[:32]


@settings(deadline=None)
@given(st.lists(texts))
def test_distinct_keeps_the_first_of_each_in_order(written: list[str]) -> None:
    kept = distinct(Statement.of(text) for text in written)
    ids = [statement.statement_id for statement in kept]
    assert ids == list(dict.fromkeys(Statement.of(text).statement_id for text in written))
