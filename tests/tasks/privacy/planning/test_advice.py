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
from tasks.privacy.planning.advice import (
    SELECTED,
    SELECTION_SHARES,
    best_design,
    contribution_candidates,
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
    found = best_design("hist", budget(m, epsilon), THETA, counts).contributions
    assert found is not None and values[found] == pytest.approx(max(values.values()), abs=1e-9)
    assert len({round(value, 3) for value in values.values()}) > 1


@pytest.mark.parametrize("name", ["svt", "topk"])
@pytest.mark.parametrize(("prior", "m", "epsilon"), [(FLAT, 12, "4"), (FEW, 10, "2"), (DEFAULT_PRIOR, 8, "20")])
def test_the_best_selection_is_that_of_trying_every_one(name: str, prior: Prior, m: int, epsilon: str) -> None:
    counts = prior_counts(prior, N, m)
    base = replace(budget(m, epsilon, "0"), theta=THETA if name == "svt" else None)
    values = {}
    for selected in [k for k in SELECTED if k <= m]:
        for share in SELECTION_SHARES:
            design = replace(base, selected=selected, selection_share=share)
            values[selected, share] = supported_and_emitted(name, design, counts, counts)
    found = best_design(name, budget(m, epsilon), THETA, counts)
    assert found.selected is not None and found.selection_share is not None
    assert values[found.selected, found.selection_share] == pytest.approx(max(values.values()), abs=1e-9)
    assert found.theta == base.theta and found.delta == 0


def test_candidates_hold_the_sweep_of_the_specification_and_every_small_bound() -> None:
    assert {5, 10, 20, 40} <= set(SELECTED) and {Fraction(part, 4) for part in (1, 2, 3)} == set(SELECTION_SHARES)
    assert contribution_candidates(1) == [1] and contribution_candidates(7) == [1, 2, 3, 7]
    assert contribution_candidates(60) == [*range(1, 30), 60]
    many = contribution_candidates(10_000)
    assert many[:32] == list(range(1, 33)) and many[-1] == 10_000 and len(many) < 100
    assert all(following <= 1.125 * bound + 1 for bound, following in pairwise(many[:-1]))


@pytest.fixture(scope="module")
def advice() -> Advice:
    """For 30 statements of the default prior."""
    return advise(budget(30, "3"), THETA, DEFAULT_PRIOR)


def test_advice_compares_every_mechanism(advice: Advice) -> None:
    assert [option.plan.mechanism for option in advice.options] == list(MECHANISMS) and not advice.refused
    assert {option.plan.mechanism for option in advice.options if option.releasable} == set(RELEASE_MECHANISMS)
    assert advice.supported == sum(count >= N * THETA for count in prior_counts(DEFAULT_PRIOR, N, 30))


def test_every_option_is_the_plan_of_its_own_design(advice: Advice) -> None:
    for option in advice.options:
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
        counts = [o.smallest_count_certified[power] for o in advice.options if o.releasable]
        assert lowest.smallest_count_certified[power] == min(count for count in counts if count is not None)
    most = advice.most()
    assert most is not None and most.releasable
    assert most.expected_supported == max(o.expected_supported for o in advice.options if o.releasable)


def test_what_a_release_refuses_is_never_advised(advice: Advice) -> None:
    first, second, *_ = advice.options
    better = replace(first, releasable=False, expected_supported=9.0, smallest_count_certified=dict.fromkeys(POWERS, 1))
    found = Advice(9, (better, second), {})
    assert found.lowest("0.5") == found.most() == second


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
