"""The judge on the CUDA build of vLLM, one request at a time: neighbours change no bit of an answer."""

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tasks.inference.engine import Engine
from tasks.inference.language import LanguageReference, close_languages, open_language
from tasks.support.judge import JudgeModel

pytestmark = pytest.mark.gpu

TEXTS = [f"Review {i}: {'The soup was cold. ' * (i % 17)}We came {i} times." for i in range(200)]
STATEMENTS = [f"The reviewer {what}." for what in ("liked the food", "complains", "came once", "came often", "paid")]


@pytest.fixture(scope="module")
def judge(cuda_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JudgeModel]:
    """One server for this module."""
    logs: Path = tmp_path_factory.mktemp("logs")
    yield JudgeModel(open_language(LanguageReference((), None, True, 2048, cuda_engine.folder, logs)), logs)
    close_languages()


@pytest.fixture(scope="module")
def before(judge: JudgeModel) -> np.ndarray:
    """Log-probabilities of all pairs, asked in order."""
    return judge.logits(TEXTS, STATEMENTS)


@pytest.mark.parametrize("change", ["removed", "shuffled", "repeated"])
def test_other_records_change_no_bit_on_the_device(judge: JudgeModel, before: np.ndarray, change: str) -> None:
    places = {
        "removed": [i for i in range(len(TEXTS)) if i % 3],
        "shuffled": random.Random(1).sample(range(len(TEXTS)), len(TEXTS)),
        "repeated": [i for i in range(len(TEXTS)) for _ in range(1 + i % 2)],
    }[change]
    assert len(places) * len(STATEMENTS) > 600
    np.testing.assert_array_equal(judge.logits([TEXTS[i] for i in places], STATEMENTS), before[places])


def test_the_fingerprint_names_the_build(judge: JudgeModel) -> None:
    assert judge.description["engine_build"] == "cuda"
