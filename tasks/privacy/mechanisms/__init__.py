"""Certification mechanisms, one module each. To add one: its module, and its line in MECHANISMS."""

from collections.abc import Mapping

from tasks.privacy.mechanisms.frontier import Frontier
from tasks.privacy.mechanisms.geometric import Geometric
from tasks.privacy.mechanisms.laplace import Laplace
from tasks.privacy.mechanisms.protocol import Mechanism

MECHANISMS: Mapping[str, type[Mechanism]] = {
    Frontier.name: Frontier,
    Geometric.name: Geometric,
    Laplace.name: Laplace,
}

RELEASE_MECHANISMS: Mapping[str, type[Geometric]] = {Frontier.name: Frontier, Geometric.name: Geometric}

__all__ = ["MECHANISMS", "RELEASE_MECHANISMS", "Frontier", "Geometric", "Laplace", "Mechanism"]
