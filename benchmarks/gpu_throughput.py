"""Pairs per second on a CUDA device: the judge in batches against pair by pair, the encoder against the CPU.

Usage: python benchmarks/gpu_throughput.py [--texts 200] [--language-model FOLDER] [--device cpu]

What this machine lacks (device, CUDA build of the engine, onnxruntime-gpu) is said and left out; the exit code is 0
then.
`--device cpu` runs the same on the CPU, to check the script itself.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from schemas.audit import Device
from schemas.errors import UserError
from tasks.inference.encoder import PairEncoder
from tasks.inference.engine import Build, build_for_this_machine, engine_folder, installed
from tasks.inference.language import LanguageReference, close_languages, open_language
from tasks.storage.home import default_home
from tasks.support.judge import JudgeModel
from tasks.support.nli import nli_mini_files

STATEMENTS = [f"The reviewer {what}." for what in ("liked the food", "complains", "came once", "came often", "paid")]
_WARM = 20  # texts: the first answers of a session or a server are slow


def main() -> None:
    """Measure what can be measured, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=200)
    parser.add_argument("--language-model", help="A checkpoint's folder; default: the engine's small model.")
    parser.add_argument("--device", choices=list(Device), type=Device, default=Device.CUDA)
    asked = parser.parse_args()
    if asked.device is Device.CUDA and build_for_this_machine() is not Build.CUDA:
        print("skipped: there is no CUDA device on this machine")
        sys.exit(0)
    texts = [f"Visit {i}. {'The soup was cold, the waiter kind. ' * (1 + i % 12)}" for i in range(asked.texts + _WARM)]
    measure_encoder(texts, asked.device)
    measure_judge(texts, asked.device, asked.language_model)


def measure_encoder(texts: list[str], device: Device) -> None:
    """The packaged encoder on the device, as a ratio to the CPU."""
    try:
        on_device = PairEncoder(nli_mini_files(), device=device)
    except UserError as error:
        print(f"encoder skipped: {error}")
        return
    here, there = PairEncoder(nli_mini_files()), on_device
    ratio = rate(there.logits, texts) / rate(here.logits, texts)
    print(f"nli-mini on {device}: {ratio:.2f} x the CPU ({os.cpu_count()} cores)")


def measure_judge(texts: list[str], device: Device, model: str | None) -> None:
    """The judge in shared batches, as a ratio to one request at a time."""
    engine = installed(engine_folder(default_home() / "private"))
    if engine is None or engine.build.value != device.value:
        print(f"judge skipped: no {device} build of the engine; `privcert engine install --build {device}` makes it")
        return
    rates = []
    with tempfile.TemporaryDirectory() as logs:
        for one_by_one in (False, True):
            reference = LanguageReference((), model, one_by_one, 2048, engine.folder, Path(logs))
            rates.append(rate(JudgeModel(open_language(reference), Path(logs)).logits, texts))
            close_languages()
    print(f"judge on {device}: {rates[0] / rates[1]:.2f} x pair by pair when in batches ({rates[1]:.1f} pairs/s alone)")


def rate(answer: Callable[[list[str], list[str]], object], texts: list[str]) -> float:
    """Pairs per second of all texts but the first."""
    answer(texts[:_WARM], STATEMENTS)
    began = time.perf_counter()
    answer(texts[_WARM:], STATEMENTS)
    return (len(texts) - _WARM) * len(STATEMENTS) / (time.perf_counter() - began)


if __name__ == "__main__":
    main()
