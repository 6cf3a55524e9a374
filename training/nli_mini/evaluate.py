"""Measure a packaged model, as shipped, on pairs that its training never saw; write evaluation.json and MODEL_CARD.md.

Every share comes with its exact 95 % interval (Clopper and Pearson 1934, doi:10.1093/biomet/26.4.404).
"""

import argparse
import itertools
import json
import random
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from data import CONTRADICTION, ENTAILMENT, NEUTRAL, NOT_ENTAILMENT, Pair, load_pairs, load_sentences, pad_premise
from generate import Grammar, generate
from scipy.stats import beta
from supports import compare_supports, supports_text

from tasks.inference.encoder import EncoderFiles, PairEncoder
from tasks.support.nli import decide

HERE = Path(__file__).parent
WORDS = (0, 10, 20, 40, 80, 10**9)  # bounds of the premise lengths, in words
SENTENCES = "| UCI review sentences (IMDB, Yelp, Amazon) | train half, test half, by sentence | CC BY 4.0 |\n"
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


def score(encoder: PairEncoder, pairs: Iterable[Pair]) -> dict[tuple[str, str], np.ndarray]:
    """Logits by premise and hypothesis, each pair alone; shape (labels,)."""
    distinct = list(dict.fromkeys(pair[:2] for pair in pairs))
    with ThreadPoolExecutor(2) as pool:
        return dict(
            zip(distinct, pool.map(lambda pair: encoder.logits([pair[0]], [pair[1]])[0, 0], distinct), strict=True)
        )


def measure(
    scored: dict[tuple[str, str], np.ndarray], labels: Sequence[str], pairs: Sequence[Pair]
) -> dict[str, dict[str, float | int]]:
    """Entailment against not, recall and precision; with 3-way labels also false yes by kind."""
    logits = np.array([scored[pair[:2]] for pair in pairs])
    supported = decide(logits, list(labels).index("entailment"))
    truth = np.array([pair.label == ENTAILMENT for pair in pairs])
    rows = {
        "accuracy": share(supported == truth),
        "recall": share(supported[truth]),
        "precision": share(truth[supported]),
    }
    codes = np.array([pair.label for pair in pairs])
    if (codes >= 0).all():
        rows["three_way"] = share(logits.argmax(1) == codes)
        rows["yes_to_contradicted"] = share(supported[codes == CONTRADICTION])
        rows["yes_to_open"] = share(supported[codes == NEUTRAL])
    return rows


def by_length(sets: dict[str, list[Pair]]) -> dict[str, list[Pair]]:
    """The pairs of all public corpora, padded ones too, by words of the premise."""
    public = [
        pair for name, pairs in sets.items() if name.startswith(("SNLI", "MNLI", "SciTail", "QNLI")) for pair in pairs
    ]
    lengths = [len(pair.premise.split()) for pair in public]
    return {
        f"public, premise of {low + 1} to {high} words" if high < WORDS[-1] else f"public, more than {low} words": [
            pair for pair, length in zip(public, lengths, strict=True) if low < length <= high
        ]
        for low, high in itertools.pairwise(WORDS)
    }


def padded(pairs: Sequence[Pair], seed: int) -> list[Pair]:
    """The pairs with one to three unrelated premises around each premise."""
    rng = random.Random(seed)
    premises = [pair.premise for pair in pairs]
    return [pad_premise(pair, premises, rng) for pair in pairs]


def written_pairs(path: Path) -> list[Pair]:
    """Statements about reviews, written and labelled by hand: premise, hypothesis, label (1: supported)."""
    rows = pl.read_csv(path).select("premise", "hypothesis", "label").iter_rows()
    return [Pair(text, statement, ENTAILMENT if label else NOT_ENTAILMENT) for text, statement, label in rows]


def sentiment_pairs(path: Path, rng: random.Random, limit: int) -> list[Pair]:
    """Single review sentences, of the half that never trains, against the two statements of SATISFIED."""
    pairs = []
    for _, positive, text in load_sentences(path, train=False):
        for side, statement in zip((True, False), SATISFIED, strict=True):
            pairs.append(Pair(text, statement, ENTAILMENT if positive == side else NOT_ENTAILMENT))
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
        "SNLI, premise among 1-3 unrelated ones": padded(test["snli_dev"], arguments.seed)[: arguments.most],
        "MNLI, premise among 1-3 unrelated ones": padded(test["mnli_dev"], arguments.seed)[: arguments.most],
        "generated, new sentences and statements": generate(arguments.most, 101, grammar=Grammar(evaluation=True)),
        "generated, new families": generate(
            arguments.most // 2, 102, grammar=Grammar(evaluation=True, new_families=True)
        ),
    }
    if arguments.written is not None:
        sets["statements about reviews, by hand"] = written_pairs(arguments.written)
    if arguments.sentiment is not None:
        sets["real review sentences, satisfied or not"] = sentiment_pairs(arguments.sentiment, rng, arguments.most)
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


