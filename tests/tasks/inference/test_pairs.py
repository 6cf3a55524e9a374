"""Pairs: a frame around a premise is the tokenizer's own pair; windows hold every piece, in order, whole runs of it."""

from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from schemas.audit import PremiseWindows
from tasks.inference.pairs import (
    MAX_PAIR_TOKENS,
    MAX_STATEMENT_TOKENS,
    MAX_TEXT_CHARACTERS,
    MAX_WINDOWED_CHARACTERS,
    WINDOW_OVERLAP,
    PairTokenizer,
    window_starts,
)

MINI = resources.files("tasks.support") / "nli_mini" / "tokenizer.json"
SPECIAL = [("<cls>", 1), ("<sep>", 2)]
VOCABULARY = {"<unk>": 0, "<cls>": 1, "<sep>": 2} | {word: 3 + place for place, word in enumerate("abcdefgh")}
PROCESSORS = {
    "bert": processors.BertProcessing(("<sep>", 2), ("<cls>", 1)),
    "roberta": processors.RobertaProcessing(("<sep>", 2), ("<cls>", 1)),
    "deberta": processors.TemplateProcessing(
        single="<cls> $A <sep>", pair="<cls> $A <sep> $B:1 <sep>:1", special_tokens=SPECIAL
    ),
    "no start": processors.TemplateProcessing(single="$A <sep>", pair="$A <sep> $B <sep>", special_tokens=SPECIAL),
    "types from one": processors.TemplateProcessing(
        single="<cls> $A", pair="<cls>:2 $A:1 <sep>:1 <sep>:0 $B:0", special_tokens=SPECIAL
    ),
}


def write_tokenizer(folder: Path, processor: object | None) -> Path:
    """A word-level tokenizer with this post-processor."""
    tokenizer = Tokenizer(models.WordLevel(VOCABULARY, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    if processor is not None:
        tokenizer.post_processor = processor
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder / "tokenizer.json"


@pytest.mark.parametrize("kind", PROCESSORS)
@pytest.mark.parametrize("statement", ["b", "c d", "a", "d " * MAX_STATEMENT_TOKENS])
def test_a_pair_is_what_the_checkpoints_tokenizer_makes_of_it(tmp_path: Path, kind: str, statement: str) -> None:
    path = write_tokenizer(tmp_path, PROCESSORS[kind])
    whole = Tokenizer.from_file(str(path))
    whole.enable_truncation(MAX_PAIR_TOKENS, strategy="only_first")
    pairs = PairTokenizer(path, PremiseWindows.TRUNCATE)
    for text in ("a", "a b", "a c " * 400):
        (inputs,) = pairs.inputs(pairs.premise(text), pairs.frame(statement))
        expected = whole.encode(text, statement)
        assert inputs["input_ids"].tolist() == [expected.ids]
        assert inputs["token_type_ids"].tolist() == [expected.type_ids]
        assert inputs["attention_mask"].tolist() == [expected.attention_mask]


def test_a_tokenizer_without_special_tokens_around_a_pair_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no special tokens"):
        PairTokenizer(write_tokenizer(tmp_path, None), PremiseWindows.TRUNCATE)


def test_a_tokenizer_that_puts_the_statement_first_is_refused(tmp_path: Path) -> None:
    turned = processors.TemplateProcessing(single="$A <sep>", pair="$B <sep> $A <sep>", special_tokens=SPECIAL)
    with pytest.raises(ValueError, match="the record before the statement"):
        PairTokenizer(write_tokenizer(tmp_path, turned), PremiseWindows.TRUNCATE)


@given(st.integers(0, 5000), st.integers(WINDOW_OVERLAP + 1, MAX_PAIR_TOKENS))
def test_windows_hold_every_piece_and_the_last_one_ends_with_the_text(pieces: int, room: int) -> None:
    starts = window_starts(pieces, room)
    ends = [min(start + room, pieces) for start in starts]
    assert starts[0] == 0
    assert ends[-1] == pieces
    assert starts == sorted(set(starts))
    assert len(starts) == 1 or all(end - start == room for start, end in zip(starts, ends, strict=True))
    assert all(after <= end - WINDOW_OVERLAP for after, end in zip(starts[1:], ends[:-1], strict=True))


@given(st.integers(1, 3000), st.integers(WINDOW_OVERLAP + 1, MAX_PAIR_TOKENS), st.data())
def test_evidence_of_65_pieces_in_a_row_lies_whole_in_some_window(pieces: int, room: int, data: st.DataObject) -> None:
    length = data.draw(st.integers(1, min(WINDOW_OVERLAP + 1, pieces)))
    first = data.draw(st.integers(0, pieces - length))
    assert any(start <= first and first + length <= start + room for start in window_starts(pieces, room))


def test_windows_are_cut_out_of_the_premise_and_the_rest_of_the_pair_stays() -> None:
    windows = PairTokenizer(MINI, PremiseWindows.MAX)
    premise, frame = windows.premise("soup bread wine salt " * 300), windows.frame("The food was good.")
    inputs = windows.inputs(premise, frame)
    starts = window_starts(len(premise), frame.room)
    assert len(premise) == 1200
    assert len(inputs) == len(starts) == 4
    before, after = frame.before.shape[1], frame.after.shape[1]
    for start, pair in zip(starts, inputs, strict=True):
        ids = pair["input_ids"][0]
        assert len(ids) == MAX_PAIR_TOKENS
        assert np.array_equal(ids[before : before + frame.room], premise[start : start + frame.room])
        assert np.array_equal(ids[before + frame.room :], frame.after[0])
    assert after > before


@pytest.mark.parametrize("statement", ["It was cheap.", "food " * MAX_STATEMENT_TOKENS])
@pytest.mark.parametrize("words", [1, 100, 124, 125, 374, 375])
def test_the_first_window_is_the_cut_text_and_the_only_one_where_it_fits(words: int, statement: str) -> None:
    cut, windowed = (PairTokenizer(MINI, setting) for setting in PremiseWindows)
    frame = cut.frame(statement)
    one, several = (pairs.inputs(pairs.premise("soup " * words), frame) for pairs in (cut, windowed))
    assert (len(several) == 1) == (words <= frame.room)
    for name, values in one[0].items():
        assert np.array_equal(values, several[0][name])


def test_what_is_read_of_a_text_is_declared_and_bounded() -> None:
    for setting, characters in (
        (PremiseWindows.TRUNCATE, MAX_TEXT_CHARACTERS),
        (PremiseWindows.MAX, MAX_WINDOWED_CHARACTERS),
    ):
        pairs = PairTokenizer(MINI, setting)
        assert f"{characters} characters" in pairs.facts()["truncation"]
        beyond = "\n" * characters
        assert len(pairs.premise(beyond + "soup")) == 0
        assert len(pairs.premise(beyond[4:] + "soup")) == 1
    assert f"{WINDOW_OVERLAP} pieces before the end" in pairs.facts()["truncation"]
