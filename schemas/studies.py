"""What a study is asked: a grid of releases, simulated on public or synthetic data with known supports."""

from decimal import Decimal
from typing import Annotated, Self, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from schemas.audit import Scope
from schemas.corpora import PublicName
from schemas.values import Beta, Delta, Epsilon, Share, Theta, Whole

SYNTHETIC = "synthetic"
WORST_CASE = "worst_case"
CORPUS = "corpus:"  # a universe `corpus:NAME` or `corpus:NAME/PARTITION`
MAX_JOBS = 1_000_000

Item = TypeVar("Item")


def _listed(value: object) -> object:
    return tuple(value) if isinstance(value, list | tuple) else (value,)


Many = Annotated[tuple[Item, ...], BeforeValidator(_listed)]
"""A list of a grid; one value alone is a list of one."""
_Number = Annotated[Whole, Field(ge=1, le=100_000)]


class StudySettings(BaseModel):
    """A study: every combination of the lists is a cell, every cell is simulated with every seed.

    A parameter that a mechanism does not take does not multiply its cells.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    name: PublicName
    """Public name of the study; its files lie in release/studies/NAME-KEY."""
    mechanisms: Many[str]
    """Mechanisms, e.g. frontier,laplace."""
    universes: Many[str] = (SYNTHETIC,)
    """synthetic, worst_case (all supports one unit below theta), or corpus:NAME[/PARTITION], public or synthetic."""
    epsilon: Many[Epsilon]
    """Privacy losses of a whole release, in nats."""
    delta: Many[Delta] = ()
    """Probabilities of the (epsilon, delta) guarantee, for gaussian and discrete_gaussian."""
    theta: Many[Theta]
    """Reporting thresholds."""
    statements: Many[_Number]
    """Numbers of statements of a release."""
    beta: Many[Beta] = (Decimal("0.05"),)
    """Errors; of what, --scope says."""
    scope: Many[Scope] = (Scope.REPORT,)
    """candidate, report, report_independent."""
    selected: Many[_Number] = ()
    """svt and topk: the most statements that are selected and certified."""
    selection_share: Many[Share] = ()
    """svt and topk: parts of epsilon that selecting costs."""
    contributions: Many[_Number] = ()
    """hist: the most statements that one unit counts for."""
    seeds: Whole = Field(default=5, ge=1, le=100_000)
    """Seeds a cell; each draws its statements from the universe, and its noise."""
    runs: Whole = Field(default=1, ge=1, le=10_000_000)
    """Noise repetitions a seed, of the same statements."""
    distinct: bool = True
    """Statements are drawn without replacement; off, a statement drawn twice is asked and charged twice."""
    seed: Whole = Field(default=0, ge=0, le=2**63 - 1)
    """Seed of the study, from which all draws follow."""
    n: Whole = Field(default=10_000, ge=1, le=10**9)
    """Units of the synthetic and worst_case universes."""
    universe_statements: Whole = Field(default=1_000, ge=1, le=100_000)
    """Statements of the synthetic universe."""
    universe_seed: Whole = Field(default=0, ge=0, le=2**63 - 1)
    """Seed of the supports of the synthetic universe, and of who supports what."""
    confidence: Share = Decimal("0.999")
    """Of each interval of Clopper and Pearson."""
    published_max_unsupported_emit: Theta | None = None
    """A published value to print beside the largest UnsupportedEmit of a cell."""
    published_mean_unsupported_emit: Theta | None = None
    """A published value to print beside the mean UnsupportedEmit of the cells."""

    @model_validator(mode="after")
    def _a_grid(self) -> Self:
        for name in ("mechanisms", "universes", "epsilon", "theta", "statements", "beta", "scope"):
            if not getattr(self, name):
                raise ValueError(f"{name}: give at least one")
        for name in GRID:
            values = getattr(self, name)
            if len(set(values)) < len(values):
                raise ValueError(f"{name}: a value is given twice")
        unknown = [name for name in self.universes if not _is_universe(name)]
        if unknown:
            raise ValueError(
                f"universes: {unknown[0][:80]!r} is none; give {SYNTHETIC}, {WORST_CASE} or {CORPUS}NAME[/PARTITION]"
            )
        return self

    @property
    def corpora(self) -> dict[str, tuple[str, str]]:
        """Universe name -> (corpus, partition), for the universes that are corpora."""
        return {name: corpus_of(name) for name in self.universes if name.startswith(CORPUS)}


GRID = (
    "mechanisms", "universes", "epsilon", "delta", "theta", "statements", "beta", "scope", "selected",
    "selection_share", "contributions",
)  # fmt: skip


def corpus_of(universe: str) -> tuple[str, str]:
    """Corpus and partition of a universe `corpus:NAME[/PARTITION]`; the partition is `all` when none is said."""
    corpus, _, partition = universe.removeprefix(CORPUS).partition("/")
    return corpus, partition or "all"


def _is_universe(name: str) -> bool:
    return name in (SYNTHETIC, WORST_CASE) or (name.startswith(CORPUS) and bool(corpus_of(name)[0]))
