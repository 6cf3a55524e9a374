"""What can be refused before Prefect starts and before any data is read."""

from schemas.audit import AuditSettings
from schemas.corpora import Visibility
from schemas.errors import UserError
from tasks.ledger.log import ReleaseLog
from tasks.privacy.mechanisms import MECHANISMS, RELEASE_MECHANISMS
from tasks.statements import propose
from tasks.storage.home import Home
from tasks.support.models import ModelReference, load_support_model


def preflight(settings: AuditSettings, home: Home) -> None:
    """Mechanism, proposer, model and corpus scheme. Raises UserError by name."""
    check_mechanism(settings.mechanism)
    propose(settings)
    load_support_model(model_reference(settings))
    log = ReleaseLog(home)
    log.check_corpus(settings)
    if settings.visibility is Visibility.PRIVATE:
        log.check_cap(settings.account_name)  # before registration, which fixes the unit for ever


def check_mechanism(name: str) -> None:
    """Refuse, by name, a mechanism that is unknown or is allowed in simulation only. Raises UserError."""
    if name not in MECHANISMS:
        raise UserError(f"mechanism: unknown mechanism {name!r}; known: {', '.join(MECHANISMS)}")
    if name not in RELEASE_MECHANISMS:
        raise UserError(
            f"mechanism: {name} draws floating-point noise, which leaks: simulation only; "
            f"a release takes {' or '.join(RELEASE_MECHANISMS)}"
        )


def model_reference(settings: AuditSettings) -> ModelReference:
    """The support model that the settings name."""
    return ModelReference(name=settings.model, domain=settings.domain)
