"""Neighbour stability (law 3): other records, their order and their number change no verdict of a record."""

import random
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from scripted_models import STATEMENTS, Record, Scripted, write_version

from schemas.audit import PremiseWindows, UnitSupport
from schemas.statements import Statement
from tasks.statements.domains import load_domain
from tasks.storage.home import initialise_home
from tasks.support import chunks, scoring
from tasks.support.bits import unpack
from tasks.support.cache import ScoreCache
from tasks.support.counts import support_counts
from tasks.support.models import ModelReference, load_support_model
from tasks.support.texts import index_texts, read_texts

SENTENCES = [
    "The waiter was friendly and the pasta was delicious.",
    "We waited an hour; the soup came cold, and nobody cared.",
    "Not expensive at all.",
    "Too noisy, too crowded, too expensive!",
    "Great value, generous portions, lovely terrace.",
    "The staff was rude to my mother. The dessert? Fine.",
    "Clean tables.",
    "ok",
    "…",
    "😀 Ça va très bien, merci — l’addition était salée.",
]
BASE: list[Record] = [
    (f"unit{i % 5}", str(i // 5), " ".join([*SENTENCES[: 1 + i % 3], SENTENCES[i]])) for i in range(10)
]
BASE += [("unit1", "broken", None), ("unit5", "0", None), ("unit6", "0", SENTENCES[0])]
Verdicts = dict[tuple[str, str], bool]
Counts = dict[UnitSupport, list[int]]

EXTREMES = ((8, 8), (1 << 20, 1))  # first chunk of a few pairs; everything in one call of the model


def _removed(records: list[Record]) -> list[Record]:
    return [record for i, record in enumerate(records) if i % 3]


def _shuffled(records: list[Record]) -> list[Record]:
    return random.Random(3).sample(records, len(records))


def _repeated_within_their_units(records: list[Record]) -> list[Record]:
    return [*records, *((unit, f"{record_id}-again", text) for unit, record_id, text in records[::2])]


def _joined_by_a_unit_that_reuses_record_ids_and_texts(records: list[Record]) -> list[Record]:
    return [("intruder", record_id, text) for _, record_id, text in records[:4]] + records


def _joined_by_long_and_odd_texts(records: list[Record]) -> list[Record]:
    odd = ["word " * 700, "\u202e\u0301", "The reviewer praises the food.", " "]
    return [*records, *(("intruder", str(i), text) for i, text in enumerate(odd))]


CHANGES = [_removed, _shuffled, _repeated_within_their_units, _joined_by_a_unit_that_reuses_record_ids_and_texts]
CHANGES += [_joined_by_long_and_odd_texts]


def reference_of(model: str) -> ModelReference:
    """How the model is loaded."""
    if model == "scripted":
        return Scripted().reference()
    if model == "nli-mini in windows":
        return ModelReference(name="nli-mini", premise_windows=PremiseWindows.MAX)
    return ModelReference(name=model, domain="restaurant-reviews")


def statements_of(model: str) -> list[Statement]:
    """Some statements that the model can judge."""
    if model == "scripted":
        return STATEMENTS
    domain = load_domain("restaurant-reviews")
    return [Statement.of(combination.text) for combination in list(domain.file.combinations())[::7]][:5]


def score(
    root: Path, reference: ModelReference, statements: list[Statement], records: list[Record], extreme: int
) -> tuple[Verdicts, Counts]:
    """Verdicts and counts of a corpus in a home of its own: nothing comes from an earlier cache."""
    files = 1 + 2 * extreme
    home = initialise_home(root, on_purpose=True)
    path = write_version(home, root / "version", records, sorted({unit for unit, _, _ in records}), files)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scoring, "_FIRST_PAIRS", EXTREMES[extreme][0])
        patch.setattr(chunks, "CALLS_A_CHUNK", EXTREMES[extreme][1])
        scoring.score_version(path, statements, reference, home)
    fingerprint = load_support_model(reference).fingerprint
    index = index_texts(path)
    texts, _ = read_texts(path, index.where)
    found = ScoreCache.of(home, fingerprint).read(index.keys, [s.statement_id for s in statements])
    cells = unpack(found.verdict, len(statements))
    assert unpack(found.known, len(statements)).all()
    verdicts = {(t, s.text): bool(cells[i, j]) for i, t in enumerate(texts) for j, s in enumerate(statements)}
    counts = {rule: support_counts(path, statements, fingerprint, rule, home).tolist() for rule in UnitSupport}
    return verdicts, counts


def counts_by_definition(verdicts: Verdicts, statements: list[Statement], records: list[Record]) -> Counts:
    """Counts that follow from given verdicts, record by record."""
    units: dict[str, list[str | None]] = {}
    for unit, _, text in records:
        units.setdefault(unit, []).append(text)
    return {
        rule: [
            sum(combine(t is not None and verdicts[t, s.text] for t in texts) for texts in units.values())
            for s in statements
        ]
        for rule, combine in ((UnitSupport.ANY, any), (UnitSupport.ALL, all))
    }


@pytest.fixture(scope="module")
def answers_before(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Verdicts, Counts]]:
    """What a model says about BASE, computed once."""

    @cache
    def answers(model: str) -> tuple[Verdicts, Counts]:
        return score(tmp_path_factory.mktemp(model), reference_of(model), statements_of(model), BASE, extreme=0)

    return answers


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("model", ["scripted", "keyword", "nli-mini", "nli-mini in windows"])
def test_other_records_change_no_verdict_and_no_other_count(
    tmp_path: Path,
    answers_before: Callable[[str], tuple[Verdicts, Counts]],
    model: str,
    change: Callable[[list[Record]], list[Record]],
) -> None:
    reference, statements, changed = reference_of(model), statements_of(model), change(BASE)
    before, counts_before = answers_before(model)
    after, counts_after = score(tmp_path, reference, statements, changed, extreme=1)
    assert {pair: verdict for pair, verdict in after.items() if pair in before} == {
        pair: verdict for pair, verdict in before.items() if pair in after
    }
    known = before | after
    assert counts_before == counts_by_definition(known, statements, BASE)
    assert counts_after == counts_by_definition(known, statements, changed)
    if change in (_shuffled, _repeated_within_their_units):
        assert counts_after == counts_before


def test_a_model_that_looks_at_neighbours_is_caught_by_this(tmp_path: Path) -> None:
    reference = Scripted(fault="neighbours").reference()
    before, _ = score(tmp_path / "before", reference, STATEMENTS, BASE, extreme=0)
    after, _ = score(tmp_path / "after", reference, STATEMENTS, _removed(BASE), extreme=1)
    assert any(before[pair] != verdict for pair, verdict in after.items())


@pytest.mark.parametrize("model", ["scripted", "keyword", "nli-mini"])
def test_the_models_give_both_answers_in_these_tests(
    answers_before: Callable[[str], tuple[Verdicts, Counts]], model: str
) -> None:
    verdicts, _ = answers_before(model)
    assert set(verdicts.values()) == {False, True}
