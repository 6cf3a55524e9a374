"""NFC and only that; what cannot be read."""

import unicodedata

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from schemas.records import RecordStatus
from tasks.corpora.texts import STATUSES, nfc, read_texts, status_names


@given(st.lists(st.none() | st.text(st.characters(exclude_categories=("Cs",)))))
def test_nfc_is_that_of_unicodedata_row_by_row(texts: list[str | None]) -> None:
    expected = [None if text is None else unicodedata.normalize("NFC", text) for text in texts]
    assert nfc(pa.array(texts, pa.large_string())).to_pylist() == expected


@given(st.lists(st.sampled_from(["ok", "", " \u00a0\u2003", None, "e\u0301" * 4, "x" * 5, "x" * 4, "\0", "\u200b"])))
def test_a_status_depends_on_its_text_only(texts: list[str | None]) -> None:
    read, codes = read_texts(pa.array(texts, pa.large_string()), pa.nulls(len(texts), pa.string()), max_characters=4)
    expected = {"": "empty", " \u00a0\u2003": "empty", None: "missing", "x" * 5: "too_long"}
    assert status_names(codes).to_pylist() == [expected.get(text, "ok") for text in texts]
    kept = [text if expected.get(text, "ok") == "ok" else None for text in texts]
    assert read.to_pylist() == [None if text is None else unicodedata.normalize("NFC", text) for text in kept]


def test_a_fault_found_while_reading_wins() -> None:
    faults = pa.array([None, "broken_encoding", "lone_surrogate", "not_text"], pa.string())
    _, codes = read_texts(pa.nulls(4, pa.large_string()), faults, 4)
    assert [STATUSES[code] for code in codes] == [
        RecordStatus.MISSING,
        RecordStatus.BROKEN_ENCODING,
        RecordStatus.LONE_SURROGATE,
        RecordStatus.NOT_TEXT,
    ]
