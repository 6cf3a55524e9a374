"""Corpora and partition versions: registered once, on an account that replacing or renaming never refills."""

import json
import secrets
from pathlib import Path
from typing import Protocol

import polars as pl
from sqlalchemy import Connection, Row, func, insert, select

from schemas.corpora import CorpusSettings, Visibility
from schemas.errors import UserError
from tasks.ledger.budget import charge_gaps
from tasks.ledger.canonical import canonical
from tasks.ledger.chain import append
from tasks.ledger.question import RegisteredPartition
from tasks.ledger.tables import CORPUS, PARTITION
from tasks.storage.atomic import sync
from tasks.storage.home import PRIVATE_DIRECTORY, Home

RECORD = "record"  # name of the unit where every record is one


class Staged(Protocol):
    """One partition as ingestion left it: a movable folder and what is needed to recognise its content."""

    @property
    def key(self) -> str:
        """Declared partition key."""

    @property
    def path(self) -> Path:
        """Folder with records/, units.parquet and record_keys.parquet."""

    @property
    def units(self) -> int:
        """n."""

    @property
    def content_key(self) -> bytes:
        """Keyed hash of the content, independent of the order of records; 32 bytes."""


def register_corpus(connection: Connection, home: Home, settings: CorpusSettings) -> None:
    """Register the corpus, or check that it is the one that is known. UserError on any difference."""
    check_corpus(connection, home, settings)
    if connection.execute(select(CORPUS.c.corpus).where(CORPUS.c.corpus == settings.corpus)).first():
        return
    append(
        connection,
        "corpus",
        {
            "corpus": settings.corpus,
            "account": settings.account_name,
            "visibility": str(settings.visibility),
            "scheme": scheme(settings),
        },
    )
    connection.execute(
        insert(CORPUS).values(
            corpus=settings.corpus,
            account=settings.account_name,
            visibility=str(settings.visibility),
            scheme=canonical(scheme(settings)).decode(),
            units_recur=int(settings.units_recur),
        )
    )
    charge_gaps(connection, settings.account_name)


def check_corpus(connection: Connection, home: Home, settings: CorpusSettings) -> None:
    """What registering would refuse whatever the data are; read-only, so that it can come before they are read."""
    if settings.visibility is Visibility.PRIVATE and not home.on_purpose:
        raise UserError("a private corpus needs a home made on purpose: run `privcert init`")
    known = connection.execute(select(CORPUS).where(CORPUS.c.corpus == settings.corpus)).one_or_none()
    if known is not None:
        _check_same(known, settings)
        return
    mates = connection.execute(select(CORPUS.c.visibility).where(CORPUS.c.account == settings.account_name)).scalars()
    if any(mate != settings.visibility for mate in mates):
        raise UserError("account: private, public and synthetic corpora cannot share one")


def scheme(settings: CorpusSettings) -> dict[str, object]:
    """What a corpus keeps for ever: its unit and its way of partitioning."""
    return {
        "unit": settings.unit or RECORD,
        "unit_rule": str(settings.unit_rule),
        "unit_namespace": settings.unit_namespace,
        "partition_column": settings.partition_column,
        "partition_by": str(settings.time_grid or ("list" if settings.partitions else "all")),
    }


def register_partition(
    connection: Connection, home: Home, settings: CorpusSettings, staged: Staged
) -> RegisteredPartition:
    """Register what was staged as a version of its partition; the same content again is a no-op.

    Moves the staged folder to corpora/CORPUS/VERSION. Raises UserError for changed content without `replace`,
    for a unit that lies in another partition, and for records or units of another private corpus.
    """
    latest = _latest(connection, settings.corpus, staged.key)
    if latest is not None and latest.content_key == staged.content_key:
        return _registered(connection, latest)
    if latest is not None and not settings.replace:
        raise UserError(
            f"replace: the content of partition {staged.key} of {settings.corpus} has changed; "
            "--replace registers it as a new version on the same account"
        )
    _check_disjoint(connection, home, settings, staged)
    _check_membership(connection, home, settings, staged)
    version, number = secrets.token_hex(16), 1 if latest is None else latest.number + 1
    target = home.corpora / settings.corpus / version
    target.parent.mkdir(exist_ok=True, mode=PRIVATE_DIRECTORY)
    staged.path.rename(target)  # before the commit: a crash leaves an unknown folder, never a missing one
    sync(target.parent)
    body = {
        "corpus": settings.corpus,
        "partition": staged.key,
        "version": version,
        "number": number,
        "n": staged.units,
    }
    append(connection, "partition", body)
    connection.execute(insert(PARTITION).values(**body, content_key=staged.content_key))
    return _registered(connection, _latest_required(connection, settings.corpus, staged.key))


