"""Tables of release.duckdb, all functions of sealed payloads, public settings and n.

Written by tasks/ledger (as a `Projection`), loaded by tasks/reporting, read by warehouse/. Amounts of budget are
decimal text (exact); columns that end in `_nats` or hold a share of units are their nearest doubles, for reading.
epsilon and rho (zCDP) are in nats, delta is a probability.
"""

import hashlib
from dataclasses import dataclass
from urllib.parse import quote

import pyarrow as pa

from schemas.payloads import LOSS_PARTS


def _required(name: str, kind: pa.DataType) -> pa.Field:
    return pa.field(name, kind, nullable=False)


def _optional(name: str, kind: pa.DataType) -> pa.Field:
    return pa.field(name, kind, nullable=True)


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
        _required("meaning", pa.string()),  # what its certificate says
        _required("parameters", pa.string()),  # JSON of what only this mechanism takes; its theta: holds for no other
        _required("epsilon", pa.string()),  # whole release
        _required("epsilon_nats", pa.float64()),
        _required("delta", pa.string()),  # 0: pure differential privacy
        _optional("rho", pa.string()),  # as charged; null where the mechanism states none
        _optional("rho_nats", pa.float64()),
        _required("beta", pa.string()),
        _required("scope", pa.string()),  # candidate, report, report_independent
        _required("edition", pa.int64()),
    ]
)

# One row per release and statement.
CERTIFICATES = pa.schema(
    [
        _required("release_key", pa.string()),
        _required("position", pa.int64()),  # in the question, from 0
        _required("statement_id", pa.string()),
        _required("statement", pa.string()),
        _required("weight", pa.string()),  # public part of the budget, relative to the other statements
        _required("certificate_units", pa.int64()),  # clipped to [0, n]
        _optional("reason", pa.string()),  # why there is no certificate: not_selected, not_reached
        _required("margin_units", pa.int64()),  # k: certificate = noisy count - k (+ coin)
        _optional("epsilon_per_statement_nats", pa.float64()),  # null where all counts are one query
        _required("beta_per_statement", pa.float64()),
    ]
)

# One row per release, statement and dimension that the domain of its proposer declares for the statement; none for
# statements from a file or a report. A function of the sealed statements and of the public domain file, whose SHA-256
# is sealed with them.
STATEMENT_DIMENSIONS = pa.schema(
    [
        _required("release_key", pa.string()),
        _required("statement_id", pa.string()),
        _required("dimension", pa.string()),  # aspect, opinion, ...
        _required("dimension_value", pa.string()),  # key of one of its values
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
        _optional("release_key", pa.string()),
        _optional("epsilon", pa.string()),  # amounts are null where a gap, or the mechanism, did not state them
        _optional("epsilon_nats", pa.float64()),
        _optional("delta", pa.string()),
        _optional("rho", pa.string()),
        _optional("rho_nats", pa.float64()),
        _required("day", pa.date32()),
    ]
)

# One row per account and ledger line: the totals. Caps and what is left of them: the amounts that its composition
# counts, null for the others; spent: all three, null where an accepted gap did not state it.
BUDGETS = pa.schema(
    [
        _required("account", pa.string()),
        _required("ledger_line", pa.string()),
        _optional("composition", pa.string()),  # pure, approximate, zcdp; null: uncapped (no private corpus)
        *(_optional(f"{kind}_{part}", pa.string()) for kind in ("cap", "spent", "left") for part in LOSS_PARTS),
        *(_optional(f"{kind}_{part}_nats", pa.float64()) for kind in ("cap", "spent") for part in ("epsilon", "rho")),
        _required("is_overspent", pa.bool_()),  # an accepted gap may do that; exact
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
