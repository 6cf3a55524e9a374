"""The packaged model on the public NLI pairs that its training never saw: entailment against not."""

from pathlib import Path

import polars as pl
import pytest

from tasks.support.checking import LabelledPair, Share, answers
from tasks.support.nli import load_nli_mini

PAIRS = 400


@pytest.mark.parametrize(("source", "least"), [("snli_dev", 0.84), ("mnli_dev", 0.72), ("scitail_dev", 0.84)])
def test_the_packaged_model_keeps_its_accuracy_on_public_pairs(shared_dir: Path, source: str, least: float) -> None:
    """Some 400 to 500 pairs, evenly over the sorted test split: the same every time, so nothing is left to chance."""
    table = pl.read_parquet(shared_dir / "data" / "nli_pairs.parquet")
    rows = table.filter((pl.col("source") == source) & (pl.col("split") == "test"))
    rows = rows.sort("premise", "hypothesis").gather_every(max(1, rows.height // PAIRS))
    pairs = [
        LabelledPair(premise, hypothesis, label == "entailment")
        for premise, hypothesis, label in rows.select("premise", "hypothesis", "label").iter_rows()
    ]
    said, answered = answers(load_nli_mini(), pairs)
    right = sum(bool(verdict) == pair.entailed for verdict, pair in zip(said, pairs, strict=True))
    found = Share(right, len(pairs))
    assert answered.all()
    assert found.value is not None
    assert found.value >= least, f"{source}: {found.value:.3f} of {len(pairs)}, 95 % interval {found.interval}"
