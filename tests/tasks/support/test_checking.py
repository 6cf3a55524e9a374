"""Checks of a support model: exact shares, neighbours that move a verdict or a bit, labelled pairs from files."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from scripted_models import Scripted, ScriptedModel, true_verdict

from schemas.errors import UserError
from tasks.statements.domains import load_domain
from tasks.support.checking import LabelledPair, Share, answers, check_model, check_neighbours, spread
from tasks.support.keyword import KeywordModel
from tasks.support.labelled import packaged_pairs, read_pairs
from tasks.support.models import ModelReference, load_support_model

TEXTS = [f"text {number}" for number in range(20)]
STATEMENTS = [f"statement {number % 5}" for number in range(20)]


class Leaky:
    """A model with logits whose last bits depend on how many texts are asked, as with scales over a batch."""

    name, fingerprint = "leaky", "0" * 64
    description: Mapping[str, str] = {}

    def logits(self, texts: Sequence[str], statements: Sequence[str]) -> NDArray[np.float32]:
        """Entailment leads by 1 or trails by 1, and a little more in larger calls."""
        lead = np.array([[1.0 if true_verdict(t, s) else -1.0 for s in statements] for t in texts], np.float32)
        return np.stack([lead + np.float32(1e-6) * len(texts), np.zeros_like(lead)], axis=-1)

    def decide(self, logits: NDArray[np.float32]) -> NDArray[np.bool_]:
        """Whether it leads."""
        decided: NDArray[np.bool_] = logits[..., 0] > logits[..., 1]
        return decided

    def verdicts(self, texts: Sequence[str], statements: Sequence[str]) -> NDArray[np.bool_]:
        """The verdicts of the logits."""
        return self.decide(self.logits(texts, statements))


def scripted(fault: str = "") -> ScriptedModel:
    """The scripted model."""
    return ScriptedModel("scripted", Scripted(fault=fault))


def labelled(wrong: Sequence[int] = ()) -> list[LabelledPair]:
    """Twenty pairs with the scripted model's own verdicts as labels, some of them turned."""
    rows = enumerate(zip(TEXTS, STATEMENTS, strict=True))
    return [
        LabelledPair(text, statement, true_verdict(text, statement) ^ (row in wrong)) for row, (text, statement) in rows
    ]


def test_shares_count_what_agrees_what_is_found_and_what_is_found_rightly() -> None:
    wrong = [0, 7, 13]
    pairs = labelled(wrong)
    found = check_model(scripted(), pairs)
    said = [true_verdict(pair.premise, pair.hypothesis) for pair in pairs]
    both = sum(a and pair.entailed for a, pair in zip(said, pairs, strict=True))
    assert (found.accuracy.hits, found.accuracy.trials, found.refused) == (17, 20, 0)
    assert (found.recall.hits, found.recall.trials) == (both, sum(pair.entailed for pair in pairs))
    assert (found.precision.hits, found.precision.trials) == (both, sum(said))
    assert found.characters == pytest.approx(np.mean([len(pair.premise) for pair in pairs]))


def test_the_interval_of_a_share_is_the_exact_one_of_clopper_and_pearson() -> None:
    low, high = Share(0, 10).interval
    assert (low, high) == (0.0, pytest.approx(1 - 0.025**0.1))
    low, high = Share(10, 10).interval
    assert (low, high) == (pytest.approx(0.025**0.1), 1.0)
    assert (Share(0, 0).value, Share(0, 0).interval) == (None, (0.0, 1.0))


def test_a_stable_model_has_no_flips_over_every_change() -> None:
    found = check_model(scripted(), labelled()).neighbours
    # 8 texts and 4 statements: 8 calls of 7 texts, 2 shuffles, 2 doublings
    assert found.compared == {"leave_one_out": 224, "shuffle": 64, "duplicate": 128}
    assert found.flips == {"leave_one_out": 0, "shuffle": 0, "duplicate": 0}
    assert found.changed_bits is None
    assert found.pairs_per_second > 0


def test_a_model_that_looks_at_neighbours_has_flips() -> None:
    found = check_model(scripted("neighbours"), labelled()).neighbours
    assert found.flips["leave_one_out"] == found.compared["leave_one_out"]  # 7 texts are an odd number
    assert found.flips["shuffle"] == found.flips["duplicate"] == 0


def test_bits_that_move_are_found_where_no_verdict_flips() -> None:
    found = check_neighbours(Leaky(), TEXTS[:6], STATEMENTS[:3])
    assert sum(found.flips.values()) == 0
    assert found.changed_bits == found.compared["leave_one_out"] + found.compared["duplicate"]


def test_one_text_and_one_statement_are_enough() -> None:
    found = check_neighbours(scripted(), ["soup"], ["It was cheap."])
    assert found.compared == {"shuffle": 2, "duplicate": 4}


