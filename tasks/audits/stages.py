"""The stages of a statement-support audit, one function each; every one may be repeated after a crash.

They exchange files in the run's folder. What is worth keeping is content-addressed or sealed, so a repeated stage
finds it and does nothing twice.
"""

from tasks.audits.inputs import check_inputs, check_registered
from tasks.audits.preflight import model_reference, preflight
from tasks.audits.progress import report
from tasks.audits.proposing import propose_once
from tasks.audits.questions import question_about
from tasks.audits.registering import stage_and_register
from tasks.audits.run import Run
from tasks.audits.vacuous import check_not_hopeless
from tasks.corpora.staging import StagedCorpus, StagedPartition
from tasks.ledger.log import ReleaseLog
from tasks.ledger.question import Question, RegisteredPartition
from tasks.statements.kept_domains import keep_domain
from tasks.storage.objects import AnyPath
from tasks.support.counts import bounded_support_counts, support_counts
from tasks.support.placement import ModelFacts, Place, describe_model, place_of
from tasks.support.scoring import score_version


def run_audit(run: Run) -> None:
    """All stages in order, without an orchestrator."""
    ingest_stage(run)
    propose_stage(run)
    for partition in run.partitions():
        score_stage(run, partition.partition)
    for partition in run.partitions():
        certify_stage(run, partition.partition)
    publish_stage(run)


def ingest_stage(run: Run) -> list[str]:
    """Read and register the corpus; the same content again is a no-op. Returns the declared partition keys."""
    settings = run.settings
    preflight(settings, run.home)
    report("ingest", 0)
    staged, registered = stage_and_register(run.home, settings)
    run.save_partitions(registered)
    _note_partitions(run, staged, registered)
    report("ingest", 1)
    return [partition.partition for partition in registered]


def propose_stage(run: Run) -> None:
    """Choose the candidate statements; no record is read."""
    support_model = model_reference(run.settings, run.home)
    needed_here = support_model.language if place_of(support_model) is Place.DRIVER else None
    proposal = propose_once(run.settings, run.home, keep_open=needed_here)
    if proposal.domain is not None:
        keep_domain(run.home, proposal.domain)
    run.save_proposal(proposal.statements, proposal.description, proposal.rejects)
    report("propose", 1)


def score_stage(run: Run, partition: str) -> None:
    """Score what was not scored before; nothing at all when the answer is sealed. Stops early over the cap."""
    log, question = ReleaseLog(run.home), _question(run, partition)
    if log.find(question) is not None or question.partition.n == 0:
        run.note(partition, pairs_scored=0, pairs_reused=0)
        report("score", 1)
        return
    if not run.settings.allow_vacuous:
        check_not_hopeless(question)
    log.check_affordable(question)
    records = version_path(run, question.partition)
    check_registered(question, records, run.home)
    summary = score_version(
        records,
        question.statements,
        model_reference(run.settings, run.home),
        run.home,
        progress=lambda share: report("score", share),
    )
    run.note(partition, pairs_scored=summary.pairs_scored, pairs_reused=summary.pairs_reused)


def certify_stage(run: Run, partition: str) -> None:
    """Seal the answer, or find it sealed; remember the threshold."""
    log, question = ReleaseLog(run.home), _question(run, partition)
    sealed = log.find(question) or log.seal(question, _checked_counts(run, question))
    log.ask_threshold(sealed.release_key, run.settings.theta)
    run.note(partition, release_key=sealed.release_key, was_sealed=sealed.was_sealed)
    report("certify", 1)


def publish_stage(run: Run) -> None:
    """Project the log: release database, then a certificate file and a report for each partition.

    The operator's database changes with every run; it is built when an answer is new, or when it is next queried.
    """
    from tasks.audits.publishing import publish, refresh_operator_database  # late: the stages before it need no DuckDB

    facts = run.notes().values()
    rejects = {run.proposal()[1]: run.rejects()}
    publish(run.home, [(str(fact["release_key"]), run.settings.theta) for fact in facts], rejects=rejects)
    model = _model(run)
    run.save_summary(model.name, model.fingerprint)
    if not all(fact["was_sealed"] for fact in facts):
        refresh_operator_database(run.home)
    report("publish", 1)


def version_path(run: Run, partition: RegisteredPartition) -> AnyPath:
    """Where the records of a registered version lie."""
    return run.home.corpora / partition.corpus / partition.version


def partition_facts(part: StagedPartition, known: RegisteredPartition) -> dict[str, object]:
    """What the operator is told of a registered partition beside what scoring and sealing note; private."""
    return {
        "partition_version": known.version,
        "units": part.units,
        "records": part.records,
        "unreadable": dict(part.unreadable),
        "duplicates": part.duplicates,
    }


def _question(run: Run, partition: str) -> Question:
    statements, description = run.proposal()
    registered = {known.partition: known for known in run.partitions()}
    return question_about(registered[partition], run.settings, _model(run), statements, description)


def _checked_counts(run: Run, question: Question) -> list[int]:
    """The support counts, of records, units and verdicts that pass their suites. Raises UserError where they do not."""
    if question.partition.n:
        check_inputs(question, version_path(run, question.partition), run.home)
    return _counts(run, question)


def _counts(run: Run, question: Question) -> list[int]:
    if question.partition.n == 0:
        return [0] * len(question.statements)
    asked = (
        version_path(run, question.partition),
        question.statements,
        question.model_fingerprint,
        question.unit_support,
        run.home,
    )
    bound = question.parameters.contributions
    counts = support_counts(*asked) if bound is None else bounded_support_counts(*asked, bound)
    return [int(count) for count in counts]


def _model(run: Run) -> ModelFacts:
    return describe_model(model_reference(run.settings, run.home), run.home)


def _note_partitions(run: Run, staged: StagedCorpus, registered: list[RegisteredPartition]) -> None:
    for part, known in zip(staged.partitions, registered, strict=True):
        run.note(known.partition, **partition_facts(part, known))
