"""The packaged model on pairs that its training never saw: public NLI pairs, and statements about reviews by hand."""

import random
import re
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from schemas.audit import PremiseWindows
from tasks.support.checking import LabelledPair, Share, answers
from tasks.support.labelled import read_pairs
from tasks.support.nli import load_nli_mini, nli_mini_files

PAIRS = 400
REVIEW_STATEMENTS = Path(__file__).with_name("review_statements.csv")
TRAINING = Path(__file__).parents[3] / "training" / "nli_mini"
RUN = 5  # words in a row
UNRELATED = (
    "The committee discussed the budget for roads.", "A clerk copied the records into a ledger.",
    "Students gathered near the library steps.", "The parcel was sent to another town.",
    "The train to the coast leaves at noon.", "Two engineers measured the bridge.", "It rained in the north all week.",
    "The museum bought a painting of a harbour.", "A new mayor was elected in spring.",
)  # fmt: skip
UNSUPPORTED = (
    "The reviewer liked the food.", "The reviewer was unhappy with the service.", "The staff was friendly.",
    "The reviewer thinks the prices are too high.", "The customer asks for a refund.", "The flight was late.",
)  # fmt: skip


@pytest.mark.parametrize(("source", "least"), [("snli_dev", 0.88), ("mnli_dev", 0.75), ("scitail_dev", 0.89)])
def test_the_packaged_model_keeps_its_accuracy_on_public_pairs(shared_dir: Path, source: str, least: float) -> None:
    """Some 400 to 500 pairs, evenly over the sorted test split: the same every time, so nothing is left to chance."""
    table = pl.read_parquet(shared_dir / "data" / "nli_pairs.parquet")
    rows = table.filter((pl.col("source") == source) & (pl.col("split") == "test"))
    rows = rows.sort("premise", "hypothesis").gather_every(max(1, rows.height // PAIRS))
    pairs = [
        LabelledPair(premise, hypothesis, label == "entailment")
        for premise, hypothesis, label in rows.select("premise", "hypothesis", "label").iter_rows()
    ]
    accuracy, _ = accuracy_and_recall(pairs)
    assert accuracy.value is not None
    assert accuracy.value >= least, f"{source}: {accuracy.value:.3f} of {len(pairs)}, 95 % interval {accuracy.interval}"


def test_the_packaged_model_gets_no_worse_on_statements_about_reviews() -> None:
    """Version 2 is right on 0.620 (0.564 to 0.673), recall 0.528: the floors guard that, and no judge is claimed."""
    accuracy, recall = accuracy_and_recall(read_pairs(REVIEW_STATEMENTS))
    assert accuracy.value is not None
    assert recall.value is not None
    assert accuracy.value >= 0.60, f"{accuracy.value:.3f}, 95 % interval {accuracy.interval}"
    assert recall.value >= 0.50, f"{recall.value:.3f}, 95 % interval {recall.interval}"


@pytest.mark.parametrize(("premise_windows", "most"), [(PremiseWindows.TRUNCATE, 0.1), (PremiseWindows.MAX, 0.35)])
def test_a_long_record_does_not_support_what_it_says_nothing_about(
    premise_windows: PremiseWindows, most: float
) -> None:
    """Read in pairs of 384 word pieces, three times what it was trained on, it says yes to 0.8 of these."""
    rng = random.Random(1)
    records = [" ".join(rng.choices(UNRELATED, k=40)) for _ in range(6)]
    yes = load_nli_mini(premise_windows=premise_windows).verdicts(records, UNSUPPORTED)
    assert yes.mean() <= most


def test_the_packaged_graph_tells_nothing_of_the_machine_that_made_it() -> None:
    graph = nli_mini_files().model.read_bytes()
    assert len(graph) < 30_000_000
    assert b"site-packages" not in graph and b".py" not in graph


def test_the_statements_about_reviews_are_many_distinct_and_of_both_kinds() -> None:
    pairs = read_pairs(REVIEW_STATEMENTS)
    assert len({pair[:2] for pair in pairs}) == len(pairs) >= 300
    assert 0.4 <= sum(pair.entailed for pair in pairs) / len(pairs) <= 0.6
    assert len({pair.premise for pair in pairs}) >= 100


def test_no_review_shares_five_words_in_a_row_with_what_the_training_is_generated_from() -> None:
    grammar = " ".join(path.read_text(encoding="utf-8") for path in sorted(TRAINING.glob("*.yaml")))
    trained = runs(grammar)
    assert len(trained) > 10_000
    assert not [pair.premise for pair in read_pairs(REVIEW_STATEMENTS) if runs(pair.premise) & trained]


def accuracy_and_recall(pairs: Sequence[LabelledPair]) -> tuple[Share, Share]:
    """Verdicts that agree with the labels, and supported pairs that were found."""
    said, answered = answers(load_nli_mini(), pairs)
    assert answered.all()
    truth = [pair.entailed for pair in pairs]
    right = sum(bool(verdict) == label for verdict, label in zip(said, truth, strict=True))
    found = sum(bool(verdict) and label for verdict, label in zip(said, truth, strict=True))
    return Share(right, len(pairs)), Share(found, sum(truth))


def runs(text: str) -> set[str]:
    """All runs of RUN words."""
    words = re.findall(r"[a-z0-9']+", text.lower())
    return {" ".join(words[place : place + RUN]) for place in range(len(words) - RUN + 1)}
