"""Every mechanism that may release is released exactly once through the log, and verified from its file alone."""

import json
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from desk import PARAMETERS, THETA, Desk, ask, in_child
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.audit import Scope
from schemas.errors import UserError
from tasks.ledger import verifier
from tasks.ledger.amounts import loss_fields
from tasks.ledger.answers import Prepared
from tasks.ledger.question import Question, RegisteredPartition
from tasks.ledger.verifier import _MEANINGS, _PARAMETERS, verify
from tasks.privacy.mechanisms import RELEASE_MECHANISMS

TEXTS = tuple(f"Statement {number}." for number in range(12))
COUNTS = [0, 100, 50, 3, 97, 51, 49, 5, 6, 20, 80, 1]  # of 100 units, each of which supports at most 5 of them
KILLED = 9
SURE = Decimal("1e-30")  # with 900 nats the margin is still 0
WEIGHTED = [name for name, kind in RELEASE_MECHANISMS.items() if "weights" in kind.takes]


def question_of(desk: Desk, mechanism: str, epsilon: str = "6", **other: object) -> Question:
    """Twelve statements about the only partition, which is registered when it is not yet."""
    partitions = desk.log.partitions("reviews") or desk.register()
    given = {"statements": TEXTS, "parameters": PARAMETERS[mechanism]} | other
    return ask(partitions[0], epsilon, mechanism=mechanism, **given)  # type: ignore[arg-type]


def capped(desk: Desk) -> Desk:
    """An account that counts epsilon and delta."""
    desk.log.set_cap("reviews", Decimal(1000), delta=Decimal("0.1"))
    return desk


def export(desk: Desk, question: Question, theta: Decimal = THETA) -> Path:
    desk.log.ask_threshold(question.release_key, theta)
    return desk.log.write_certificate(question.release_key, theta)


def test_this_list_and_the_verifier_know_every_mechanism_that_may_release() -> None:
    assert set(PARAMETERS) == set(RELEASE_MECHANISMS) == set(_PARAMETERS)
    assert {name: set(taken.split()) for name, taken in _PARAMETERS.items()} == {
        name: kind.takes - {"weights"} for name, kind in RELEASE_MECHANISMS.items()
    }
    assert {name: kind.meaning for name, kind in RELEASE_MECHANISMS.items()} == _MEANINGS


@pytest.mark.parametrize("scope", Scope)
@pytest.mark.parametrize("mechanism", PARAMETERS)
def test_one_draw_one_charge_and_a_file_that_verifies(desk: Desk, mechanism: str, scope: Scope) -> None:
    question = question_of(capped(desk), mechanism, scope=scope)
    first, again = (desk.log.seal(question, COUNTS) for _ in range(2))
    assert not first.was_sealed and again.was_sealed and again.payload == first.payload
    assert len(desk.charges()) == 1
    shown = verify(export(desk, question).read_bytes())
    assert any(line.startswith(f"mechanism: {mechanism}, margin ") for line in shown)
    assert shown[-1].startswith("signature")
    desk.log.check()


@pytest.mark.parametrize("backend", ["sqlite"])  # about the verifier's arithmetic: 21 releases on one are enough
@pytest.mark.parametrize("epsilon", ["0.001", "6", "300"])
@pytest.mark.parametrize("mechanism", PARAMETERS)
def test_little_and_much_budget_is_verified(desk: Desk, mechanism: str, epsilon: str) -> None:
    """From margins far above n to a margin of 0."""
    for beta in ("0.05", "0.4", "1e-40"):
        question = question_of(capped(desk), mechanism, epsilon, beta=Decimal(beta))
        desk.log.seal(question, COUNTS)
        assert len(verify(export(desk, question).read_bytes())) == 15


@pytest.mark.parametrize("mechanism", PARAMETERS)
def test_a_partition_without_units_is_answered_without_a_draw_or_a_charge(desk: Desk, mechanism: str) -> None:
    [empty] = capped(desk).register(desk.stage(n=0, units=[]))
    question = ask(empty, "6", statements=TEXTS, mechanism=mechanism, parameters=PARAMETERS[mechanism])
    answer = desk.log.seal(question, [0] * 12).payload["answer"]
    assert (answer["certificate_units"], set(answer["reasons"])) == ([0] * 12, {"not_reached"})
    assert [(row["epsilon"], row["delta"], row["rho"]) for row in desk.charges()] == [("0", "0", "0")]
    assert "charge: nothing (n = 0)" in verify(export(desk, question).read_bytes())


