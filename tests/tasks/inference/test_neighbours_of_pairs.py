"""Law 3 on 2,000 pairs for every encoder engine: whatever else is asked, no bit of a pair's logits changes."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tiny_bert import as_onnx, as_torch, seeded_weights

from schemas.audit import PremiseWindows
from tasks.inference.classifier import Logits, PairClassifier
from tasks.inference.encoder import PairEncoder
from tasks.inference.engine import Engine
from tasks.inference.onnx_batches import BatchShapes
from tasks.inference.onnx_session import OnnxSession
from tasks.inference.pairs import Inputs
from tasks.inference.transformers_network import TransformersEncoder
from tasks.support.nli import decide, nli_mini_files

WORDS = "the soup waiter price room was not very slow kind great cold but we waited and paid nobody came back".split()
TEXTS, STATEMENTS = 100, 20
LONG_EVERY, LONG_WORDS = 25, 500  # two windows
ENGINES = ("onnx", "onnx in batches", "transformers")
WINDOWS = tuple(PremiseWindows)
Made = Callable[[int], PairClassifier]


def written(count: int, most_words: int, seed: int) -> list[str]:
    """Distinct texts of 1 to `most_words` words and a number."""
    rng = random.Random(seed)
    return [f"{' '.join(rng.choices(WORDS, k=rng.randint(1, most_words)))} {place}" for place in range(count)]


def texts_with_long_ones() -> list[str]:
    """Every 25th is longer than one window."""
    texts = written(TEXTS, 12, seed=1)
    return [
        f"{text} " * (1 + LONG_WORDS // len(text.split()) * (place % LONG_EVERY == 0))
        for place, text in enumerate(texts)
    ]


def bits(logits: NDArray[np.float32]) -> NDArray[np.uint32]:
    """The raw bits, so that equality means to the bit."""
    return np.ascontiguousarray(logits).view(np.uint32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For checkpoints."""
    return tmp_path_factory.mktemp("checkpoints")


@pytest.fixture(params=WINDOWS, ids=str)
def windows(request: pytest.FixtureRequest) -> PremiseWindows:
    """What is read of long texts."""
    setting: PremiseWindows = request.param
    return setting


@pytest.fixture(params=ENGINES)
def made(request: pytest.FixtureRequest, folder: Path, windows: PremiseWindows) -> Made:
    """Makes the small BERT on an engine, on so many workers."""
    if request.param == "transformers":
        engine: Engine = request.getfixturevalue("engine")
        files = as_torch(folder / "torch", seeded_weights())
        return lambda workers: TransformersEncoder(engine, files, workers, windows)
    graph = as_onnx(folder / "onnx", seeded_weights())
    shapes = BatchShapes(rows=8) if request.param == "onnx in batches" else None
    return lambda workers: PairEncoder(graph, workers, windows, shapes=shapes)


def check_neighbours(first: PairClassifier, other: PairClassifier, texts: list[str], statements: list[str]) -> None:
    """All pairs in one call; then shuffled and doubled on other workers, some texts alone, each of ten left out."""
    base = first.logits(texts, statements)
    entailment = first.labels.index("entailment")
    assert set(decide(base, entailment).ravel().tolist()) == {True, False}
    assert len({row.tobytes() for row in base.reshape(-1, base.shape[2])}) > 0.9 * len(texts) * len(statements)

    def unchanged(model: PairClassifier, rows: Sequence[int], columns: Sequence[int]) -> int:
        again = model.logits([texts[row] for row in rows], [statements[column] for column in columns])
        before = base[np.ix_(rows, columns)]
        assert np.array_equal(decide(again, entailment), decide(before, entailment))
        assert np.array_equal(bits(again), bits(before))
        return again.shape[0] * again.shape[1]

    places, columns = list(range(len(texts))), list(range(len(statements)))
    shuffled = random.Random(2).sample(places * 2, 2 * len(places))
    compared = unchanged(other, shuffled, columns[::-1])
    compared += sum(unchanged(first, [place], columns) for place in places[::5])
    compared += sum(unchanged(other, [row for row in range(10) if row != out], [3, 0, 7]) for out in range(10))
    assert compared > 2 * len(texts) * len(statements)


def test_no_neighbour_moves_a_bit_of_2000_pairs_on_any_engine(made: Made) -> None:
    texts, statements = texts_with_long_ones(), written(STATEMENTS, 6, seed=4)
    assert len(set(texts)) * len(set(statements)) == 2000
    first, other = made(2), made(1)
    assert first.facts() == other.facts()
    check_neighbours(first, other, texts, statements)


def test_no_neighbour_moves_a_bit_of_2000_pairs_of_the_packaged_model() -> None:
    texts, statements = written(TEXTS, 8, seed=1), written(STATEMENTS, 3, seed=4)
    check_neighbours(PairEncoder(nli_mini_files(), 2), PairEncoder(nli_mini_files(), 1), texts, statements)


def test_an_engine_whose_rows_meet_is_caught_by_this(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def meeting(session: OnnxSession, inputs: Inputs) -> Logits:
        rows = apart(session, inputs)
        return rows + rows.mean(axis=0) * np.float32(1e-6)

    apart = OnnxSession.logits
    monkeypatch.setattr(OnnxSession, "logits", meeting)
    texts, statements = texts_with_long_ones()[:20], written(STATEMENTS, 6, seed=4)
    model = PairEncoder(as_onnx(folder / "onnx", seeded_weights()), 2, shapes=BatchShapes(rows=8))
    with pytest.raises(AssertionError):
        check_neighbours(model, model, texts, statements)
