"""Base tables of the release database: their schemas, and the projection as tables."""

import pyarrow as pa

from schemas.dictionary import DATA_DICTIONARY
from schemas.releases import BUDGETS, CERTIFICATES, CHARGES, RELEASES, STATEMENT_DIMENSIONS, THRESHOLDS, Projection
from tasks.reporting.studies import STUDY_SCHEMAS

RELEASE_SCHEMAS = {
    "releases": RELEASES,
    "certificates": CERTIFICATES,
    "statement_dimensions": STATEMENT_DIMENSIONS,
    "thresholds": THRESHOLDS,
    "charges": CHARGES,
    "budgets": BUDGETS,
    "data_dictionary": DATA_DICTIONARY,
    **STUDY_SCHEMAS,
}
_OF_PROJECTION = ("releases", "certificates", "thresholds", "charges", "budgets")


def release_tables(projection: Projection) -> dict[str, tuple[pa.Table, pa.Schema]]:
    """Every base table with its schema; those that are no part of a projection are empty."""
    tables = {name: (schema.empty_table(), schema) for name, schema in RELEASE_SCHEMAS.items()}
    return tables | {name: (getattr(projection, name), RELEASE_SCHEMAS[name]) for name in _OF_PROJECTION}
