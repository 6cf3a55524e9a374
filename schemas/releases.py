"""Tables of release.duckdb, all functions of sealed payloads, public settings and n.

Written by tasks/ledger (as a `Projection`), loaded by tasks/reporting, read by warehouse/. Amounts of budget are
decimal text (exact); columns that end in `_nats` or hold a share of units are their nearest doubles, for reading.
"""

import hashlib
from dataclasses import dataclass
from urllib.parse import quote

import pyarrow as pa


def _required(name: str, kind: pa.DataType) -> pa.Field:
    return pa.field(name, kind, nullable=False)


# One row per sealed release: one question about one version of one partition.
RELEASES = pa.schema(
    [
        _required("release_key", pa.string()),  # SHA-256 of the question, hex
        _required("sequence", pa.int64()),  # position in the chain
        _required("day", pa.date32()),  # of the draw, UTC; times are coarsened on purpose
        _required("corpus", pa.string()),
        _required("account", pa.string()),
        _required("visibility", pa.string()),  # private, public, synthetic
        _required("partition", pa.string()),
        _required("partition_version", pa.string()),  # random id
        _required("version_number", pa.int64()),  # 1, 2, ... per partition
        _required("n", pa.int64()),  # units, not protected
        _required("unit", pa.string()),  # name of the unit column, or `record`
        _required("unit_support", pa.string()),  # any, all
        _required("proposer", pa.string()),  # where the candidates came from
        _required("candidates", pa.int64()),  # distinct statements that share the budget
        _required("model", pa.string()),
        _required("model_fingerprint", pa.string()),
        _required("mechanism", pa.string()),
        _required("epsilon", pa.string()),  # whole release
        _required("epsilon_nats", pa.float64()),
        _required("epsilon_per_statement_nats", pa.float64()),
        _required("beta", pa.string()),
        _required("beta_per_statement", pa.float64()),
        _required("scope", pa.string()),  # candidate, report, report_independent
        _required("edition", pa.int64()),
        _required("margin_units", pa.int64()),  # k: certificate = noisy count - k (+ coin)
    ]
)

# One row per release and statement.
CERTIFICATES = pa.schema(
    [
        _required("release_key", pa.string()),
        _required("position", pa.int64()),  # in the question, from 0
        _required("statement_id", pa.string()),
        _required("statement", pa.string()),
        _required("certificate_units", pa.int64()),  # clipped to [0, n]
    ]
)

# One row per release and threshold that somebody asked for; free post-processing.
THRESHOLDS = pa.schema(
    [
        _required("release_key", pa.string()),
        _required("asked", pa.int64()),  # 1, 2, ... over the whole log, in the order of first asking
        _required("theta", pa.string()),
        _required("theta_share", pa.float64()),
        _required("threshold_units", pa.int64()),  # ceil(n theta), exact
        _required("day", pa.date32()),  # first asked, UTC
    ]
)

# One row per charge: a release, or a gap that the operator accepted after a restored backup.
CHARGES = pa.schema(
    [
        _required("sequence", pa.int64()),
        _required("account", pa.string()),
        _required("ledger_line", pa.string()),  # partition key, or `*` for the sum over a time grid or shared account
        _required("kind", pa.string()),  # release, gap
        pa.field("release_key", pa.string(), nullable=True),
        _required("epsilon", pa.string()),
        _required("epsilon_nats", pa.float64()),
        _required("day", pa.date32()),
    ]
)

# One row per account and ledger line: the totals.
BUDGETS = pa.schema(
    [
        _required("account", pa.string()),
        _required("ledger_line", pa.string()),
        pa.field("cap", pa.string(), nullable=True),  # null: uncapped (public and synthetic corpora only)
        _required("spent", pa.string()),
        pa.field("left", pa.string(), nullable=True),
        pa.field("cap_nats", pa.float64(), nullable=True),
        _required("spent_nats", pa.float64()),
    ]
)


@dataclass(frozen=True, slots=True)
class Projection:
    """Everything the release database is made of, at one moment of the log."""

    releases: pa.Table
    certificates: pa.Table
    thresholds: pa.Table
    charges: pa.Table
    budgets: pa.Table
    chain_head: str
    ledger_id: str


def file_stem(corpus: str, partition: str, release_key: str, theta: str) -> str:
    """File name, without its ending, of what is said about a release at theta (exact text).

    What a file name should not hold is percent-encoded; a long partition is cut (the key keeps it apart from others),
    a long theta is written as 12 digits of its SHA-256. At most 200 characters.
    """
    short = theta if len(theta) <= 24 else f"sha256-{hashlib.sha256(theta.encode()).hexdigest()[:12]}"
    return f"{corpus}-{quote(partition, safe='')[:80]}-{release_key[:12]}-theta-{short}"
