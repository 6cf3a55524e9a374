"""Stage a corpus: read its source once, and leave one movable folder per declared partition."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from schemas.corpora import CorpusSettings
from schemas.errors import UserError
from tasks.corpora.keyed import KEY_BYTES, KeyedHash
from tasks.corpora.partitions import Scheme, partition_scheme
from tasks.corpora.private_files import private_folder
from tasks.corpora.problems import SourceError, our_error, user_error
from tasks.corpora.readers import read_source
from tasks.corpora.readers.batches import RawBatch
from tasks.corpora.resolved import Resolved, check_corpus, resolve
from tasks.corpora.spool import PREPARED, Spool
from tasks.corpora.tables import write_partition
from tasks.corpora.texts import STATUSES, read_texts
from tasks.corpora.units import check_ids, unit_ids
from tasks.storage.home import Home

_PENDING_BYTES = 64 << 20  # records in memory, over all partitions


@dataclass(frozen=True, slots=True)
class StagedPartition:
    """One partition as read. Everything but `key` and `units` is private.

    key: declared partition key. path: folder with records/, units.parquet, record_keys.parquet and
    quarantine.parquet; it can be moved. units: n. records: distinct ones. unreadable: RecordStatus -> distinct records.
    duplicates: exact repetitions inside a unit, dropped. content_key: keyed hash of the content, 32 bytes, independent
    of the order of records and of repetitions.
    """

    key: str
    path: Path
    units: int
    records: int
    unreadable: dict[str, int]
    duplicates: int
    content_key: bytes


@dataclass(frozen=True, slots=True)
class StagedCorpus:
    """partitions: all that are declared, in order, also those without a record (n = 0)."""

    partitions: tuple[StagedPartition, ...]


def stage_corpus(settings: CorpusSettings, home: Home, staging: Path) -> StagedCorpus:
    """Read the source and write its partitions to staging/0, staging/1, ...

    staging: a folder of the private zone that is empty or not there yet; emptied again when anything fails.
    Memory grows with the number of records and ids, never with the length of their texts.
    Raises UserError, without any value of the data, for a source, an id or a partition that is refused. What only the
    operator may know lies in private/problems/ingest-CORPUS.json then.
    """
    private_folder(staging)
    if any(staging.iterdir()):
        raise ValueError("staging: the folder is not empty")
    try:
        return _stage(settings, KeyedHash(home), staging)
    except BaseException as error:
        shutil.rmtree(staging, ignore_errors=True)
        if isinstance(error, SourceError):
            raise user_error(home, settings.corpus, error) from None
        if isinstance(error, UserError | OSError | MemoryError) or not isinstance(error, Exception):
            raise
        raise our_error(home, settings.corpus, error) from None


def _stage(settings: CorpusSettings, keyed: KeyedHash, staging: Path) -> StagedCorpus:
    scheme = partition_scheme(settings)
    folders = [private_folder(staging / str(number)) for number in range(len(scheme.keys))]
    spools = [Spool(folder / "spool.tmp") for folder in folders]
    for raw in read_source(settings):
        for code, records in _split(raw, settings, keyed, scheme):
            spools[code].add(records)
        if sum(spool.pending_bytes for spool in spools) > _PENDING_BYTES:
            _flush_largest(spools)
    for spool in spools:
        spool.flush()
    resolved = [resolve(spool) for spool in spools]
    check_corpus(settings, resolved)
    parts = zip(scheme.keys, folders, spools, resolved, strict=True)
    return StagedCorpus(
        tuple(_finish(key, folder, spool, part, keyed, settings.unit_namespace) for key, folder, spool, part in parts)
    )


def _split(raw: RawBatch, settings: CorpusSettings, keyed: KeyedHash, scheme: Scheme) -> Iterator[tuple[int, pa.Table]]:
    """Prepared records by partition code."""
    records = _prepare(raw, settings, keyed)
    codes = scheme.codes(raw.ids.get("partition_column"), records.num_rows)
    present = np.flatnonzero(np.bincount(codes)).tolist()
    for code in present:
        yield code, records if len(present) == 1 else records.take(pa.array(np.flatnonzero(codes == code)))


def _prepare(raw: RawBatch, settings: CorpusSettings, keyed: KeyedHash) -> pa.Table:
    """Records of the schema PREPARED: ids checked, texts in NFC, statuses, keys."""
    record_ids = check_ids("id", raw.ids["id"])
    units = unit_ids(record_ids if settings.unit is None else check_ids("unit", raw.ids["unit"]), settings.unit_rule)
    texts, codes = read_texts(raw.texts, raw.faults, settings.max_characters)
    encoded: list[bytes | None] = texts.cast(pa.large_binary()).to_pylist()
    text_keys = [None if text is None else keyed.text_key(text) for text in encoded]
    names = [str(status).encode() for status in STATUSES]
    statuses = [names[code] for code in codes.tolist()]
    identities = zip(_encoded(units), _encoded(record_ids), statuses, text_keys, strict=True)
    content = [keyed.content_key(*identity) for identity in identities]
    keys = [pa.array(column, pa.binary(KEY_BYTES)) for column in (text_keys, content)]
    return pa.table([units, record_ids, pa.array(codes), texts, *keys], schema=PREPARED)


def _encoded(ids: pa.Array) -> list[bytes]:
    encoded: list[bytes] = ids.cast(pa.large_binary()).to_pylist()
    return encoded


def _flush_largest(spools: list[Spool]) -> None:
    """Write the fullest spools out until half of the room is free: few, large writes."""
    left = sum(spool.pending_bytes for spool in spools)
    for spool in sorted(spools, key=lambda spool: -spool.pending_bytes):
        if left <= _PENDING_BYTES // 2:
            return
        left -= spool.pending_bytes
        spool.flush()


def _finish(
    key: str, folder: Path, spool: Spool, resolved: Resolved, keyed: KeyedHash, namespace: str
) -> StagedPartition:
    content_key = write_partition(folder, resolved, spool.batches(), keyed, namespace)
    records = int(resolved.kept.sum())
    return StagedPartition(
        key=key,
        path=folder,
        units=len(resolved.unit_ids),
        records=records,
        unreadable=resolved.unreadable,
        duplicates=len(resolved.kept) - records,
        content_key=content_key,
    )
