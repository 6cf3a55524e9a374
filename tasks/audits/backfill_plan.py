"""What a backfill finds: which audits are due, partition by partition, and what they would cost. Nothing is spent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

import pyarrow.compute as pc

from schemas.audit import AuditSettings
from schemas.backfills import BackfillSettings
from schemas.corpora import RECORD
from schemas.errors import UserError
from schemas.statements import Statement
from tasks.audits.preflight import model_reference
from tasks.audits.proposing import foresee, surely_asked
from tasks.audits.questions import question_about
from tasks.audits.vacuous import why_hopeless
from tasks.corpora.partitions import Scheme, is_over, partition_scheme
from tasks.corpora.problems import SourceError
from tasks.corpora.staging import StagedCorpus, StagedPartition
from tasks.corpora.versions import read_units
from tasks.ledger.designs import Parameters, groups_of, total_loss
from tasks.ledger.foreseen import Foreseen
from tasks.ledger.lineages import Lineage
from tasks.ledger.log import ReleaseLog
from tasks.ledger.question import Question, RegisteredPartition
from tasks.privacy.accounting import NOTHING, Loss
from tasks.storage.home import Home
from tasks.support.placement import ModelFacts, describe_model


class Standing(StrEnum):
    """Where a partition stands before a backfill.

    `due`: to be audited. `sealed`: answered before. `other_model`: answered before by another build of the model.
    `changed`: its records are others than those that were released. `empty`: no unit lies in it. `open`: its period is
    not over. `vacuous`: n and the settings alone say that no statement has a chance. `unreadable`: its source cannot
    be registered.
    """

    DUE = "due"
    SEALED = "sealed"
    OTHER_MODEL = "other_model"
    CHANGED = "changed"
    EMPTY = "empty"
    OPEN = "open"
    VACUOUS = "vacuous"
    UNREADABLE = "unreadable"


ANSWERED = (Standing.SEALED, Standing.OTHER_MODEL)  # a release says what came of it


@dataclass(frozen=True, slots=True)
class PlannedAudit:
    """One partition of one corpus as the plan found it.

    n: units, public once registered. records, records_before (when it was released): private, for the operator's eyes.
    release_key: of a sealed answer. reason: why its source is unreadable, public; why it is vacuous, which says n.
    """

    corpus: str
    source: str
    partition: str
    standing: Standing
    n: int = 0
    records: int = 0
    records_before: int | None = None
    release_key: str | None = None
    reason: str | None = None

    @property
    def place(self) -> str:
        """'2026-Q4 of reviews'; a corpus that cannot be read has no partitions."""
        return self.corpus if self.standing is Standing.UNREADABLE else f"{self.partition} of {self.corpus}"


@dataclass(frozen=True, slots=True)
class Asked:
    """What a definition asks of any partition: model, candidates (or as many stand-ins), loss where there are units."""

    settings: AuditSettings
    model: ModelFacts
    statements: tuple[Statement, ...]
    loss: Loss

    @classmethod
    def of(cls, settings: AuditSettings, home: Home) -> "Asked":
        """No record is read, and no language model is asked. Raises UserError as an audit would."""
        statements = foresee(settings, home)
        groups = groups_of(settings, Parameters.of(settings), statements, n=1)  # no loss depends on n >= 1
        return cls(settings, describe_model(model_reference(settings, home), home), statements, total_loss(groups))

    def question(self, partition: RegisteredPartition) -> Question:
        """To look it up: what else a release says is not filled in."""
        return question_about(partition, self.settings, self.model, self.statements, "")

    def why_vacuous(self, partition: str, n: int) -> str | None:
        """n and margin where they leave no statement a chance, and nobody said to ask all the same; n > 0."""
        return None if self.settings.allow_vacuous else why_hopeless(self.question_of_size(n, partition))

    def question_of_size(self, n: int, partition: str = "") -> Question:
        """What would be asked of n units, of as few statements as it may be."""
        settings = self.settings
        stand_in = RegisteredPartition(
            corpus=settings.corpus,
            account=settings.account_name,
            visibility=str(settings.visibility),
            partition=partition,
            version="",
            number=1,
            n=n,
            unit=settings.unit or RECORD,
            unit_rule=str(settings.unit_rule),
        )
        return question_about(stand_in, settings, self.model, surely_asked(settings, self.statements), "")

    def charge(self, planned: PlannedAudit) -> Foreseen:
        """What the audit would be charged."""
        settings, loss = self.settings, self.loss if planned.n else NOTHING
        return Foreseen(settings.account_name, planned.corpus, planned.partition, settings.units_recur, loss)


def declared_scheme(settings: AuditSettings) -> Scheme:
    """The declared partitions. Raises UserError where they are not written as their grid wants them."""
    try:
        return partition_scheme(settings)
    except SourceError as error:
        raise UserError(error.reason) from None


def wanted_partitions(settings: AuditSettings, options: BackfillSettings, today: date) -> dict[str, bool]:
    """Declared keys from `from` to `to`, in order, and whether each may be audited: a period that is not over may not,
    unless `to` says so. Raises UserError for keys that are not declared."""
    scheme = declared_scheme(settings)
    for name, key in (("from", options.from_), ("to", options.to)):
        if key is not None and key not in scheme.keys:
            raise UserError(f"{name}: no such partition is declared; the first is {scheme.keys[0]}, the last "
                            f"{scheme.keys[-1]}")  # fmt: skip
    first = scheme.keys.index(options.from_ or scheme.keys[0])
    last = scheme.keys.index(options.to or scheme.keys[-1])
    if first > last:
        raise UserError("to: it lies before --from")
    grid = scheme.grid
    return {
        key: grid is None or options.to is not None or is_over(key, grid, today)
        for key in scheme.keys[first : last + 1]
    }


def plan_corpus(
    asked: Asked,
    home: Home,
    options: BackfillSettings,
    staged: StagedCorpus,
    known: Mapping[str, Lineage],
    today: date,
) -> list[PlannedAudit]:
    """Every wanted partition of one corpus, in order. known: what the log has of it."""
    log, parts = ReleaseLog(home), {part.key: part for part in staged.partitions}
    wanted = wanted_partitions(asked.settings, options, today)
    return [
        _Found(asked, home, log, parts[key], known.get(key)).planned(options, may_be_audited=over)
        for key, over in wanted.items()
    ]


@dataclass(frozen=True, slots=True)
class _Found:
    """A staged partition beside what the log knows of it."""

    asked: Asked
    home: Home
    log: ReleaseLog
    part: StagedPartition
    known: Lineage | None

    def planned(self, options: BackfillSettings, *, may_be_audited: bool) -> PlannedAudit:
        standing, key = self._standing()
        if (standing is Standing.CHANGED and options.changed) or (
            standing is Standing.OTHER_MODEL and options.new_model
        ):
            standing, key = Standing.DUE, None
        if standing is Standing.DUE and not self.part.units:
            standing = Standing.EMPTY
        if standing not in ANSWERED and not may_be_audited:
            standing = Standing.OPEN
        reason = self.asked.why_vacuous(self.part.key, self.part.units) if standing is Standing.DUE else None
        if reason is not None:
            standing = Standing.VACUOUS
        return PlannedAudit(
            corpus=self.asked.settings.corpus,
            source=self.asked.settings.source,
            partition=self.part.key,
            standing=standing,
            n=self.part.units,
            records=self.part.records,
            records_before=self._records_before() if standing is Standing.CHANGED else None,
            release_key=key,
            reason=reason,
        )

    def _standing(self) -> tuple[Standing, str | None]:
        """Due, sealed, answered by another build or changed, and the key of the sealed answer."""
        if self.known is None:
            return Standing.DUE, None
        if self.known.content_key != self.part.content_key:
            return (Standing.CHANGED if self.known.was_released else Standing.DUE), None
        *older, newest = self.known.versions
        sealed = self.log.find(self.asked.question(newest))
        if sealed is not None:
            return Standing.SEALED, sealed.release_key
        other = self.log.find_by_another_build(self.asked.question(newest)) if newest.n else None
        if other is not None:  # an upgrade asks nothing again by itself: it would be charged again
            return Standing.OTHER_MODEL, other.release_key
        # another audit had the changed records registered: this one is not charged again for that. An answer about no
        # unit cost nothing and tells nothing
        answered = any(version.n and self._answered(self.asked.question(version)) for version in older)
        return (Standing.CHANGED if answered else Standing.DUE), None

    def _answered(self, question: Question) -> bool:
        return self.log.find(question) is not None or self.log.find_by_another_build(question) is not None

    def _records_before(self) -> int:
        """Of the newest version that something was released about, or that this audit asked before."""
        assert self.known is not None
        version = self.known.last_released or self.known.versions[-1]
        units = read_units(self.home.corpora / version.corpus / version.version)
        return int(pc.sum(units["records"]).as_py() or 0)


def due_of(planned: Sequence[PlannedAudit]) -> list[PlannedAudit]:
    """Those to be audited."""
    return [one for one in planned if one.standing is Standing.DUE]
