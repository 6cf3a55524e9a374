"""How close the keyword model's supports are to hand-labelled ones, and how fast it is.

Usage: python benchmarks/keyword_supports.py SHARED_DIR [train|test]
Reads SHARED_DIR/data/reviews_absa.parquet: restaurant sentences with (aspect, polarity) labels. Truth of "the
reviewer liked the food" is a positive label of that aspect in the unit, a sentence or a whole review. The named peer
is the rule that supports nothing. Also prints pairs per second over all statements of the domain, one core.
"""

import sys
import time
from pathlib import Path

import numpy as np
import polars as pl

from tasks.statements.domains import load_domain
from tasks.statements.tag_template import all_statements
from tasks.support.keyword import KeywordModel

CATEGORIES = {
    "food": ("the food", {"FOOD#QUALITY"}),
    "service": ("the service", {"SERVICE#GENERAL"}),
    "prices": ("the prices", {"RESTAURANT#PRICES", "FOOD#PRICES", "DRINKS#PRICES"}),
    "drinks": ("the drinks", {"DRINKS#QUALITY", "DRINKS#STYLE_OPTIONS"}),
    "atmosphere": ("the atmosphere", {"AMBIENCE#GENERAL"}),
    "location": ("the location", {"LOCATION#GENERAL"}),
    "restaurant": ("the restaurant as a whole", {"RESTAURANT#GENERAL", "RESTAURANT#MISCELLANEOUS"}),
}
OPINIONS = {"liked": "positive", "was unhappy with": "negative"}


def main() -> None:
    """Print one line a statement and unit kind, then the means."""
    reviews = pl.read_parquet(Path(sys.argv[1]) / "data" / "reviews_absa.parquet").filter(domain="restaurants")
    if len(sys.argv) > 2:
        reviews = reviews.filter(split=sys.argv[2])
    model = KeywordModel(load_domain("restaurant-reviews"))
    texts = reviews["text"].to_list()
    asked = [(opinion, *CATEGORIES[aspect]) for aspect in CATEGORIES for opinion in OPINIONS]
    statements = [f"The reviewer {opinion} {phrase}." for opinion, phrase, _ in asked]
    verdicts = model.verdicts(texts, statements)
    truth = np.array(
        [[_holds(row, opinion, cats) for opinion, _, cats in asked] for row in reviews["opinions"].to_list()]
    )
    unit_of = {"sentence": np.arange(len(texts)), "review": reviews["review_id"].rank("dense").to_numpy() - 1}
    for unit, index in unit_of.items():
        _report(unit, statements, _any_per_unit(verdicts, index), _any_per_unit(truth, index))
    _speed(model, texts)


def _holds(opinions: list[dict[str, str]], opinion: str, categories: set[str]) -> bool:
    return any(o["category"] in categories and o["polarity"] == OPINIONS[opinion] for o in opinions or [])


def _any_per_unit(verdicts: np.ndarray, index: np.ndarray) -> np.ndarray:
    units = np.zeros((index.max() + 1, verdicts.shape[1]), dtype=bool)
    np.logical_or.at(units, index, verdicts)
    return units


def _report(unit: str, statements: list[str], found: np.ndarray, truth: np.ndarray) -> None:
    print(f"unit {unit}, n = {len(truth)}")
    print("  support: estimated  gold  precision  recall  statement")
    for column, statement in enumerate(statements):
        hit, gold = found[:, column], truth[:, column]
        both = (hit & gold).sum()
        precision, recall = both / max(hit.sum(), 1), both / max(gold.sum(), 1)
        print(f"           {hit.mean():9.3f} {gold.mean():5.3f} {precision:10.2f} {recall:7.2f}  {statement}")
    error, nothing = np.abs(found.mean(0) - truth.mean(0)).mean(), truth.mean(0).mean()
    print(f"  mean absolute error {error:.4f}; supporting nothing {nothing:.4f}; ratio {error / nothing:.2f}")
    print(f"  pairs that agree {(found == truth).mean():.4f}; supporting nothing {1 - truth.mean():.4f}")


def _speed(model: KeywordModel, texts: list[str]) -> None:
    every = [statement.text for statement in all_statements(load_domain("restaurant-reviews"))]
    start = time.perf_counter()
    model.verdicts(texts, every)
    seconds = time.perf_counter() - start
    print(f"{len(texts)} sentences x {len(every)} statements: {len(texts) * len(every) / seconds:,.0f} pairs/s")


if __name__ == "__main__":
    main()
