"""Mechanisms whose certificate of a statement depends on that statement's count alone."""

import numpy as np

from tasks.privacy.mechanisms.discrete_gaussian import DiscreteGaussianMechanism
from tasks.privacy.mechanisms.gaussian import Gaussian
from tasks.privacy.mechanisms.geometric import Geometric
from tasks.privacy.mechanisms.laplace import Laplace
from tasks.privacy.mechanisms.staircase import Staircase
from tasks.privacy.simulation.noise_laws import Floats, Integers, two_sided_geometric
from tasks.privacy.simulation.noise_laws import discrete_gaussian as discrete_gaussian_noise


def geometric(mechanism: Geometric, counts: Integers, runs: int, rng: np.random.Generator) -> Integers:
    """N + G - k + B, for every mechanism with a rate, a margin and a coin; (m,) -> (runs, m)."""
    certificates = two_sided_geometric(float(1 / mechanism.scale), (runs, counts.size), rng)
    certificates += counts - mechanism.margin
    if mechanism.coin:
        certificates += rng.random(certificates.shape) < float(mechanism.coin)
    return certificates


def staircase(mechanism: Staircase, counts: Integers, runs: int, rng: np.random.Generator) -> Integers:
    """A frontier certificate of max(N, t - 1), lowered to t or 0; (m,) -> (runs, m)."""
    raised = np.maximum(counts, mechanism.threshold - 1)
    reached = geometric(mechanism.frontier, raised, runs, rng) >= mechanism.threshold
    return np.where(reached, mechanism.threshold, 0)


def laplace(mechanism: Laplace, counts: Integers, runs: int, rng: np.random.Generator) -> Floats:
    """n L = N + Z - n tau; (m,) -> (runs, m)."""
    noise: Floats = rng.laplace(scale=1 / float(mechanism.epsilon), size=(runs, counts.size))
    noise += counts - float(mechanism.margin_units)
    return noise


def laplace_rounded(mechanism: Laplace, counts: Integers, runs: int, rng: np.random.Generator) -> Integers:
    """ceil(n L); (m,) -> (runs, m)."""
    return np.ceil(laplace(mechanism, counts, runs, rng)).astype(np.int64)


def gaussian(mechanism: Gaussian, counts: Integers, runs: int, rng: np.random.Generator) -> Floats:
    """n L = N + Z - sigma z, sigma in units; (m,) -> (runs, m)."""
    noise: Floats = rng.normal(scale=float(mechanism.sigma), size=(runs, counts.size))
    noise += counts - float(mechanism.margin_units)
    return noise


def discrete_gaussian(
    mechanism: DiscreteGaussianMechanism, counts: Integers, runs: int, rng: np.random.Generator
) -> Integers:
    """N + Z - k; (m,) -> (runs, m)."""
    certificates = discrete_gaussian_noise(float(mechanism.sigma), (runs, counts.size), rng)
    certificates += counts - mechanism.margin
    return certificates