def latest_partitions(connection: Connection, corpus: str) -> list[RegisteredPartition]:
    """The newest version of every partition, in order of key."""
    keys = connection.execute(
        select(PARTITION.c.partition).where(PARTITION.c.corpus == corpus).distinct().order_by(PARTITION.c.partition)
    ).scalars()
    return [_registered(connection, _latest_required(connection, corpus, key)) for key in keys.all()]


def find_version(connection: Connection, version: str) -> RegisteredPartition | None:
    """The partition version with this random id, as it was registered."""
    row = connection.execute(select(PARTITION).where(PARTITION.c.version == version)).one_or_none()
    return None if row is None else _registered(connection, row)


def _check_same(known: Row[tuple[object, ...]], settings: CorpusSettings) -> None:
    if known.visibility != settings.visibility:
        raise UserError(f"visibility: corpus {settings.corpus} is {known.visibility}, for ever")
    if known.account != settings.account_name:
        raise UserError(f"account: corpus {settings.corpus} is charged to {known.account}, for ever")
    if known.scheme != canonical(scheme(settings)).decode():
        raise UserError(
            f"unit, unit_rule, unit_namespace, partition_column: corpus {settings.corpus} was registered with others; "
            "they hold for ever"
        )


def _check_disjoint(connection: Connection, home: Home, settings: CorpusSettings, staged: Staged) -> None:
    if settings.units_recur:
        return
    others = connection.execute(
        select(PARTITION.c.version).where(PARTITION.c.corpus == settings.corpus, PARTITION.c.partition != staged.key)
    ).scalars()
    folders = [home.corpora / settings.corpus / version for version in others]
    if _shares(staged.path, folders, "units.parquet", "unit_key"):
        raise UserError("partition_column: a unit lies in two partitions of a list; use a time_grid, or mend the data")


def _check_membership(connection: Connection, home: Home, settings: CorpusSettings, staged: Staged) -> None:
    rows = connection.execute(
        select(PARTITION.c.version, CORPUS.c.corpus, CORPUS.c.scheme)
        .join(CORPUS, CORPUS.c.corpus == PARTITION.c.corpus)
        .where(
            CORPUS.c.corpus != settings.corpus,
            CORPUS.c.visibility == Visibility.PRIVATE.value,
            CORPUS.c.account != settings.account_name,
        )
    ).all()
    by_record = f'"unit":"{RECORD}"'
    everywhere = [home.corpora / row.corpus / row.version for row in rows]
    by_unit = [home.corpora / row.corpus / row.version for row in rows if by_record not in row.scheme]
    shares_units = settings.unit is not None and _shares(staged.path, by_unit, "units.parquet", "unit_key")
    if shares_units or _shares(staged.path, everywhere, "record_keys.parquet", "record_key"):
        raise UserError(
            "account: records or units of this source are in another private corpus; "
            "give both the same --account, so that their budgets add up"
        )


def _shares(staged: Path, folders: list[Path], file: str, column: str) -> bool:
    if not folders:
        return False
    known = pl.scan_parquet([folder / file for folder in folders]).select(column)
    new = pl.scan_parquet(staged / file).select(column)
    return not new.join(known, on=column, how="semi").head(1).collect(engine="streaming").is_empty()


def _latest(connection: Connection, corpus: str, key: str) -> Row[tuple[object, ...]] | None:
    newest = (
        select(func.max(PARTITION.c.number))
        .where(PARTITION.c.corpus == corpus, PARTITION.c.partition == key)
        .scalar_subquery()
    )
    return connection.execute(
        select(PARTITION).where(
            PARTITION.c.corpus == corpus, PARTITION.c.partition == key, PARTITION.c.number == newest
        )
    ).one_or_none()


def _latest_required(connection: Connection, corpus: str, key: str) -> Row[tuple[object, ...]]:
    found = _latest(connection, corpus, key)
    if found is None:
        raise UserError(f"partition: {key} of {corpus} is not registered")
    return found


def _registered(connection: Connection, row: Row[tuple[object, ...]]) -> RegisteredPartition:
    corpus = connection.execute(select(CORPUS).where(CORPUS.c.corpus == row.corpus)).one()
    known = json.loads(corpus.scheme)
    return RegisteredPartition(
        corpus=row.corpus,
        account=corpus.account,
        visibility=corpus.visibility,
        partition=row.partition,
        version=row.version,
        number=row.number,
        n=row.n,
        unit=known["unit"],
        unit_rule=known["unit_rule"],
    )
