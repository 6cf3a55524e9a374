"""Real draws. They are secure and unseeded: each statistical test here fails with probability 1e-6 by design."""

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from exact_geometric import tail
from scipy import stats

from schemas.audit import Scope, Uncertified
from tasks.privacy import noise
from tasks.privacy.accounting import Loss, pure_loss
from tasks.privacy.design import Design
from tasks.privacy.mechanisms import MECHANISMS, RELEASE_MECHANISMS, Frontier, Geometric, Mechanism
from tasks.privacy.mechanisms.discrete_gaussian import DiscreteGaussianMechanism
from tasks.privacy.mechanisms.hist import Hist
from tasks.privacy.mechanisms.staircase import Staircase
from tasks.privacy.mechanisms.svt import Svt
from tasks.privacy.mechanisms.topk import Topk
from tasks.privacy.noise import draw

DRAWS, N, UNITS = 100_000, 5_000, 10_000
BETA = Fraction("0.05")
EXTRA = {
    "staircase": {"theta": Fraction(1, 2)},
    "discrete_gaussian": {"delta": Fraction(1, 10**5)},
    "hist": {"contributions": 1},
    "svt": {"theta": Fraction(1, 2), "selected": 2, "selection_share": Fraction(1, 2)},
    "topk": {"selected": 2, "selection_share": Fraction(1, 2)},
}


def design(mechanism: str, statements: int, epsilon: Fraction, n: int = UNITS, **other: object) -> Design:
    given = EXTRA.get(mechanism, {}) | other
    return Design(n=n, statements=statements, epsilon=epsilon, beta=BETA, scope=Scope.CANDIDATE, **given)  # type: ignore[arg-type]


def made(mechanism: str, statements: int, epsilon: Fraction, **other: object) -> tuple[Mechanism, Loss]:
    kind, asked = RELEASE_MECHANISMS[mechanism], design(mechanism, statements, epsilon, **other)
    return kind.designed(asked), kind.loss(asked)


def each(epsilon: Fraction, times: int) -> Loss:
    """The loss of so many queries."""
    return Loss(epsilon * times)


def drawn_shifts(mechanism: Geometric | DiscreteGaussianMechanism, loss: Loss) -> list[int]:
    return [c - N for c in draw(mechanism, loss, [N] * DRAWS, UNITS).certificates]


def check_law(shifts: list[int], at_least: Callable[[int], float]) -> None:
    """Chi-square test of C - N against its exact upper tail."""
    edges = [shift for shift in range(-400, 400) if 10 / DRAWS <= at_least(shift) <= 1 - 10 / DRAWS]
    reach = [1.0, *(at_least(shift) for shift in edges), 0.0]
    expected = DRAWS * -np.diff(reach)
    observed = [0] * len(expected)
    for shift, times in Counter(shifts).items():
        observed[int(np.searchsorted(edges, shift, side="right"))] += times
    assert len(expected) >= 8 and expected.min() >= 5
    assert stats.chisquare(observed, expected).pvalue > 1e-6


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", ["0.5", "1.7"])
@pytest.mark.parametrize("kind", [Frontier, Geometric])
def test_100000_real_draws_follow_the_exact_law(kind: type[Geometric], epsilon: str) -> None:
    mechanism = kind.calibrated(Fraction(epsilon), BETA)
    rate, k, q = 1 / mechanism.scale, mechanism.margin, mechanism.coin

    def at_least(shift: int) -> float:
        needed = shift + k
        return float(tail(needed, rate) * (1 - q) + tail(needed - 1, rate) * q)

    check_law(drawn_shifts(mechanism, each(Fraction(epsilon), DRAWS)), at_least)


@pytest.mark.statistical
def test_100000_gaussian_draws_follow_the_exact_law() -> None:
    """sigma 3; the masses are summed here."""
    mechanism = DiscreteGaussianMechanism(Fraction(3), BETA)
    grid = np.arange(-60, 61)
    mass = np.exp(-(grid**2) / 18)
    upper = np.r_[np.cumsum((mass / mass.sum())[::-1])[::-1], 0]
    loss = Loss(Fraction(1), Fraction(1, 10), Fraction(DRAWS, 17))
    check_law(drawn_shifts(mechanism, loss), lambda shift: float(upper[np.clip(shift + mechanism.margin + 60, 0, 121)]))


