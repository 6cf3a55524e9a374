"""Measure a packaged model, as shipped, on pairs that its training never saw; write evaluation.json and MODEL_CARD.md.

Every share comes with its exact 95 % interval (Clopper and Pearson 1934, doi:10.1093/biomet/26.4.404).
"""

import argparse
import json
import random
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import polars as pl
from data import CONTRADICTION, ENTAILMENT, NEUTRAL, NOT_ENTAILMENT, Pair, load_pairs, pad_premise
from generate import Grammar, generate
from scipy.stats import beta

from tasks.inference.encoder import EncoderFiles, PairEncoder
from tasks.support.nli import decide

HERE = Path(__file__).parent
PRAISES = {
    "FOOD#QUALITY": ("The review praises the food.", "The review criticises the food."),
    "SERVICE#GENERAL": ("The review praises the service.", "The review criticises the service."),
    "AMBIENCE#GENERAL": ("The review praises the atmosphere.", "The review criticises the atmosphere."),
    "FOOD#PRICES": ("The reviewer says that the prices were fair.", "The reviewer says that it was too expensive."),
    "DRINKS#QUALITY": ("The review praises the drinks.", "The review criticises the drinks."),
}
SATISFIED = ("The reviewer is satisfied.", "The reviewer is dissatisfied.")


