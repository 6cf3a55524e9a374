"""The release log of a home, as the rest of the product uses it."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path

from sqlalchemy import Connection, Engine, func, insert, select

from schemas.corpora import CorpusSettings
from schemas.errors import UserError
from schemas.payloads import Payload
from schemas.releases import Projection
from schemas.values import decimal_text
from tasks.ledger import budget, chain, registration, sealing
from tasks.ledger.clock import today
from tasks.ledger.consistency import check_tables
from tasks.ledger.database import creating, locked, open_engine, reading
from tasks.ledger.designs import total_loss
from tasks.ledger.export import certificate, write_certificate
from tasks.ledger.foreseen import Foreseen, Need, needs_of
from tasks.ledger.lineages import Lineage, lineages
from tasks.ledger.place import check_place, is_remembered, remember_place
from tasks.ledger.projection import project
from tasks.ledger.question import Question, RegisteredPartition
from tasks.ledger.sealing import Sealed
from tasks.ledger.tables import HEAD, KEEPER, METADATA, PARTITION, RELEASE, THRESHOLD
from tasks.ledger.version_folders import VersionFolders
from tasks.privacy.accounting import Loss
from tasks.storage.crash import crash_point
from tasks.storage.home import Home


class ReleaseLog:
    """One log: what was registered, what it may cost, what was answered. Every method is one transaction."""

    def __init__(self, home: Home) -> None:
        """Open the log of this home, or make it. Raises UserError when it is another home's, or in another place."""
        check_place(home)
        self._home = home
        self._engine = open_engine(home.log_url)
        _create(self._engine, home)
        if not is_remembered(home) and not self._is_behind():  # one that lost its log, or names another, keeps none
            remember_place(home)

    def register(
        self,
        settings: CorpusSettings,
        staged: Sequence[registration.Staged],
        seen: Mapping[str, bytes] | None = None,
    ) -> list[RegisteredPartition]:
        """Register the corpus and its staged partitions, all or none; the same content again is a no-op.

        seen: see registration.register_partitions.
        """
        crash_point("before_register")
        folders = VersionFolders(self._home, settings.corpus)
        if self._home.store is not None:  # uploads take long, and the lock is everybody's
            with reading(self._engine) as connection:
                new = registration.new_parts(connection, settings, staged)
            folders.upload(part.path for part in new)
        with locked(self._engine) as connection:
            try:
                chain.check_witness(connection, self._home)
                registration.register_corpus(connection, self._home, settings)
                registered = registration.register_partitions(connection, self._home, settings, staged, folders, seen)
            except BaseException:  # an interrupt too: the transaction rolls back, so the folders must
                folders.put_back()
                raise
        folders.remove_unregistered()
        crash_point("after_register")
        return registered

    def check_corpus(self, settings: CorpusSettings) -> None:
        """Refuse, before any data is read, what registration would refuse whatever the data are."""
        with reading(self._engine) as connection:
            chain.check_witness(connection, self._home)
            registration.check_corpus(connection, self._home, settings)

    def check_partitions(
        self,
        settings: CorpusSettings,
        staged: Sequence[registration.Staged],
        beside: Sequence[tuple[CorpusSettings, Sequence[registration.Staged]]] = (),
    ) -> None:
        """Refuse what registering these would refuse after those of `beside`; nothing is written. Raises UserError."""
        with reading(self._engine) as connection:
            registration.check_partitions(connection, self._home, settings, staged, beside)

    def check_countable(self, account: str, visibility: str, loss: Loss) -> None:
        """Refuse, before anything is registered, an audit that the account has no cap for or can never count."""
        with reading(self._engine) as connection:
            budget.check_countable(connection, account, visibility, loss)

    def check_not_behind(self) -> None:
        """Refuse a log that is older than its own releases. Raises UserError that says how to accept the gap."""
        known = chain.read_witness(self._home)
        with reading(self._engine) as connection:
            chain.check_known(connection, known)

    def partitions(self, corpus: str) -> list[RegisteredPartition]:
        """The newest version of every partition of the corpus; empty when it is unknown."""
        with reading(self._engine) as connection:
            return registration.latest_partitions(connection, corpus)

    def content_key(self, version: str) -> bytes:
        """Keyed hash of the records that were registered as this version, 32 bytes (see tasks/corpora/contents.py)."""
        with reading(self._engine) as connection:
            asked = select(PARTITION.c.content_key).where(PARTITION.c.version == version)
            return bytes(connection.execute(asked).scalar_one())

    def has_released(self, corpus: str) -> bool:
        """Was anything ever released about this corpus?"""
        with reading(self._engine) as connection:
            of_corpus = select(RELEASE.c.release_key).join(PARTITION, PARTITION.c.version == RELEASE.c.version)
            return connection.execute(of_corpus.where(PARTITION.c.corpus == corpus)).first() is not None

    def lineages(self, corpus: str) -> dict[str, Lineage]:
        """What is known of each partition: newest version, its content, whether it was released."""
        with reading(self._engine) as connection:
            return lineages(connection, corpus)

    def needs_of(self, charges: Sequence[Foreseen]) -> list[Need]:
        """What these charges, were they made, would ask of each line of the accounts. Raises UserError."""
        with reading(self._engine) as connection:
            chain.check_witness(connection, self._home)
            return needs_of(connection, charges)

    def find(self, question: Question) -> Sealed | None:
        """The sealed answer, if this question was asked before."""
        with reading(self._engine) as connection:
            chain.check_witness(connection, self._home)
            return sealing.find_sealed(connection, question.release_key)

    def find_by_another_build(self, question: Question) -> Sealed | None:
        """What a model of the same name with another fingerprint answered to it, if it was asked."""
        with reading(self._engine) as connection:
            chain.check_witness(connection, self._home)
            return sealing.find_by_another_build(connection, question)

    def check_affordable(self, question: Question) -> None:
        """Fail early, before anything is scored: the same check is made again when the answer is drawn."""
        part = question.partition
        with reading(self._engine) as connection:
            chain.check_witness(connection, self._home)
            budget.check_composition(connection, part.account, total_loss(question.groups()))
            budget.check_affordable(connection, part.account, part.corpus, part.partition, question.loss)

    def seal(self, question: Question, counts: Sequence[int]) -> Sealed:
        """The one answer to the question: drawn and charged once, re-emitted ever after."""
        return sealing.seal(self._engine, self._home, question, counts)

    def ask_threshold(self, release_key: str, theta: Decimal) -> None:
        """Remember that somebody reads this release at theta; free, since the certificate answers every theta.

        Raises UserError for an unknown release, or one whose answer holds for another threshold only.
        """
        same = (THRESHOLD.c.release_key == release_key) & (THRESHOLD.c.theta == decimal_text(theta))
        with reading(self._engine) as connection:
            sealing.check_theta(sealing.read_payload(connection, release_key), theta)
            if connection.execute(select(THRESHOLD.c.asked).where(same)).first():
                return
        with locked(self._engine) as connection:
            if connection.execute(select(THRESHOLD.c.asked).where(same)).first() is None:
                connection.execute(
                    insert(THRESHOLD).values(
                        asked=connection.execute(select(func.coalesce(func.max(THRESHOLD.c.asked), 0))).scalar_one()
                        + 1,
                        release_key=release_key,
                        theta=decimal_text(theta),
                        day=today(),
                    )
                )

    def set_cap(
        self,
        account: str,
        epsilon: Decimal | None = None,
        reason: str | None = None,
        *,
        delta: Decimal | None = None,
        rho: Decimal | None = None,
    ) -> None:
        """Set or change the cap of an account: epsilon, epsilon and delta, or rho alone; raising it needs a reason.

        Which of the three it is, the account's first cap decides for ever. Raises UserError.
        """
        cap = budget.cap_of(epsilon, delta, rho)
        with locked(self._engine) as connection:
            chain.check_witness(connection, self._home)
            budget.set_cap(connection, account, cap, reason)

    def budget_lines(self) -> list[budget.Line]:
        """Every account: cap, spent, left. Raises UserError where the log is behind its releases."""
        with reading(self._engine) as connection:
            chain.check_witness(connection, self._home)
            return budget.lines(connection)

    def accept_gap(
        self, epsilon: Decimal | None, reason: str, *, delta: Decimal | None = None, rho: Decimal | None = None
    ) -> None:
        """After a restored backup: charge these amounts to every account for what was lost, and go on.

        Epsilon and delta (0 only where nothing that was lost had one), or rho alone, or all three. Each account counts
        the parts of its composition; those that the restored log does not know yet are charged when they come back.
        Raises UserError where a part that an account counts is not stated, and when the log is not behind its own
        releases.
        """
        with locked(self._engine) as connection:
            lost = chain.read_witness(self._home)
            if lost is None or not chain.is_missing(connection, lost):
                raise UserError("accept-gap: the release log is not behind its releases, there is nothing to accept")
            stated = {"epsilon": epsilon, "delta": delta, "rho": rho}
            budget.accept_gap(connection, lost["sequence"], lost["hash"], stated, reason)

    def check(self) -> None:
        """Recompute chain, tables, every payload's hash and the witness. Raises UserError at the first fault."""
        known = chain.read_witness(self._home)
        with reading(self._engine) as connection:
            chain.check_chain(connection)
            chain.check_known(connection, known)
            check_tables(connection)
            sealing.check_payloads(connection)

    def project(self) -> Projection:
        """Everything the release zone may know, and the witness of the head."""
        with reading(self._engine) as connection:
            chain.check_witness(connection, self._home)
            projection = project(connection)
        self._tell_release_zone()  # before anything of the projection is published
        return projection

    def chain_hashes(self) -> list[str]:
        """The hash before the first entry, then that of each entry: the last one is the head."""
        with reading(self._engine) as connection:
            ledger_id = connection.execute(select(HEAD.c.ledger_id)).scalar_one()
            return [chain.genesis(ledger_id), *(entry.hash for entry in chain.entries(connection))]

    def payload(self, release_key: str) -> Payload:
        """A sealed payload. Raises UserError for an unknown release."""
        with reading(self._engine) as connection:
            return sealing.read_payload(connection, release_key)

    def release_keys(self) -> list[str]:
        """All sealed releases, oldest first."""
        with reading(self._engine) as connection:
            return list(connection.execute(select(RELEASE.c.release_key).order_by(RELEASE.c.sequence)).scalars())

    def last_threshold(self, release_key: str) -> Decimal | None:
        """The newest threshold that somebody read this release at; None where nobody did."""
        asked = select(THRESHOLD.c.theta).where(THRESHOLD.c.release_key == release_key).order_by(THRESHOLD.c.asked)
        with reading(self._engine) as connection:
            found = connection.execute(asked).scalars().all()
        return Decimal(found[-1]) if found else None

    def certificate(self, release_key: str, theta: Decimal) -> bytes:
        """One release at theta as a signed document; the same bytes every time. Raises UserError as `certificate`."""
        self._tell_release_zone()
        with reading(self._engine) as connection:
            return certificate(connection, self._home, release_key, theta)

    def write_certificate(self, release_key: str, theta: Decimal) -> Path:
        """Export one release at theta as a signed file; the same bytes every time."""
        self._tell_release_zone()
        with reading(self._engine) as connection:
            return write_certificate(connection, self._home, release_key, theta)

    def _is_behind(self) -> bool:
        """Does the release zone know more than this log?"""
        known = chain.read_witness(self._home)
        with reading(self._engine) as connection:
            return chain.is_missing(connection, known)

    def _tell_release_zone(self) -> None:
        """Make the release zone know a head that is at least as new as everything read so far."""
        known = chain.read_witness(self._home)
        with reading(self._engine) as connection:
            if known == chain.head_witness(connection):
                return
        with locked(self._engine) as connection:
            chain.check_witness(connection, self._home)
            chain.write_witness(connection, self._home)


