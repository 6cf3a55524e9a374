"""Writes ONNX graphs by hand: one answers with given logits, one counts a word piece, others node by node."""

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tasks.inference.encoder import EncoderFiles

FLOAT, INT8, INT32, INT64 = 1, 3, 6, 7


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


class Graph:
    """A graph that is written node by node; every method that makes a value answers with its name."""

    def __init__(self) -> None:
        self._body, self._count = _bytes(2, "written"), 0

    def tensor(self, values: NDArray[np.float32] | NDArray[np.int64] | NDArray[np.int8]) -> str:
        """A constant."""
        element = {"float32": FLOAT, "int8": INT8, "int64": INT64}[str(values.dtype)]
        name = self._fresh()
        self._body += _tensor(name, element, values.shape, values.tobytes())
        return name

    def node(self, operator: str, *inputs: str, **attributes: int | Sequence[int]) -> str:
        """An operator applied."""
        name = self._fresh()
        self._body += _node(operator, inputs, name, **attributes)
        return name

    def written(self, inputs: Sequence[str], logits: str, labels: int) -> bytes:
        """The model, from inputs of shape (rows, pieces) to logits of shape (rows, labels)."""
        self._body += _node("Identity", (logits,), "logits")
        self._body += b"".join(_bytes(11, _value(name, INT64, ("rows", "pieces"))) for name in inputs)
        return _model(self._body + _bytes(12, _value("logits", FLOAT, ("rows", labels))))

    def _fresh(self) -> str:
        self._count += 1
        return f"v{self._count}"


def model_with_weights_elsewhere(file: str) -> bytes:
    """ONNX bytes: as constant_model, three logits that lie in another file."""
    places = {"location": file, "offset": "0", "length": "12"}
    tensor = _number(1, 1) + _number(1, 3) + _number(2, FLOAT) + _bytes(8, "constant") + _number(14, 1)
    tensor += b"".join(_bytes(13, _bytes(1, key) + _bytes(2, value)) for key, value in places.items())
    graph = _node("Identity", ("constant",), "logits") + _bytes(2, "tiny") + _bytes(5, tensor)
    graph += _bytes(11, _value("input_ids", INT64, (1, "pieces"))) + _bytes(12, _value("logits", FLOAT, (1, 3)))
    return _model(graph)


def _node(operator: str, inputs: Sequence[str], output: str, **attributes: int | Sequence[int]) -> bytes:
    names = b"".join(_bytes(1, name) for name in inputs)
    given = b"".join(_bytes(5, _bytes(1, name) + _attribute(value)) for name, value in attributes.items())
    return _bytes(1, names + _bytes(2, output) + _bytes(4, operator) + given)


def _attribute(value: int | Sequence[int]) -> bytes:
    if isinstance(value, int):
        return _number(3, value) + _number(20, 2)
    return b"".join(_number(8, part) for part in value) + _number(20, 7)


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
