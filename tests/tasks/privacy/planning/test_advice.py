"""Advice against the exhaustive evaluation of all parameters, with the mechanisms' own probabilities."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import ceil

import numpy as np
import pytest

from schemas.audit import Scope
from tasks.privacy.design import Design, DesignError
from tasks.privacy.mechanisms import MECHANISMS, RELEASE_MECHANISMS
from tasks.privacy.planning import (
    DEFAULT_PRIOR,
    POWERS,
    Advice,
    BetaMixture,
    BetaPart,
    KnownSupports,
    Prior,
    advise,
    plan,
    prior_counts,
)
from tasks.privacy.planning.searching import (
    LOWEST_AT,
    SHARE_STEP,
    Aim,
    Question,
    best_design,
    contribution_candidates,
    expected_emitted,
    selected_candidates,
)
from tests.enumerated_contributions import enumerated_shares

N, THETA = 400, Fraction("0.1")
FLAT = BetaMixture((BetaPart(Fraction(1), Fraction(2), Fraction(5)),))
FEW = KnownSupports(
    tuple(Fraction(text) for text in ("0.4", "0.35", "0.3", "0.02", "0.01", "0.01", "0", "0", "0", "0"))
)


def budget(m: int, epsilon: str = "4", delta: str = "1e-5") -> Design:
    """Whole-report scope."""
    return Design(N, m, Fraction(epsilon), Fraction("0.05"), Scope.REPORT, Fraction(delta))


def supported_and_emitted(name: str, design: Design, counts: list[int], certified: list[int]) -> float:
    """Expected number, from the mechanism's exact probabilities."""
    chances = MECHANISMS[name].designed(design).emit_probabilities(certified, N, THETA)
    return sum(float(p) for p, count in zip(chances, counts, strict=True) if count >= N * THETA)


@pytest.mark.parametrize(
    ("prior", "m", "epsilon"), [(FLAT, 9, "4"), (FLAT, 9, "0.5"), (FEW, 10, "0.3"), (DEFAULT_PRIOR, 8, "1")]
)
def test_the_best_bound_on_contributions_is_that_of_trying_every_one(prior: Prior, m: int, epsilon: str) -> None:
    counts = prior_counts(prior, N, m)
    values = {}
    for bound in range(1, m + 1):
        kept = enumerated_shares([count / N for count in counts], bound)
        certified = [int(count * share + 1e-9) for count, share in zip(counts, kept, strict=True)]
        design = replace(budget(m, epsilon, "0"), contributions=bound)
        values[bound] = supported_and_emitted("hist", design, counts, certified)
    found = best_design("hist", Question(budget(m, epsilon), THETA, prior), Aim.MOST).contributions
    assert found is not None and values[found] == pytest.approx(max(values.values()), abs=1e-9)
    assert len({round(value, 3) for value in values.values()}) > 1


def every_selection(design: Design, name: str) -> list[Design]:
    """All k and all shares in steps of 0.05."""
    base = replace(design, delta=Fraction(0), theta=THETA if name == "svt" else None)
    return [
        replace(base, selected=k, selection_share=step * SHARE_STEP)
        for k in range(1, design.statements + 1)
        for step in range(1, int(1 / SHARE_STEP))
    ]


@pytest.mark.parametrize("name", ["svt", "topk"])
@pytest.mark.parametrize(("prior", "m", "epsilon"), [(FLAT, 12, "4"), (FEW, 10, "2"), (DEFAULT_PRIOR, 8, "20")])
def test_the_most_statements_are_those_of_trying_every_selection(name: str, prior: Prior, m: int, epsilon: str) -> None:
    design, counts = budget(m, epsilon), prior_counts(prior, N, m)
    values = {every: supported_and_emitted(name, every, counts, counts) for every in every_selection(design, name)}
    found = best_design(name, Question(design, THETA, prior), Aim.MOST)
    assert values[found] >= max(values.values()) - 1e-6


