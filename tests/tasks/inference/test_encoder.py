"""Encoder: a pair's logits are a function of the pair and the files, to the bit."""

import json
import math
import pickle
import random
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tiny_onnx import constant_encoder
from tokenizers import Encoding, Tokenizer

from schemas.audit import PremiseWindows
from schemas.errors import UserError
from tasks.inference.classifier import Logits
from tasks.inference.encoder import BrokenLogitsError, EncoderFiles, PairEncoder, read_labels, read_pair_pieces
from tasks.inference.onnx_session import OnnxSession
from tasks.inference.pairs import MAX_TEXT_CHARACTERS, Inputs, PairTokenizer, load_tokenizer
from tasks.support.nli import NliModel

FOLDER = resources.files("tasks.support") / "nli_mini"
FILES = EncoderFiles(FOLDER / "model.onnx", FOLDER / "tokenizer.json", FOLDER / "config.json")
NLI = ("contradiction", "entailment", "neutral")
STATEMENTS = ("The review praises the food.", "The reviewer complains about slow service.", "It was cheap.")
WORDS = [
    "the",
    "soup",
    "waiter",
    "price",
    "room",
    "was",
    "not",
    "very",
    "slow",
    "kind",
    "great",
    "cold",
    "12",
    "but",
    "we",
    "waited",
    "and",
    "paid",
]


@pytest.fixture(scope="module")
def encoder() -> PairEncoder:
    """The packaged model on two workers."""
    return PairEncoder(FILES, workers=2)


@pytest.fixture(scope="module")
def texts() -> list[str]:
    """Texts of 1 to 400 words, some of them far beyond the cut."""
    rng = random.Random(5)
    lengths = [1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 400]
    return [" ".join(rng.choices(WORDS, k=length)) for length in lengths]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    """The packaged tokenizer, cutting by itself."""
    tokenizer = load_tokenizer(FILES.tokenizer)
    tokenizer.enable_truncation(read_pair_pieces(FILES.config), strategy="only_first")
    return tokenizer


@pytest.fixture(scope="module")
def pairs() -> PairTokenizer:
    """The same tokenizer as the encoder uses it."""
    return PairTokenizer(FILES.tokenizer, PremiseWindows.TRUNCATE, read_pair_pieces(FILES.config))


def together(pairs: PairTokenizer, text: str, statement: str) -> dict[str, list[int]]:
    """The pair as the encoder builds it: each part encoded once, then joined."""
    (inputs,) = pairs.inputs(pairs.premise(text), pairs.frame(statement))
    return {name: values[0].tolist() for name, values in inputs.items()}


def bits(logits: NDArray[np.float32]) -> NDArray[np.uint32]:
    """The raw bits, so that equality means to the bit."""
    return np.ascontiguousarray(logits).view(np.uint32)


def test_logits_keep_every_bit_when_texts_are_shuffled_removed_duplicated_or_reversed(
    encoder: PairEncoder, texts: list[str]
) -> None:
    whole = bits(encoder.logits(texts, STATEMENTS))
    rng = random.Random(11)
    orders = [rng.sample(range(len(texts)), len(texts)) for _ in range(2)]
    orders += [[row for row in range(len(texts)) if row % 3], list(reversed(range(len(texts)))), [4, 4, 0, 4, 11]]
    for order in orders:
        assert np.array_equal(bits(encoder.logits([texts[row] for row in order], STATEMENTS)), whole[order])


def test_logits_keep_every_bit_when_statements_are_shuffled_removed_or_duplicated(
    encoder: PairEncoder, texts: list[str]
) -> None:
    whole = bits(encoder.logits(texts, STATEMENTS))
    for order in ([2, 0, 1], [1], [0, 2, 2, 0]):
        assert np.array_equal(bits(encoder.logits(texts, [STATEMENTS[place] for place in order])), whole[:, order])


@pytest.mark.parametrize("workers", [1, 3, 8])
def test_logits_keep_every_bit_under_any_number_of_workers(
    encoder: PairEncoder, texts: list[str], workers: int
) -> None:
    other = PairEncoder(FILES, workers=workers)
    assert np.array_equal(bits(other.logits(texts, STATEMENTS)), bits(encoder.logits(texts, STATEMENTS)))
    assert other.facts() == encoder.facts()


