"""Certification mechanisms, one module each. To add one: its module, and its line in MECHANISMS."""

from collections.abc import Mapping

from tasks.privacy.mechanisms.discrete_gaussian import DiscreteGaussianMechanism
from tasks.privacy.mechanisms.frontier import Frontier
from tasks.privacy.mechanisms.gaussian import Gaussian
from tasks.privacy.mechanisms.geometric import Geometric
from tasks.privacy.mechanisms.hist import Hist
from tasks.privacy.mechanisms.laplace import Laplace
from tasks.privacy.mechanisms.laplace_rounded import LaplaceRounded
from tasks.privacy.mechanisms.protocol import CountMechanism, Mechanism
from tasks.privacy.mechanisms.staircase import Staircase
from tasks.privacy.mechanisms.svt import Svt
from tasks.privacy.mechanisms.topk import Topk

MECHANISMS: Mapping[str, type[Mechanism]] = {
    kind.name: kind
    for kind in (
        Frontier,
        Geometric,
        Laplace,
        LaplaceRounded,
        Staircase,
        Gaussian,
        DiscreteGaussianMechanism,
        Hist,
        Svt,
        Topk,
    )
}

RELEASE_MECHANISMS: Mapping[str, type[Mechanism]] = {name: kind for name, kind in MECHANISMS.items() if kind.releasable}

__all__ = [
    "MECHANISMS",
    "RELEASE_MECHANISMS",
    "CountMechanism",
    "DiscreteGaussianMechanism",
    "Frontier",
    "Gaussian",
    "Geometric",
    "Hist",
    "Laplace",
    "LaplaceRounded",
    "Mechanism",
    "Staircase",
    "Svt",
    "Topk",
]
