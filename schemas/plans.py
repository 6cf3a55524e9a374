"""What a plan is asked, and table `plans`: one row per planned release. Public; no data is touched."""

from decimal import Decimal
from pathlib import Path
from typing import Self

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from schemas.audit import Scope
from schemas.values import Beta, Delta, Epsilon, Share, Theta, Whole

MAX_CELLS = 10_000
TABLE_SUFFIXES = (".parquet", ".csv")
PLOT_SUFFIX = ".svg"


class PlanSettings(BaseModel):
    """What a plan is asked; no data is touched."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)
    n: Whole = Field(ge=1, le=10**12)
    """Units of the partition."""
    statements: Whole = Field(default=200, ge=1, le=100_000)
    """Distinct candidates that share the budget."""
    theta: Theta
    """Reporting threshold, a share of the units."""
    epsilon: Epsilon
    """Privacy loss of the whole release, in nats."""
    delta: Delta | None = None
    """Probability of the (epsilon, delta) guarantee; gaussian and discrete_gaussian need it."""
    beta: Beta = Decimal("0.05")
    """Probability that a certificate exceeds the true support."""
    mechanism: str = "frontier"
    """frontier, geometric, staircase, discrete_gaussian, hist, svt, topk; laplace, laplace_rounded, gaussian."""
    scope: Scope = Scope.REPORT
    """candidate, report or report_independent."""
    contributions: Whole | None = Field(default=None, ge=1, le=100_000)
    """hist: the most statements that one unit counts for."""
    selected: Whole | None = Field(default=None, ge=1, le=100_000)
    """svt and topk: the most statements that are selected and certified."""
    selection_share: Share | None = None
    """svt and topk: the part of epsilon that selecting costs."""
    prior: str = "0.6:1:30,0.4:4:12"
    """Supports that --advice, svt and topk assume, a mixture of Betas: weight:a:b,…; public, never from the data."""
    prior_file: str | None = None
    """Text file with one public support a line, in place of --prior."""
    advice: bool = False
    """Compare all mechanisms at this n, with the best contributions, selected and selection_share under the prior."""
    releases: Whole | None = Field(default=None, ge=1, le=100_000)
    """Releases like this one, planned in advance: what they lose together."""
    sweep_epsilon: tuple[Epsilon, ...] = ()
    """Plan at each of these epsilons, in place of the one."""
    sweep_statements: tuple[Whole, ...] = ()
    """Plan at each of these numbers of statements."""
    sweep_theta: tuple[Theta, ...] = ()
    """Plan at each of these thresholds."""
    output: str | None = None
    """Write the table of plans to this .parquet or .csv file."""
    plot: str | None = None
    """Draw the sweep to this .svg file."""
    records: Whole | None = Field(default=None, ge=0, le=10**12)
    """Records to score; tells pairs and hours."""
    model: str = "cross-encoder/nli-deberta-v3-base"
    """Support model, for the hours."""

    @field_validator("sweep_statements")
    @classmethod
    def _statements_in_range(cls, values: tuple[int, ...]) -> tuple[int, ...]:
        if any(not 1 <= value <= 100_000 for value in values):
            raise ValueError("each must be between 1 and 100000")
        return values

    @model_validator(mode="after")
    def _readable_request(self) -> Self:
        if self.cells > MAX_CELLS:
            raise ValueError(f"sweep_epsilon: the sweep has {self.cells} plans, more than {MAX_CELLS}")
        if self.output is not None and Path(self.output).suffix not in TABLE_SUFFIXES:
            raise ValueError(f"output: the file must end in {' or '.join(TABLE_SUFFIXES)}")
        if self.plot is not None and Path(self.plot).suffix != PLOT_SUFFIX:
            raise ValueError(f"plot: the file must end in {PLOT_SUFFIX}")
        return self

    @property
    def epsilons(self) -> tuple[Decimal, ...]:
        """Of the sweep, ascending and each once; the one epsilon without a sweep. The other axes alike."""
        return tuple(sorted(set(self.sweep_epsilon))) or (self.epsilon,)

    @property
    def numbers_of_statements(self) -> tuple[int, ...]:
        """See `epsilons`."""
        return tuple(sorted(set(self.sweep_statements))) or (self.statements,)

    @property
    def thetas(self) -> tuple[Decimal, ...]:
        """See `epsilons`."""
        return tuple(sorted(set(self.sweep_theta))) or (self.theta,)

    @property
    def sweeps(self) -> bool:
        """Is any axis given as several values?"""
        return bool(self.sweep_epsilon or self.sweep_statements or self.sweep_theta)

    @property
    def cells(self) -> int:
        """How many plans the sweep has."""
        return len(self.epsilons) * len(self.numbers_of_statements) * len(self.thetas)


def _required(name: str, kind: pa.DataType) -> pa.Field:
    return pa.field(name, kind, nullable=False)


# One row per epsilon, number of statements and theta. Amounts are decimal text (exact); columns that end in `_nats` or
# `_share`, and supports, are their nearest doubles, for reading. Counts are units; null where not even n is enough.
PLANS = pa.schema(
    [
        _required("mechanism", pa.string()),
        _required("scope", pa.string()),  # candidate, report, report_independent
        _required("n", pa.int64()),
        _required("statements", pa.int64()),
        _required("epsilon", pa.string()),  # whole release
        _required("epsilon_nats", pa.float64()),
        pa.field("delta", pa.string()),
        _required("theta", pa.string()),
        _required("theta_share", pa.float64()),
        _required("beta", pa.string()),
        pa.field("contributions", pa.int64()),
        pa.field("selected", pa.int64()),
        pa.field("selection_share", pa.string()),
        _required("threshold_units", pa.int64()),  # ceil(n theta), exact
        _required("margin_units", pa.float64()),
        _required("margin_support", pa.float64()),
        _required("vacuous", pa.bool_()),
        pa.field("smallest_count_emitted_50", pa.int64()),  # with probability at least 0.5
        pa.field("smallest_count_emitted_80", pa.int64()),
        pa.field("smallest_count_emitted_95", pa.int64()),
        pa.field("smallest_support_emitted_50", pa.float64()),
        pa.field("smallest_support_emitted_80", pa.float64()),
        pa.field("smallest_support_emitted_95", pa.float64()),
    ]
)
