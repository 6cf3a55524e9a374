"""Turn a packaged model back into a folder that train.py can start from: int8 weights times their scales, as fp32.

The rounding of the package (at most half a step of 1/127 of a row's greatest weight) stays in the weights.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import onnx
import torch
from data import LABELS
from onnx import numpy_helper
from transformers import AutoTokenizer, BertForSequenceClassification

PREFIX = "model."  # of the exporter's wrapper


def float_weights(graph: onnx.GraphProto) -> dict[str, np.ndarray]:
    """Parameters by their torch names; the exporter transposed and renamed those that a MatMul multiplies by."""
    values = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type == "DequantizeLinear":
            axis = next(field.i for field in node.attribute if field.name == "axis")
            scale = np.expand_dims(values[node.input[1]], 1 - axis)
            values[node.output[0]] = values[node.input[0]].astype(np.float32) * scale
    bias_of = {place: node for node in graph.node if node.op_type == "Add" for place in node.input}
    for node in graph.node:
        if node.op_type == "MatMul" and node.input[1] in values:
            bias = next(name for name in bias_of[node.output[0]].input if name.endswith(".bias"))
            values[bias.removesuffix("bias") + "weight"] = values[node.input[1]].T
    return {name.removeprefix(PREFIX): value for name, value in values.items() if name.startswith(PREFIX)}


def main() -> None:
    """Write the model and its tokenizer to --out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packaged", type=Path, required=True, help="Folder with model.onnx, as export.py wrote it.")
    parser.add_argument("--base", type=Path, required=True, help="Folder of the base encoder: shape and tokenizer.")
    parser.add_argument("--out", type=Path, required=True, help="Folder for the model.")
    arguments = parser.parse_args()
    model = BertForSequenceClassification.from_pretrained(arguments.base, num_labels=len(LABELS))
    stored = float_weights(onnx.load(arguments.packaged / "model.onnx").graph)
    state = {name: torch.from_numpy(stored[name].copy()) for name in model.state_dict() if name in stored}
    missing = model.load_state_dict(state, strict=False).missing_keys
    if missing:
        raise SystemExit(f"{arguments.packaged} lacks {', '.join(missing)}")
    names = json.loads((arguments.packaged / "config.json").read_text(encoding="utf-8"))["label2id"]
    if sorted(names, key=names.__getitem__) != list(LABELS):
        raise SystemExit(f"{arguments.packaged} has other labels than {LABELS}")
    model.save_pretrained(arguments.out)
    AutoTokenizer.from_pretrained(arguments.base).save_pretrained(arguments.out)


if __name__ == "__main__":
    main()
