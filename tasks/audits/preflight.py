"""What can be refused before Prefect starts and before any data is read."""

from dataclasses import replace

from schemas.audit import AuditSettings
from schemas.corpora import Visibility
from schemas.errors import UserError
from tasks.audits.proposing import foresee
from tasks.audits.released_report import check_report
from tasks.inference.language import language_reference
from tasks.ledger.designs import Parameters, groups_of, total_loss
from tasks.ledger.log import ReleaseLog
from tasks.privacy.mechanisms import MECHANISMS, RELEASE_MECHANISMS
from tasks.storage.home import Home
from tasks.support.models import ModelReference
from tasks.support.placement import describe_model


def preflight(settings: AuditSettings, home: Home) -> None:
    """Mechanism and parameters, store, proposer, model, corpus scheme, account, databases. Raises UserError by name."""
    check_mechanism(settings.mechanism)
    home.check_store()
    check_report(settings, home)
    candidates = foresee(settings, home)
    groups = groups_of(settings, Parameters.of(settings), candidates, n=1)  # no loss depends on n >= 1
    describe_model(model_reference(settings, home), home)
    log = ReleaseLog(home)
    log.check_corpus(settings)
    # before registration, which fixes the unit for ever
    log.check_countable(settings.account_name, settings.visibility, total_loss(groups))
    check_databases_are_ours(home)


def check_databases_are_ours(home: Home) -> None:
    """Refuse a database that a newer privcert built: nothing could be published. Raises UserError by name."""
    from tasks.reporting.database import read_origin  # late: DuckDB is needed by no other check
    from tasks.reporting.places import operator_database, release_database

    for database in (release_database(home), operator_database(home)):
        read_origin(database)


def check_mechanism(name: str) -> None:
    """Refuse, by name, a mechanism that is unknown or is allowed in simulation only. Raises UserError."""
    if name not in MECHANISMS:
        raise UserError(f"mechanism: unknown mechanism {name!r}; known: {', '.join(MECHANISMS)}")
    if name not in RELEASE_MECHANISMS:
        raise UserError(
            f"mechanism: {name} draws floating-point noise, which leaks: simulation only; "
            f"a release takes one of {', '.join(RELEASE_MECHANISMS)}"
        )


def model_reference(settings: AuditSettings, home: Home) -> ModelReference:
    """The support model that the settings name. Raises UserError by name, also for a judge's language model."""
    named = ModelReference(
        name=settings.model,
        domain=settings.domain,
        premise_windows=settings.premise_windows,
        device=settings.device,
    )
    if not named.found_entry().asks_language_model:
        return named
    is_private = settings.visibility is Visibility.PRIVATE
    return replace(named, language=language_reference(settings, home.private, is_private=is_private))
