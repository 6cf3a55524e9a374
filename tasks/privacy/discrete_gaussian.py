"""Discrete Gaussian law on the integers, Pr[Z = z] proportional to e^(-z^2 / (2 sigma^2)), with rigorous bounds.

Canonne, Kamath and Steinke 2020, arXiv:2004.00010. Its tail is heavier than the normal one of equal sigma (sigma = 1:
Pr[Z >= 2] = 0.0586), so margins come from the law itself. Results are intervals that contain the true value.
"""

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property

from tasks.privacy.directed import Directed
from tasks.privacy.discrete_laplace import Interval, at_most
from tasks.privacy.normal_tail import mills_ratio

MIN_SIGMA = Fraction(1, 1000)
MAX_SIGMA = Fraction(10**12)
DIGITS = 50
_OUT_OF_RANGE = "sigma of the discrete Gaussian must lie between 1e-3 and 1e12 counts"
_SMOOTH = 60  # sigma from which the law is smooth enough for Euler-Maclaurin
_BERNOULLI = ("1/6", "-1/30", "1/42", "-1/30", "5/66", "-691/2730", "7/6", "-3617/510", "43867/798", "-174611/330")
# B_2k / (2k)!, k = 1 .. 10
_WEIGHTS = [Fraction(number) / math.factorial(2 * k) for k, number in enumerate(_BERNOULLI, 1)]


@dataclass(frozen=True)
class DiscreteGaussian:
    """The law with this sigma, in counts, exact (its standard deviation is smaller, visibly so below sigma = 1).

    Raises ValueError for a sigma outside [1e-3, 1e12].
    """

    sigma: Fraction

    def __post_init__(self) -> None:
        if not MIN_SIGMA <= self.sigma <= MAX_SIGMA:
            raise ValueError(_OUT_OF_RANGE)

    def upper_tail(self, j: int) -> Interval:
        """Pr[Z >= j], relative width below 1e-30 (absolute, for j <= 0)."""
        directed = Directed(DIGITS)
        if j <= 0:
            return directed.subtract(directed.of(1), self.upper_tail(1 - j))
        return directed.divide(self._sum_from(j), self._normaliser)

    def margin(self, beta: Fraction) -> int:
        """The smallest k >= 0 with Pr[Z > k] <= beta; where the bounds cannot decide, the larger one."""
        low, high = -1, self._far_enough(beta)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if at_most(self.upper_tail(middle + 1), beta) else (middle, high)
        return high

    def log_probability(self, z: int) -> float:
        """ln Pr[Z = z]."""
        return float(-z * z / (2 * self.sigma**2)) - self.log_normaliser

    @cached_property
    def log_normaliser(self) -> float:
        """ln of the sum of e^(-z^2 / (2 sigma^2)) over all integers."""
        return math.log(float(self._normaliser))

    @cached_property
    def _normaliser(self) -> Interval:
        directed = Directed(DIGITS)
        return directed.add(directed.of(1), *[self._sum_from(1)] * 2)

    def _sum_from(self, j: int) -> Interval:
        """S(j) = sum of e^(-z^2 / (2 sigma^2)) over z >= j >= 1."""
        exponent = -Fraction(j * j) / (2 * self.sigma**2)
        directed = Directed(DIGITS + len(str(int(exponent))))  # exp amplifies rounding by the size of its argument
        few_terms = self.sigma < _SMOOTH or 10 * j >= self.sigma**2
        relative = self._term_by_term(j, directed) if few_terms else self._euler_maclaurin(j, directed)
        return directed.multiply(directed.exp(directed.of(exponent)), relative)

    def _term_by_term(self, j: int, directed: Directed) -> Interval:
        """S(j) e^(j^2 / (2 sigma^2)): each term is the one before times a ratio r that shrinks from term to term.

        What is left after a term is therefore at most that term times r / (1 - r).
        """
        down, up = directed.down, directed.up
        ratio = directed.exp(directed.of(-Fraction(2 * j + 1) / (2 * self.sigma**2)))
        shrink = directed.exp(directed.of(-1 / self.sigma**2))
        low = high = term_low = term_high = Decimal(1)
        smallest, ratio_low, ratio_high = Decimal(1).scaleb(-DIGITS), ratio.low, ratio.high
        while term_high > smallest:
            term_low, term_high = down.multiply(term_low, ratio_low), up.multiply(term_high, ratio_high)
            low, high = down.add(low, term_low), up.add(high, term_high)
            ratio_low, ratio_high = down.multiply(ratio_low, shrink.low), up.multiply(ratio_high, shrink.high)
        left = up.divide(up.multiply(term_high, ratio_high), down.subtract(1, ratio_high))
        return Interval(low, up.add(high, left))

    def _euler_maclaurin(self, j: int, directed: Directed) -> Interval:
        """S(j) e^(j^2 / (2 sigma^2)) as integral, half a term, derivatives at j and a bounded remainder (DLMF 2.10(i)).

        With x = j / sigma and He_i the probabilists' Hermite polynomials, the derivatives of e^(-t^2 / (2 sigma^2))
        are (-1)^i sigma^-i He_i(x) times itself. The remainder after 2p derivatives is at most |B_2p| / (2p)! times
        the integral of the absolute 2p-th derivative, where |He_2p| <= the polynomial with all signs plus.
        """
        x, sigma, p = Fraction(j) / self.sigma, self.sigma, len(_WEIGHTS)
        hermite, bounds, integrals = [Fraction(1), x], [Fraction(1), x], [Fraction(2)]  # M(x) < 2
        for i in range(1, 2 * p):
            hermite.append(x * hermite[i] - i * hermite[i - 1])
            bounds.append(x * bounds[i] + i * bounds[i - 1])
        for i in range(2, 2 * p + 1, 2):  # by parts; integrals[k] is the one of bounds[2k], times e^(x^2/2)
            integrals.append(bounds[i - 1] + 2 * (i - 1) * integrals[-1])
        ends = sum((_WEIGHTS[k - 1] * hermite[2 * k - 1] / sigma ** (2 * k - 1) for k in range(1, p + 1)), Fraction(0))
        remainder = abs(_WEIGHTS[-1]) * integrals[-1] / sigma ** (2 * p - 1)
        exact = Fraction(1, 2) + ends
        around = Interval(directed.of(exact - remainder).low, directed.of(exact + remainder).high)
        return directed.add(directed.multiply(directed.of(sigma), mills_ratio(x, directed.down.prec)), around)

    def _far_enough(self, beta: Fraction) -> int:
        """A k with Pr[Z > k] <= beta, by Pr[Z >= j] <= e^(-j^2 / (2 sigma^2)).

        The law is subgaussian: a factor e^(tz) shifts the centre of its weights, and by Poisson summation no shifted
        sum exceeds the centred one.
        """
        directed = Directed(DIGITS)
        log = directed.ln(directed.of(1 / beta)).high
        return math.ceil(Fraction(directed.sqrt(directed.of(2 * self.sigma**2 * Fraction(log))).high))


