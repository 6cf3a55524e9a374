"""Sessions: int8 weights are only stored so; what is computed is fp32, of the weights that the file says."""

from pathlib import Path

import numpy as np
from tiny_onnx import Graph

from tasks.inference.onnx_session import OnnxSession

WIDTH, LABELS = 384, 3


def test_quantised_weights_do_not_quantise_activations(tmp_path: Path) -> None:
    """Left to itself the runtime joins unpacking and product, and rounds the activations to int8: 0.5 % of a logit."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(50, WIDTH)).astype(np.float32)
    stored = rng.integers(-127, 128, (WIDTH, WIDTH)).astype(np.int8)
    scale = (rng.random(WIDTH) * 0.01).astype(np.float32)
    head = rng.normal(size=(WIDTH, LABELS)).astype(np.float32)
    graph = Graph()
    hidden = graph.node("Gather", graph.tensor(table), "input_ids")
    weights = graph.node("DequantizeLinear", graph.tensor(stored), graph.tensor(scale), axis=1)
    logits = graph.node("MatMul", graph.node("MatMul", hidden, weights), graph.tensor(head))
    first = graph.node("Gather", logits, graph.tensor(np.array(0)), axis=1)
    (tmp_path / "model.onnx").write_bytes(graph.written(("input_ids",), first, LABELS))
    said = OnnxSession(tmp_path / "model.onnx").logits({"input_ids": np.array([[3, 4, 5]])})
    exact = table[3].astype(np.float64) @ (stored * scale.astype(np.float64)) @ head.astype(np.float64)
    assert np.abs(said[0] - exact).max() < 1e-5 * np.abs(exact).max()
