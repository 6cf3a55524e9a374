"""What can be refused before Prefect starts and before any data is read."""

from schemas.audit import AuditSettings
from schemas.errors import UserError
from tasks.audits.released_report import check_report
from tasks.ledger.designs import Parameters, groups_of, total_loss
from tasks.ledger.log import ReleaseLog
from tasks.privacy.mechanisms import MECHANISMS, RELEASE_MECHANISMS
from tasks.statements import propose
from tasks.storage.home import Home
from tasks.support.models import ModelReference, load_support_model


def preflight(settings: AuditSettings, home: Home) -> None:
    """Mechanism and its parameters, proposer, model, corpus scheme and account. Raises UserError by name."""
    check_mechanism(settings.mechanism)
    check_report(settings, home)
    proposal = propose(settings)
    groups = groups_of(settings, Parameters.of(settings), proposal.statements, n=1)  # no loss depends on n >= 1
    load_support_model(model_reference(settings))
    log = ReleaseLog(home)
    log.check_corpus(settings)
    # before registration, which fixes the unit for ever
    log.check_countable(settings.account_name, settings.visibility, total_loss(groups))


def check_mechanism(name: str) -> None:
    """Refuse, by name, a mechanism that is unknown or is allowed in simulation only. Raises UserError."""
    if name not in MECHANISMS:
        raise UserError(f"mechanism: unknown mechanism {name!r}; known: {', '.join(MECHANISMS)}")
    if name not in RELEASE_MECHANISMS:
        raise UserError(
            f"mechanism: {name} draws floating-point noise, which leaks: simulation only; "
            f"a release takes one of {', '.join(RELEASE_MECHANISMS)}"
        )


def model_reference(settings: AuditSettings) -> ModelReference:
    """The support model that the settings name."""
    return ModelReference(name=settings.model, domain=settings.domain, premise_windows=settings.premise_windows)
