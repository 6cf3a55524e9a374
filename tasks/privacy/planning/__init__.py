"""What a release would certify, before any data is touched: exact power, advice under a declared prior, limits."""

from tasks.privacy.planning.advice import Advice, Option, advise
from tasks.privacy.planning.evidence import (
    Limits,
    Separation,
    certified_distances,
    limits,
    separations,
    statement_epsilon,
)
from tasks.privacy.planning.power import POWERS, Plan, plan, power, probe
from tasks.privacy.planning.priors import DEFAULT_PRIOR, BetaMixture, BetaPart, KnownSupports, Prior, prior_counts
from tasks.privacy.planning.releases import Totals, together
from tasks.privacy.planning.searching import Aim

__all__ = [
    "DEFAULT_PRIOR",
    "POWERS",
    "Advice",
    "Aim",
    "BetaMixture",
    "BetaPart",
    "KnownSupports",
    "Limits",
    "Option",
    "Plan",
    "Prior",
    "Separation",
    "Totals",
    "advise",
    "certified_distances",
    "limits",
    "plan",
    "power",
    "prior_counts",
    "probe",
    "separations",
    "statement_epsilon",
    "together",
]
