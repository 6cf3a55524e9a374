"""Seeded simulation of the mechanisms, for studies on public and synthetic data only.

Nothing that releases imports this package: its noise is floating-point and reproducible, which a release may never be.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schemas.corpora import Visibility
from schemas.errors import UserError
from tasks.privacy.mechanisms import MECHANISMS, Mechanism
from tasks.privacy.mechanisms.protocol import Certificates
from tasks.privacy.simulation import per_count, selecting
from tasks.privacy.thresholds import threshold_units

# (mechanism, true counts (m,), runs, generator) -> unclipped certificates in units, shape (runs, m)
Simulator = Callable[[Any, NDArray[np.int64], int, np.random.Generator], Certificates]

SIMULATORS: Mapping[str, Simulator] = {
    "frontier": per_count.geometric,
    "geometric": per_count.geometric,
    "staircase": per_count.staircase,
    "laplace": per_count.laplace,
    "laplace_rounded": per_count.laplace_rounded,
    "gaussian": per_count.gaussian,
    "discrete_gaussian": per_count.discrete_gaussian,
    "hist": per_count.geometric,
    "svt": selecting.sparse_vector,
    "topk": selecting.noisy_top,
}


def simulate(
    mechanism: Mechanism,
    counts: Sequence[int],
    n: int,
    runs: int,
    *,
    visibility: Visibility,
    rng: np.random.Generator,
) -> Certificates:
    """Certificates of `runs` independent releases, in units, clipped to [0, n]; shape (runs, m).

    Whole units (int64), or real ones (float64) where the mechanism's noise is real. Uncertified statements of a
    selecting mechanism have 0. counts: what the mechanism certifies (for hist the contribution-bounded counts).
    visibility: of the corpus that they come from. Raises UserError for a private one.
    """
    if visibility is Visibility.PRIVATE:
        raise UserError("visibility: a simulation logs true supports and seeded noise, so it refuses a private corpus")
    true = np.asarray(counts, dtype=np.int64)
    certificates: Certificates = SIMULATORS[mechanism.name](mechanism, true, runs, rng)
    return np.clip(certificates, 0, n, out=certificates)


def emitted(certificates: Certificates, n: int, theta: Fraction) -> NDArray[np.bool_]:
    """Which clipped certificates reach theta: C >= ceil(n theta) in whole units, else n L >= n theta; n = 0 none."""
    if n == 0:
        return np.zeros(certificates.shape, dtype=np.bool_)
    whole = np.issubdtype(certificates.dtype, np.integer)
    reached: NDArray[np.bool_] = certificates >= (threshold_units(n, theta) if whole else float(n * theta))
    return reached


assert SIMULATORS.keys() == MECHANISMS.keys()