@pytest.mark.parametrize("name", ["svt", "topk"])
@pytest.mark.parametrize(("prior", "m", "epsilon"), [(FLAT, 7, "4"), (FEW, 5, "1"), (DEFAULT_PRIOR, 6, "2")])
def test_the_lowest_support_is_that_of_trying_every_selection(name: str, prior: Prior, m: int, epsilon: str) -> None:
    design = budget(m, epsilon)
    lowest = {
        every: plan(name, replace(every, theta=None), THETA, prior).smallest_count_emitted["0.8"] or N + 1
        for every in every_selection(design, name)
        if every.selection_share in {Fraction(part, 20) for part in (1, 5, 8, 9, 10, 12, 15, 18)}
    }
    found = best_design(name, Question(design, THETA, prior), Aim.LOWEST)
    made = plan(name, replace(found, theta=None), THETA, prior)
    assert (made.smallest_count_emitted["0.8"] or N + 1) <= min(lowest.values())


def test_the_lowest_support_of_a_histogram_is_that_of_trying_every_bound() -> None:
    question = Question(budget(9, "2"), THETA, FLAT)
    others = [count / N for count in prior_counts(FLAT, N, 8)]
    lowest = {}
    for bound in contribution_candidates(9):
        made = plan("hist", replace(budget(9, "2", "0"), contributions=bound), THETA).smallest_count_emitted["0.8"]
        (kept, *_) = enumerated_shares([0.0, *others], bound)
        lowest[bound] = ceil((made or N) / kept - 1e-9)
    found = best_design("hist", question, Aim.LOWEST).contributions
    assert found is not None and lowest[found] == min(lowest.values()) and len(set(lowest.values())) > 1
    assert LOWEST_AT == 0.8


def test_each_aim_has_parameters_of_its_own() -> None:
    """n = 1000, m = 20, epsilon = 1, theta = 0.2: svt certifies 0.23 with k = 3, and most statements with k = 5."""
    found = advise(Design(1000, 20, Fraction(1), Fraction("0.05")), Fraction("0.2"), DEFAULT_PRIOR)
    lowest, most = found.lowest("0.8"), found.most()
    assert lowest is not None and lowest.plan.mechanism == "svt" and lowest.plan.design.selected == 3
    assert lowest.smallest_count_certified["0.8"] == 230
    assert most is not None and most.expected_supported > lowest.expected_supported
    beaten = [option.smallest_count_certified["0.8"] for option in found.options if option.plan.mechanism == "svt"]
    assert beaten[0] is not None and beaten[0] > 230


def test_with_many_statements_many_are_selected() -> None:
    """n = 10,000, m = 400, theta = 0.1, epsilon = 10: about the 161 supported ones, not 80 at most."""
    question = Question(Design(10_000, 400, Fraction(10), Fraction("0.05")), Fraction("0.1"), DEFAULT_PRIOR)
    found = best_design("topk", question, Aim.MOST)
    assert found.selected is not None and 140 < found.selected < 200
    assert expected_emitted("topk", found, question, exact=False)[1] > 120


def test_candidates_hold_every_small_bound_and_go_up_to_what_can_be_supported() -> None:
    assert contribution_candidates(1) == [1] and contribution_candidates(7) == [1, 2, 3, 7]
    assert contribution_candidates(60) == [*range(1, 30), 60]
    many = contribution_candidates(10_000)
    assert many[:32] == list(range(1, 33)) and many[-1] == 10_000 and len(many) < 100
    assert all(following <= 1.125 * bound + 1 for bound, following in pairwise(many[:-1]))
    for m, prior in [(1, FLAT), (12, FLAT), (500, DEFAULT_PRIOR), (500, KnownSupports((Fraction(0),)))]:
        question = Question(budget(m), THETA, prior)
        tried = selected_candidates(question)
        assert tried[0] == 1 and tried[-1] == min(m, max(20, 2 * sum(question.is_supported)))
        assert all(following <= 1.6 * k + 1 for k, following in pairwise(tried))


@pytest.fixture(scope="module")
def advice() -> Advice:
    """For 30 statements of the default prior."""
    return advise(budget(30, "3"), THETA, DEFAULT_PRIOR)


def test_advice_compares_every_mechanism(advice: Advice) -> None:
    assert [option.plan.mechanism for option in advice.options] == list(MECHANISMS) and not advice.refused
    assert {option.plan.mechanism for option in advice.options if option.releasable} == set(RELEASE_MECHANISMS)
    assert advice.supported == sum(count >= N * THETA for count in prior_counts(DEFAULT_PRIOR, N, 30))


