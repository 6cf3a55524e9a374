"""What one statement-support audit is asked. A flag, a YAML key and a field of these models have one name."""

import re
import unicodedata
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from schemas.corpora import CorpusSettings
from schemas.domain_files import unprintable
from schemas.engines import EngineSettings
from schemas.values import Beta, Delta, Epsilon, Share, Theta, Whole

MAX_ORIGIN_CHARACTERS = 200
MAX_TASK_CHARACTERS = 1000


class Scope(StrEnum):
    """What beta speaks of: each candidate alone, or the whole report (union bound, or independent noises)."""

    CANDIDATE = "candidate"
    REPORT = "report"
    REPORT_INDEPENDENT = "report_independent"


class UnitSupport(StrEnum):
    """When a unit supports a statement: any of its records does, or all of them do."""

    ANY = "any"
    ALL = "all"


class PremiseWindows(StrEnum):
    """What an NLI model reads of a record that is longer than it can read at once.

    `truncate`: its beginning. `max`: all of it, in overlapping windows; the window that leads most decides.
    """

    TRUNCATE = "truncate"
    MAX = "max"


class ReportExtractor(StrEnum):
    """How claims are taken from a released text.

    `sentences`: its own sentences, by rules. `llm`: a language model words them, each to stand alone.
    """

    SENTENCES = "sentences"
    LLM = "llm"


class Device(StrEnum):
    """Where an NLI model in ONNX form computes: `cpu`, or `cuda` (needs onnxruntime-gpu)."""

    CPU = "cpu"
    CUDA = "cuda"


class Uncertified(StrEnum):
    """Why a statement has no certificate: the selection passed it over, or had stopped before (or n = 0)."""

    NOT_SELECTED = "not_selected"
    NOT_REACHED = "not_reached"


def _origin(value: str) -> str:
    text = unicodedata.normalize("NFC", value).strip()
    if not 1 <= len(text) <= MAX_ORIGIN_CHARACTERS:
        raise ValueError(f"must have 1 to {MAX_ORIGIN_CHARACTERS} characters")
    if reason := unprintable(text):
        raise ValueError(reason)
    return text


def _task(value: str) -> str:
    """On one line: a block of a YAML file is one, too."""
    text = " ".join(part for part in re.split("[ \\t\\r\\n]+", unicodedata.normalize("NFC", value)) if part)
    if not 1 <= len(text) <= MAX_TASK_CHARACTERS:
        raise ValueError(f"must have 1 to {MAX_TASK_CHARACTERS} characters")
    if reason := unprintable(text):
        raise ValueError(reason)
    return text


ReportOrigin = Annotated[str, AfterValidator(_origin)]
Task = Annotated[str, AfterValidator(_task)]


