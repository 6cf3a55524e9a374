"""Certificates through a private proxy dataset, whose supports stand for those of the corpus (spec 1.10)."""

from fractions import Fraction
from typing import NamedTuple

from tasks.privacy.parameters import Exact, exact, share


class ProxyCertificate(NamedTuple):
    """lower_bound: f(proxy) - gamma, before clipping. failure: probability that any statement's bound is wrong."""

    lower_bound: Fraction
    emit: bool
    failure: Fraction


def proxy_certificate(f_proxy: Exact, gamma_plus: Exact, theta: Exact, eta: Exact) -> ProxyCertificate:
    """Emit iff f(proxy) - gamma >= theta, exact, ties emit; the bound is clipped at 0 first.

    Measured support on a proxy alone certifies nothing: it needs the fidelity
    Pr[sup_s (f_s(proxy) - f_s(corpus)) <= gamma] >= 1 - eta, over all statements at once. Raises ValueError for an
    argument outside [0, 1], or eta = 1.
    """
    lower = share(f_proxy, "f_proxy") - share(gamma_plus, "gamma_plus")
    failure = exact(eta, "eta")
    if not 0 <= failure < 1:
        raise ValueError("eta: must be at least 0 and less than 1")
    return ProxyCertificate(lower, max(lower, Fraction(0)) >= share(theta, "theta"), failure)