@pytest.mark.parametrize("mechanism", PARAMETERS)
@pytest.mark.parametrize("point", ["after_draw", "after_write", "after_commit"])
def test_a_kill_while_sealing_costs_nothing(desk: Desk, mechanism: str, point: str) -> None:
    question = question_of(capped(desk), mechanism)
    assert in_child(lambda: desk.log.seal(question, COUNTS), crash_at=point).signal == KILLED
    assert (desk.log.find(question) is not None) == (point == "after_commit")
    desk.log.seal(question, COUNTS)
    desk.log.check()
    assert len(desk.charges()) == len(desk.releases()) == 1


CHANGED: dict[str, tuple[str, dict[str, str | int]]] = {
    "theta": ("staircase", {"theta": "0.06"}),
    "theta of the selection": ("svt", {"theta": "0.06", "selected": 2, "selection_share": "0.5"}),
    "delta": ("discrete_gaussian", {"delta": "0.00002"}),
    "contributions": ("hist", {"contributions": 6}),
    "selected": ("topk", {"selected": 3, "selection_share": "0.5"}),
    "selection_share": ("topk", {"selected": 2, "selection_share": "0.51"}),
}


@pytest.mark.parametrize("what", CHANGED)
def test_another_parameter_is_another_question(desk: Desk, what: str) -> None:
    mechanism, parameters = CHANGED[what]
    first = question_of(capped(desk), mechanism)
    other = question_of(desk, mechanism, parameters=parameters)
    assert first.release_key != other.release_key
    desk.log.seal(first, COUNTS)
    assert not desk.log.seal(other, COUNTS).was_sealed


def test_the_same_parameter_in_another_spelling_is_the_same_question(desk: Desk) -> None:
    spelled = question_of(desk, "svt", parameters={"theta": "0.0500", "selected": 2, "selection_share": "5e-1"})
    assert spelled.release_key == question_of(desk, "svt").release_key