def curve_table(curve: Sequence[dict[str, float]]) -> str:
    """The learning curve in Markdown; columns as train.py recorded them."""
    if not curve:
        return "The learning curve of this run was not recorded."
    says = "Learning curve: entailment or not on training pairs that were set aside (at most 100 a source).\n\n"
    names = list(curve[0])
    rows = [names, ["---"] * len(names), *([str(point[name]) for name in names] for point in curve)]
    return says + "\n".join(f"| {' | '.join(row)} |" for row in rows)


def parse_arguments() -> argparse.Namespace:
    """The command line; every path is an argument."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True, help="Folder of the packaged files.")
    parser.add_argument("--pairs", type=Path, required=True, help="Parquet of public pairs.")
    parser.add_argument("--written", type=Path, help="CSV of statements about reviews: premise, hypothesis, label.")
    parser.add_argument("--aspects", type=Path, help="Parquet of reviews: domain, split, review_id, text, opinions.")
    parser.add_argument("--sentiment", type=Path, help="Parquet of review sentences: source, positive, text.")
    parser.add_argument("--training", type=Path, help="train.json of the run, for the card.")
    parser.add_argument("--export", type=Path, help="export.json of the export, for the card.")
    parser.add_argument("--long", type=Path, help="What benchmarks/nli_long_records.py printed, for the card.")
    parser.add_argument("--out", type=Path, required=True, help="File for the numbers (JSON).")
    parser.add_argument("--card-only", action="store_true", help="Write the card from the numbers already in --out.")
    parser.add_argument("--start", default="", help="A sentence for the card on what the training started from.")
    parser.add_argument("--note", default="", help="A sentence for the card on how it was measured.")
    parser.add_argument("--most", type=int, default=1000, help="Pairs of a padded, generated or sentiment set.")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def measure_all(arguments: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """All sets, the public ones by length too, and the supports of a whole dataset under "supports"."""
    folder = arguments.model
    files = EncoderFiles(folder / "model.onnx", folder / "tokenizer.json", folder / "config.json")
    encoder = PairEncoder(files, workers=1)
    sets = evaluation_sets(arguments)
    scored = score(encoder, itertools.chain.from_iterable(sets.values()))
    report = {name: measure(scored, encoder.labels, pairs) for name, pairs in (sets | by_length(sets)).items()}
    return report if arguments.aspects is None else report | {"supports": compare_supports(encoder, arguments.aspects)}


def card(arguments: argparse.Namespace, report: Mapping[str, dict[str, Any]]) -> str:
    """The model card; what was not measured or recorded is a question mark."""
    training = json.loads(arguments.training.read_text(encoding="utf-8")) if arguments.training else {}
    export = json.loads(arguments.export.read_text(encoding="utf-8"))["int8"] if arguments.export else {}
    facts = {
        "table": table({name: row for name, row in report.items() if name != "supports"}),
        "supports": supports_text(report.get("supports")),
        "long": arguments.long.read_text(encoding="utf-8").strip() if arguments.long else "Not measured.",
        "curve": curve_table(training.get("curve", [])),
        "sentences": SENTENCES if training.get("review_sentences") else "",
        "measured": " " + arguments.note if arguments.note else "",
        "start": " " + arguments.start if arguments.start else "",
        "version": json.loads((arguments.model / "config.json").read_text(encoding="utf-8"))["version"],
        "megabytes": round((arguments.model / "model.onnx").stat().st_size / 1e6, 1),
        "minutes": training.get("minutes", "?"),
        "steps": training.get("steps_done", "?"),
        "pairs_seen": training.get("pairs_seen", "?"),
        "agreement": f"{export['argmax_agreement']:.4f}" if export else "?",
        "compared": export.get("pairs", "?"),
        "gap": f"{export['greatest_gap']:.3f}" if export else "?",
    }
    return (HERE / "card.md").read_text(encoding="utf-8").format(**facts)


def main() -> None:
    """Write evaluation.json to --out, and MODEL_CARD.md to the model's folder."""
    arguments = parse_arguments()
    if not arguments.card_only:
        report = measure_all(arguments)
        arguments.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    report = json.loads(arguments.out.read_text(encoding="utf-8"))
    (arguments.model / "MODEL_CARD.md").write_text(card(arguments, report), encoding="utf-8")


if __name__ == "__main__":
    main()
