"""An encoder that reads windows: evidence anywhere counts, the best window decides, and neighbours move no bit."""

import json
import pickle
import random
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tiny_onnx import INT32, INT64, constant_model, counting_model, model_with_weights_elsewhere, write_encoder

from schemas.audit import PremiseWindows
from schemas.errors import UserError
from tasks.inference.encoder import EncoderFiles, PairEncoder, margin, read_labels, read_pair_pieces
from tasks.inference.pairs import PairTokenizer

FOLDER = resources.files("tasks.support") / "nli_mini"
MINI = EncoderFiles(FOLDER / "model.onnx", FOLDER / "tokenizer.json", FOLDER / "config.json")
TOKENIZER = MINI.tokenizer.read_text(encoding="utf-8")
PIECE = json.loads(TOKENIZER)["model"]["vocab"]["harbour"]
NLI = {"id2label": {"0": "entailment", "1": "neutral", "2": "contradiction"}}
STATEMENT = "There is water near the house."
FILLER = ["soup", "bread", "wine", "salt", "fish", "rice"]


def counting_encoder(folder: Path, setting: PremiseWindows, element: int = INT64) -> PairEncoder:
    """Entailed by 2 per "harbour" in what is read, minus 1: logits (2 c - 1, 0, -9) for c of them."""
    model = counting_model(PIECE, (2.0, 0.0, 0.0), (-1.0, 0.0, -9.0), element)
    return PairEncoder(write_encoder(folder, model, TOKENIZER, NLI), 2, setting)


def words(count: int, seed: int = 0) -> list[str]:
    """So many words, each one word piece, none of them the evidence."""
    return random.Random(seed).choices(FILLER, k=count)


def bits(logits: NDArray[np.float32]) -> NDArray[np.uint32]:
    """The raw bits, so that equality means to the bit."""
    return np.ascontiguousarray(logits).view(np.uint32)


@pytest.mark.parametrize("place", [0, 300, 374, 375, 5_000, 9_700, 9_999])
def test_one_word_of_evidence_in_10_000_is_found_wherever_it_stands(tmp_path: Path, place: int) -> None:
    text = words(10_000)
    text[place] = "harbour"
    found = counting_encoder(tmp_path, PremiseWindows.MAX).logits([" ".join(text)], [STATEMENT])
    assert found[0, 0].tolist() == [1.0, 0.0, -9.0]


def test_without_windows_only_evidence_in_the_first_pieces_is_found(tmp_path: Path) -> None:
    encoder = counting_encoder(tmp_path, PremiseWindows.TRUNCATE)
    room = encoder._pairs.frame(STATEMENT).room
    for place, is_read in ((0, True), (room - 1, True), (room, False), (9_999, False)):
        text = words(10_000)
        text[place] = "harbour"
        leads = encoder.logits([" ".join(text)], [STATEMENT])[0, 0, 0] > 0
        assert leads == is_read


def test_the_window_where_entailment_leads_most_gives_the_logits(tmp_path: Path) -> None:
    text = words(3_000)
    for place in (10, 1_500, 1_501, 1_502, 2_990):
        text[place] = "harbour"
    found = counting_encoder(tmp_path, PremiseWindows.MAX).logits([" ".join(text), " ".join(words(3_000))], [STATEMENT])
    assert found[:, 0, 0].tolist() == [5.0, -1.0]  # three of the words together, and none


def test_a_margin_is_positive_exactly_where_entailment_is_strictly_above_every_other() -> None:
    logits = np.array([[1, 1, 0], [0.5, 1, 1], [0, 1, 0.5], [2e-45, 3e-45, 0]], dtype=np.float32)
    assert (margin(logits, 1) > 0).tolist() == [False, False, True, True]


def test_the_packaged_model_in_windows_says_of_short_texts_what_it_says_without() -> None:
    texts = [" ".join(words(count, seed=count)) for count in (1, 7, 40, 100)]
    plain, windowed = (PairEncoder(MINI, 2, setting).logits(texts, [STATEMENT]) for setting in PremiseWindows)
    assert np.array_equal(bits(plain), bits(windowed))


def test_logits_of_windows_keep_every_bit_whatever_else_is_asked() -> None:
    encoder = PairEncoder(MINI, 2, PremiseWindows.MAX)
    texts = [" ".join(words(count, seed=count)) for count in (600, 3, 900, 374, 376)]
    statements = [STATEMENT, "It was cheap."]
    whole = bits(encoder.logits(texts, statements))
    for order in ([4, 2, 0, 3, 1], [1, 2], [3, 3, 4]):
        assert np.array_equal(bits(encoder.logits([texts[row] for row in order], statements[::-1])), whole[order, ::-1])
    copy = pickle.loads(pickle.dumps(encoder))
    assert copy.facts() == encoder.facts()
    other = PairEncoder(MINI, 1, PremiseWindows.MAX)
    assert np.array_equal(bits(other.logits(texts[2:3], statements)), whole[2:3])
    assert np.array_equal(bits(copy.logits(texts[2:3], statements)), whole[2:3])