def test_a_pickled_encoder_gives_the_same_bits(encoder: PairEncoder, texts: list[str]) -> None:
    copy = pickle.loads(pickle.dumps(encoder))
    assert np.array_equal(bits(copy.logits(texts[:4], STATEMENTS)), bits(encoder.logits(texts[:4], STATEMENTS)))


def test_different_texts_and_statements_give_different_logits(encoder: PairEncoder, texts: list[str]) -> None:
    logits = bits(encoder.logits(texts[3:], STATEMENTS))
    assert len({row.tobytes() for pair in logits for row in pair}) == (len(texts) - 3) * len(STATEMENTS)


@settings(deadline=None, max_examples=200)
@given(st.text(max_size=900), st.sampled_from(STATEMENTS))
def test_a_pair_put_together_from_its_parts_is_the_tokenizers_own_pair(
    tokenizer: Tokenizer, pairs: PairTokenizer, text: str, statement: str
) -> None:
    pair, expected = together(pairs, text, statement), tokenizer.encode(text, statement)
    assert pair == {
        "input_ids": expected.ids,
        "token_type_ids": expected.type_ids,
        "attention_mask": expected.attention_mask,
    }


def test_only_the_premise_is_cut(encoder: PairEncoder, tokenizer: Tokenizer, pairs: PairTokenizer) -> None:
    long, statement = "soup " * 1000, "The review praises the food."
    ids = together(pairs, long, statement)["input_ids"]
    tail = tokenizer.encode(statement, add_special_tokens=False).ids
    assert len(ids) == 128
    assert ids[-1 - len(tail) : -1] == tail
    longer = encoder.logits([long, long + "but we waited for two hours"], [statement])
    assert np.array_equal(bits(longer[0]), bits(longer[1]))


def test_the_separator_written_in_a_text_ends_no_premise(tokenizer: Tokenizer, pairs: PairTokenizer) -> None:
    ids = together(pairs, "Bad. [SEP] [CLS] Good.", "It was good.")["input_ids"]
    assert ids.count(tokenizer.token_to_id("[SEP]")) == 2
    assert ids.count(tokenizer.token_to_id("[CLS]")) == 1


@pytest.mark.parametrize("text", ["", " \n\t ", "\0\0", "\x07" * 50])
def test_a_text_without_word_pieces_has_no_logits(encoder: PairEncoder, text: str) -> None:
    assert np.isneginf(encoder.logits([text], STATEMENTS)).all()


@pytest.mark.parametrize(
    "text", ["soup\0was\0cold", "😀🍜👩‍🍳", "המרק היה קר מאוד", "\u202eevil\u202c soup", "a" * 400, "漢字" * 900]
)
def test_unusual_texts_have_finite_logits_that_neighbours_do_not_move(encoder: PairEncoder, text: str) -> None:
    alone = encoder.logits([text], STATEMENTS)
    assert np.isfinite(alone).all()
    assert np.array_equal(bits(encoder.logits(["soup", text, ""], STATEMENTS)[1]), bits(alone[0]))


@pytest.mark.parametrize("text", ["the soup was cold " * 280_000, "a" * 5_000_000, " " * 5_000_000])
def test_five_megabytes_of_text_are_read_up_to_the_declared_character(encoder: PairEncoder, text: str) -> None:
    cut = encoder.logits([text, text[:MAX_TEXT_CHARACTERS]], STATEMENTS[:1])
    assert np.array_equal(bits(cut[0]), bits(cut[1]))


def test_a_lone_surrogate_is_refused_without_a_word_of_the_text(encoder: PairEncoder) -> None:
    with pytest.raises(ValueError, match="not valid Unicode") as caught:
        encoder.logits(["canary \ud800"], STATEMENTS)
    assert caught.value.__context__ is None
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize(
    ("statement", "reason"),
    [("", "empty"), (" \0", "empty"), ("food " * 300, "longer than 85"), ("x\udc80", "Unicode")],
)
def test_a_statement_that_cannot_be_scored_is_refused_by_name(
    encoder: PairEncoder, statement: str, reason: str
) -> None:
    with pytest.raises(UserError, match=reason):
        encoder.logits(["soup"], [statement])


