"""Tables of the release log (SQLAlchemy Core; SQLite or PostgreSQL). It lies in the private zone.

`entry` is the hash chain: public facts only. The rest is what the transactions look up; `content_key` and the
folders of keyed hashes that versions point to are private and are in no entry.
"""

from sqlalchemy import (
    BigInteger,
    Column,
    Date,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

METADATA = MetaData()

# One row: who this log is, and the row that every writer locks (PostgreSQL).
HEAD = Table(
    "head",
    METADATA,
    Column("one", Integer, primary_key=True),
    Column("ledger_id", String(32), nullable=False),
    Column("sequence", BigInteger, nullable=False),
    Column("hash", String(64), nullable=False),
)

# One row: by what key the log knows its home; a log of an older version gets it when it is next opened.
KEEPER = Table(
    "keeper",
    METADATA,
    Column("one", Integer, primary_key=True),
    Column("key_check", LargeBinary(32), nullable=False),  # keyed hash of the ledger id
)

# One row per act: cap, corpus, partition, release, gap.
# hash = SHA-256(sequence, kind, day, account_tag, body_sha256, previous), see tasks/ledger/chain.py.
ENTRY = Table(
    "entry",
    METADATA,
    Column("sequence", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", String(16), nullable=False),
    Column("day", Date, nullable=False),
    Column("account_tag", String(16), nullable=True),  # null: the act concerns all accounts (a gap)
    Column("body", Text, nullable=False),
    Column("body_sha256", String(64), nullable=False),
    Column("previous", String(64), nullable=False),
    Column("hash", String(64), nullable=False, unique=True),
)

# One row per corpus: its scheme, for ever.
CORPUS = Table(
    "corpus",
    METADATA,
    Column("corpus", String(63), primary_key=True),
    Column("account", String(63), nullable=False),
    Column("visibility", String(16), nullable=False),
    Column("scheme", Text, nullable=False),  # canonical JSON: unit column, rule, namespace, partitioning
    Column("units_recur", Integer, nullable=False),
)

# One row per version of a partition; all versions of a partition share its budget.
PARTITION = Table(
    "partition",
    METADATA,
    Column("version", String(32), primary_key=True),
    Column("corpus", ForeignKey("corpus.corpus"), nullable=False),
    Column("partition", Text, nullable=False),
    Column("number", Integer, nullable=False),
    Column("n", BigInteger, nullable=False),
    Column("content_key", LargeBinary(32), nullable=False),
    UniqueConstraint("corpus", "partition", "number"),
)

# One row per account that has a cap: pure (epsilon), approximate (epsilon, delta) or zcdp (rho), for ever.
CAP = Table(
    "cap",
    METADATA,
    Column("account", String(63), primary_key=True),
    Column("composition", String(16), nullable=False),
    Column("epsilon", Text, nullable=True),
    Column("delta", Text, nullable=True),
    Column("rho", Text, nullable=True),
)

# One row per account that a release or an accepted gap charged; corpus and partition are `*` for a gap.
# Amounts are exact decimals; null where they are not known (a gap that did not state them, a release without rho).
CHARGE = Table(
    "charge",
    METADATA,
    Column("sequence", ForeignKey("entry.sequence"), primary_key=True),
    Column("account", String(63), primary_key=True),
    Column("corpus", String(63), nullable=False),
    Column("partition", Text, nullable=False),
    Column("release_key", String(64), nullable=True),
    Column("epsilon", Text, nullable=True),
    Column("delta", Text, nullable=True),
    Column("rho", Text, nullable=True),
)
Index("charge_by_account", CHARGE.c.account)

# One row per sealed answer.
RELEASE = Table(
    "release",
    METADATA,
    Column("release_key", String(64), primary_key=True),
    Column("sequence", ForeignKey("entry.sequence"), nullable=False, unique=True),
    Column("version", ForeignKey("partition.version"), nullable=False),
    Column("payload", Text, nullable=False),  # canonical JSON
)

# One row per release and threshold that somebody asked for; costs nothing, so it is not chained.
THRESHOLD = Table(
    "threshold",
    METADATA,
    Column("asked", Integer, primary_key=True, autoincrement=True),
    Column("release_key", ForeignKey("release.release_key"), nullable=False),
    Column("theta", Text, nullable=False),
    Column("day", Date, nullable=False),
    UniqueConstraint("release_key", "theta"),
)