def sampler_sigma(rho: Fraction, counts: int) -> float:
    """The smallest double sigma whose loss of a vector of `counts` >= 1 counts, as the sampler states it, is <= rho.

    Every count moves by at most 1, so the vector moves by sqrt(counts) in L2 (Theorem 14): counts / (2 sigma^2) is at
    most what the sampler states, since it rounds up. Raises ValueError unless rho > 0 and 1e-3 <= sigma <= 1e12.
    """
    if rho <= 0:
        raise ValueError("rho must be greater than 0")
    squared = Fraction(counts) / (2 * rho)
    if not MIN_SIGMA**2 <= squared <= MAX_SIGMA**2:
        raise ValueError(_OUT_OF_RANGE)
    sigma = root_up(squared)
    while stated_rho(sigma, counts) > rho:
        sigma = math.nextafter(sigma, math.inf)
    DiscreteGaussian(Fraction(sigma))  # rounding up may have left the range
    return sigma


def stated_rho(sigma: float, counts: int) -> Fraction:
    """The sampler's own zCDP loss: sensitivity^2 / (2 sigma^2), sensitivity and result rounded up to doubles."""
    sensitivity = Fraction(root_up(Fraction(counts)))
    return Fraction(_double_up(sensitivity**2 / (2 * Fraction(sigma) ** 2)))


def root_up(value: Fraction) -> float:
    """The smallest double whose square is >= value >= 0. Raises ValueError where none is."""
    half = max(0, 64 - (value.numerator.bit_length() - value.denominator.bit_length()) // 2)
    root = Fraction(math.isqrt((value.numerator << 2 * half) // value.denominator), 1 << half)
    try:
        return _smallest_root(float(root), value)
    except OverflowError:
        raise ValueError("no double is large enough for the root") from None


def _smallest_root(root: float, value: Fraction) -> float:
    """From a double near it."""
    while Fraction(root) ** 2 < value:
        root = math.nextafter(root, math.inf)
    while root > 0 and Fraction(math.nextafter(root, 0)) ** 2 >= value:
        root = math.nextafter(root, 0)
    return root


def _double_up(value: Fraction) -> float:
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)