def clopper_pearson(successes: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """Exact two-sided interval of a share; (0, 1) without trials."""
    tail = (1 - confidence) / 2
    low = beta.ppf(tail, successes, trials - successes + 1) if successes > 0 else 0.0
    high = beta.ppf(1 - tail, successes + 1, trials - successes) if successes < trials else 1.0
    return float(low), float(high)


def share(hits: Iterable[bool]) -> dict[str, float | int]:
    """A share with its count and exact 95 % interval."""
    values = list(map(bool, hits))
    low, high = clopper_pearson(sum(values), len(values))
    value = sum(values) / len(values) if values else float("nan")
    return {"share": round(value, 4), "low": round(low, 4), "high": round(high, 4), "trials": len(values)}


def measure(encoder: PairEncoder, pairs: Sequence[Pair]) -> dict[str, dict[str, float | int]]:
    """Entailment against not, recall and precision; with 3-way labels also false yes by kind."""
    with ThreadPoolExecutor(2) as pool:
        scored = pool.map(lambda pair: encoder.logits([pair.premise], [pair.hypothesis])[0, 0], pairs)
        logits = np.array(list(scored))
    place = encoder.labels.index("entailment")
    supported, truth = decide(logits, place), np.array([pair.label == ENTAILMENT for pair in pairs])
    rows = {
        "accuracy": share(supported == truth),
        "recall": share(supported[truth]),
        "precision": share(truth[supported]),
    }
    labels = np.array([pair.label for pair in pairs])
    if (labels >= 0).all():
        rows["three_way"] = share(logits.argmax(1) == labels)
        rows["yes_to_contradicted"] = share(supported[labels == CONTRADICTION])
        rows["yes_to_open"] = share(supported[labels == NEUTRAL])
    return rows


def padded(pairs: Sequence[Pair], seed: int) -> list[Pair]:
    """The pairs with one to three unrelated premises around each premise."""
    rng = random.Random(seed)
    premises = [pair.premise for pair in pairs]
    return [pad_premise(pair, premises, rng) for pair in pairs]


def aspect_pairs(path: Path, rng: random.Random, limit: int) -> list[Pair]:
    """Whole restaurant reviews against statements, by their annotated opinions; mixed aspects are left out."""
    rows = pl.read_parquet(path).filter(pl.col("domain") == "restaurants")
    pairs = []
    for _, review in rows.group_by("review_id", maintain_order=True):
        text = " ".join(review["text"])
        opinions = [opinion for row in review["opinions"].to_list() for opinion in row or []]
        for category, statements in PRAISES.items():
            sides = {opinion["polarity"] for opinion in opinions if opinion["category"] == category}
            if len(sides) > 1 or sides == {"neutral"}:
                continue
            for side, statement in zip(("positive", "negative"), statements, strict=True):
                label = ENTAILMENT if side in sides else CONTRADICTION if sides else NEUTRAL
                pairs.append(Pair(text, statement, label))
    return rng.sample(pairs, min(limit, len(pairs)))


def sentiment_pairs(path: Path, rng: random.Random, limit: int) -> list[Pair]:
    """Single review sentences with a sentiment of 0 or 1, against the two statements of SATISFIED."""
    pairs = []
    for positive, text in pl.read_parquet(path).select("positive", "text").iter_rows():
        for side, statement in zip((1, 0), SATISFIED, strict=True):
            pairs.append(Pair(text, statement, ENTAILMENT if int(positive) == side else NOT_ENTAILMENT))
    return rng.sample(pairs, min(limit, len(pairs)))


def evaluation_sets(arguments: argparse.Namespace) -> dict[str, list[Pair]]:
    """Name of the source and its pairs; none of them was trained on."""
    test = load_pairs(arguments.pairs, "test")
    rng = random.Random(arguments.seed)
    sets = {
        "SNLI (held-out part)": test["snli_dev"],
        "MNLI (held-out part)": test["mnli_dev"],
        "SciTail (held-out part)": test["scitail_dev"],
        "QNLI (held-out part)": test["qnli_dev"],
        "SNLI, premise among 1-3 unrelated ones": padded(test["snli_dev"], arguments.seed),
        "MNLI, premise among 1-3 unrelated ones": padded(test["mnli_dev"], arguments.seed),
        "generated, new sentences and statements": generate(2000, 101, grammar=Grammar(evaluation=True)),
        "generated, new families": generate(1000, 102, grammar=Grammar(evaluation=True, new_families=True)),
    }
    if arguments.aspects is not None:
        sets["real restaurant reviews, annotated aspects"] = aspect_pairs(arguments.aspects, rng, 1500)
    if arguments.sentiment is not None:
        sets["real review sentences, satisfied or not"] = sentiment_pairs(arguments.sentiment, rng, 1500)
    return sets


def table(report: dict[str, dict[str, dict[str, float | int]]]) -> str:
    """The report as a Markdown table."""

    def cell(row: dict[str, dict[str, float | int]], name: str) -> str:
        if name not in row:
            return ""
        value = row[name]
        return f"{value['share']:.3f} ({value['low']:.3f}-{value['high']:.3f})"

    names = ("accuracy", "recall", "precision", "yes_to_contradicted", "yes_to_open", "three_way")
    lines = [
        "| pairs | number | entailment or not | recall | precision | yes to contradicted | yes to open | 3-way |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for source, row in report.items():
        cells = " | ".join(cell(row, name) for name in names)
        lines.append(f"| {source} | {row['accuracy']['trials']} | {cells} |")
    return "\n".join(lines)


def main() -> None:
    """Write evaluation.json to --out, and MODEL_CARD.md to the model's folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True, help="Folder of the packaged files.")
    parser.add_argument("--pairs", type=Path, required=True, help="Parquet of public pairs.")
    parser.add_argument("--aspects", type=Path, help="Parquet of reviews: domain, review_id, text, opinions.")
    parser.add_argument("--sentiment", type=Path, help="Parquet of review sentences: positive, text.")
    parser.add_argument("--training", type=Path, help="train.json of the run, for the card.")
    parser.add_argument("--export", type=Path, help="export.json of the export, for the card.")
    parser.add_argument("--out", type=Path, required=True, help="File for the numbers (JSON).")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    folder = arguments.model
    encoder = PairEncoder(
        EncoderFiles(folder / "model.onnx", folder / "tokenizer.json", folder / "config.json"), workers=1
    )
    report = {}
    for source, pairs in evaluation_sets(arguments).items():
        report[source] = measure(encoder, pairs)
        print(source, json.dumps(report[source]), flush=True)
    arguments.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    training = json.loads(arguments.training.read_text()) if arguments.training else {}
    export = json.loads(arguments.export.read_text())["int8"] if arguments.export else {}
    facts = {
        "version": json.loads((folder / "config.json").read_text())["version"],
        "megabytes": round((folder / "model.onnx").stat().st_size / 1e6, 1),
        "table": table(report),
        "minutes": training.get("minutes", "?"),
        "steps": training.get("steps_done", "?"),
        "pairs_seen": training.get("pairs_seen", "?"),
        "agreement": f"{export['argmax_agreement']:.4f}" if export else "?",
        "compared": export.get("pairs", "?"),
        "gap": f"{export['greatest_gap']:.3f}" if export else "?",
    }
    card = (HERE / "card.md").read_text(encoding="utf-8").format(**facts)
    (folder / "MODEL_CARD.md").write_text(card, encoding="utf-8")


if __name__ == "__main__":
    main()
