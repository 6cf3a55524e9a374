"""The empirical audit: its bounds are honest, its choice of events is, and it sees what is broken."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from tasks.privacy.contributions import l1_sensitivity
from tasks.privacy.design import Design
from tasks.privacy.empirical import MISS, audit, pairs_of
from tasks.privacy.empirical.audit import BOUNDS, Sample, audit_pair
from tasks.privacy.empirical.bounds import delta_at_least, epsilon_at_least
from tasks.privacy.empirical.events import Outputs
from tasks.privacy.empirical.pairs import DECLARED, Pair
from tasks.privacy.empirical.sampling import NO_CERTIFICATE, is_independent, real_draws
from tasks.privacy.mechanisms import RELEASE_MECHANISMS, Frontier, Svt, Topk
from tasks.privacy.simulation.noise_laws import two_sided_geometric

ALL_PAIRS = [pair for name in DECLARED for pair in pairs_of(name)]
LAST_OF_EACH = [pairs_of(name)[-1] for name in DECLARED if is_independent(name)]
ONE_TEST = MISS / BOUNDS
SEED = 20261130


def named(pair: Pair) -> str:
    return f"{pair.mechanism}: {pair.name}"


@pytest.mark.parametrize("delta", ["0", "0.1"])
@pytest.mark.parametrize(("p", "q"), [(0.6, 0.25), (0.5, 0.5), (0.9, 0.05), (0.05, 0.9), (1.0, 0.0)])
def test_a_bound_exceeds_the_truth_with_at_most_twice_the_stated_probability(p: float, q: float, delta: str) -> None:
    """Every pair of counts out of 60, weighted by its exact probability."""
    trials, miss, spared = 60, Fraction("0.02"), Fraction(delta)
    hits = np.arange(trials + 1)
    weights = np.outer(stats.binom.pmf(hits, trials, p), stats.binom.pmf(hits, trials, q))
    proved = epsilon_at_least(hits[:, None], hits[None, :], trials, spared, miss)
    with np.errstate(divide="ignore"):
        truth = max(0.0, float(np.log(np.divide(max(p - float(spared), 0), q)))) if q else np.inf
    assert weights[proved > truth + 1e-12].sum() <= 2 * float(miss)
    epsilon = Fraction("0.3")
    proved = delta_at_least(hits[:, None], hits[None, :], trials, epsilon, miss)
    assert weights[proved > max(0.0, p - np.exp(0.3) * q) + 1e-12].sum() <= 2 * float(miss)


def pair_of(counts: Sequence[int], neighbour: Sequence[int], epsilon: str = "1", **given: object) -> Pair:
    design = Design(40, len(counts), Fraction(epsilon), Fraction("0.05"), **given)  # type: ignore[arg-type]
    return Pair("made-up", "pair", design, tuple(counts), tuple(neighbour))


def randomised_response(epsilon: float, rng: np.random.Generator) -> Sample:
    """Each count's last bit, kept with odds e^epsilon."""
    keep = np.exp(epsilon) / (1 + np.exp(epsilon))
    return lambda counts, draws: np.array(counts) % 2 ^ (rng.random((draws, len(counts))) >= keep)


@pytest.mark.statistical  # fixed seed; each bound fails with probability 1e-6 over seeds
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_the_exact_loss_of_randomised_response_is_nearly_reached_and_never_exceeded(epsilon: float) -> None:
    sample = randomised_response(epsilon, np.random.default_rng(SEED))
    found = audit_pair(pair_of([20], [21], str(epsilon)), sample, 400_000, ONE_TEST)
    assert 0.85 < found.share_of_epsilon <= 1
    assert "epsilon" not in found.refuted and "delta" not in found.refuted
    beyond = audit_pair(pair_of([20], [21], str(0.8 * epsilon)), sample, 400_000, ONE_TEST)
    assert {"epsilon", "delta"} <= set(beyond.refuted)
    assert beyond.delta_at_least > 0


