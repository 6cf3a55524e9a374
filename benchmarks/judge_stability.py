"""Whether neighbours move a judge on a real engine: verdicts and log-probabilities of the same pairs, asked again.

The pairs are asked once, then shuffled, with records left out, doubled, and in calls of other sizes, until at least
--comparisons pairs were compared, verdict by verdict and bit by bit. One by one both must be 0; --batched shows what
sharing batches and prefixes does.

Example: python benchmarks/judge_stability.py --comparisons 2000
"""

import argparse
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from judge_corpora import STATEMENTS, write_texts

from tasks.inference.engine import engine_folder, find_engine
from tasks.inference.language import LanguageReference, close_languages
from tasks.storage.home import default_home
from tasks.support.judge import load_judge

Call = tuple[list[int], list[int]]  # places of texts and statements


def changes(texts: int, statements: int, seed: int) -> Iterator[tuple[str, list[Call]]]:
    """Names of changes and the calls that make them, for ever."""
    rng, every, columns = random.Random(seed), list(range(texts)), list(range(statements))
    while True:
        left_out = rng.randrange(texts)
        yield "leave one out", [([row for row in every if row != left_out], columns)]
        yield "shuffle", [(rng.sample(every, texts), rng.sample(columns, statements))]
        yield "duplicate", [([row for row in every for _ in range(2)], columns)]
        size = rng.randint(1, max(1, texts // 2))
        yield "other call sizes", [(every[start : start + size], columns) for start in range(0, texts, size)]


def main() -> None:
    """Print comparisons, flips and changed bits by change; exit code 1 where there is one of either."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", type=Path, help="Folder of the installed engine; default as the product.")
    parser.add_argument("--batched", action="store_true", help="Requests share batches and prefixes.")
    parser.add_argument("--url", help="A running server, instead of one of the benchmark's own; key in VLLM_API_KEY.")
    parser.add_argument("--model", help="The name under which it serves its model.")
    parser.add_argument("--texts", type=int, default=24)
    parser.add_argument("--statements", type=int, default=4, choices=range(1, len(STATEMENTS) + 1))
    parser.add_argument("--comparisons", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    folder = arguments.engine or engine_folder(default_home() / "private")
    texts, statements = write_texts(arguments.texts, arguments.seed), STATEMENTS[: arguments.statements]
    with tempfile.TemporaryDirectory() as logs:
        urls = (arguments.url,) if arguments.url else ()
        engine = folder if urls else find_engine(folder).folder
        reference = LanguageReference(urls, arguments.model, not arguments.batched, 2048, engine, Path(logs))
        judge = load_judge(reference)
        whole = judge.logits(texts, statements)
        compared: dict[str, list[int]] = {}
        began, done = time.perf_counter(), 0
        for name, calls in changes(len(texts), len(statements), arguments.seed):
            for rows, columns in calls:
                again = judge.logits([texts[row] for row in rows], [statements[column] for column in columns])
                before = whole[np.ix_(rows, columns)]
                flips = int(np.sum(judge.decide(again) != judge.decide(before)))
                bits = int(np.sum(np.any(again.view(np.uint32) != before.view(np.uint32), axis=-1)))
                counts = compared.setdefault(name, [0, 0, 0])
                compared[name] = [counts[0] + len(rows) * len(columns), counts[1] + flips, counts[2] + bits]
                done += len(rows) * len(columns)
            if done >= arguments.comparisons and len(compared) == 4:
                break
        rate = done / (time.perf_counter() - began)
        close_languages()
    for name, (pairs, flips, bits) in compared.items():
        print(f"{name:18s} {pairs:6d} pairs compared, {flips} flips, {bits} with a changed bit")
    total = [sum(values) for values in zip(*compared.values(), strict=True)]
    print(
        f"{'all':18s} {total[0]:6d} pairs compared, {total[1]} flips, {total[2]} with a changed bit; {rate:.1f} pairs/s"
    )
    raise SystemExit(bool(total[1] or total[2]))


if __name__ == "__main__":
    main()
