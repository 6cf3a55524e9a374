"""Export a trained model to ONNX with weight-only int8 and check it against torch.

Only weights are quantised, once and for all (symmetric, one scale per output channel or embedding row); activations
stay fp32. Dynamic quantisation of activations is never used: its scales run over a batch, so neighbours would matter.
"""

import argparse
import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import torch
from data import TRAINABLE, Pair, load_pairs
from generate import Grammar, generate
from onnx import TensorProto, helper, numpy_helper
from transformers import AutoTokenizer, BertForSequenceClassification

SMALL = 1024  # tensors below this many numbers stay fp32
PAIR_PIECES = 128  # as its training pairs at most: of longer ones it says yes to nearly anything
LENGTHS = (16, 17, 31, 32, 64, 100, 128, 200, 256, 384)
INPUTS = ("input_ids", "attention_mask", "token_type_ids")


class Logits(torch.nn.Module):
    """The model with positional inputs and bare logits, as the exporter wants it."""

    def __init__(self, model: BertForSequenceClassification) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor, token_type_ids: torch.Tensor):
        """Logits of shape (batch, labels)."""
        return self.model(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids).logits


def export_fp32(model: BertForSequenceClassification, path: Path) -> None:
    """Write the fp32 graph; the number of word pieces is free, and so is the number of rows."""
    wrapper = Logits(model).eval()
    example = {name: torch.ones((2, 24), dtype=torch.long) for name in INPUTS}
    axes = {0: torch.export.Dim("rows", min=1, max=4096), 1: torch.export.Dim("pieces", min=3, max=512)}
    with torch.no_grad():
        program = torch.onnx.export(
            wrapper,
            kwargs=example,
            dynamo=True,
            dynamic_shapes=dict.fromkeys(INPUTS, axes),
            input_names=list(INPUTS),
            output_names=["logits"],
            opset_version=20,
        )
    program.optimize()
    program.save(path)


def quantise_weights(graph: onnx.GraphProto) -> None:
    """Replace each large fp32 initializer by int8 and a DequantizeLinear node, in place."""
    for tensor in list(graph.initializer):
        weights = numpy_helper.to_array(tensor)
        if tensor.data_type != TensorProto.FLOAT or weights.ndim != 2 or weights.size < SMALL:
            continue
        axis = 0 if _is_gathered(graph, tensor.name) or _is_transposed(graph, tensor.name) else 1
        scale = np.abs(weights).max(axis=1 - axis).astype(np.float32) / 127
        scale[scale == 0] = 1
        spread = np.expand_dims(scale, 1 - axis)
        rounded = np.clip(np.rint(weights / spread), -127, 127).astype(np.int8)
        graph.initializer.remove(tensor)
        graph.initializer.append(numpy_helper.from_array(rounded, tensor.name + "_int8"))
        graph.initializer.append(numpy_helper.from_array(scale, tensor.name + "_scale"))
        inputs = [tensor.name + "_int8", tensor.name + "_scale"]
        graph.node.insert(0, helper.make_node("DequantizeLinear", inputs, [tensor.name], axis=axis))


def _is_gathered(graph: onnx.GraphProto, name: str) -> bool:
    return any(node.op_type == "Gather" and node.input[0] == name for node in graph.node)


def _is_transposed(graph: onnx.GraphProto, name: str) -> bool:
    return any(
        node.op_type == "Gemm" and node.input[1] == name and any(a.name == "transB" and a.i for a in node.attribute)
        for node in graph.node
    )


def forget_origins(model: onnx.ModelProto) -> None:
    """Drop what the exporter noted of the machine and the source lines, in place; nothing is computed from it."""
    graph = model.graph
    for part in (model, graph, *graph.node, *graph.initializer, *graph.value_info, *graph.input, *graph.output):
        del part.metadata_props[:]
        part.doc_string = ""


