"""What is asked, what is sealed, and what is refused before anything is drawn."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from desk import THETA, Desk, ask
from hypothesis import given
from hypothesis import strategies as st

from schemas.audit import Scope, UnitSupport
from schemas.errors import UserError
from tasks.cluster.code import product_digest
from tasks.ledger import sealing, verifier
from tasks.ledger.question import Question, RegisteredPartition


@pytest.fixture
def partition(desk: Desk) -> RegisteredPartition:
    desk.log.set_cap("reviews", Decimal(1))
    return desk.register()[0]


CHANGES: dict[str, Any] = {
    "statements": {"statements": ("A", "C")},
    "the fingerprint": {"model_fingerprint": "e" * 64},
    "the unit rule": {"unit_support": UnitSupport.ALL},
    "the mechanism": {"mechanism": "geometric"},
    "epsilon": {"epsilon": "0.11"},
    "beta": {"beta": Decimal("0.04")},
    "the scope": {"scope": Scope.CANDIDATE},
    "the edition": {"edition": 2},
    "a parameter": {"mechanism": "hist", "parameters": {"contributions": 1}},
    "the weights": {"weights": ("1", "2")},
}


@pytest.mark.parametrize("change", CHANGES)
def test_another_question_by(change: str, desk: Desk, partition: RegisteredPartition) -> None:
    first = desk.seal(ask(partition))
    other = desk.seal(ask(partition, **CHANGES[change]))
    assert other.release_key != first.release_key and not other.was_sealed and len(desk.charges()) == 2


def test_the_same_question_in_other_words_is_the_same(desk: Desk, partition: RegisteredPartition) -> None:
    first = desk.seal(ask(partition, "0.1"))
    assert desk.seal(ask(partition, "0.1", statements=("B", "A"))).payload == first.payload
    again = desk.seal(ask(partition, "0.100", beta=Decimal("5e-2"), proposer="tag_template", model_description={}))
    assert again.was_sealed and again.payload == first.payload and len(desk.charges()) == 1


@given(st.permutations("ABCDE"))
def test_the_order_of_statements_does_not_define_the_question(texts: list[str]) -> None:
    registered = RegisteredPartition("c", "c", "public", "all", "0" * 32, 1, 9, "author", "exact")
    asked, usual = ask(registered, statements=texts), ask(registered, statements="ABCDE")
    assert asked.release_key == usual.release_key and asked.described() == usual.described()
    ids = [statement.statement_id for statement in asked.statements]
    assert ids == sorted(ids) == asked.defining()["statement_ids"]


def test_a_support_belongs_to_its_statement_in_whatever_order_they_were_asked(
    desk: Desk, partition: RegisteredPartition
) -> None:
    desk.log.set_cap("reviews", Decimal(300), "large, so that noise is out of reach")
    question = ask(partition, "200", statements=("C", "B", "A"))
    supports = {"A": 20, "B": 50, "C": 80}
    payload = desk.log.seal(question, [supports[statement.text] for statement in question.statements]).payload
    units = payload["answer"]["certificate_units"]
    certified = dict(zip(payload["described"]["statements"], units, strict=True))
    assert all(abs(certified[text] - count) < 5 for text, count in supports.items())


def test_the_code_that_drew_an_answer_is_sealed_with_it_and_other_code_gets_the_same_answer(
    desk: Desk, partition: RegisteredPartition, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = desk.seal(ask(partition))
    assert first.payload["code_digest"] == product_digest()
    monkeypatch.setattr(sealing, "CODE_DIGEST", "0" * 64)
    again = desk.seal(ask(partition))
    assert again.was_sealed and again.payload == first.payload and len(desk.charges()) == 1
    assert desk.seal(ask(partition, edition=2)).payload["code_digest"] == "0" * 64


def test_another_threshold_is_free_and_remembered_once(desk: Desk, partition: RegisteredPartition) -> None:
    key = desk.seal(ask(partition)).release_key
    for theta in ("0.05", "0.10", "0.1", "0.050"):
        desk.log.ask_threshold(key, Decimal(theta))
    seen = desk.log.project()
    assert [(row["asked"], row["theta"], row["threshold_units"]) for row in seen.thresholds.to_pylist()] == [
        (1, "0.05", 5),
        (2, "0.1", 10),
    ]
    assert seen.charges.num_rows == 1


@pytest.mark.parametrize("count", [None, 1])
def test_a_threshold_of_an_unknown_release_is_refused(desk: Desk, count: int | None) -> None:
    for ask_of in (
        lambda: desk.log.ask_threshold("0" * 64, THETA),
        lambda: desk.log.write_certificate("0" * 64, THETA),
    ):
        with pytest.raises(UserError, match="no such release"):
            ask_of()


def test_a_partition_without_units_is_sealed_without_charge(desk: Desk) -> None:
    [empty] = desk.register(desk.stage(n=0, units=[]))
    question = ask(empty, "0.5")
    sealed = desk.log.seal(question, [0, 0])
    assert set(sealed.payload["charge"].values()) == {"0"} and sealed.payload["answer"]["certificate_units"] == [0, 0]
    assert desk.charges()[0]["epsilon"] == "0"
    document = desk.publish(question, 0)
    said = verifier.verify(document.read_bytes())
    assert "budget: nothing was charged (n = 0)" in said
    assert "decisions: 0 emitted and 2 abstained at theta 0.05" in said
    desk.log.check()


def test_what_costs_nothing_needs_no_cap(desk: Desk) -> None:
    [empty] = desk.register(desk.stage(n=0, units=[]))
    desk.log.check_affordable(ask(empty))
    path = desk.publish(ask(empty), 0)
    assert "budget: nothing was charged (n = 0)" in verifier.verify(path.read_bytes())


FORGED: dict[str, Any] = {
    "an unknown version": {"version": "0" * 32},
    "another n": {"n": 101},
    "another account": {"account": "rich"},
    "public data": {"visibility": "public"},
    "another corpus": {"corpus": "other"},
    "another unit": {"unit": "case"},
}


@pytest.mark.parametrize("lie", FORGED)
def test_a_partition_is_what_was_registered_not_what_is_said(
    lie: str, desk: Desk, partition: RegisteredPartition
) -> None:
    desk.log.set_cap("rich", Decimal(100))
    with pytest.raises(UserError, match="not registered"):
        desk.seal(ask(replace(partition, **FORGED[lie])))
    assert desk.charges() == []


@pytest.mark.parametrize("counts", [[1], [1, 2, 3], [1, 101], [-1, 2], [True, 2], [1.0, 2]])
def test_counts_that_do_not_fit_cost_nothing_and_are_not_told(
    counts: list[int], desk: Desk, partition: RegisteredPartition
) -> None:
    with pytest.raises(ArithmeticError) as caught:
        desk.log.seal(ask(partition), counts)
    assert not any(character.isdigit() and character not in "0" for character in str(caught.value))
    assert desk.charges() == [] and not desk.seal(ask(partition)).was_sealed


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"statements": ()}, "statements: there is none"),
        ({"statements": ("A", " A ")}, "statements: one is asked twice"),
        ({"mechanism": "laplace"}, "mechanism: a release uses one of frontier, geometric"),
        ({"mechanism": "laplace_rounded"}, "mechanism: a release uses one of frontier, geometric"),
        ({"mechanism": "gaussian"}, "mechanism: a release uses one of frontier, geometric"),
        ({"mechanism": "magic"}, "mechanism: a release uses one of frontier, geometric"),
    ],
)
def test_a_question_that_no_release_answers_is_refused(
    asked: dict[str, Any], says: str, partition: RegisteredPartition
) -> None:
    with pytest.raises(UserError, match=says):
        ask(partition, **asked)


def test_find_tells_whether_a_question_was_answered(desk: Desk, partition: RegisteredPartition) -> None:
    question: Question = ask(partition)
    assert desk.log.find(question) is None
    sealed = desk.seal(question)
    found = desk.log.find(question)
    assert found is not None and found.was_sealed and found.payload == sealed.payload
    assert desk.log.payload(question.release_key) == sealed.payload
    assert desk.log.release_keys() == [question.release_key]


def test_the_projection_says_what_was_sealed(desk: Desk, partition: RegisteredPartition) -> None:
    sealed = desk.seal(ask(partition, "0.2"))
    seen = desk.log.project()
    [release], certificates = seen.releases.to_pylist(), seen.certificates.to_pylist()
    assert (release["epsilon"], release["delta"], release["n"]) == ("0.2", "0", 100)
    assert (release["rho"], release["rho_nats"]) == ("0.01", 0.01)  # 0.1^2 / 2, twice
    [group] = sealed.payload["answer"]["groups"]
    assert {row["margin_units"] for row in certificates} == {int(group["margin_units"])}
    assert {(row["epsilon_per_statement_nats"], row["beta_per_statement"]) for row in certificates} == {(0.1, 0.025)}
    assert {(row["reason"], row["weight"]) for row in certificates} == {(None, "1")}
    assert [row["certificate_units"] for row in certificates] == sealed.payload["answer"]["certificate_units"]
    assert [row["statement"] for row in certificates] == ["A", "B"]
    [budget] = seen.budgets.to_pylist()
    assert (budget["composition"], budget["spent_epsilon"], budget["left_epsilon"]) == ("pure", "0.2", "0.8")
    assert (budget["spent_rho"], budget["left_rho"], budget["is_overspent"]) == ("0.01", None, False)
