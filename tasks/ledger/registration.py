"""Corpora and partition versions: registered once, on an account that replacing or renaming never refills."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from sqlalchemy import Connection, Row, func, insert, select

from schemas.corpora import RECORD, CorpusSettings, UnitRule, Visibility
from schemas.errors import UserError
from tasks.corpora.overlaps import looks_like_another, most_texts_in_one, shares_records, shares_units
from tasks.corpora.units import AMBIGUOUS
from tasks.ledger.budget import check_joinable
from tasks.ledger.canonical import canonical
from tasks.ledger.chain import append
from tasks.ledger.charges import charge_gaps
from tasks.ledger.question import RegisteredPartition
from tasks.ledger.tables import CORPUS, PARTITION
from tasks.ledger.version_folders import VersionFolders
from tasks.storage.home import Home
from tasks.storage.objects import AnyPath


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
    of_account = select(CORPUS.c.visibility).where(CORPUS.c.account == settings.account_name)
    mates = connection.execute(of_account).scalars().all()
    if any(mate != settings.visibility for mate in mates):
        raise UserError("account: private, public and synthetic corpora cannot share one")
    if mates:
        check_joinable(connection, settings.account_name)


def scheme(settings: CorpusSettings) -> dict[str, object]:
    """What a corpus keeps for ever: its unit and its way of partitioning."""
    return {
        "unit": settings.unit or RECORD,
        "unit_rule": str(settings.unit_rule),
        "unit_namespace": settings.unit_namespace,
        "partition_column": settings.partition_column,
        "partition_by": str(settings.time_grid or ("list" if settings.partitions else "all")),
    }


def register_partitions(
    connection: Connection,
    home: Home,
    settings: CorpusSettings,
    staged: Sequence[Staged],
    folders: VersionFolders,
    seen: Mapping[str, bytes] | None = None,
) -> list[RegisteredPartition]:
    """Register what was staged as versions of its partitions, all or none; the same content again is a no-op.

    folders: of these staged folders; the caller puts them back where this transaction is rolled back.
    seen: content keys of the newest versions, by partition, on which the caller's decision to register rests; where
    another one was registered meanwhile, nothing is.

    Gives staged folders their place, corpora/CORPUS/VERSION, once nothing is refused. Raises UserError for
    changed content without `replace`, and for units, records or texts that another partition or corpus has.
    """
    if seen is not None:
        _check_seen(connection, settings, new_parts(connection, settings, staged), seen)
    for part in check_partitions(connection, home, settings, staged):
        _add_version(connection, settings, part, folders)
    return [_registered(connection, _latest_required(connection, settings.corpus, part.key)) for part in staged]


def check_partitions(
    connection: Connection,
    home: Home,
    settings: CorpusSettings,
    staged: Sequence[Staged],
    beside: Sequence[tuple[CorpusSettings, Sequence[Staged]]] = (),
) -> list[Staged]:
    """What registering would make a version of; read-only. Raises UserError as `register_partitions` does.

    beside: other corpora that would be registered before, as they were staged.
    """
    new = new_parts(connection, settings, staged)
    _check_units(connection, home, settings, new)
    _check_list(connection, home, settings, new)
    _check_membership(connection, home, settings, new, beside)
    return new


def new_parts(connection: Connection, settings: CorpusSettings, staged: Sequence[Staged]) -> list[Staged]:
    """What registering would make a version of. Raises UserError for changed content without `replace`."""
    return [part for part in staged if _is_new(connection, settings, part)]


def _is_new(connection: Connection, settings: CorpusSettings, staged: Staged) -> bool:
    latest = _latest(connection, settings.corpus, staged.key)
    if latest is not None and latest.content_key == staged.content_key:
        return False
    if latest is not None and not settings.replace:
        raise UserError(
            f"replace: the content of partition {staged.key} of {settings.corpus} has changed; "
            "--replace registers it as a new version on the same account"
        )
    return True


def _check_seen(
    connection: Connection, settings: CorpusSettings, new: Sequence[Staged], seen: Mapping[str, bytes]
) -> None:
    for part in new:
        latest = _latest(connection, settings.corpus, part.key)
        if (None if latest is None else latest.content_key) != seen.get(part.key):
            raise UserError(
                f"source: other content of partition {part.key} of {settings.corpus} was registered meanwhile; "
                "nothing was registered or spent: run the same command again"
            )


def _add_version(connection: Connection, settings: CorpusSettings, staged: Staged, folders: VersionFolders) -> None:
    latest = _latest(connection, settings.corpus, staged.key)
    number = 1 if latest is None else latest.number + 1
    body = {
        "corpus": settings.corpus,
        "partition": staged.key,
        "version": folders.place(staged.path),  # before the commit: a crash leaves an unknown one, never a missing one
        "number": number,
        "n": staged.units,
    }
    append(connection, "partition", body)
    connection.execute(insert(PARTITION).values(**body, content_key=staged.content_key))


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
    asked, registered = scheme(settings), json.loads(known.scheme)
    changed = [f"{name} {registered[name]!r}" for name in asked if asked[name] != registered[name]]
    if changed:
        raise UserError(
            f"unit, partition_column: corpus {settings.corpus} was registered with {', '.join(changed)}, for ever; "
            f"say so, or register another corpus with --account {known.account}"
        )


def _check_units(connection: Connection, home: Home, settings: CorpusSettings, new: Sequence[Staged]) -> None:
    """Rule `exact` over time: no unit may look like another unit that any version of the corpus has."""
    if settings.unit_rule is not UnitRule.EXACT:
        return
    known = [folder for folders in _versions(connection, home, settings).values() for folder in folders]
    if looks_like_another([part.path for part in new], known):
        raise UserError(AMBIGUOUS)


def _check_list(connection: Connection, home: Home, settings: CorpusSettings, new: Sequence[Staged]) -> None:
    """Partitions of a list have a cap each, so they share neither units nor, under other unit ids, their texts."""
    if settings.units_recur:
        return
    known = _versions(connection, home, settings)
    for part in new:
        known.setdefault(part.key, []).append(part.path)
    for part in new:
        others = [folders for key, folders in known.items() if key != part.key]
        if shares_units([part.path], [folder for folders in others for folder in folders]):
            raise UserError(
                "partition_column: a unit lies in two partitions of a list; use a time_grid, or mend the data"
            )
        if most_texts_in_one([part.path], others):
            raise UserError("partition: most of its records are already in another partition of this corpus")


def _versions(connection: Connection, home: Home, settings: CorpusSettings) -> dict[str, list[AnyPath]]:
    """Partition key -> the folders of all its versions."""
    rows = connection.execute(
        select(PARTITION.c.partition, PARTITION.c.version).where(PARTITION.c.corpus == settings.corpus)
    )
    found: dict[str, list[AnyPath]] = {}
    for row in rows:
        found.setdefault(row.partition, []).append(home.corpora / settings.corpus / row.version)
    return found


def _check_membership(
    connection: Connection,
    home: Home,
    settings: CorpusSettings,
    new: Sequence[Staged],
    beside: Sequence[tuple[CorpusSettings, Sequence[Staged]]],
) -> None:
    """What another corpus is charged for, or publishes without a charge, is not asked about anew."""
    if not new:
        return
    private, public, by_unit = _other_corpora(connection, home, settings, beside)
    folders = [part.path for part in new]
    # partitions of a list have a cap each, so one of them may not be a copy; those of a grid add up
    lots = [folders] if settings.units_recur else [[folder] for folder in folders]
    shares_unit = settings.unit is not None and any(
        shares_units(folders, by_unit, column) for column in ("look_key", "unit_key")
    )
    if shares_unit or _shares_content(folders, lots, private):
        raise UserError(
            "account: records or units of this source are in another private corpus; "
            "give both the same --account, so that their budgets add up"
        )
    if settings.visibility is Visibility.PRIVATE and _shares_content(folders, lots, public):
        raise UserError(
            "visibility: records of this source are registered as public or synthetic in another corpus, for ever; "
            "leave them out"
        )


def _shares_content(new: Sequence[Path], lots: Sequence[Sequence[Path]], corpora: Sequence[Sequence[AnyPath]]) -> bool:
    """Any record or long text of a corpus, or half of the texts, however short and whoever's."""
    known = [folder for folders in corpora for folder in folders]
    return shares_records(new, known) or any(most_texts_in_one(lot, corpora) for lot in lots)


