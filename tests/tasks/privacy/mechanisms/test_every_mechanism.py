"""What every mechanism keeps, whatever its noise; a new one is tested by its line in MECHANISMS."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from designs import OPTIONAL, design_of, mechanism_of
from scipy import stats

from schemas.corpora import Visibility
from schemas.errors import UserError
from tasks.privacy.design import DesignError
from tasks.privacy.mechanisms import MECHANISMS, RELEASE_MECHANISMS
from tasks.privacy.simulation import SIMULATORS, emitted, simulate

SELECTING = ("svt", "topk")
PURE_PER_COUNT = [name for name in MECHANISMS if name not in SELECTING and "delta" not in MECHANISMS[name].takes]
N, THETA = 1000, Fraction("0.1")
COUNTS = [0, 60, 95, 99, 100, 101, 104, 120, 200, 1000]


@pytest.mark.parametrize("name", MECHANISMS)
def test_everything_is_emitted_at_theta_0_and_nothing_without_units(name: str) -> None:
    mechanism = mechanism_of(name, N, len(COUNTS))
    assert mechanism.emit_probabilities(COUNTS, N, Fraction(0)).tolist() == [1.0] * len(COUNTS)
    assert mechanism.emit_probabilities([0] * 3, 0, Fraction(0)).tolist() == [0.0] * 3
    assert mechanism.emit_probabilities([0] * 3, 0, Fraction("0.5")).tolist() == [0.0] * 3


@pytest.mark.parametrize("name", MECHANISMS)
def test_an_unsupported_statement_is_emitted_with_probability_at_most_beta(name: str) -> None:
    mechanism = mechanism_of(name, N, 10, beta="0.03")
    chances = mechanism.emit_probabilities([99, 99, 98, 97, 90, 80, 50, 10, 1, 0], N, THETA)
    assert chances.min() >= 0 and chances.max() <= 0.03 * (1 + 1e-9)


@pytest.mark.parametrize(("epsilon", "theta"), [("1e-6", "0.1"), ("0.02", "1"), ("1", "0.1001"), ("400", "0.1")])
@pytest.mark.parametrize("name", [name for name in MECHANISMS if name not in SELECTING])
def test_the_probabilities_of_a_vector_are_those_of_its_counts(name: str, epsilon: str, theta: str) -> None:
    asked = {"theta": Fraction(theta)} if "theta" in MECHANISMS[name].takes else {}
    mechanism = mechanism_of(name, N, 1, epsilon=epsilon, beta="1e-9", **asked)
    alone = [mechanism.emit_probability(count, N, Fraction(theta)) for count in COUNTS]  # type: ignore[attr-defined]
    assert mechanism.emit_probabilities(COUNTS, N, Fraction(theta)) == pytest.approx(alone, rel=1e-10, abs=1e-300)


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_parameter_that_it_takes_must_be_given_and_no_other_one(name: str) -> None:
    for parameter, value in OPTIONAL.items():
        absent = Fraction(0) if parameter == "delta" else None
        given = {parameter: absent if parameter in MECHANISMS[name].takes else value}
        with pytest.raises(DesignError, match=f"^{parameter}: {name} "):
            mechanism_of(name, N, 10, **given)
    if "weights" not in MECHANISMS[name].takes:
        with pytest.raises(DesignError, match=f"^weights: {name} "):
            mechanism_of(name, N, 10, share=Fraction(1, 3))


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_release_is_charged_its_whole_budget(name: str) -> None:
    loss = MECHANISMS[name].loss(design_of(name, N, 7, epsilon="0.7"))
    assert loss.epsilon == Fraction("0.7")
    assert loss.delta == (OPTIONAL["delta"] if "delta" in MECHANISMS[name].takes else 0)


def test_a_release_may_use_the_mechanisms_with_an_exact_sampler_only() -> None:
    floating = {"laplace", "laplace_rounded", "gaussian"}
    assert set(RELEASE_MECHANISMS) == MECHANISMS.keys() - floating
    assert {name for name, kind in MECHANISMS.items() if kind.releasable} == set(RELEASE_MECHANISMS)


@pytest.mark.statistical  # fixed seed; a right simulation fails with probability 1e-6 a statement, over seeds
@pytest.mark.parametrize("name", MECHANISMS)
def test_simulated_emission_follows_the_exact_probability(name: str) -> None:
    mechanism, runs = mechanism_of(name, N, len(COUNTS), epsilon="3"), 40_000
    rng = np.random.default_rng(20261130)
    drawn = simulate(mechanism, COUNTS, N, runs, visibility=Visibility.SYNTHETIC, rng=rng)
    times, chances = emitted(drawn, N, THETA).sum(axis=0), mechanism.emit_probabilities(COUNTS, N, THETA)
    assert drawn.shape == (runs, len(COUNTS)) and drawn.min() >= 0 and drawn.max() <= N
    for seen, chance in zip(times, chances, strict=True):
        assert stats.binomtest(int(seen), runs, min(1.0, float(chance))).pvalue > 1e-6


@pytest.mark.parametrize("name", MECHANISMS)
def test_equal_seeds_give_equal_certificates_and_others_give_others(name: str) -> None:
    mechanism = mechanism_of(name, N, len(COUNTS), epsilon="3")
    one, again, other = (
        simulate(mechanism, COUNTS, N, 50, visibility=Visibility.PUBLIC, rng=np.random.default_rng(seed))
        for seed in (7, 7, 8)
    )
    assert np.array_equal(one, again) and not np.array_equal(one, other)


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_simulation_refuses_a_private_corpus(name: str) -> None:
    with pytest.raises(UserError, match="refuses a private corpus"):
        simulate(mechanism_of(name, N, 1), [1], N, 1, visibility=Visibility.PRIVATE, rng=np.random.default_rng(0))


def test_every_mechanism_has_its_simulation() -> None:
    assert SIMULATORS.keys() == MECHANISMS.keys()


@pytest.mark.parametrize("name", PURE_PER_COUNT)
@pytest.mark.parametrize("epsilon", ["0.3", "2"])
def test_one_unit_moves_the_log_probability_of_every_output_by_at_most_epsilon(name: str, epsilon: str) -> None:
    """Two statements, so that the shares are seen; every pattern of moves; outputs far into the tails."""
    mechanism = (
        mechanism_of(name, N, 2, epsilon=epsilon, contributions=1)
        if name == "hist"
        else mechanism_of(name, N, 2, epsilon=epsilon)
    )
    step = 1 if name not in ("laplace", "gaussian") else 0.25
    outputs = np.arange(60, 140, step) if name != "staircase" else np.array([0, 100])
    worst = 0.0
    for count in (98, 99, 100, 107):
        for move in (-1, 1):
            here = mechanism.log_probabilities(outputs, np.array(count))  # type: ignore[attr-defined]
            there = mechanism.log_probabilities(outputs, np.array(count + move))  # type: ignore[attr-defined]
            worst = max(worst, float(np.abs(here - there).max()))
    assert 0.49 * float(epsilon) <= worst <= 0.5 * float(epsilon) * (1 + 1e-9)


@pytest.mark.parametrize("name", ["frontier", "geometric", "laplace_rounded", "hist"])
def test_the_log_probabilities_of_whole_outputs_add_up_to_one_and_to_the_emission_probability(name: str) -> None:
    mechanism = mechanism_of(name, N, 1, epsilon="0.4")
    outputs = np.arange(-400, 700)
    mass = np.exp(mechanism.log_probabilities(outputs, np.array(104)))  # type: ignore[attr-defined]
    assert mass.sum() == pytest.approx(1, abs=1e-12)
    assert mass[outputs >= 100].sum() == pytest.approx(mechanism.emit_probabilities([104], N, THETA)[0], rel=1e-9)
    places = list(product((300, 500), (480, 520)))
    pairs = [math.log(mass[a]) + math.log(mass[b]) for a, b in places]
    whole = [mechanism.log_probability([outputs[a], outputs[b]], [104, 104]) for a, b in places]
    assert whole == pytest.approx(pairs)


@pytest.mark.parametrize("name", ["frontier", "geometric", "staircase", "laplace", "laplace_rounded"])
def test_public_weights_divide_budget_and_error(name: str) -> None:
    shares = [Fraction(1, 6), Fraction(1, 3), Fraction(1, 2)]
    designs = [design_of(name, N, 3, epsilon="2", share=share) for share in shares]
    assert sum(MECHANISMS[name].loss(design).epsilon for design in designs) == 2
    chances = [MECHANISMS[name].designed(design).emit_probabilities([110], N, THETA)[0] for design in designs]
    assert chances == sorted(chances) and chances[0] < chances[-1]