@pytest.mark.statistical
def test_a_geometric_certificate_would_fail_the_frontier_s_law() -> None:
    """The test above has power: the coin alone moves it far beyond 1e-6."""
    mechanism = Frontier.calibrated(Fraction(1), BETA)
    shifts = drawn_shifts(Geometric(mechanism.scale, BETA), each(Fraction(1), DRAWS))
    assert stats.binomtest(sum(shift > 0 for shift in shifts), DRAWS, float(BETA)).pvalue < 1e-6


@pytest.mark.statistical
@pytest.mark.parametrize("mechanism", ["hist", "staircase"])
def test_real_draws_emit_with_the_exact_probability(mechanism: str) -> None:
    asked, loss = made(mechanism, 1000, Fraction(300))
    counts = [UNITS // 2 + shift for shift in (-3, -1, 0, 2, 4, 8, 12, 20, 30, 45)] * 100
    emitted = np.zeros(10)
    for _ in range(20):
        certificates = np.array(draw(asked, loss, counts, UNITS).certificates)
        emitted += (certificates.reshape(100, 10) >= UNITS // 2).sum(axis=0)
    exact = asked.emit_probabilities(counts[:10], UNITS, Fraction(1, 2))
    assert 0 < exact[0] < BETA + 1e-9 and exact[-1] > 0.9
    pvalues = [stats.binomtest(int(k), 2000, p).pvalue for k, p in zip(emitted, exact, strict=True)]
    assert min(pvalues) > 1e-6 / 10


@pytest.mark.statistical
@pytest.mark.parametrize("mechanism", ["svt", "topk"])
def test_real_selections_have_the_exact_probabilities(mechanism: str) -> None:
    counts, draws = [20, 22, 18, 25, 10], 8_000
    asked, loss = made(mechanism, 5, Fraction(2), n=40)
    chosen = np.zeros(5)
    for _ in range(draws):
        chosen += [reason is None for reason in draw(asked, loss, counts, 40).reasons]
    exact = asked.selection_probabilities(counts)  # type: ignore[attr-defined]
    pvalues = [stats.binomtest(int(k), draws, p).pvalue for k, p in zip(chosen, exact, strict=True)]
    assert min(pvalues) > 1e-6 / 5


@pytest.mark.statistical
def test_one_sided_noise_is_geometric() -> None:
    drawn, decay = Counter(noise._one_sided(Fraction(1), DRAWS, Fraction(2))), np.exp(-1)
    assert sum(drawn.values()) == DRAWS and min(drawn) == 0
    expected = np.r_[(1 - decay) * decay ** np.arange(8), decay**8]
    observed = [drawn[x] for x in range(8)]
    assert stats.chisquare([*observed, DRAWS - sum(observed)], DRAWS * expected).pvalue > 1e-6


@pytest.mark.statistical
@pytest.mark.parametrize("mechanism", ["svt", "topk"])
def test_what_is_selected_is_certified_with_fresh_noise(mechanism: str) -> None:
    """The certificate of a selected statement exceeds its count with probability beta, however high its noise was."""
    asked, loss = made(mechanism, 40, Fraction(2), n=1000)
    above = trials = 0
    for _ in range(1_000):
        drawn = draw(asked, loss, [500] * 40, 1000)
        chosen = [c for c, reason in zip(drawn.certificates, drawn.reasons, strict=True) if reason is None]
        above, trials = above + sum(c > 500 for c in chosen), trials + len(chosen)
    assert trials > 1_000 and stats.binomtest(above, trials, float(BETA)).pvalue > 1e-6


def test_certificates_lie_between_0_and_n() -> None:
    mechanism = Frontier.calibrated(Fraction("0.01"), Fraction("0.4"))
    drawn = draw(mechanism, each(Fraction("0.01"), 1000), [0, 10] * 500, 10)
    assert set(drawn.certificates) <= set(range(11)) and {0, 10} <= set(drawn.certificates)
    assert set(drawn.reasons) == {None}
    assert draw(mechanism, each(Fraction("0.01"), 1), [], 10).certificates == []


@pytest.mark.parametrize("mechanism", RELEASE_MECHANISMS)
def test_every_mechanism_that_may_release_has_a_sampler_that_says_what_it_is(mechanism: str) -> None:
    asked, loss = made(mechanism, 5, Fraction(1))
    drawn = draw(asked, loss, [0, 1, 5000, 9999, 10000], UNITS)
    assert len(drawn.certificates) == len(drawn.reasons) == 5
    assert all(0 <= certificate <= UNITS for certificate in drawn.certificates)
    assert noise.describe_sampler(asked).startswith("opendp 0.")


@pytest.mark.parametrize("mechanism", sorted(set(MECHANISMS) - set(RELEASE_MECHANISMS)))
def test_a_mechanism_that_no_release_may_use_is_refused_by_name(mechanism: str) -> None:
    extra = {"delta": Fraction(1, 10)} if "delta" in MECHANISMS[mechanism].takes else {}
    asked = MECHANISMS[mechanism].designed(design("", 2, Fraction(1), **extra))
    for refuse in (lambda: draw(asked, Loss(Fraction(9)), [1, 2], 10), lambda: noise.describe_sampler(asked)):
        with pytest.raises(ArithmeticError, match=f"{mechanism}: no release may use it"):
            refuse()


def test_what_says_that_it_may_not_be_released_is_refused_whatever_it_is_made_of() -> None:
    class Draft(Frontier):
        name, releasable = "draft", False

    with pytest.raises(ArithmeticError, match="draft: no release may use it"):
        draw(Draft(Fraction(1), BETA), each(Fraction(1), 1), [3], 10)


@pytest.mark.parametrize("count", [-1, 11, True, 2.0, np.int64(3), None])
def test_a_count_that_is_not_a_whole_number_of_units_is_never_given_noise(count: object) -> None:
    mechanism = Frontier.calibrated(Fraction(1), BETA)
    with pytest.raises(ArithmeticError, match="support count") as caught:
        draw(mechanism, each(Fraction(1), 1), [count], 10)  # type: ignore[list-item]
    assert "11" not in str(caught.value) and "-1" not in str(caught.value)


def test_a_sampler_that_loses_more_than_epsilon_is_refused() -> None:
    epsilon = next(
        Fraction(k, 1000) for k in range(1, 100) if 1 / Fraction(float(Fraction(1000, k))) > Fraction(k, 1000)
    )
    naive = Frontier(Fraction(float(1 / epsilon)), BETA)
    with pytest.raises(ArithmeticError, match="exceeds the budget"):
        draw(naive, each(epsilon, 1), [3], 10)


def shrunk(mechanism: Mechanism, **fields: Fraction | int) -> Mechanism:
    return replace(mechanism, **fields)  # type: ignore[type-var]


BROKEN: dict[str, Callable[[], tuple[Mechanism, Loss]]] = {
    "half the scale": lambda: (shrunk(made("frontier", 5, Fraction(1))[0], scale=Fraction(5, 2)), pure_loss([1])),
    "m counts at the price of one": lambda: (made("frontier", 1, Fraction(1))[0], pure_loss([Fraction(1)])),
    "counts that are not bounded": lambda: (
        shrunk(made("hist", 5, Fraction(1))[0], scale=Fraction(1)),
        pure_loss([Fraction(1)]),
    ),
    "a smaller D": lambda: (
        shrunk(made("hist", 5, Fraction(1), contributions=1)[0], sensitivity=5),
        pure_loss([Fraction(1)]),
    ),
    "no square root of m": lambda: (
        shrunk(made("discrete_gaussian", 1, Fraction(1))[0]),
        made("discrete_gaussian", 5, Fraction(1))[1],
    ),
    "no rho to hold it against": lambda: (
        made("discrete_gaussian", 5, Fraction(1))[0],
        Loss(Fraction(1), Fraction(1, 10)),
    ),
    "a staircase of half the scale": lambda: (
        Staircase(Frontier(Fraction(1, 2), BETA), 5000),
        pure_loss([Fraction(1)] * 5),
    ),
    "more certificates than are paid for": lambda: (
        shrunk(made("topk", 5, Fraction(1))[0], selected=3),
        pure_loss([Fraction(1)]),
    ),
    "more found than are paid for": lambda: (
        shrunk(made("svt", 5, Fraction(1))[0], selected=3),
        pure_loss([Fraction(1)]),
    ),
    "a dearer selection": lambda: (
        shrunk(made("topk", 5, Fraction(1))[0], epsilon_selection=Fraction(2, 3)),
        pure_loss([Fraction(1)]),
    ),
    "a dearer threshold": lambda: (
        shrunk(made("svt", 5, Fraction(1))[0], epsilon_threshold=Fraction(2, 3)),
        pure_loss([Fraction(1)]),
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_draw_that_would_lose_more_than_is_charged_is_refused(what: str) -> None:
    mechanism, loss = BROKEN[what]()
    with pytest.raises(ArithmeticError, match="exceeds the budget"):
        draw(mechanism, loss, [1, 2, 3, 4, 5], UNITS)


class HalfScale(Svt):
    """Query noise as if counts moved one way only."""

    @property
    def query_scale(self) -> Fraction:  # type: ignore[override]
        return super().query_scale / 2


class HalfThreshold(Svt):
    @property
    def threshold_scale(self) -> Fraction:  # type: ignore[override]
        return super().threshold_scale / 2


class HalfTop(Topk):
    @property
    def scale(self) -> Fraction:  # type: ignore[override]
        return super().scale / 2


class Unscaled(Svt):
    """A scale that no double is."""

    @property
    def query_scale(self) -> Fraction:  # type: ignore[override]
        return super().query_scale + Fraction(1, 3)


@pytest.mark.parametrize("kind", [HalfScale, HalfThreshold, HalfTop, Unscaled])
def test_selection_noise_that_is_too_small_is_refused(kind: type[Svt] | type[Topk]) -> None:
    asked = design("svt" if issubclass(kind, Svt) else "topk", 5, Fraction(1))
    with pytest.raises(ArithmeticError, match="exceeds the budget"):
        draw(kind.designed(asked), kind.loss(asked), [1, 2, 3, 4, 5], UNITS)


def test_the_threshold_noise_is_drawn_once_and_selecting_stops_after_k(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, loss = made("svt", 6, Fraction(1))
    calls: list[tuple[list[int], int]] = []

    def watched(scale: Fraction, counts: list[int], distance: int, epsilon: Fraction) -> list[int]:
        calls.append((list(counts), distance))
        return list(counts)

    monkeypatch.setattr(noise, "_discrete_laplace", watched)
    counts = [10, 6000, 20, 7000, 8000, 30]
    drawn = draw(asked, loss, counts, UNITS)
    assert calls == [([5000], 1), (counts, 2), ([6000, 7000], 1)]  # threshold, queries, certificates
    passed_over, stopped = Uncertified.NOT_SELECTED, Uncertified.NOT_REACHED
    assert drawn.reasons == [passed_over, None, passed_over, None, stopped, stopped]


def test_with_more_places_than_statements_all_are_selected() -> None:
    asked, loss = made("topk", 2, Fraction(1), selected=9)
    assert draw(asked, loss, [1, 2], UNITS).reasons == [None, None]


def test_hist_draws_one_vector_at_its_whole_budget() -> None:
    asked, loss = made("hist", 50, Fraction(1), contributions=2)
    assert isinstance(asked, Hist) and asked.sensitivity == 4
    with pytest.raises(ArithmeticError, match="exceeds the budget"):
        draw(asked, replace(loss, epsilon=Fraction(999, 1000)), [5] * 50, UNITS)


def test_a_coin_that_cannot_be_tossed_exactly_is_refused() -> None:
    class Third(Geometric):
        coin = Fraction(1, 3)  # type: ignore[assignment]

    with pytest.raises(ArithmeticError, match="2\\^-128"):
        draw(Third(Fraction(1), BETA), each(Fraction(1), 1), [3], 10)


@pytest.mark.parametrize(("coin", "added"), [(Fraction(0), 0), (Fraction(1), 1)])
def test_a_certain_coin_is_certain(coin: Fraction, added: int) -> None:
    class Certain(Geometric):
        pass

    Certain.coin = coin  # type: ignore[assignment,method-assign]
    mechanism = Certain(Fraction(1, 128), BETA)  # noise is 0 except with probability 1e-55
    assert draw(mechanism, each(Fraction(128), 1000), [3] * 1000, 10).certificates == [3 + added] * 1000


# staircase and svt draw with the same functions, and most of their answers are alike
@pytest.mark.parametrize("mechanism", sorted(RELEASE_MECHANISMS.keys() - {"staircase", "svt"}))
def test_forked_processes_do_not_share_their_noise(mechanism: str) -> None:
    asked, loss = made(mechanism, 64, Fraction("0.64"), n=10**9, **({"selected": 40} if mechanism == "topk" else {}))

    def one() -> bytes:
        return repr(draw(asked, loss, [5 * 10**8] * 64, 10**9)).encode()

    one()  # the parent's sampler is warm
    drawn = {_in_child(one) for _ in range(4)} | {one()}
    assert len(drawn) == 5


def _in_child(action: Callable[[], bytes]) -> bytes:
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(writer, action())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(pid, 0)
    assert answer
    return answer
