"""What a plan is asked, and table `plans`: one row per planned release. Public; no data is touched."""

from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Self

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, field_validator, model_validator

from schemas.audit import Scope
from schemas.values import Beta, Delta, Epsilon, Rate, Share, Theta, Whole

MAX_CELLS = 10_000
TABLE_SUFFIXES = (".parquet", ".csv")
PLOT_SUFFIX = ".svg"
SWEPT = {"sweep_epsilon": "epsilon", "sweep_statements": "statements", "sweep_theta": "theta"}

_Statements = Annotated[Whole, Field(ge=1, le=100_000)]


class PlanSettings(BaseModel):
    """What a plan is asked; no data is touched."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)
    n: Whole = Field(ge=1, le=10**12)
    """Units of the partition."""
    statements: _Statements = 200
    """Distinct candidates of the release; without it the first of --sweep-statements."""
    theta: Theta
    """Reporting threshold, a share of the units; without it the first of --sweep-theta."""
    epsilon: Epsilon
    """Privacy loss of the whole release, in nats; without it the first of --sweep-epsilon."""
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
    """Compare all mechanisms at this n, each with its best own parameters under the prior."""
    releases: Whole | None = Field(default=None, ge=1, le=100_000)
    """Releases like this one, planned in advance: what they lose together."""
    sweep_epsilon: tuple[Epsilon, ...] = ()
    """Plan at each of these epsilons, in place of the one."""
    sweep_statements: tuple[_Statements, ...] = ()
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
    """Support model, for the hours; of any but nli-mini, keyword and the default, --pairs-per-second says the rate."""
    pairs_per_second: Rate | None = None
    """Pairs that the model scores a second, as `privcert models check` measured it; for the hours."""

    @model_validator(mode="before")
    @classmethod
    def _first_of_the_sweep(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        absent = [(swept, name) for swept, name in SWEPT.items() if values.get(name) is None and values.get(swept)]
        return values | {name: _first(name, values[swept]) for swept, name in absent}

    @field_validator(*SWEPT)
    @classmethod
    def _each_once(cls, values: tuple[Decimal, ...]) -> tuple[Decimal, ...]:
        if len(set(values)) < len(values):
            raise ValueError("a value is given twice")
        return values

    @model_validator(mode="after")
    def _readable_request(self) -> Self:
        if self.cells > MAX_CELLS:
            raise ValueError(f"sweep_epsilon: the sweep has {self.cells} plans, more than {MAX_CELLS}")
        if self.output is not None and Path(self.output).suffix not in TABLE_SUFFIXES:
            raise ValueError(f"output: the file must end in {' or '.join(TABLE_SUFFIXES)}")
        if self.plot is not None and Path(self.plot).suffix != PLOT_SUFFIX:
            raise ValueError(f"plot: the file must end in {PLOT_SUFFIX}")
        if self.prior_file is not None and "prior" in self.model_fields_set:
            raise ValueError("prior: give either a prior or a prior_file")
        return self

    @property
    def epsilons(self) -> tuple[Decimal, ...]:
        """Of the sweep, ascending; the one epsilon without a sweep. The other axes alike."""
        return tuple(sorted(self.sweep_epsilon)) or (self.epsilon,)

    @property
    def numbers_of_statements(self) -> tuple[int, ...]:
        """See `epsilons`."""
        return tuple(sorted(self.sweep_statements)) or (self.statements,)

    @property
    def thetas(self) -> tuple[Decimal, ...]:
        """See `epsilons`."""
        return tuple(sorted(self.sweep_theta)) or (self.theta,)

    @property
    def sweeps(self) -> bool:
        """Is any axis given as several values?"""
        return bool(self.sweep_epsilon or self.sweep_statements or self.sweep_theta)

    @property
    def cells(self) -> int:
        """How many plans the sweep has."""
        return len(self.epsilons) * len(self.numbers_of_statements) * len(self.thetas)


def _first(name: str, swept: Any) -> Any:
    """The first value of a sweep, or any good one where the sweep itself will be refused."""
    kinds: dict[str, Any] = {"epsilon": Epsilon, "statements": _Statements, "theta": Theta}
    try:
        return TypeAdapter(kinds[name]).validate_python(next(iter(swept)))
    except (ValidationError, TypeError):
        return 1


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
