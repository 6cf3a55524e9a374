"""Batches of fixed shapes: what fills a batch changes no bit of a row; a pair's own length chooses its shape."""

import json
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tiny_bert import CONFIG, as_onnx, seeded_weights
from tiny_onnx import Graph, constant_encoder, write_encoder

from schemas.audit import Device, PremiseWindows
from schemas.errors import UserError
from tasks.inference.classifier import Job, Logits
from tasks.inference.encoder import EncoderFiles, PairEncoder, read_pad_piece
from tasks.inference.onnx_batches import BatchShapes, OnnxBatches, batches, pack
from tasks.inference.onnx_device import device_facts
from tasks.inference.onnx_session import OnnxSession
from tasks.inference.pairs import MAX_PAIR_TOKENS, Inputs, PairTokenizer
from tasks.support.nli import load_nli_mini, nli_mini_files

SHAPES = BatchShapes(rows=8, lengths=(16, 64, MAX_PAIR_TOKENS))
STATEMENTS = ("The food was good.", "Nobody waited.", "It was cheap.")


def row(length: int, seed: int = 0) -> Inputs:
    """Random pieces, all of them read."""
    ids = np.random.default_rng(seed).integers(1000, 2000, (1, length))
    return {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}


def bits(logits: NDArray[np.float32]) -> NDArray[np.uint32]:
    """The raw bits, so that equality means to the bit."""
    return np.ascontiguousarray(logits).view(np.uint32)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> EncoderFiles:
    """A small BERT that takes any number of rows."""
    return as_onnx(tmp_path_factory.mktemp("bert"), seeded_weights())


@pytest.fixture(scope="module")
def session(files: EncoderFiles) -> OnnxSession:
    """The open graph."""
    return OnnxSession(files.model)


@given(st.lists(st.integers(1, MAX_PAIR_TOKENS), max_size=60))
def test_every_job_is_in_one_batch_of_the_shape_of_its_own_length(lengths: list[int]) -> None:
    jobs = [Job((place, 0, 0), row(length)) for place, length in enumerate(lengths)]
    made = list(batches(iter(jobs), SHAPES))
    assert sorted(job.place for batch in made for job in batch) == [job.place for job in jobs]
    for batch in made:
        assert 1 <= len(batch) <= SHAPES.rows
        assert len({SHAPES.length_for(job.inputs["input_ids"].shape[1]) for job in batch}) == 1
        packed = pack([job.inputs for job in batch], SHAPES, pad_piece=7)
        shape = (SHAPES.rows, SHAPES.length_for(batch[0].inputs["input_ids"].shape[1]))
        assert {values.shape for values in packed.values()} == {shape}
        for place, job in enumerate(batch):
            length = job.inputs["input_ids"].shape[1]
            assert np.array_equal(packed["input_ids"][place, :length], job.inputs["input_ids"][0])
            assert (packed["input_ids"][place, length:] == 7).all()
            assert packed["attention_mask"][place].sum() == length


@pytest.mark.parametrize("length", [1, 15, 16, 17, 64, 65, 384])
def test_neither_padding_rows_nor_other_rows_nor_the_place_change_a_bit(session: OnnxSession, length: int) -> None:
    mine = row(length, seed=5)
    alone = bits(session.logits(pack([mine], SHAPES, 0)))[0]
    shape = SHAPES.length_for(length)
    others = [row(min(shape, length + extra), seed=extra) for extra in range(SHAPES.rows - 1)]
    for filler in (row(1, seed=9), row(shape, seed=10)):
        assert np.array_equal(bits(session.logits(pack([mine], SHAPES, 0, filler)))[0], alone)
    for place in (0, 3, SHAPES.rows - 1):
        mixed = [*others[:place], mine, *others[place:]]
        assert np.array_equal(bits(session.logits(pack(mixed, SHAPES, 0)))[place], alone)


def test_padding_that_a_model_reads_is_caught(files: EncoderFiles) -> None:
    """Were the mask left out, what fills a batch would count."""
    session = OnnxSession(files.model)
    mine = row(10, seed=5)
    packed = [pack([mine], SHAPES, piece) for piece in (0, 1500)]
    read = [{**inputs, "attention_mask": np.ones_like(inputs["attention_mask"])} for inputs in packed]
    assert np.array_equal(bits(session.logits(packed[0]))[0], bits(session.logits(packed[1]))[0])
    assert not np.array_equal(bits(session.logits(read[0]))[0], bits(session.logits(read[1]))[0])


@pytest.mark.parametrize("windows", PremiseWindows)
def test_batches_say_what_one_pair_per_call_says(files: EncoderFiles, windows: PremiseWindows) -> None:
    rng = random.Random(3)
    texts = ["", *(" ".join(rng.choices(["soup", "bread", "cold"], k=k)) for k in (1, 9, 40, 200, 700))]
    exact = PairEncoder(files, 2, windows).logits(texts, STATEMENTS)
    batched = PairEncoder(files, 2, windows, shapes=SHAPES).logits(texts, STATEMENTS)
    assert np.isneginf(batched[0]).all()
    assert np.abs(exact[1:] - batched[1:]).max() < 1e-4
    packaged = [PairEncoder(nli_mini_files(), 2, windows, shapes=shapes) for shapes in (None, BatchShapes(rows=4))]
    one, many = (model.logits(texts[1:4], STATEMENTS[:2]) for model in packaged)
    assert np.abs(one - many).max() < 1e-4


