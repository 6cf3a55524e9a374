"""Look at the sources of a backfill: staged as they are read, compared with the log, nothing registered."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from schemas.audit import AuditSettings
from schemas.backfills import BackfillSettings
from schemas.errors import UserError
from tasks.audits.backfill_corpora import corpora_of
from tasks.audits.backfill_plan import Asked, PlannedAudit, Standing, due_of, plan_corpus, wanted_partitions
from tasks.audits.preflight import model_reference, preflight
from tasks.audits.registering import staged_source
from tasks.corpora.staging import StagedCorpus, StagedPartition
from tasks.ledger.budget import NoCapError
from tasks.ledger.clock import today
from tasks.ledger.database import LogUnavailableError
from tasks.ledger.foreseen import Need
from tasks.ledger.log import ReleaseLog
from tasks.storage.home import Home
from tasks.support.placement import Place, place_of

Registrable = tuple[AuditSettings, list[StagedPartition]]


@dataclass(frozen=True, slots=True)
class Surveyed:
    """One corpus. planned: its wanted partitions, in order. staged: its content, where an audit of it is due.

    seen: content keys of the newest registered versions when it was looked at, by partition; private.
    """

    asked: Asked
    planned: tuple[PlannedAudit, ...]
    staged: StagedCorpus | None = None
    seen: Mapping[str, bytes] = field(default_factory=dict)


@contextmanager
def surveyed(
    definition: AuditSettings, options: BackfillSettings, home: Home, *, may_lack_cap: bool = False
) -> Iterator[list[Surveyed]]:
    """Every corpus of the backfill; what was staged goes at the end of the block unless it was registered.

    Raises UserError for what concerns all of them. One of several corpora that cannot be read, or that registering
    would refuse, stands as unreadable. may_lack_cap: to see what a cap would have to be.
    """
    corpora = preflight_all(definition, options, home, may_lack_cap=may_lack_cap)
    with ExitStack() as staging:
        found: list[Surveyed] = []
        for settings in corpora:
            found.append(_survey(settings, options, home, staging, found, alone=len(corpora) == 1))
        yield found


def preflight_all(
    definition: AuditSettings, options: BackfillSettings, home: Home, *, may_lack_cap: bool = False
) -> list[AuditSettings]:
    """The corpora of the backfill, none of which is refused whatever its records are. Raises UserError by name."""
    corpora = corpora_of(definition, options)
    for settings in corpora:
        try:
            preflight(settings, home)
        except NoCapError:
            if not may_lack_cap:
                raise
        wanted_partitions(settings, options, today())
    check_parallel(definition, options, home)
    return corpora


def check_parallel(definition: AuditSettings, options: BackfillSettings, home: Home) -> None:
    """Refuse several audits at once on a model that takes one device or one server for itself. Raises UserError."""
    if options.parallel > 1 and place_of(model_reference(definition, home)) is Place.DRIVER:
        raise UserError(f"parallel: {definition.model} takes its device or server for itself; leave it at 1")


def needs_of(corpora: Sequence[Surveyed], home: Home) -> list[Need]:
    """What the due audits ask of each budget line. Raises UserError where an account never counts such a loss."""
    charges = [one.asked.charge(due) for one in corpora for due in due_of(one.planned)]
    return ReleaseLog(home).needs_of(charges)


def uncapped(corpora: Sequence[Surveyed], home: Home) -> set[str]:
    """Accounts of private corpora that no cap was set for."""
    found: set[str] = set()
    for settings, loss in ((one.asked.settings, one.asked.loss) for one in corpora):
        try:
            ReleaseLog(home).check_countable(settings.account_name, settings.visibility, loss)
        except NoCapError:
            found.add(settings.account_name)
    return found


def due_parts(asked: Asked, planned: Sequence[PlannedAudit], staged: StagedCorpus) -> Registrable:
    """What of a corpus is registered: its due partitions, and the settings with which they are."""
    due = {one.partition for one in due_of(planned)}
    # changed records are due where nothing was released about them, or where the operator said so
    settings = asked.settings.model_copy(update={"replace": True})
    return settings, [part for part in staged.partitions if part.key in due]


def unreadable(asked: Asked, error: UserError, *, alone: bool) -> Surveyed:
    """A corpus that cannot be registered stops the others only where there are none, or where it is the log's fault."""
    if alone or isinstance(error, LogUnavailableError):
        raise error
    settings = asked.settings
    reason = PlannedAudit(settings.corpus, settings.source, "*", Standing.UNREADABLE, reason=str(error))
    return Surveyed(asked, (reason,))


def _survey(
    settings: AuditSettings,
    options: BackfillSettings,
    home: Home,
    staging: ExitStack,
    before: Sequence[Surveyed],
    *,
    alone: bool,
) -> Surveyed:
    asked = Asked.of(settings, home)
    with ExitStack() as this:
        try:
            staged = this.enter_context(staged_source(home, settings))
        except UserError as error:
            return unreadable(asked, error, alone=alone)
        known = ReleaseLog(home).lineages(settings.corpus)
        planned = tuple(plan_corpus(asked, home, options, staged, known, today()))
        if not due_of(planned):
            return Surveyed(asked, planned)
        beside = [due_parts(one.asked, one.planned, one.staged) for one in before if one.staged is not None]
        try:
            ReleaseLog(home).check_partitions(*due_parts(asked, planned, staged), beside)
        except UserError as error:
            return unreadable(asked, error, alone=alone)
        staging.push(this.pop_all())
        return Surveyed(asked, planned, staged, {key: lineage.content_key for key, lineage in known.items()})
