"""The named peer of nli_throughput.py: sentence-transformers' CrossEncoder.predict on the packaged model's own weights.

Run by an interpreter that has onnx, torch and sentence-transformers, never by privcert's:
peer_cross_encoder.py FOLDER. FOLDER holds model.onnx, tokenizer.json, config.json of a BERT, and pairs.json. Writes
there model_fp32.onnx (weights unpacked) and torch/ (the same as a checkpoint), says that it is ready, and then answers
every line of standard input with one line of JSON: seconds, CPU seconds, logits.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from sentence_transformers import CrossEncoder
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

Tensors = dict[str, np.ndarray]


def main() -> None:
    """Prepare, then answer."""
    folder = Path(sys.argv[1])
    graph = onnx.load(folder / "model.onnx")
    weights = unpack(graph.graph)
    onnx.save(graph, folder / "model_fp32.onnx")
    write_checkpoint(torch_names(graph.graph, weights), folder)
    pieces = json.loads((folder / "config.json").read_text(encoding="utf-8")).get("max_pair_pieces", 384)
    model = CrossEncoder(str(folder / "torch"), device="cpu", max_length=pieces)
    pairs = [tuple(pair) for pair in json.loads((folder / "pairs.json").read_text(encoding="utf-8"))]
    said = sys.stdout
    sys.stdout = sys.stderr
    print("ready", file=said, flush=True)
    for _ in sys.stdin:
        began, cpu = time.perf_counter(), time.process_time()
        logits = model.predict(pairs, activation_fn=torch.nn.Identity(), show_progress_bar=False)
        took = {"seconds": time.perf_counter() - began, "cpu_seconds": time.process_time() - cpu}
        print(json.dumps(took | {"logits": logits.tolist()}), file=said, flush=True)


def unpack(graph: onnx.GraphProto) -> Tensors:
    """Put fp32 weights where int8 ones and their scales were, in place; all initializers by name."""
    tensors = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    for node in [node for node in graph.node if node.op_type == "DequantizeLinear"]:
        values, scale = (tensors.pop(name) for name in node.input[:2])
        axis = next((attribute.i for attribute in node.attribute if attribute.name == "axis"), 1)
        shape = [-1 if place == axis else 1 for place in range(values.ndim)]
        tensors[node.output[0]] = values.astype(np.float32) * scale.reshape(shape)
        graph.node.remove(node)
    del graph.initializer[:]
    graph.initializer.extend(numpy_helper.from_array(values, name) for name, values in tensors.items())
    return tensors


def torch_names(graph: onnx.GraphProto, tensors: Tensors) -> Tensors:
    """Weights under the names that transformers gives them: a matrix is named by the bias that follows it."""
    named = {name.removeprefix("model."): values for name, values in tensors.items() if name.startswith("model.")}
    bias = {name: node.input for node in graph.node if node.op_type == "Add" for name in node.input}
    for node in graph.node:
        if node.op_type == "MatMul" and node.input[1] in tensors:
            follows = next(name for name in bias[node.output[0]] if name.endswith(".bias"))
            named[follows.removeprefix("model.").removesuffix("bias") + "weight"] = tensors[node.input[1]].T
    return {name: np.ascontiguousarray(values) for name, values in named.items() if not name.endswith("position_ids")}


def write_checkpoint(weights: Tensors, folder: Path) -> None:
    """FOLDER/torch, as transformers reads it. Raises where a tensor is missing."""
    facts = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    vocabulary, width = weights["bert.embeddings.word_embeddings.weight"].shape
    config = BertConfig(
        vocab_size=vocabulary,
        hidden_size=width,
        num_hidden_layers=sum(name.endswith("intermediate.dense.weight") for name in weights),
        num_attention_heads=12,
        intermediate_size=weights["bert.encoder.layer.0.intermediate.dense.weight"].shape[0],
        id2label={int(place): label for place, label in facts["id2label"].items()},
        label2id={label: int(place) for place, label in facts["id2label"].items()},
    )
    model = BertForSequenceClassification(config).eval()
    model.load_state_dict({name: torch.from_numpy(values.copy()) for name, values in weights.items()}, strict=True)
    model.save_pretrained(folder / "torch")
    special = {f"{kind}_token": f"[{kind.upper()}]" for kind in ("cls", "sep", "unk", "pad", "mask")}
    inputs = ["input_ids", "token_type_ids", "attention_mask"]
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=str(folder / "tokenizer.json"), model_input_names=inputs, **special
    )
    tokenizer.save_pretrained(folder / "torch")


if __name__ == "__main__":
    main()