def test_the_facts_name_shapes_and_device_and_no_number_of_workers(files: EncoderFiles) -> None:
    facts = [PairEncoder(files, workers, shapes=SHAPES).facts() for workers in (1, 3)]
    assert facts[0] == facts[1]
    assert "8 rows of 16, 64, 384 pieces" in facts[0]["batch_shape"]
    assert facts[0]["cpu"] == device_facts(Device.CPU)["cpu"]
    others = [PairEncoder(files, 1, shapes=shapes).facts() for shapes in (None, BatchShapes(), BatchShapes(rows=16))]
    assert len({json.dumps(each, sort_keys=True) for each in (facts[0], *others)}) == 4


def test_shapes_that_do_not_hold_every_pair_are_refused() -> None:
    for rows, lengths in ((0, (384,)), (8, (16, 64)), (8, (64, 16, 384)), (8, (64, 64, 384))):
        with pytest.raises(ValueError, match="a batch has"):
            BatchShapes(rows, lengths)


def test_a_graph_that_takes_one_row_or_reads_no_mask_is_refused_for_batches(tmp_path: Path) -> None:
    one_row = constant_encoder(tmp_path, "{}", (0.0, 1.0), ("entailment", "neutral"))
    with pytest.raises(ValueError, match="one row at a time"):
        OnnxBatches(one_row.model, 1, Device.CPU, SHAPES, 0)
    graph = Graph()
    no_mask = graph.written(("input_ids",), graph.tensor(np.zeros((1, 3), np.float32)), labels=3)
    with pytest.raises(ValueError, match="no attention_mask"):
        OnnxBatches(write_encoder(tmp_path, no_mask, "{}", CONFIG).model, 1, Device.CPU, SHAPES, 0)


def test_rows_that_meet_are_found_when_the_model_is_opened(
    files: EncoderFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = OnnxBatches(files.model, 1, Device.CPU, SHAPES, 0)
    network.check_rows()
    apart = OnnxSession.logits

    def meeting(session: OnnxSession, inputs: Inputs) -> Logits:
        rows = apart(session, inputs)
        return rows + rows.mean(axis=0) * np.float32(1e-5)

    monkeypatch.setattr(OnnxSession, "logits", meeting)
    with pytest.raises(ValueError, match="depends on its neighbours"):
        network.check_rows()


def test_the_piece_that_pads_is_the_configs_own(tmp_path: Path) -> None:
    for config, piece in ((CONFIG | {"pad_token_id": 1}, 1), ({}, 0), ({"pad_token_id": None}, 0)):
        (tmp_path / "config.json").write_text(json.dumps(config))
        assert read_pad_piece(tmp_path / "config.json") == piece


def test_a_device_that_is_not_there_is_refused_by_name_of_model_and_setting() -> None:
    import onnxruntime as ort

    if "CUDAExecutionProvider" in ort.get_available_providers():
        pytest.skip("this ONNX Runtime has the CUDA provider")
    with pytest.raises(UserError, match=r"device: .*onnxruntime-gpu"):
        load_nli_mini(device=Device.CUDA)


@pytest.fixture(scope="module")
def cuda_provider(cuda_device: None) -> None:
    """ONNX Runtime can use the device."""
    import onnxruntime as ort

    if "CUDAExecutionProvider" not in ort.get_available_providers():
        pytest.skip("this environment's ONNX Runtime has no CUDAExecutionProvider: install onnxruntime-gpu")


@pytest.mark.gpu
@pytest.mark.parametrize("windows", PremiseWindows)
def test_on_a_gpu_no_neighbour_moves_a_bit_and_verdicts_are_those_of_the_cpu(
    cuda_provider: None, windows: PremiseWindows
) -> None:
    rng = random.Random(7)
    words = PairTokenizer(nli_mini_files().tokenizer, windows)._tokenizer.get_vocab()
    plain = sorted(word for word in words if word.isalpha())[:2000]
    texts = [" ".join(rng.choices(plain, k=rng.choice((2, 9, 40, 120, 500)))) for _ in range(400)]
    statements = [" ".join(rng.choices(plain, k=6)) for _ in range(5)]
    cpu, gpu = (PairEncoder(nli_mini_files(), None, windows, device) for device in Device)
    whole = gpu.logits(texts, statements)
    order = rng.sample(range(len(texts)), len(texts)) * 2
    again = gpu.logits([texts[place] for place in order], statements[::-1])
    assert np.array_equal(bits(again), bits(whole[order][:, ::-1]))
    for place in range(0, len(texts), 10):
        assert np.array_equal(bits(gpu.logits([texts[place]], statements)[0]), bits(whole[place]))
    few = texts[:40]
    assert np.abs(cpu.logits(few, statements) - whole[: len(few)]).max() < 1e-3
    assert {"device", "device_libraries"} <= set(gpu.facts())
