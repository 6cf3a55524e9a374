"""Accuracy of support models on public NLI pairs, entailment against not, by source and by length of the premise.

Usage: python benchmarks/nli_accuracy.py SHARED_DIR [--models nli-mini,judge,./FOLDER] [--sources snli_dev] [--pairs N]
Reads the test split of SHARED_DIR/data/nli_pairs.parquet. Every share has its exact 95 % interval (Clopper and
Pearson). The named peer of each row is the answer that is right most often without reading ("always no" or "always
yes").
"""

import argparse
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from schemas.engines import EngineSettings
from tasks.inference.encoder import usable_cores
from tasks.inference.language import close_languages, language_reference
from tasks.inference.pairs import load_tokenizer
from tasks.storage.home import default_home
from tasks.support.checking import Share
from tasks.support.models import ModelReference, load_support_model
from tasks.support.nli import nli_mini_files

SOURCES = ("snli_dev", "mnli_dev", "scitail_dev", "qnli_dev")
PIECES = (16, 32, 64, 128)  # upper ends of the classes of length, in word pieces of nli-mini
SWAPPED = "qnli_dev"  # stored as question, sentence: the sentence is the premise


def main() -> None:
    """Print one table a model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shared", type=Path)
    parser.add_argument("--models", default="nli-mini", help="Names as in --model, separated by commas.")
    parser.add_argument("--sources", default=",".join(SOURCES))
    parser.add_argument("--pairs", type=int, help="At most so many of each source, evenly over the sorted pairs.")
    asked = parser.parse_args()
    pairs = read_pairs(asked.shared / "data" / "nli_pairs.parquet", asked.sources.split(","), asked.pairs)
    for name in asked.models.split(","):
        said = answer(name, pairs)
        print(f"{name}: {pairs.height} pairs")
        print("pairs                    n  accuracy  95 % interval    recall  precision  without reading")
        for title, rows in groups(pairs):
            show(title, said[rows], pairs["truth"].to_numpy()[rows])


def read_pairs(path: Path, sources: list[str], most: int | None) -> pl.DataFrame:
    """Columns source, premise, hypothesis, truth, pieces (of the premise)."""
    table = pl.read_parquet(path).filter(pl.col("split") == "test", pl.col("source").is_in(sources))
    swapped = pl.col("source") == SWAPPED
    table = table.select(
        "source",
        pl.when(swapped).then("hypothesis").otherwise("premise").alias("premise"),
        pl.when(swapped).then("premise").otherwise("hypothesis").alias("hypothesis"),
        (pl.col("label") == "entailment").alias("truth"),
    ).sort("source", "premise", "hypothesis")
    if most is not None:
        parts = table.partition_by("source", maintain_order=True)
        table = pl.concat([part.gather_every(max(1, -(-part.height // most))) for part in parts])
    tokenizer = load_tokenizer(nli_mini_files().tokenizer)
    lengths = [len(tokenizer.encode(text, add_special_tokens=False).ids) for text in table["premise"]]
    return table.with_columns(pl.Series("pieces", lengths))


def answer(name: str, pairs: pl.DataFrame) -> NDArray[np.bool_]:
    """The model's verdicts, shape (pairs,)."""
    with tempfile.TemporaryDirectory() as logs:
        reference = ModelReference(name=name, threads=1)
        if reference.found_entry().asks_language_model:  # the pairs are public: in batches
            language = language_reference(EngineSettings(), default_home() / "private", is_private=False)
            reference = replace(reference, language=replace(language, logs=Path(logs)))
        model = load_support_model(reference)

        def one(pair: tuple[str, str]) -> bool:
            return bool(model.verdicts([pair[0]], [pair[1]])[0, 0])

        with ThreadPoolExecutor(32 if reference.language else usable_cores()) as threads:
            said = np.array(list(threads.map(one, pairs.select("premise", "hypothesis").iter_rows())))
        close_languages()
    return said


def groups(pairs: pl.DataFrame) -> Iterator[tuple[str, NDArray[np.intp]]]:
    """Each source, each class of length, and all, with the places of their pairs."""
    for source in pairs["source"].unique(maintain_order=True):
        yield source, np.flatnonzero(pairs["source"].to_numpy() == source)
    pieces, lower = pairs["pieces"].to_numpy(), 0
    for upper in (*PIECES, None):
        inside = (pieces > lower) & (pieces <= upper) if upper else pieces > lower
        yield f"premise {lower + 1}-{upper or ''} pieces", np.flatnonzero(inside)
        lower = upper or lower
    yield "all", np.arange(pairs.height)


def show(title: str, said: NDArray[np.bool_], truth: NDArray[np.bool_]) -> None:
    """One row."""
    if not len(truth):
        return
    right = Share(int(np.sum(said == truth)), len(truth))
    low, high = right.interval
    hits, constant = int(np.sum(said & truth)), max(truth.mean(), 1 - truth.mean())
    recall, precision = hits / max(int(truth.sum()), 1), hits / max(int(said.sum()), 1)
    print(
        f"{title:22s} {len(truth):5d} {right.value:9.3f}  {low:.3f} to {high:.3f} {recall:9.2f} {precision:10.2f} "
        f"{constant:16.3f}"
    )


if __name__ == "__main__":
    main()
