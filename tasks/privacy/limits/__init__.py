"""What no mechanism can beat, and what one output gives away: functions of public parameters only."""

from tasks.privacy.limits.fine_grained import (
    KAPPA,
    fine_grained_bound,
    fine_grained_distance,
    gilbert_varshamov,
    privcert_width,
)
from tasks.privacy.limits.honest_emission import (
    frontier_bound,
    frontier_probability,
    frontier_recursion,
    frontier_switch,
    half_emission_distance,
    half_emission_distance_laplace,
    rho,
)
from tasks.privacy.limits.implicit_evidence import (
    delta_group,
    estimation_lower_bound,
    estimation_lower_bound_lecam,
    min_replacements,
    tv_bound,
    tv_sharp_path,
)

__all__ = [
    "KAPPA",
    "delta_group",
    "estimation_lower_bound",
    "estimation_lower_bound_lecam",
    "fine_grained_bound",
    "fine_grained_distance",
    "frontier_bound",
    "frontier_probability",
    "frontier_recursion",
    "frontier_switch",
    "gilbert_varshamov",
    "half_emission_distance",
    "half_emission_distance_laplace",
    "min_replacements",
    "privcert_width",
    "rho",
    "tv_bound",
    "tv_sharp_path",
]
