"""The demo: a synthetic review corpus whose supports are known, and how the model's verdicts compare with them."""

from decimal import Decimal

import pyarrow as pa

from schemas.audit import AuditSettings
from schemas.corpora import Visibility
from tasks.audits.preflight import model_reference
from tasks.audits.run import Run
from tasks.audits.stages import version_path
from tasks.corpora.synthetic import compare_with_known, known_verdicts, synthetic_reviews
from tasks.statements.domains import load_domain
from tasks.storage.atomic import write_table
from tasks.storage.home import PRIVATE_DIRECTORY, Home
from tasks.support.counts import unit_verdicts
from tasks.support.models import load_support_model

DOMAIN = "restaurant-reviews"
# Which statements are drawn, chosen so that some lie above the threshold and some below: nothing is learnt from it,
# the corpus is invented. An audit of real data takes any seed.
STATEMENT_SEED = 124
CORPUS_SEED = 0


def demo_settings(home: Home, authors: int, model: str) -> AuditSettings:
    """Write the synthetic corpus (equal arguments, equal bytes) and return the settings of its audit."""
    folder = home.private / "demo"
    folder.mkdir(exist_ok=True, mode=PRIVATE_DIRECTORY)
    path = folder / f"reviews-{authors}.parquet"
    if not path.exists():
        write_table(path, synthetic_reviews(authors, CORPUS_SEED, load_domain(DOMAIN)))
    return AuditSettings(
        source=str(path),
        corpus=f"demo-{authors}",
        visibility=Visibility.SYNTHETIC,
        unit="author",
        domain=DOMAIN,
        statements=20,
        seed=STATEMENT_SEED,
        model=model,
        epsilon=Decimal(8),
        theta=Decimal("0.1"),
    )


def compare_demo(run: Run, authors: int) -> pa.Table:
    """Statement by statement: authors that support it by construction and by the model's verdicts (COMPARISON)."""
    statements, _ = run.proposal()
    model = load_support_model(model_reference(run.settings, run.home))
    path = version_path(run, run.partitions()[0])
    estimated = unit_verdicts(path, statements, model.fingerprint, run.settings.unit_support, run.home)
    return compare_with_known(
        estimated, known_verdicts(authors, CORPUS_SEED, load_domain(DOMAIN), statements), statements
    )