def _create(engine: Engine, home: Home) -> None:
    """Make what is missing of the log, unless it is another home's: then UserError."""
    with reading(engine) as connection:
        if engine.dialect.has_table(connection, KEEPER.name) and (known := _keeper(connection)) is not None:
            _check_keeper(known, home)
            return
    with creating(engine) as connection:
        METADATA.create_all(connection)
        if connection.execute(select(HEAD.c.one)).first() is None:
            first = chain.genesis(home.ledger_id)
            connection.execute(insert(HEAD).values(one=1, ledger_id=home.ledger_id, sequence=0, hash=first))
        if connection.execute(select(KEEPER.c.one)).first() is None:
            connection.execute(insert(KEEPER).values(one=1, key_check=_key_check(home)))
        _check_keeper(_keeper(connection), home)  # nothing is made where it refuses


def _keeper(connection: Connection) -> tuple[str, bytes] | None:
    """The ledger id, and what the key of the log's home makes of it; None before a log has both."""
    both = select(HEAD.c.ledger_id, KEEPER.c.key_check).join(KEEPER, KEEPER.c.one == HEAD.c.one)
    row = connection.execute(both).one_or_none()
    return None if row is None else (row.ledger_id, row.key_check)


def _check_keeper(known: tuple[str, bytes] | None, home: Home) -> None:
    if known != (home.ledger_id, _key_check(home)):
        raise UserError(
            "the release log belongs to another home, or the home's hash.key is not its own: "
            "check PRIVCERT_HOME and PRIVCERT_LOG_URL"
        )


def _key_check(home: Home) -> bytes:
    return home.keyed_hash(b"release log", home.ledger_id.encode())