class ProposalSettings(BaseModel):
    """Where candidate statements come from; never from the records."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)
    domain: str | None = None
    """Public statement schema: a shipped name (restaurant-reviews, ...) or the path of a YAML domain file."""
    task: Task | None = None
    """What the corpus is and what to ask of it, in words of your own: a language model proposes statements from them
    alone. They are published with the certificates."""
    statements: Whole = Field(default=200, ge=1, le=100_000)
    """How many distinct statements to draw from the domain (fewer when it has fewer), or to want of the language model
    (fewer when it gives fewer)."""
    seed: Whole = Field(default=0, ge=0, le=2**63 - 1)
    """Seed of the public draw of statements, or of the lists that the language model writes; it draws no noise."""
    statements_file: str | None = None
    """Text file with one statement a line, which may end in TAB and a public weight; needs --declare-blind."""
    declare_blind: bool = False
    """The statements in --statements-file were written without looking at the records."""
    report: str | None = None
    """Released plain or Markdown text (path or fsspec URL), each of whose claims is certified; needs --report-origin
    and --declare-released."""
    report_origin: ReportOrigin | None = None
    """Where the text of --report came from, in a few words; it is published with the certificates."""
    declare_released: bool = False
    """The text of --report was released already; it does not come from looking at the records now."""
    report_extractor: ReportExtractor = ReportExtractor.SENTENCES
    """How claims are taken from the report: its own sentences by rules, or reworded by a language model (llm)."""

    @model_validator(mode="after")
    def _one_blind_source(self) -> Self:
        sources = (self.domain, self.task, self.statements_file, self.report)
        if sum(source is not None for source in sources) != 1:
            raise ValueError(
                "domain: give either a domain or a task or a statements_file or a report, and one of them only"
            )
        if self.statements_file is not None and not self.declare_blind:
            raise ValueError("declare_blind: say that the statements were written without looking at the records")
        return self

    @model_validator(mode="after")
    def _report_is_declared(self) -> Self:
        if self.report is None:
            if self.report_origin is not None or self.declare_released:
                raise ValueError("report: report_origin and declare_released speak of a report, and there is none")
            if self.report_extractor is not ReportExtractor.SENTENCES:
                raise ValueError("report_extractor: speaks of a report, and there is none")
            return self
        if self.report_origin is None:
            raise ValueError("report_origin: say where the report came from")
        if not self.declare_released:
            raise ValueError(
                "declare_released: say that the report was released already, and does not come from looking at the "
                "records now"
            )
        return self

    @property
    def needs_language_model(self) -> bool:
        """Whether candidates come from a language model."""
        return self.task is not None or self.report_extractor is ReportExtractor.LLM


class ScoringSettings(BaseModel):
    """Which frozen predicate decides support."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)
    model: str = "cross-encoder/nli-deberta-v3-base"
    """Support model: cross-encoder/nli-deberta-v3-base (needs a hub or a cached copy), nli-mini, keyword or judge (a
    language model, see --engine-url); any other
    NLI cross-encoder as OWNER/NAME@COMMIT of a hub or as a folder (./FOLDER)."""
    premise_windows: PremiseWindows = PremiseWindows.TRUNCATE
    """What an NLI model reads of a long record: its first 384 word pieces with the statement (nli-mini: 128)
    when it is to truncate, or all of it in overlapping windows, any of which may support the statement (max)."""
    device: Device = Device.CPU
    """Where an NLI model in ONNX form computes: cpu, or cuda (needs onnxruntime-gpu); never chosen by itself."""
    unit_support: UnitSupport = UnitSupport.ANY
    """A unit supports a statement when any of its records does, or when all of them do."""


class CertificationSettings(BaseModel):
    """Budget, error and mechanism of one release per partition."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)
    epsilon: Epsilon
    """Privacy loss of the whole release, in nats; how the statements share it, --mechanism says."""
    delta: Delta | None = None
    """Probability of the (epsilon, delta) guarantee; discrete_gaussian needs it, and no other mechanism takes it."""
    beta: Beta = Decimal("0.05")
    """Probability that a certificate exceeds the true support; of what, --scope says."""
    scope: Scope = Scope.REPORT
    """candidate, report (union bound) or report_independent (exact for independent noises)."""
    mechanism: str = "frontier"
    """frontier, geometric, staircase, discrete_gaussian, hist, svt or topk; any other in simulation only."""
    contributions: Whole | None = Field(default=None, ge=1, le=100_000)
    """hist: the most statements that one unit counts for; chosen before looking."""
    selected: Whole | None = Field(default=None, ge=1, le=100_000)
    """svt and topk: the most statements that are selected and certified."""
    selection_share: Share | None = None
    """svt and topk: the part of epsilon that selecting costs; the rest certifies."""
    edition: Whole = Field(default=1, ge=1, le=1_000_000)
    """The same question asked again on purpose, with fresh noise and a fresh charge."""
    theta: Theta
    """Reporting threshold: emit a statement when its certificate reaches this share of the units. Another one later
    is free, except with staircase and svt, whose answers hold for one threshold."""


class AuditSettings(CorpusSettings, ProposalSettings, ScoringSettings, EngineSettings, CertificationSettings):
    """One audit: ingest, propose, score, certify, publish."""

    allow_vacuous: bool = False
    """Ask, and be charged, also where n is so small that the margin leaves no certificate above 0 of any data."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)