WRONG: dict[str, tuple[str, dict[str, str | int], str]] = {
    "no delta": ("discrete_gaussian", {}, "delta: discrete_gaussian needs it"),
    "a delta too many": ("frontier", {"delta": "0.1"}, "delta: frontier does not take it"),
    "a threshold too many": ("frontier", {"theta": "0.1"}, "theta: frontier does not take it"),
    "no theta": ("staircase", {}, "theta: staircase needs it"),
    "no bound": ("hist", {}, "contributions: hist needs it"),
    "no share": ("topk", {"selected": 2}, "selection_share: topk needs it"),
    "no selected": ("svt", {"theta": "0.1", "selection_share": "0.5"}, "selected: svt needs it"),
    "a selection too many": ("hist", {"contributions": 1, "selected": 2}, "selected: hist does not take it"),
    "an epsilon out of reach": ("discrete_gaussian", {"delta": "1e-300"}, "epsilon: "),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_parameter_is_refused_by_name_before_anything_is_drawn(desk: Desk, what: str) -> None:
    mechanism, parameters, says = WRONG[what]
    epsilon = "1e-11" if says == "epsilon: " else "6"
    question = question_of(capped(desk), mechanism, epsilon, parameters=parameters)
    for refuse in (desk.log.check_affordable, lambda asked: desk.log.seal(asked, COUNTS)):
        with pytest.raises(UserError, match=says):
            refuse(question)
    assert desk.charges() == []


@pytest.mark.parametrize("mechanism", PARAMETERS)
def test_another_threshold_is_free_where_the_answer_holds_at_it_and_refused_where_not(
    desk: Desk, mechanism: str
) -> None:
    question = question_of(capped(desk), mechanism)
    desk.log.seal(question, COUNTS)
    if RELEASE_MECHANISMS[mechanism].answers_every_threshold:
        assert "abstained at theta 0.2" in " ".join(verify(export(desk, question, Decimal("0.2")).read_bytes()))
    else:
        for ask_of in (desk.log.ask_threshold, desk.log.write_certificate):
            with pytest.raises(UserError, match=r"theta: .* answers at 0\.05 only; .* another question"):
                ask_of(question.release_key, Decimal("0.2"))
    export(desk, question)
    assert len(desk.charges()) == 1


def test_counts_that_were_not_bounded_are_never_given_noise(desk: Desk) -> None:
    """462 supports of 100 units cannot be left where each counts for at most four."""
    question = question_of(capped(desk), "hist", parameters={"contributions": 4})
    with pytest.raises(ArithmeticError, match="bounded contributions") as caught:
        desk.log.seal(question, COUNTS)
    assert "462" not in str(caught.value) and desk.charges() == []


def test_a_staircase_certifies_the_threshold_or_nothing(desk: Desk) -> None:
    question = question_of(capped(desk), "staircase", "900", parameters={"theta": "0.5"}, beta=SURE)
    answer = desk.log.seal(question, COUNTS).payload["answer"]
    assert answer["certificate_units"] == [50 if count >= 50 else 0 for count in COUNTS]


@pytest.mark.parametrize("mechanism", ["svt", "topk"])
def test_what_selection_leaves_out_has_a_reason_and_certificate_0(desk: Desk, mechanism: str) -> None:
    """With 900 nats the noise is out of reach: svt takes the first two at the threshold, topk the two highest."""
    parameters = {"selected": 2, "selection_share": "0.5"} | ({"theta": "0.5"} if mechanism == "svt" else {})
    question = question_of(capped(desk), mechanism, "900", parameters=parameters, beta=SURE)
    answer = desk.log.seal(question, COUNTS).payload["answer"]
    chosen = [1, 2] if mechanism == "svt" else [1, 4]
    assert [at for at, reason in enumerate(answer["reasons"]) if reason is None] == chosen
    expected = ["not_reached" if mechanism == "svt" and at > 2 else "not_selected" for at in range(12)]
    assert [reason for at, reason in enumerate(answer["reasons"]) if at not in chosen] == [
        reason for at, reason in enumerate(expected) if at not in chosen
    ]
    assert [answer["certificate_units"][at] for at in chosen] == [COUNTS[at] for at in chosen]
    assert sum(answer["certificate_units"]) == sum(COUNTS[at] for at in chosen)
    decisions = json.loads(export(desk, question, Decimal("0.5")).read_bytes())["decisions"]
    assert {line["reason"] for line in decisions} == {None, *expected}


def test_the_projection_has_reasons_parameters_and_margins(desk: Desk) -> None:
    question = question_of(capped(desk), "svt", "900")
    desk.log.seal(question, COUNTS)
    seen = desk.log.project()
    [release], rows = seen.releases.to_pylist(), seen.certificates.to_pylist()
    assert json.loads(release["parameters"]) == {"selected": "2", "selection_share": "0.5", "theta": "0.05"}
    assert release["meaning"] == RELEASE_MECHANISMS["svt"].meaning
    assert [row["reason"] for row in rows] == desk.log.payload(release["release_key"])["answer"]["reasons"]
    assert {row["epsilon_per_statement_nats"] for row in rows} == {225.0}


def test_a_gaussian_release_is_charged_epsilon_delta_and_rho(desk: Desk) -> None:
    question = question_of(capped(desk), "discrete_gaussian", "1")
    payload = desk.log.seal(question, COUNTS).payload
    [charge] = desk.charges()
    assert (charge["epsilon"], charge["delta"]) == ("1", "0.00001")
    assert payload["charge"]["rho"] == charge["rho"] and Fraction("0.03") < Fraction(charge["rho"]) < Fraction("0.031")
    assert {row["epsilon_per_statement_nats"] for row in desk.log.project().certificates.to_pylist()} == {None}
    [line] = desk.log.budget_lines()
    assert (line.epsilon.left, line.delta.left, line.rho.cap) == ("999", "0.09999", None)


@pytest.mark.parametrize("mechanism", WEIGHTED)
@pytest.mark.parametrize("scope", Scope)
def test_weights_split_epsilon_and_beta(desk: Desk, mechanism: str, scope: Scope) -> None:
    weights = ["1", "2", "0.5", "2", "1", "1", "1", "1", "1", "1", "1", "10"]
    question = question_of(capped(desk), mechanism, weights=weights, scope=scope)
    payload = desk.log.seal(question, COUNTS).payload
    groups = payload["answer"]["groups"]
    assert [group["weight"] for group in groups] == ["1", "2", "4", "20"]  # in lowest terms, by statement
    times = [payload["question"]["weights"].count(group["weight"]) for group in groups]
    assert times == [1, 8, 2, 1]
    spent = sum(n * Fraction(group["epsilon_per_statement"] or 0) for n, group in zip(times, groups, strict=True))
    assert spent == 6
    betas = [Fraction(group["beta_per_statement"]) for group in groups]
    if scope is Scope.REPORT:
        assert sum(n * beta for n, beta in zip(times, betas, strict=True)) == Fraction("0.05")
    margins = [int(group["margin_units"]) for group in groups]
    assert margins == sorted(margins, reverse=True) and margins[0] > margins[-1]
    by_statement = desk.log.project().certificates.to_pylist()
    assert {(row["weight"], row["margin_units"]) for row in by_statement} == {
        (group["weight"], int(group["margin_units"])) for group in groups
    }
    assert "charge: epsilon 6" in " ".join(verify(export(desk, question).read_bytes()))


def test_weights_belong_to_their_statements_in_whatever_order_they_are_asked(desk: Desk) -> None:
    weights = {text: str(1 + number % 3) for number, text in enumerate(TEXTS)}
    asked = [
        question_of(desk, "frontier", statements=order, weights=[weights[text] for text in order])
        for order in (TEXTS, TEXTS[::-1])
    ]
    assert asked[0].release_key == asked[1].release_key
    described = dict(zip((one.text for one in asked[0].statements), asked[0].weights, strict=True))
    assert {text: str(weight) for text, weight in described.items()} == weights


@given(st.lists(st.integers(1, 9), min_size=2, max_size=6), st.integers(1, 7))
def test_weights_in_the_same_proportions_are_the_same_question(weights: list[int], times: int) -> None:
    registered = RegisteredPartition("c", "c", "public", "all", "0" * 32, 1, 9, "author", "exact")
    texts = TEXTS[: len(weights)]
    keys = {
        ask(registered, statements=texts, weights=[str(scaled) for scaled in split]).release_key
        for split in (weights, [weight * times for weight in weights], [Decimal(weight) / 8 for weight in weights])
    }
    assert len(keys) == 1
    equal = ask(registered, statements=texts).release_key
    assert (keys == {equal}) == (len(set(weights)) == 1)


@pytest.mark.parametrize("mechanism", sorted(set(PARAMETERS) - set(WEIGHTED)))
def test_weights_are_refused_by_name_where_they_mean_nothing(desk: Desk, mechanism: str) -> None:
    question = question_of(capped(desk), mechanism, weights=["2", *["1"] * 11])
    with pytest.raises(UserError, match=f"weights: {mechanism} does not take them"):
        desk.log.seal(question, COUNTS)
    even = question_of(desk, mechanism, weights=["2"] * 12)
    assert not desk.log.seal(even, COUNTS).was_sealed


@st.composite
def questions(draw: st.DrawFn) -> Question:
    """Any mechanism at any budget, error, scope and number of statements, with weights where it takes them."""
    registered = RegisteredPartition("c", "c", "public", "all", "0" * 32, 1, 1000, "author", "exact")
    mechanism = draw(st.sampled_from(list(PARAMETERS)))
    texts = [f"Statement {number}." for number in range(draw(st.sampled_from([1, 2, 7, 90])))]
    share = str(draw(st.decimals("0.01", "0.99", places=2)))
    parameters: dict[str, dict[str, str | int]] = {
        "discrete_gaussian": {"delta": f"1e-{draw(st.integers(1, 40))}"},
        "hist": {"contributions": draw(st.integers(1, 9))},
        "svt": {"theta": "0.05", "selected": draw(st.integers(1, 20)), "selection_share": share},
        "topk": {"selected": draw(st.integers(1, 20)), "selection_share": share},
    }
    return ask(
        registered,
        f"{draw(st.integers(1, 999))}e{draw(st.integers(-9, 0))}",
        mechanism=mechanism,
        scope=draw(st.sampled_from(Scope)),
        beta=Decimal(draw(st.integers(1, 499))).scaleb(-draw(st.integers(3, 60))),
        statements=texts,
        parameters=parameters.get(mechanism, PARAMETERS[mechanism]),
        weights=[str(draw(st.sampled_from([1, 2, 5]))) for _ in texts] if mechanism in WEIGHTED else None,
    )


@settings(max_examples=150, deadline=None)
@given(questions())
def test_the_verifier_s_own_arithmetic_agrees_wherever_a_mechanism_can_be_run(question: Question) -> None:
    try:
        prepared = Prepared.of(question)
    except UserError as refusal:
        assert str(refusal).startswith("epsilon: ")  # out of the sampler's range
        return
    asked = question.defining()
    split = verifier._split(asked)  # type: ignore[arg-type]
    assert [group["weight"] for group in prepared.fields] == sorted(split.shares, key=int)
    for group in prepared.fields:
        verifier._check_group(asked, split, group)  # type: ignore[arg-type]
    scale = Fraction(prepared.fields[0]["scale"])
    verifier._check_rho(split, Fraction(loss_fields(question.loss)["rho"] or "-1"), scale)
