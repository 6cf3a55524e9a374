"""Writes a minimal ONNX graph by hand: whatever the pair, it answers with the given logits."""

import json
import struct
from collections.abc import Sequence
from pathlib import Path

from tasks.inference.encoder import EncoderFiles

FLOAT, INT64 = 1, 7


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
    return _number(1, 8) + _bytes(8, _bytes(1, "") + _number(2, 17)) + _bytes(7, graph)


def constant_encoder(
    folder: Path, tokenizer: str, logits: Sequence[float], labels: Sequence[str], input_name: str = "input_ids"
) -> EncoderFiles:
    """The three files of a classifier that always answers `logits`."""
    (folder / "model.onnx").write_bytes(constant_model(logits, input_name))
    (folder / "tokenizer.json").write_text(tokenizer, encoding="utf-8")
    config = {"id2label": {str(place): label for place, label in enumerate(labels)}}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return EncoderFiles(folder / "model.onnx", folder / "tokenizer.json", folder / "config.json")
