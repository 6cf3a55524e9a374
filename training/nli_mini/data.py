"""Pairs of the public corpora that may train a shipped model, and what is done to them before training."""

import random
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

CONTRADICTION, ENTAILMENT, NEUTRAL, NOT_ENTAILMENT = 0, 1, 2, -1
LABELS = ("contradiction", "entailment", "neutral")
TRAINABLE = ("snli_dev", "mnli_dev", "scitail_dev", "qnli_dev")  # SICK, RTE and MPE: licences do not allow it
THREE_WAY = ("snli_dev", "mnli_dev")  # one premise, several statements, three labels
DEV_PERCENT = 3


class Pair(NamedTuple):
    """A premise (record), a hypothesis (statement) and its label; -1: known only not to be entailed."""

    premise: str
    hypothesis: str
    label: int


def load_pairs(path: Path, split: str, sources: Sequence[str] = TRAINABLE) -> dict[str, list[Pair]]:
    """Rows of one split by source; the file has source, split, premise, hypothesis, label."""
    rows = pl.read_parquet(path).filter((pl.col("split") == split) & pl.col("source").is_in(list(sources)))
    names: Mapping[str, int] = {name: code for code, name in enumerate(LABELS)} | {"not_entailment": NOT_ENTAILMENT}
    pairs: dict[str, list[Pair]] = {}
    for source, premise, hypothesis, label in rows.select("source", "premise", "hypothesis", "label").iter_rows():
        if source.startswith("qnli"):  # stored as (question, sentence): the sentence is the evidence
            premise, hypothesis = hypothesis, premise
        pairs.setdefault(source, []).append(Pair(premise, hypothesis, names[label]))
    return pairs


def load_sentences(path: Path, train: bool) -> list[tuple[str, bool, str]]:
    """Review sentences as (source, is positive, text): the half for training, or the half kept for evaluation."""
    rows = pl.read_parquet(path).select("source", "positive", "text").iter_rows()
    return [(source, bool(side), text) for source, side, text in rows if (zlib.crc32(text.encode()) % 2 == 0) == train]


def is_dev(pair: Pair) -> bool:
    """Whether a training row is set aside for the development score, by its premise."""
    return zlib.crc32(pair.premise.encode()) % 100 < DEV_PERCENT


def pad_premise(pair: Pair, others: Sequence[str], rng: random.Random) -> Pair:
    """The pair with one to three unrelated premises of the same corpus around its own, as in a long record."""
    parts = [_ended(rng.choice(others)) for _ in range(rng.choice((1, 1, 1, 2, 2, 3)))]
    parts.insert(rng.randrange(len(parts) + 1), _ended(pair.premise))
    return pair._replace(premise=" ".join(parts))


def derived_pairs(rows: Sequence[Pair], rng: random.Random) -> list[Pair]:
    """Pairs whose verdict follows from the labels of pairs with the same premise, or of none.

    Where p entails e and does not entail n, e does not entail n (else p would). A contradiction read backwards is no
    entailment. What is said beside p is entailed by both together. A hypothesis of another premise is not entailed.
    """
    groups: dict[str, list[Pair]] = {}
    for row in rows:
        groups.setdefault(row.premise, []).append(row)
    pairs: list[Pair] = []
    for premise, group in groups.items():
        entailed = [row.hypothesis for row in group if row.label == ENTAILMENT]
        others = [row.hypothesis for row in group if row.label != ENTAILMENT]
        open_ones = [row.hypothesis for row in group if row.label in (NEUTRAL, NOT_ENTAILMENT)]
        pairs += [Pair(one, other, NOT_ENTAILMENT) for one in entailed for other in others]
        pairs += [Pair(row.hypothesis, premise, NOT_ENTAILMENT) for row in group if row.label == CONTRADICTION]
        pairs += [Pair(joined((premise, one), rng), one, ENTAILMENT) for one in open_ones]
        pairs += [Pair(joined((premise, one), rng), other, ENTAILMENT) for one in open_ones for other in entailed]
        pairs.append(Pair(premise, rng.choice(rows).hypothesis, NOT_ENTAILMENT))
    return pairs


def joined(sentences: Iterable[str], rng: random.Random) -> str:
    """The sentences as one text, in any order."""
    parts = [_ended(text) for text in sentences]
    rng.shuffle(parts)
    return " ".join(parts)


def _ended(text: str) -> str:
    text = text.strip()
    return text if text.endswith((".", "!", "?")) else text + "."
