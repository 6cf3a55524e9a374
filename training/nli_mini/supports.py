"""Supports of a whole dataset against hand-labelled ones: whole restaurant reviews, two statements an aspect."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.keyword_supports import CATEGORIES, OPINIONS
from tasks.inference.encoder import PairEncoder
from tasks.statements.domains import load_domain
from tasks.support.keyword import KeywordModel
from tasks.support.nli import decide

ASKED = [(opinion, *CATEGORIES[aspect]) for aspect in CATEGORIES for opinion in OPINIONS]
STATEMENTS = [f"The reviewer {opinion} {phrase}." for opinion, phrase, _ in ASKED]


def gold_reviews(path: Path, split: str) -> tuple[list[str], np.ndarray]:
    """Whole reviews, and which of STATEMENTS their annotated opinions support, shape (reviews, statements)."""
    rows = pl.read_parquet(path).filter(domain="restaurants", split=split)
    texts, truth = [], []
    for _, review in rows.group_by("review_id", maintain_order=True):
        texts.append(" ".join(review["text"]))
        opinions = {(one["category"], one["polarity"]) for row in review["opinions"].to_list() for one in row or []}
        truth.append([any((name, OPINIONS[side]) in opinions for name in names) for side, _, names in ASKED])
    return texts, np.array(truth)


def compare_supports(encoder: PairEncoder, path: Path, split: str = "test") -> dict[str, Any]:
    """Mean absolute error of the supports, the worst one, and pairs that agree: model, keyword, and saying no."""
    texts, truth = gold_reviews(path, split)
    place = list(encoder.labels).index("entailment")
    with ThreadPoolExecutor(2) as pool:
        logits = list(pool.map(lambda text: encoder.logits([text], STATEMENTS)[0], texts))
    found = {
        "nli-mini": decide(np.array(logits), place),
        "keyword": KeywordModel(load_domain("restaurant-reviews")).verdicts(texts, STATEMENTS),
        "nothing": np.zeros_like(truth),
    }
    return {"reviews": len(texts), "statements": len(STATEMENTS)} | {
        name: {
            "mean_absolute_error": round(float(np.abs(verdicts.mean(0) - truth.mean(0)).mean()), 4),
            "greatest_error": round(float(np.abs(verdicts.mean(0) - truth.mean(0)).max()), 4),
            "agreement": round(float((verdicts == truth).mean()), 4),
        }
        for name, verdicts in found.items()
    }


def supports_text(supports: Mapping[str, Any] | None) -> str:
    """The comparison in Markdown."""
    if supports is None:
        return "(not measured)"
    lines = [
        f"{supports['reviews']} whole restaurant reviews with annotated opinions, {supports['statements']} statements:",
        "",
        "| model | mean absolute error of a support | greatest error | pairs that agree |",
        "| --- | --- | --- | --- |",
    ]
    for name in ("nli-mini", "keyword", "nothing"):
        row = supports[name]
        lines.append(f"| {name} | {row['mean_absolute_error']} | {row['greatest_error']} | {row['agreement']} |")
    return "\n".join(lines)
