"""Seeded simulation of the mechanisms, for studies on public and synthetic data only.

Nothing that releases imports this module: its noise is floating-point and reproducible, which a release may never be.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from schemas.corpora import Visibility
from schemas.errors import UserError
from tasks.privacy.mechanisms import Geometric, Laplace, Mechanism


def simulate_certificates(
    mechanism: Mechanism, counts: Sequence[int], n: int, *, visibility: Visibility, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Certificates as shares of n >= 1, clipped to [0, 1], one per count; shape (len(counts),).

    visibility: of the corpus that the counts come from. Raises UserError for a private one, and for a mechanism that
    has no simulation.
    """
    if visibility is Visibility.PRIVATE:
        raise UserError("visibility: a simulation logs true supports and seeded noise, so it refuses a private corpus")
    true = np.asarray(counts, dtype=np.float64)
    if isinstance(mechanism, Laplace):
        noisy = true + rng.laplace(scale=1 / float(mechanism.epsilon), size=true.shape)
        certificate = noisy - float(mechanism.margin_units(n))
    elif isinstance(mechanism, Geometric):
        coins = rng.random(true.shape) < float(mechanism.coin)
        certificate = true + _two_sided(mechanism, true.size, rng) - mechanism.margin + coins
    else:
        raise UserError(f"mechanism: {mechanism.name} has no simulation")
    return np.clip(certificate / n, 0, 1)


def _two_sided(mechanism: Geometric, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """The difference of two geometric variables has the two-sided law with a = e^-rate."""
    success = -np.expm1(-float(1 / mechanism.scale))
    up: NDArray[np.int64] = rng.geometric(success, size=size)
    down: NDArray[np.int64] = rng.geometric(success, size=size)
    return up - down
