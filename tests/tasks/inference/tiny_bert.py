"""A small BERT with seeded weights, as an ONNX graph and as a torch checkpoint: the same network for two engines."""

import json
import struct
from importlib import resources
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tiny_onnx import Graph, write_encoder

from tasks.inference.encoder import EncoderFiles
from tasks.inference.transformers_network import TorchFiles

TOKENIZER = (resources.files("tasks.support") / "nli_mini" / "tokenizer.json").read_text(encoding="utf-8")
WIDTH, HEADS, LAYERS, POSITIONS = 32, 2, 1, 512
LABELS = {"0": "contradiction", "1": "entailment", "2": "neutral"}
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
CONFIG: dict[str, object] = {
    "model_type": "bert",
    "architectures": ["BertForSequenceClassification"],
    "vocab_size": max(json.loads(TOKENIZER)["model"]["vocab"].values()) + 1,
    "hidden_size": WIDTH,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "intermediate_size": 2 * WIDTH,
    "max_position_embeddings": POSITIONS,
    "type_vocab_size": 2,
    "layer_norm_eps": 1e-5,
    "pad_token_id": 0,
    "id2label": LABELS,
    "label2id": {label: int(place) for place, label in LABELS.items()},
}
Weights = dict[str, NDArray[np.float32]]


def seeded_weights(seed: int = 3) -> Weights:
    """Names and shapes as transformers writes them; large enough for logits that differ."""
    rng = np.random.default_rng(seed)
    shapes: dict[str, tuple[int, ...]] = {
        "bert.embeddings.word_embeddings.weight": (int(str(CONFIG["vocab_size"])), WIDTH),
        "bert.embeddings.position_embeddings.weight": (POSITIONS, WIDTH),
        "bert.embeddings.token_type_embeddings.weight": (2, WIDTH),
        "bert.embeddings.LayerNorm.weight": (WIDTH,),
        "bert.embeddings.LayerNorm.bias": (WIDTH,),
    }
    for layer in range(LAYERS):
        name = f"bert.encoder.layer.{layer}."
        for part in ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"):
            shapes |= {f"{name}{part}.weight": (WIDTH, WIDTH), f"{name}{part}.bias": (WIDTH,)}
        shapes |= {
            f"{name}intermediate.dense.weight": (2 * WIDTH, WIDTH),
            f"{name}intermediate.dense.bias": (2 * WIDTH,),
        }
        shapes |= {f"{name}output.dense.weight": (WIDTH, 2 * WIDTH), f"{name}output.dense.bias": (WIDTH,)}
        for part in ("attention.output", "output"):
            shapes |= {f"{name}{part}.LayerNorm.{kind}": (WIDTH,) for kind in ("weight", "bias")}
    shapes |= {"bert.pooler.dense.weight": (WIDTH, WIDTH), "bert.pooler.dense.bias": (WIDTH,)}
    shapes |= {"classifier.weight": (len(LABELS), WIDTH), "classifier.bias": (len(LABELS),)}
    return {name: _drawn(name, rng.normal(size=shape)).astype(np.float32) for name, shape in shapes.items()}


def _drawn(name: str, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scaled so that what is read moves the logits more than what is the same in every pair."""
    if values.ndim == 1:
        return float("LayerNorm.weight" in name) + 0.05 * values
    if "position" in name or "token_type" in name:
        return 0.3 * values
    loud = "value" in name or "attention.output" in name or "classifier" in name
    return (3 if loud else 1) * values * (1 if "word" in name else WIDTH**-0.5)


def as_onnx(folder: Path, weights: Weights, config: dict[str, object] | None = None) -> EncoderFiles:
    """The network as a graph of any number of rows."""
    folder.mkdir(parents=True, exist_ok=True)
    return write_encoder(folder, _Bert(weights).written(), TOKENIZER, config or CONFIG)


def as_torch(folder: Path, weights: Weights, config: dict[str, object] | None = None, shards: int = 1) -> TorchFiles:
    """The network as safetensors and a config, in one file or in several with an index."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tokenizer.json").write_text(TOKENIZER, encoding="utf-8")
    (folder / "config.json").write_text(json.dumps(config or CONFIG), encoding="utf-8")
    names = [f"model-{part + 1:05}-of-{shards:05}.safetensors" for part in range(shards)]
    names = ["model.safetensors"] if shards == 1 else names
    place = {tensor: names[number % shards] for number, tensor in enumerate(weights)}
    for name in names:
        write_safetensors(folder / name, {tensor: weights[tensor] for tensor in weights if place[tensor] == name})
    if shards > 1:
        (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": place}), encoding="utf-8")
    return TorchFiles(tuple(folder / name for name in names), folder / "tokenizer.json", folder / "config.json")


def write_safetensors(path: Path, weights: Weights) -> None:
    """Length of the header, the header in JSON, the tensors one after another."""
    header, end = dict[str, object](), 0
    for name, values in weights.items():
        header[name] = {"dtype": "F32", "shape": list(values.shape), "data_offsets": [end, end + values.nbytes]}
        end += values.nbytes
    head = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(head)) + head + b"".join(values.tobytes() for values in weights.values()))


