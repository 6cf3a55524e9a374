"""Pairs per second of an NLI support model against two peers with the same fp32 weights, in one run.

Peers: sentence-transformers' CrossEncoder.predict, and the bare ONNX session fed perfect batches (tokenised beforehand,
sorted by length, padded to the longest of each batch). The support model scores one pair per call, tokenising included.
Rounds alternate between the three, so that a slow moment of the machine hits all of them.

Example: python benchmarks/nli_throughput.py --onnx model_fp32.onnx --torch model/ --texts 60 --statements 5
"""

import argparse
import json
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import numpy as np
import onnxruntime as ort

from tasks.inference.encoder import EncoderFiles, PairEncoder, usable_cores
from tasks.inference.pairs import MAX_PAIR_TOKENS, load_tokenizer
from tasks.support.nli import NliModel, nli_mini_files

SENTENCES = (
    "We waited {n} minutes for a table.",
    "The soup was served cold and the waiter did not seem to care.",
    "On the other hand the dessert, a cake with plums, was the best I have had in {n} years.",
    "Great location.",
    "I paid {n} dollars for two, which is a lot for what it was, but the wine made up for it.",
    "My seat in row {n} did not recline, and the crew said that nothing could be done about it before landing.",
    "Would I come back? Perhaps.",
)
STATEMENTS = (
    "The review praises the food.",
    "The reviewer complains about slow service.",
    "The reviewer says that the prices were too high.",
    "The passenger had enough legroom.",
    "The reviewer would come back.",
    "The review criticises the waiting time.",
    "The reviewer says that the staff was friendly.",
    "The customer asks for a refund.",
)


def write_reviews(count: int, seed: int) -> list[str]:
    """Reviews of 1 to 14 sentences, so of very different lengths."""
    rng = random.Random(seed)
    return [
        " ".join(rng.choice(SENTENCES).format(n=rng.randint(2, 99)) for _ in range(rng.choice((1, 2, 3, 4, 6, 9, 14))))
        for _ in range(count)
    ]


def read_reviews(path: Path, count: int, seed: int) -> list[str]:
    """A sample of the column `text` of a Parquet file."""
    import polars as pl

    return pl.read_parquet(path, columns=["text"])["text"].sample(count, seed=seed).to_list()


def bare_session(
    onnx_path: Path, files: EncoderFiles, texts: Sequence[str], statements: Sequence[str], batch: int
) -> Callable[[], None]:
    """A run of the bare session on all cores over batches made beforehand: no tokenising is timed."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = usable_cores()
    session = ort.InferenceSession(onnx_path, options, providers=["CPUExecutionProvider"])
    tokenizer = load_tokenizer(files.tokenizer)
    tokenizer.enable_truncation(MAX_PAIR_TOKENS, strategy="only_first")
    encoded = sorted((tokenizer.encode(t, s) for t in texts for s in statements), key=lambda pair: len(pair.ids))
    feeds = []
    for start in range(0, len(encoded), batch):
        rows = encoded[start : start + batch]
        width = len(rows[-1].ids)
        columns = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}
        feeds.append(
            {
                name: np.array([getattr(row, field) + [0] * (width - len(row.ids)) for row in rows], dtype=np.int64)
                for name, field in columns.items()
            }
        )

    def run() -> None:
        for feed in feeds:
            session.run(None, feed)

    return run


def sentence_transformers(folder: Path, texts: Sequence[str], statements: Sequence[str]) -> Callable[[], None] | None:
    """CrossEncoder.predict with its defaults on the same pairs; None where the library is absent."""
    try:
        from sentence_transformers import CrossEncoder
    except ImportError:
        print("sentence-transformers is not installed here: its row is left out")
        return None
    model = CrossEncoder(str(folder), device="cpu", max_length=384)
    pairs = [(text, statement) for text in texts for statement in statements]
    return lambda: model.predict(pairs, show_progress_bar=False)


def main() -> None:
    """Print pairs/s and ratios, as text or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--onnx", type=Path, help="fp32 ONNX graph (default: the packaged int8 model).")
    parser.add_argument("--torch", type=Path, help="Folder of the same weights for sentence-transformers.")
    parser.add_argument("--pairs", type=Path, help="Parquet with a column `text`, instead of generated reviews.")
    parser.add_argument("--texts", type=int, default=60)
    parser.add_argument("--statements", type=int, default=5, choices=range(1, len(STATEMENTS) + 1))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    texts = read_reviews(arguments.pairs, arguments.texts, arguments.seed) if arguments.pairs else None
    texts, statements = texts or write_reviews(arguments.texts, arguments.seed), STATEMENTS[: arguments.statements]
    files = nli_mini_files()
    if arguments.onnx:
        files = EncoderFiles(arguments.onnx, files.tokenizer, files.config)
    model = NliModel("benchmark", "0", PairEncoder(files))
    onnx_path = arguments.onnx or Path(str(files.model))
    runs: dict[str, Callable[[], object]] = {
        "support model": lambda: model.verdicts(texts, statements),
        "bare session, perfect batches": bare_session(onnx_path, files, texts, statements, arguments.batch),
    }
    if arguments.torch and (peer := sentence_transformers(arguments.torch, texts, statements)):
        runs["sentence-transformers predict"] = peer
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for round_number in range(arguments.rounds + 1):  # the first round warms up
        for name, run in runs.items():
            started = time.perf_counter()
            run()
            if round_number:
                seconds[name].append(time.perf_counter() - started)
    count = len(texts) * len(statements)
    rates = {name: count / median(values) for name, values in seconds.items()}
    ratios = {name: rates["support model"] / rate for name, rate in rates.items() if name != "support model"}
    if arguments.json:
        print(json.dumps({"pairs": count, "pairs_per_second": rates, "support_model_over": ratios}))
        return
    for name, rate in rates.items():
        ratio = f"   support model / this: {ratios[name]:.2f}" if name in ratios else ""
        print(f"{name:32s} {rate:8.1f} pairs/s{ratio}")


if __name__ == "__main__":
    main()