def open_session(path: Path) -> ort.InferenceSession:
    """A session on one thread; as in the product, int8 weights become fp32 once and activations are not rounded."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.add_session_config_entry("session.disable_quant_qdq", "1")
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def run_onnx(session: ort.InferenceSession, columns: dict[str, list[int]]) -> np.ndarray:
    """Logits of one pair, shape (labels,)."""
    return session.run(None, {name: np.asarray([columns[name]], dtype=np.int64) for name in INPUTS})[0][0]


@torch.no_grad()
def run_torch(model: BertForSequenceClassification, columns: dict[str, list[int]]) -> np.ndarray:
    """Logits of one pair, shape (labels,)."""
    return model(**{name: torch.tensor([columns[name]]) for name in INPUTS}).logits[0].numpy()


def greatest_gap_by_length(model: BertForSequenceClassification, session: ort.InferenceSession) -> dict[int, float]:
    """Greatest absolute difference of logits between torch and ONNX, at each length, over random pieces."""
    rng = np.random.default_rng(0)
    gaps = {}
    for length in LENGTHS:
        rows = []
        for _ in range(4):
            cut = length * 2 // 3
            pieces = rng.integers(1000, model.config.vocab_size, length).tolist()
            columns = {
                "input_ids": [101, *pieces[1:cut], 102, *pieces[cut + 1 : -1], 102],
                "attention_mask": [1] * length,
                "token_type_ids": [0] * (cut + 1) + [1] * (length - cut - 1),
            }
            rows.append(np.abs(run_torch(model, columns) - run_onnx(session, columns)).max())
        gaps[length] = float(max(rows))
    return gaps


def compare_on_pairs(
    session: ort.InferenceSession, encoded: Sequence[dict[str, list[int]]], expected: np.ndarray
) -> dict[str, float]:
    """Agreement of the argmax and the greatest difference of logits with torch's `expected`, over real pairs."""
    logits = np.array([run_onnx(session, columns) for columns in encoded])
    agreement = float((logits.argmax(1) == expected.argmax(1)).mean())
    return {
        "pairs": len(encoded),
        "argmax_agreement": agreement,
        "greatest_gap": float(np.abs(logits - expected).max()),
    }


def pairs_to_compare(path: Path, count: int) -> list[Pair]:
    """Unseen pairs: an equal part of each public source, and the rest generated."""
    each = count // (len(TRAINABLE) + 1)
    pairs = [pair for rows in load_pairs(path, "test").values() for pair in rows[:each]]
    return pairs + generate(count - len(pairs), 7, grammar=Grammar(evaluation=True))


def main() -> None:
    """Write model.onnx, tokenizer.json and config.json to --out; model_fp32.onnx and export.json to --work."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True, help="Folder written by train.py.")
    parser.add_argument("--pairs", type=Path, required=True, help="Parquet of public pairs, for the comparison.")
    parser.add_argument("--work", type=Path, required=True, help="Folder for the fp32 graph.")
    parser.add_argument("--out", type=Path, required=True, help="Folder for the packaged files.")
    parser.add_argument("--version", required=True, help="Version of the model, written to config.json.")
    parser.add_argument("--compare", type=int, default=2400, help="Pairs to compare with torch.")
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    arguments.out.mkdir(parents=True, exist_ok=True)
    model = BertForSequenceClassification.from_pretrained(arguments.model).eval()
    tokenizer = AutoTokenizer.from_pretrained(arguments.model)
    export_fp32(model, arguments.work / "model_fp32.onnx")
    proto = onnx.load(arguments.work / "model_fp32.onnx")
    quantise_weights(proto.graph)
    forget_origins(proto)
    onnx.checker.check_model(proto)
    onnx.save(proto, arguments.out / "model.onnx")
    shutil.copyfile(arguments.model / "tokenizer.json", arguments.out / "tokenizer.json")
    facts = model.config.to_dict()
    config = {key: facts[key] for key in ("model_type", "id2label", "label2id", "max_position_embeddings")}
    config |= {"name": "nli-mini", "version": arguments.version, "max_pair_pieces": PAIR_PIECES}
    (arguments.out / "config.json").write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
    pairs = pairs_to_compare(arguments.pairs, arguments.compare)
    encoded = [dict(tokenizer(*pair[:2], truncation="only_first", max_length=PAIR_PIECES)) for pair in pairs]
    expected = np.array([run_torch(model, columns) for columns in encoded])
    report = {}
    for name, path in (("fp32", arguments.work / "model_fp32.onnx"), ("int8", arguments.out / "model.onnx")):
        session = open_session(path)
        report[name] = {
            "bytes": path.stat().st_size,
            "greatest_gap_by_length": greatest_gap_by_length(model, session),
            **compare_on_pairs(session, encoded, expected),
        }
        print(name, json.dumps(report[name]), flush=True)
    (arguments.work / "export.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