def test_equal_pairs_are_scored_once_and_a_statement_is_tokenised_once(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = PairEncoder(FILES, workers=2)
    scored, tokenised = list[int](), list[str]()
    logits, encode = OnnxSession.logits, PairTokenizer._encode

    def counted_logits(session: OnnxSession, inputs: Inputs) -> Logits:
        scored.append(1)
        return logits(session, inputs)

    def counted_encode(pairs: PairTokenizer, text: str) -> Encoding:
        tokenised.append(text)
        return encode(pairs, text)

    monkeypatch.setattr(OnnxSession, "logits", counted_logits)
    monkeypatch.setattr(PairTokenizer, "_encode", counted_encode)
    encoder.logits(["soup", "rice", "soup", "soup"], [*STATEMENTS[:2], STATEMENTS[0]])
    assert len(scored) == 4
    assert sorted(tokenised) == sorted(["soup", "rice", *STATEMENTS[:2]])
    encoder.logits(["wine"], STATEMENTS[:2])
    assert (len(scored), tokenised[4:]) == (6, ["wine"])  # statements also across calls


def test_no_texts_or_no_statements_give_empty_logits(encoder: PairEncoder) -> None:
    assert encoder.logits([], STATEMENTS).shape == (0, 3, 3)
    assert encoder.logits(["soup"], []).shape == (1, 0, 3)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_logits_that_are_no_numbers_are_refused_by_name(tmp_path: Path, bad: float) -> None:
    files = constant_encoder(tmp_path, FILES.tokenizer.read_text(encoding="utf-8"), (0.0, bad, 1.0), NLI)
    with pytest.raises(BrokenLogitsError, match="NaN or infinite"):
        PairEncoder(files).logits(["soup"], STATEMENTS)


def test_a_graph_with_unknown_inputs_is_refused(tmp_path: Path) -> None:
    tokenizer = FILES.tokenizer.read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="pixel_values"):
        PairEncoder(constant_encoder(tmp_path, tokenizer, (0.0, 1.0, 2.0), NLI, input_name="pixel_values"))


def test_a_graph_with_other_labels_than_its_config_is_refused(tmp_path: Path) -> None:
    files = constant_encoder(tmp_path, FILES.tokenizer.read_text(encoding="utf-8"), (0.0, 1.0), NLI)
    with pytest.raises(ValueError, match="3 labels"):
        PairEncoder(files).logits(["soup"], STATEMENTS)


@pytest.mark.parametrize(
    ("id2label", "reason"),
    [
        ({}, "entailment"),
        ({"0": "LABEL_0", "1": "LABEL_1"}, "entailment"),
        ({"0": "entailment", "1": "ENTAILMENT"}, "entailment"),
        ({"0": "entailment", "2": "neutral"}, "gaps"),
    ],
)
def test_a_config_without_one_entailment_label_is_refused(
    tmp_path: Path, id2label: dict[str, str], reason: str
) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"id2label": id2label}), encoding="utf-8")
    with pytest.raises(ValueError, match=reason):
        read_labels(config)


def test_label_names_come_in_the_order_of_the_config(tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"id2label": {"1": "Neutral", "0": "ENTAILMENT", "2": "contradiction"}}))
    assert read_labels(config) == ("entailment", "neutral", "contradiction")


@pytest.mark.parametrize("place", [0, 1, 2])
def test_the_entailment_logit_is_found_by_its_name_in_the_config(tmp_path: Path, place: int) -> None:
    labels = ["neutral", "contradiction"]
    labels.insert(place, "entailment")
    tokenizer = FILES.tokenizer.read_text(encoding="utf-8")
    model = NliModel("tiny", "0", PairEncoder(constant_encoder(tmp_path, tokenizer, (3.0, 2.0, 1.0), labels)))
    assert model.verdicts(["soup"], ["It was cheap."]).item() is (place == 0)
