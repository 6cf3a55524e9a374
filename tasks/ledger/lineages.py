"""What the log knows of the partitions of a corpus before it is registered again: versions, content, releases."""

from dataclasses import dataclass

from sqlalchemy import Connection, select

from tasks.ledger.question import RegisteredPartition
from tasks.ledger.registration import find_version
from tasks.ledger.tables import PARTITION, RELEASE


@dataclass(frozen=True, slots=True)
class Lineage:
    """One partition with all its versions, oldest first.

    content_key: keyed hash of the newest version's content, private. last_released: the newest version with units that
    something was released about; from then on other content is another version, and what is asked of it is charged
    anew.
    """

    versions: tuple[RegisteredPartition, ...]
    content_key: bytes
    last_released: RegisteredPartition | None

    @property
    def was_released(self) -> bool:
        """Whether something was released about a version that had units."""
        return self.last_released is not None


def lineages(connection: Connection, corpus: str) -> dict[str, Lineage]:
    """By partition key; empty for a corpus that is not known."""
    released = set(
        connection.execute(
            select(PARTITION.c.version)
            .join(RELEASE, RELEASE.c.version == PARTITION.c.version)
            .where(PARTITION.c.corpus == corpus, PARTITION.c.n > 0)
        ).scalars()
    )
    found: dict[str, Lineage] = {}
    rows = select(PARTITION.c.partition, PARTITION.c.version, PARTITION.c.content_key)
    for row in connection.execute(rows.where(PARTITION.c.corpus == corpus).order_by(PARTITION.c.number)).all():
        before = found[row.partition].versions if row.partition in found else ()
        version = find_version(connection, row.version)
        versions = before if version is None else (*before, version)
        earlier = found[row.partition].last_released if row.partition in found else None
        last = version if row.version in released else earlier
        found[row.partition] = Lineage(versions, bytes(row.content_key), last)
    return found