def test_pairs_whose_statement_a_model_refuses_count_nowhere_else() -> None:
    domain = load_domain("restaurant-reviews")
    model = KeywordModel(domain)
    known = LabelledPair("The waiter was rude.", "The reviewer was unhappy with the service.", True)
    found = check_model(model, [known, LabelledPair("The waiter was rude.", "It rained.", False)])
    assert (found.refused, found.accuracy.hits, found.accuracy.trials) == (1, 1, 1)
    with pytest.raises(UserError, match="not of the domain"):
        check_model(model, [LabelledPair("The waiter was rude.", "It rained.", False)] * 2)


def test_texts_are_spread_evenly_over_the_distinct_ones() -> None:
    assert spread(["a", "a", "b", "c", "d", "c"], 2) == ["a", "c"]
    assert spread(["a", "b"], 8) == ["a", "b"]
    with pytest.raises(ValueError, match="no labelled pairs"):
        check_model(scripted(), [])


def test_the_pairs_of_the_package_are_many_distinct_and_of_both_kinds() -> None:
    pairs = packaged_pairs()
    assert len({(pair.premise, pair.hypothesis) for pair in pairs}) == len(pairs) >= 60
    assert 0.35 <= np.mean([pair.entailed for pair in pairs]) <= 0.65
    domain = {text.text for text in load_domain("restaurant-reviews").file.combinations()}
    assert sum(pair.hypothesis in domain for pair in pairs) >= 20  # so that keyword can be checked too
    generated = Path(__file__).parents[3] / "training" / "nli_mini"
    grammar = "".join(path.read_text(encoding="utf-8") for path in sorted(generated.glob("*.yaml")))
    assert grammar
    assert not [pair.premise for pair in pairs if pair.premise in grammar]


def test_the_packaged_model_is_right_on_most_pairs_of_the_package_and_stable() -> None:
    found = check_model(load_support_model(ModelReference(name="nli-mini")), packaged_pairs())
    assert found.accuracy.value is not None
    assert found.accuracy.value >= 0.7
    assert (sum(found.neighbours.flips.values()), found.neighbours.changed_bits) == (0, 0)


ROWS = {
    "premise": ["a soup", "a room", "a soup"],
    "hypothesis": ["It is food.", "It is food.", "It is big."],
    "label": ["entailment", "Contradiction", "neutral"],
}
PAIRS = [LabelledPair("a soup", "It is food.", True), LabelledPair("a room", "It is food.", False)]
PAIRS += [LabelledPair("a soup", "It is big.", False)]


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
@pytest.mark.parametrize("labels", [ROWS["label"], [1, 0, 0], [True, False, False]])
def test_pairs_are_read_from_every_kind_of_file_and_label(tmp_path: Path, ending: str, labels: list[object]) -> None:
    path, table = tmp_path / f"pairs.{ending}", pl.DataFrame(ROWS | {"label": labels})
    write = {"parquet": table.write_parquet, "csv": table.write_csv, "jsonl": table.write_ndjson}[ending]
    write(path)
    assert read_pairs(path) == PAIRS


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"label": ["entailment", "maybe", "neutral"]}, "label of row 2"),
        ({"label": ["entailment", None, "neutral"]}, "label of row 2"),
        ({"premise": ["a", None, "b"]}, "row 2 has no premise"),
        ({"premise": [], "hypothesis": [], "label": []}, "no rows"),
    ],
)
def test_rows_that_are_no_labelled_pairs_are_refused_by_number(
    tmp_path: Path, change: dict[str, list[object]], reason: str
) -> None:
    pl.DataFrame(ROWS | change).write_parquet(tmp_path / "pairs.parquet")
    with pytest.raises(UserError, match=reason) as refusal:
        read_pairs(tmp_path / "pairs.parquet")
    assert "soup" not in str(refusal.value)


def test_files_of_another_form_are_refused_by_name(tmp_path: Path) -> None:
    pl.DataFrame(ROWS).drop("label").write_csv(tmp_path / "pairs.csv")
    with pytest.raises(UserError, match="no column label"):
        read_pairs(tmp_path / "pairs.csv")
    for name, reason in (("pairs.txt", "must end in"), ("pairs.parquet", "cannot be read as parquet")):
        (tmp_path / name).write_text("no table")
        with pytest.raises(UserError, match=reason):
            read_pairs(tmp_path / name)


def test_answers_keep_the_order_of_the_pairs() -> None:
    said, answered = answers(scripted(), labelled())
    assert said.tolist() == [true_verdict(text, statement) for text, statement in zip(TEXTS, STATEMENTS, strict=True)]
    assert answered.all()