def _other_corpora(
    connection: Connection,
    home: Home,
    settings: CorpusSettings,
    beside: Sequence[tuple[CorpusSettings, Sequence[Staged]]],
) -> tuple[list[list[AnyPath]], list[list[AnyPath]], list[AnyPath]]:
    """Folders by corpus: private ones on other accounts, public and synthetic ones; and the private with units."""
    rows = connection.execute(
        select(PARTITION.c.version, CORPUS.c.corpus, CORPUS.c.scheme, CORPUS.c.visibility)
        .join(CORPUS, CORPUS.c.corpus == PARTITION.c.corpus)
        .where(CORPUS.c.corpus != settings.corpus, CORPUS.c.account != settings.account_name)
    )
    private: dict[str, list[AnyPath]] = {}
    public: dict[str, list[AnyPath]] = {}
    by_unit: list[AnyPath] = []
    for row in rows:
        folder, is_private = home.corpora / row.corpus / row.version, row.visibility == Visibility.PRIVATE
        (private if is_private else public).setdefault(row.corpus, []).append(folder)
        if is_private and json.loads(row.scheme)["unit"] != RECORD:
            by_unit.append(folder)
    for other, staged in beside:
        if other.account_name == settings.account_name:
            continue
        folders, is_private = [part.path for part in staged], other.visibility is Visibility.PRIVATE
        (private if is_private else public).setdefault(other.corpus, []).extend(folders)
        by_unit += folders if is_private and other.unit is not None else []
    return list(private.values()), list(public.values()), by_unit


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