def test_the_setting_is_in_the_facts_and_the_window_declared() -> None:
    plain, windowed = (PairEncoder(MINI, 1, setting).facts() for setting in PremiseWindows)
    assert {name for name in plain if plain[name] != windowed[name]} == {"truncation", "batch_shape"}
    assert all(text in windowed["truncation"] for text in ("windows", "128 pieces", "32 pieces"))


def test_whole_numbers_of_32_bits_are_taken_too(tmp_path: Path) -> None:
    text = " ".join([*words(500), "harbour"])
    found = counting_encoder(tmp_path, PremiseWindows.MAX, INT32).logits([text], [STATEMENT])
    assert found[0, 0].tolist() == [1.0, 0.0, -9.0]


def test_a_graph_of_one_fixed_length_is_refused(tmp_path: Path) -> None:
    model = counting_model(PIECE, (2.0, 0.0, 0.0), (0.0, 0.0, 0.0), pieces=160)
    with pytest.raises(ValueError, match="any length"):
        PairEncoder(write_encoder(tmp_path, model, TOKENIZER, NLI))


def test_weights_in_a_second_file_are_refused_since_no_digest_covers_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = write_encoder(tmp_path, model_with_weights_elsewhere("weights.bin"), TOKENIZER, NLI)
    (tmp_path / "weights.bin").write_bytes(np.array([1, 2, 3], np.float32).tobytes())
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="second file"):
        PairEncoder(files)


def test_a_model_with_too_few_positions_is_refused(tmp_path: Path) -> None:
    files = write_encoder(tmp_path, constant_model((1.0, 2.0)), TOKENIZER, {"max_position_embeddings": 256})
    with pytest.raises(ValueError, match="256 word pieces"):
        read_pair_pieces(files.config)


@pytest.mark.parametrize("pieces", [127, 385, "128", True, 128.0, None])
def test_a_model_that_says_to_read_too_little_or_too_much_is_refused(tmp_path: Path, pieces: object) -> None:
    files = write_encoder(tmp_path, constant_model((1.0, 2.0)), TOKENIZER, {"max_pair_pieces": pieces})
    with pytest.raises(ValueError, match="from 128 to 384"):
        read_pair_pieces(files.config)


@pytest.mark.parametrize("pieces", [128, 200, 384])
@pytest.mark.parametrize("premise_windows", PremiseWindows)
def test_no_pair_is_longer_than_the_model_says(tmp_path: Path, pieces: int, premise_windows: PremiseWindows) -> None:
    facts = {"max_pair_pieces": pieces, "max_position_embeddings": pieces}
    config = write_encoder(tmp_path, constant_model((1.0, 2.0)), TOKENIZER, facts).config
    pairs = PairTokenizer(MINI.tokenizer, premise_windows, read_pair_pieces(config))
    long = pairs.premise(" ".join(f"word {at}" for at in range(900)))
    for statement in (STATEMENT, "food " * (pieces * 2 // 3)):
        lengths = {pair["input_ids"].shape[1] for pair in pairs.inputs(long, pairs.frame(statement))}
        assert lengths == {pieces}
    with pytest.raises(UserError, match=f"longer than {pieces * 2 // 3} word pieces"):
        pairs.frame("food " * (pieces * 2 // 3 + 1))


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"id2label": {"0": "entailment"}}, "two or more"),
        ({"id2label": {"0": "not_entailment", "1": "neutral"}}, "two or more"),
        (NLI | {"label2id": {"entailment": 2, "neutral": 1, "contradiction": 0}}, "contradicts itself"),
    ],
)
def test_a_config_that_does_not_say_where_entailment_is_is_refused(
    tmp_path: Path, config: dict[str, object], reason: str
) -> None:
    files = write_encoder(tmp_path, b"", TOKENIZER, config)
    with pytest.raises(ValueError, match=reason):
        read_labels(files.config)


def test_a_two_label_head_is_read_in_the_order_of_its_config(tmp_path: Path) -> None:
    config = {"id2label": {"0": "Not_Entailment", "1": " ENTAILMENT"}, "label2id": {"ENTAILMENT": 1}}
    assert read_labels(write_encoder(tmp_path, b"", TOKENIZER, config).config) == ("not_entailment", "entailment")
