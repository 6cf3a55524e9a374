"""Writes minimal ONNX graphs by hand: one answers with given logits, one counts a word piece."""

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

from tasks.inference.encoder import EncoderFiles

FLOAT, INT32, INT64 = 1, 6, 7


def _varint(number: int) -> bytes:
    out = bytearray()
    while True:
        number, low = number >> 7, number & 0x7F
        out.append(low | (0x80 if number else 0))
        if not number:
            return bytes(out)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, value: bytes | str) -> bytes:
    raw = value.encode() if isinstance(value, str) else value
    return _varint(field << 3 | 2) + _varint(len(raw)) + raw


def _value(name: str, element: int, shape: Sequence[int | str]) -> bytes:
    dims = b"".join(_bytes(1, _bytes(2, size) if isinstance(size, str) else _number(1, size)) for size in shape)
    return _bytes(1, name) + _bytes(2, _bytes(1, _number(1, element) + _bytes(2, dims)))


def constant_model(logits: Sequence[float], input_name: str = "input_ids") -> bytes:
    """ONNX bytes: input (1, pieces) of int64, output the constant logits of shape (1, len(logits))."""
    count = len(logits)
    tensor = _number(1, 1) + _number(1, count) + _number(2, FLOAT) + _bytes(8, "constant")
    tensor += _bytes(9, struct.pack(f"<{count}f", *logits))
    graph = _bytes(1, _bytes(1, "constant") + _bytes(2, "logits") + _bytes(4, "Identity")) + _bytes(2, "tiny")
    graph += _bytes(5, tensor)
    graph += _bytes(11, _value(input_name, INT64, (1, "pieces"))) + _bytes(12, _value("logits", FLOAT, (1, count)))
    return _model(graph)


def counting_model(
    piece: int, weights: Sequence[float], bias: Sequence[float], element: int = INT64, pieces: int | str = "pieces"
) -> bytes:
    """ONNX bytes: logits = bias + weights x how often `piece` is in input_ids, after an output that is not the logits.

    element, pieces: type and length of the input.
    """
    count = len(weights)
    graph = _node("Equal", ("input_ids", "piece"), "is_it") + _node("Cast", ("is_it",), "one", to=FLOAT)
    graph += _node("ReduceSum", ("one", "axis"), "times") + _node("Mul", ("times", "weights"), "evidence")
    graph += _node("Add", ("evidence", "bias"), "logits") + _bytes(2, "tiny")
    graph += _tensor("piece", element, (1, 1), struct.pack("<q" if element == INT64 else "<i", piece))
    graph += _tensor("axis", INT64, (1,), struct.pack("<q", 1))
    graph += _tensor("weights", FLOAT, (1, count), struct.pack(f"<{count}f", *weights))
    graph += _tensor("bias", FLOAT, (1, count), struct.pack(f"<{count}f", *bias))
    graph += _bytes(11, _value("input_ids", element, (1, pieces))) + _bytes(12, _value("times", FLOAT, (1, 1)))
    graph += _bytes(12, _value("logits", FLOAT, (1, count)))
    return _model(graph)


def model_with_weights_elsewhere(file: str) -> bytes:
    """ONNX bytes: as constant_model, three logits that lie in another file."""
    places = {"location": file, "offset": "0", "length": "12"}
    tensor = _number(1, 1) + _number(1, 3) + _number(2, FLOAT) + _bytes(8, "constant") + _number(14, 1)
    tensor += b"".join(_bytes(13, _bytes(1, key) + _bytes(2, value)) for key, value in places.items())
    graph = _node("Identity", ("constant",), "logits") + _bytes(2, "tiny") + _bytes(5, tensor)
    graph += _bytes(11, _value("input_ids", INT64, (1, "pieces"))) + _bytes(12, _value("logits", FLOAT, (1, 3)))
    return _model(graph)


def _node(operator: str, inputs: Sequence[str], output: str, **integers: int) -> bytes:
    attributes = b"".join(
        _bytes(5, _bytes(1, name) + _number(3, value) + _number(20, 2)) for name, value in integers.items()
    )
    names = b"".join(_bytes(1, name) for name in inputs)
    return _bytes(1, names + _bytes(2, output) + _bytes(4, operator) + attributes)


def _tensor(name: str, element: int, shape: Sequence[int], raw: bytes) -> bytes:
    dims = b"".join(_number(1, size) for size in shape)
    return _bytes(5, dims + _number(2, element) + _bytes(8, name) + _bytes(9, raw))


def _model(graph: bytes) -> bytes:
    return _number(1, 8) + _bytes(8, _bytes(1, "") + _number(2, 17)) + _bytes(7, graph)


def write_encoder(folder: Path, model: bytes, tokenizer: str, config: Mapping[str, object]) -> EncoderFiles:
    """The three files of a classifier."""
    (folder / "model.onnx").write_bytes(model)
    (folder / "tokenizer.json").write_text(tokenizer, encoding="utf-8")
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return EncoderFiles(folder / "model.onnx", folder / "tokenizer.json", folder / "config.json")


def constant_encoder(
    folder: Path, tokenizer: str, logits: Sequence[float], labels: Sequence[str], input_name: str = "input_ids"
) -> EncoderFiles:
    """The three files of a classifier that always answers `logits`."""
    config = {"id2label": {str(place): label for place, label in enumerate(labels)}}
    return write_encoder(folder, constant_model(logits, input_name), tokenizer, config)
