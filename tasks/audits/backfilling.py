"""The stages of a backfill; every one may be repeated after a crash, and then does nothing twice.

The same command again plans anew: what is sealed is skipped, what was scored is reused, what was registered is known.
"""

import threading
from dataclasses import replace

from schemas.errors import StageError, UserError
from tasks.audits.backfill_plan import Asked, PlannedAudit, Standing
from tasks.audits.backfill_record import Backfill, Outcome, Registered, report_left
from tasks.audits.backfill_survey import Surveyed, due_parts, needs_of, surveyed, unreadable
from tasks.audits.events import recorded
from tasks.audits.guard import guarded
from tasks.audits.preflight import model_reference
from tasks.audits.run import Run, open_run
from tasks.audits.stages import certify_stage, partition_facts, propose_stage, score_stage
from tasks.ledger.foreseen import check_together
from tasks.ledger.log import ReleaseLog
from tasks.storage.home import Home
from tasks.support.placement import describe_model

_sealing = threading.Lock()  # audits are scored beside each other, and validated and sealed one after the other
_SHOWN = 5  # partitions in one line
_FAULT = "it failed; the reason is in the operator's log of this backfill"


class IncompleteBackfillError(StageError):
    """Some audits of a backfill failed or were not begun; the others are sealed. backfill: its id."""

    def __init__(self, message: str, backfill: str) -> None:
        super().__init__(message)
        self.backfill = backfill


def plan_stage(run: Run) -> list[str]:
    """Look at every wanted partition, refuse all where the caps do not suffice, register what is due.

    Returns the numbers of the audits to make. Raises UserError before anything is registered or spent.
    """
    backfill, home = Backfill(run), run.home
    planned: list[PlannedAudit] = []
    registered: dict[int, Registered] = {}
    with surveyed(backfill.definition, backfill.options, home) as corpora:
        check_together(needs_of(corpora, home))
        for corpus in corpora:
            found, versions = _register(home, corpus, alone=len(corpora) == 1)
            registered |= {len(planned) + place: version for place, version in versions.items()}
            planned += found
    backfill.save_plan(planned, registered)
    report_left(home, planned)
    return [str(number) for number in registered]


def audit_stage(run: Run, number: str) -> None:
    """Propose, score and certify one due audit. Where it fails, the others go on unless log or budget stop them."""
    backfill, which = Backfill(run), int(number)
    try:
        _audit(backfill, which)
    except Exception as error:
        reason = str(error) if isinstance(error, UserError) else _FAULT
        backfill.save_outcome(which, Outcome(backfill.outcome(which).run, failure=reason))
        _stop_where_the_rest_cannot_be(backfill)
        raise


def publish_stage(run: Run) -> None:
    """Project the log once for all that is sealed: databases, certificate files and reports."""
    from tasks.audits.publishing import publish, refresh_operator_database, rejects_of_runs  # late: they need DuckDB

    backfill, log, home = Backfill(run), ReleaseLog(run.home), run.home
    theta, made = backfill.definition.theta, backfill.made()
    sealed = [one.release_key for one in backfill.plan() if one.release_key is not None]
    for key in sealed:  # another threshold than the one that was asked before is free
        log.ask_threshold(key, theta)
    keys = [*sealed, *(str(next(iter(audit.notes().values()))["release_key"]) for audit in made)]
    if keys:  # rejects of all runs: a backfill that was killed before this had some of them
        publish(home, [(key, theta) for key in keys], rejects=rejects_of_runs(home))
    if made:
        refresh_operator_database(home)
    backfill.end()


def is_stopped(home: str, backfill: str) -> bool:
    """Whether no other audit may begin: the log cannot be used, or what is left of a cap does not cover the rest."""
    return Backfill(open_run(home, backfill)).stopped() is not None


def guarded_audit(home: str, backfill: str, number: str) -> None:
    """`audit_stage`, guarded; the operator's log of events names its partition."""
    partition = Backfill(open_run(home, backfill)).plan()[int(number)].partition
    guarded(audit_stage, home, backfill, number, partition=partition)


def said_of(home: str, backfill: str) -> str:
    """What came of a complete backfill: how many partitions were audited, and how many were not due.

    Public: which partitions are declared and which have answers is. What is left because its records changed, or
    because it has too few units, is among those that were not due, and is not told.
    """
    plan = Backfill(open_run(home, backfill)).plan()
    due = sum(one.standing is Standing.DUE for one in plan)
    return f"{due} audited, {len(plan) - due} not due" if due else "nothing was due"


def check_complete(home: str, backfill: str) -> None:
    """Raises IncompleteBackfillError, which names the partitions, where an audit failed or was not begun."""
    kept = Backfill(open_run(home, backfill))
    places = [one.place for one in kept.not_made()]
    if not places:
        return
    shown = ", ".join(places[:_SHOWN]) + (f" and {len(places) - _SHOWN} more" if len(places) > _SHOWN else "")
    stopped = kept.stopped()
    because = f"; it was stopped: {stopped}" if stopped else ""
    message = f"backfill {backfill} is not complete: {shown}{because}; {_what_next(kept)}"
    raise IncompleteBackfillError(message, backfill)


def _what_next(backfill: Backfill) -> str:
    """A fault may pass by itself; what has a reason does not."""
    if backfill.stopped() is None and backfill.failures() <= {_FAULT}:
        return "the same command again goes on with these"
    return "once what the summary says of them is mended, the same command goes on with these"


def _register(home: Home, corpus: Surveyed, *, alone: bool) -> tuple[tuple[PlannedAudit, ...], dict[int, Registered]]:
    """The due partitions of one corpus, all or none; the plan as it is then, and what was registered by place in it."""
    if corpus.staged is None:
        return corpus.planned, {}
    settings, parts = due_parts(corpus.asked, corpus.planned, corpus.staged)
    due = {one.partition: place for place, one in enumerate(corpus.planned) if one.standing is Standing.DUE}
    try:
        versions = ReleaseLog(home).register(settings, parts, corpus.seen)
    except UserError as error:
        return unreadable(corpus.asked, error, alone=alone).planned, {}
    known = zip(parts, versions, strict=True)
    return corpus.planned, {
        due[part.key]: Registered(version, partition_facts(part, version)) for part, version in known
    }


def _audit(backfill: Backfill, number: int) -> None:
    partition, audit = backfill.plan()[number].partition, backfill.begin_audit(number)
    backfill.save_outcome(number, Outcome(audit.run_id))
    with recorded(audit, "propose", None):
        propose_stage(audit)
    with recorded(audit, "score", partition):
        score_stage(audit, partition)
    with _sealing, recorded(audit, "certify", partition):
        certify_stage(audit, partition)
        model = describe_model(model_reference(audit.settings, audit.home), audit.home)
        audit.save_summary(model.name, model.fingerprint)
        backfill.save_outcome(number, Outcome(audit.run_id, is_sealed=True))


def _stop_where_the_rest_cannot_be(backfill: Backfill) -> None:
    """Look at log, caps and model again after a failure: where one is not there for the rest, nothing more is begun."""
    home = backfill.run.home
    with _sealing:  # what is sealed counts once: as spent
        try:
            asked = Asked.of(backfill.definition, home)
            charges = [replace(asked, settings=backfill.settings_of(one)).charge(one) for one in backfill.to_come()]
            check_together(ReleaseLog(home).needs_of(charges))
        except UserError as error:
            backfill.stop(str(error))