class _Bert:
    """Writes the graph of BertForSequenceClassification."""

    def __init__(self, weights: Weights) -> None:
        self.weights, self.graph = weights, Graph()

    def written(self) -> bytes:
        node, whole = self.graph.node, self._whole
        ids, mask, types = INPUTS
        pieces = node("Gather", node("Shape", ids), whole(1))
        places = node("Range", whole(0), pieces, whole(1))
        tables = "bert.embeddings.{}_embeddings.weight"
        hidden = node("Gather", self._constant(tables.format("word")), ids)
        hidden = node("Add", hidden, node("Gather", self._constant(tables.format("token_type")), types))
        hidden = node("Add", hidden, node("Gather", self._constant(tables.format("position")), places))
        hidden = self._normed(hidden, "bert.embeddings")
        absent = node("Sub", self._number(1.0), node("Cast", mask, to=1))
        bias = node("Unsqueeze", node("Mul", absent, self._number(-1e30)), whole([1, 2]))
        for layer in range(LAYERS):
            hidden = self._layer(hidden, bias, f"bert.encoder.layer.{layer}.")
        first = node("Gather", hidden, whole(0), axis=1)
        pooled = node("Tanh", self._dense(first, "bert.pooler.dense"))
        return self.graph.written(INPUTS, self._dense(pooled, "classifier"), len(LABELS))

    def _layer(self, hidden: str, bias: str, name: str) -> str:
        node = self.graph.node
        query, key, value = (
            node("Transpose", self._in_heads(self._dense(hidden, f"{name}attention.self.{part}")), perm=turn)
            for part, turn in (("query", (0, 2, 1, 3)), ("key", (0, 2, 3, 1)), ("value", (0, 2, 1, 3)))
        )
        scores = node("Mul", node("MatMul", query, key), self._number((WIDTH // HEADS) ** -0.5))
        read = node("MatMul", node("Softmax", node("Add", scores, bias)), value)
        joined = node("Reshape", node("Transpose", read, perm=(0, 2, 1, 3)), self._whole([0, 0, WIDTH]))
        attended = self._dense(joined, f"{name}attention.output.dense")
        hidden = self._normed(node("Add", attended, hidden), f"{name}attention.output")
        inner = self._dense(hidden, f"{name}intermediate.dense")
        gate = node("Add", node("Erf", node("Mul", inner, self._number(0.5**0.5))), self._number(1.0))
        inner = node("Mul", node("Mul", inner, gate), self._number(0.5))
        return self._normed(node("Add", self._dense(inner, f"{name}output.dense"), hidden), f"{name}output")

    def _in_heads(self, values: str) -> str:
        return self.graph.node("Reshape", values, self._whole([0, 0, HEADS, WIDTH // HEADS]))

    def _dense(self, values: str, name: str) -> str:
        turned = self.graph.tensor(np.ascontiguousarray(self.weights[f"{name}.weight"].T))
        return self.graph.node("Add", self.graph.node("MatMul", values, turned), self._constant(f"{name}.bias"))

    def _normed(self, values: str, name: str) -> str:
        scale, shift = (self._constant(f"{name}.LayerNorm.{kind}") for kind in ("weight", "bias"))
        return self.graph.node("LayerNormalization", values, scale, shift)

    def _constant(self, name: str) -> str:
        return self.graph.tensor(self.weights[name])

    def _number(self, value: float) -> str:
        return self.graph.tensor(np.array(value, dtype=np.float32))

    def _whole(self, value: int | list[int]) -> str:
        return self.graph.tensor(np.array(value, dtype=np.int64))