@pytest.mark.statistical  # fixed seed, 1e-6
def test_delta_is_refuted_where_epsilon_alone_would_need_it_larger() -> None:
    """Gaussian noise of sigma 2 at distance 1 has delta(0.5) = 0.0524: 0.03 is refuted, 0.06 is not."""
    rng = np.random.default_rng(SEED)

    def sample(counts: Sequence[int], draws: int) -> Outputs:
        return np.rint(1000 * (np.array(counts) + 2 * rng.standard_normal((draws, len(counts))))).astype(np.int64)

    exact = stats.norm.sf(0.75) - np.exp(0.5) * stats.norm.sf(1.25)
    found = audit_pair(pair_of([20], [21], "0.5", delta=Fraction("0.03")), sample, 300_000, ONE_TEST)
    assert {"epsilon", "delta"} <= set(found.refuted) and 0.75 * exact < found.delta_at_least <= exact
    honest = audit_pair(pair_of([20], [21], "0.5", delta=Fraction("0.06")), sample, 300_000, ONE_TEST)
    assert not {"epsilon", "delta"} & set(honest.refuted)


@pytest.mark.parametrize("telling", [0.25, 0.5])
def test_what_only_the_draws_that_choose_the_event_show_proves_nothing(telling: float) -> None:
    """The first draws tell the datasets apart for certain, the others are alike."""

    def sample(counts: Sequence[int], draws: int) -> Outputs:
        early = np.arange(draws)[:, None] < telling * draws
        return np.where(early, np.array(counts), 0)

    found = audit_pair(pair_of([20], [21]), sample, 4_000, ONE_TEST)
    assert (found.epsilon_at_least, found.delta_at_least) == (0, 0)


@pytest.mark.statistical  # fixed seed, 1e-6
def test_a_signal_is_found_among_outputs_that_never_recur() -> None:
    """An event fitted to single outputs would prove nothing on other draws."""
    rng = np.random.default_rng(SEED)
    signal = randomised_response(1.0, rng)

    def sample(counts: Sequence[int], draws: int) -> Outputs:
        return np.column_stack([signal(counts[:1], draws), rng.integers(0, 10**6, (draws, 2))])

    found = audit_pair(pair_of([20] * 3, [21] * 3), sample, 40_000, ONE_TEST)
    assert 0.7 < found.share_of_epsilon <= 1


def test_noise_that_is_shared_by_statements_is_refuted() -> None:
    """Each count alone is private enough; their difference is not noised at all."""
    rng = np.random.default_rng(SEED)
    found = audit_pair(
        pair_of([20, 20], [21, 19]),
        lambda counts, draws: np.array(counts) + two_sided_geometric(0.5, (draws, 1), rng),
        2_000,
        ONE_TEST,
    )
    assert found.share_of_epsilon > 3


def test_too_few_draws_are_refused() -> None:
    with pytest.raises(ValueError, match="draws"):
        audit_pair(pair_of([1], [2]), randomised_response(1, np.random.default_rng(0)), 99, ONE_TEST)


def test_every_mechanism_that_may_release_declares_its_neighbours() -> None:
    assert DECLARED.keys() == RELEASE_MECHANISMS.keys()


@pytest.mark.parametrize("pair", ALL_PAIRS, ids=named)
def test_declared_pairs_are_neighbours_under_a_design_that_the_mechanism_takes(pair: Pair) -> None:
    change = np.abs(np.subtract(pair.counts, pair.neighbour))
    assert 1 <= change.max() <= 1 and len(change) == pair.design.statements
    assert all(0 <= count <= pair.design.n for count in (*pair.counts, *pair.neighbour))
    if pair.design.contributions is not None:
        assert change.sum() <= l1_sensitivity(pair.design.statements, pair.design.contributions)
    kind = RELEASE_MECHANISMS[pair.mechanism]
    kind.designed(pair.design)
    assert kind.loss(pair.design).epsilon == pair.design.epsilon


@pytest.mark.statistical  # real draws, unseeded; fails with probability 1e-6
def test_what_releases_draw_is_consistent_with_every_claim() -> None:
    found = list(audit(list(RELEASE_MECHANISMS), 400))
    assert [(one.mechanism, one.pair) for one in found] == [(pair.mechanism, pair.name) for pair in ALL_PAIRS]
    assert [one for one in found if one.refuted] == []
    assert {one.mechanism: one.draws for one in found} == {
        name: 2_000 if is_independent(name) else 400 for name in RELEASE_MECHANISMS
    }


def half_noise(pair: Pair) -> Pair:
    """The design whose noise has half the scale; what is claimed stays."""
    return replace(pair, design=replace(pair.design, epsilon=2 * pair.design.epsilon))