def test_every_option_is_the_plan_of_its_own_design(advice: Advice) -> None:
    for option in (*advice.options, *advice.lowest_options):
        assert option.exact
        own = replace(option.plan.design, theta=None)
        assert plan(option.plan.mechanism, own, THETA) == option.plan


def test_expectations_are_sums_of_exact_probabilities(advice: Advice) -> None:
    counts = prior_counts(DEFAULT_PRIOR, N, 30)
    for option in advice.options:
        if option.plan.mechanism != "hist":
            chances = (
                MECHANISMS[option.plan.mechanism].designed(option.plan.design).emit_probabilities(counts, N, THETA)
            )
            reached = [count >= N * THETA for count in counts]
            assert option.expected_emitted == pytest.approx(chances.sum(), abs=1e-9)
            assert option.expected_supported == pytest.approx(chances[reached].sum(), abs=1e-9)


def test_before_bounding_a_count_is_larger_by_what_bounding_takes(advice: Advice) -> None:
    (option,) = [option for option in advice.options if option.plan.mechanism == "hist"]
    assert option.plan.design.contributions is not None
    others = np.array([0.0] + [count / N for count in prior_counts(DEFAULT_PRIOR, N, 29)])
    rng = np.random.default_rng(1)
    number = (rng.random((200_000, 30)) < others).sum(axis=1)
    share = float(np.minimum(1, option.plan.design.contributions / (1 + number)).mean())
    for power in POWERS:
        bounded, count = option.plan.smallest_count_emitted[power], option.smallest_count_certified[power]
        assert bounded is not None and count is not None
        assert abs(count - ceil(bounded / share)) <= 1


def test_the_mechanism_advised_certifies_no_higher_support_than_any_that_can_be_released(advice: Advice) -> None:
    for power in POWERS:
        lowest = advice.lowest(power)
        assert lowest is not None and lowest.releasable
        counts = [o.smallest_count_certified[power] for o in advice.lowest_options if o.releasable]
        assert lowest.smallest_count_certified[power] == min(count for count in counts if count is not None)
    most = advice.most()
    assert most is not None and most.releasable
    assert most.expected_supported == max(o.expected_supported for o in advice.options if o.releasable)


def test_what_a_release_refuses_is_never_advised(advice: Advice) -> None:
    first, second, *_ = advice.options
    better = replace(first, releasable=False, expected_supported=9.0, smallest_count_certified=dict.fromkeys(POWERS, 1))
    found = Advice(9, (better, second), (better, second), 20, {})
    assert found.lowest("0.5") == found.most() == second


def test_beside_a_mechanism_with_delta_stands_the_best_without(advice: Advice) -> None:
    (gaussian,) = [option for option in advice.options if option.plan.mechanism == "discrete_gaussian"]
    first = advice.options[0]
    better = replace(gaussian, expected_supported=9.0, smallest_count_certified=dict.fromkeys(POWERS, 1))
    found = Advice(9, (first, better), (first, better), 20, {})
    assert found.lowest("0.5") == found.most() == better and not better.pure
    assert found.lowest("0.5", pure=True) == found.most(pure=True) == first and first.pure


def test_without_delta_the_gaussian_ones_are_refused_by_name() -> None:
    found = advise(budget(4, delta="0"), THETA, FEW)
    assert found.refused == {name: f"delta: {name} needs it" for name in ("gaussian", "discrete_gaussian")}


def test_where_nothing_can_be_certified_nothing_is_advised() -> None:
    hopeless = Design(5, 50, Fraction("0.001"), Fraction("0.001"), Scope.REPORT)
    found = advise(hopeless, Fraction(1, 2), KnownSupports((Fraction(0),)))
    assert found.lowest("0.5") is None and found.most() is None and found.supported == 0


def test_parameters_of_the_design_give_way_to_the_best_ones() -> None:
    given = replace(budget(10), contributions=1, selected=1, selection_share=Fraction("0.1"))
    assert advise(given, THETA, FEW) == advise(budget(10), THETA, FEW)


def test_too_many_statements_are_refused_by_name() -> None:
    with pytest.raises(DesignError, match=r"^advice: compares mechanisms for at most 10000 statements"):
        advise(budget(10_001), THETA, FEW)