@pytest.mark.statistical  # real draws, unseeded; a miss is far less likely than 1e-6
@pytest.mark.parametrize("pair", LAST_OF_EACH, ids=named)
def test_half_the_noise_is_refuted_within_the_draws_of_a_quick_check(pair: Pair) -> None:
    found = audit_pair(pair, real_draws(half_noise(pair)), 25_000, MISS / (BOUNDS * len(ALL_PAIRS)))
    assert "epsilon" in found.refuted and found.epsilon_at_least <= 2 * pair.design.epsilon


@pytest.mark.statistical  # real draws, unseeded; a miss is far less likely than 1e-6
@pytest.mark.parametrize("pair", [pairs_of("frontier")[0], pairs_of("staircase")[0]], ids=named)
def test_certificates_that_err_twice_as_often_as_claimed_are_refuted(pair: Pair) -> None:
    careless = replace(pair, design=replace(pair.design, beta=2 * pair.design.beta))
    found = audit_pair(pair, real_draws(careless), 10_000, ONE_TEST)
    assert found.refuted == ["beta"] and found.error_at_least <= 0.1 <= found.error_at_most + 0.01


def selecting(pair: Pair, *, stops: bool = True, monotone: bool = False) -> Sample:
    """Seeded svt and topk, and what may be wrong with svt: no stop after k, or query noise of scale k / eps_2."""
    rng = np.random.default_rng(SEED)
    mechanism = RELEASE_MECHANISMS[pair.mechanism].designed(pair.design)

    def chosen(counts: Outputs, draws: int) -> Outputs:
        if isinstance(mechanism, Topk):
            noisy = counts + rng.exponential(float(mechanism.scale), (draws, counts.size))
            return (-noisy).argsort(axis=1).argsort(axis=1) < mechanism.selected
        assert isinstance(mechanism, Svt)
        rate = float(1 / mechanism.query_scale) * (2 if monotone else 1)
        bar = mechanism.threshold + two_sided_geometric(float(1 / mechanism.threshold_scale), (draws, 1), rng)
        above = counts + two_sided_geometric(rate, (draws, counts.size), rng) >= bar
        return above & (np.cumsum(above, axis=1) <= mechanism.selected) if stops else above

    def certificates(certifier: Frontier, counts: Outputs, draws: int) -> Outputs:
        noise = two_sided_geometric(float(1 / certifier.scale), (draws, counts.size), rng)
        coins = rng.random(noise.shape) < float(certifier.coin)
        return np.clip(counts + noise - certifier.margin + coins, 0, pair.design.n)

    def sample(counts: Sequence[int], draws: int) -> Outputs:
        true = np.array(counts)
        return np.where(chosen(true, draws), certificates(mechanism.certifier, true, draws), NO_CERTIFICATE)  # type: ignore[attr-defined]

    return sample


LAST_DOWN, ALL_UP, BY_TURNS = pairs_of("svt")


@pytest.mark.statistical  # fixed seed, 1e-6
@pytest.mark.parametrize(
    ("pair", "share"),
    [(LAST_DOWN, 0.65), (ALL_UP, 0.5), (pairs_of("topk")[0], 0.75)],
    ids=["last down", "all up", "topk"],
)
def test_selection_is_consistent_and_much_of_its_epsilon_is_reached(pair: Pair, share: float) -> None:
    found = audit_pair(pair, selecting(pair), 200_000, ONE_TEST)
    assert found.refuted == [] and found.share_of_epsilon > share


@pytest.mark.statistical  # fixed seed
@pytest.mark.parametrize("pair", [ALL_UP, BY_TURNS, *pairs_of("topk")], ids=named)
def test_half_the_noise_of_a_selection_is_refuted(pair: Pair) -> None:
    assert "epsilon" in audit_pair(pair, selecting(half_noise(pair)), 200_000, ONE_TEST).refuted


@pytest.mark.statistical  # fixed seed
def test_sparse_vector_that_does_not_stop_is_refuted_within_the_draws_of_a_quick_check() -> None:
    found = audit_pair(ALL_UP, selecting(ALL_UP, stops=False), 5_000, MISS / (BOUNDS * len(ALL_PAIRS)))
    assert {"epsilon", "beta"} <= set(found.refuted)


@pytest.mark.statistical  # fixed seed
def test_sparse_vector_with_the_scale_of_monotone_queries_is_refuted() -> None:
    found = audit_pair(LAST_DOWN, selecting(LAST_DOWN, monotone=True), 200_000, ONE_TEST)
    assert {"epsilon", "delta"} <= set(found.refuted)
