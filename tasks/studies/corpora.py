"""A registered public or synthetic corpus as a universe: the statements that were scored for its releases."""

from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from schemas.audit import UnitSupport
from schemas.corpora import Visibility
from schemas.errors import UserError
from schemas.payloads import Payload
from schemas.statements import Statement
from tasks.ledger.canonical import digest
from tasks.ledger.log import ReleaseLog
from tasks.ledger.question import RegisteredPartition
from tasks.storage.atomic import write_table
from tasks.storage.home import PRIVATE_DIRECTORY, Home
from tasks.studies.universes import Universe, check_verdicts
from tasks.support.counts import MissingVerdictError, support_counts, unit_verdicts


def public_partition(home: Home, corpus: str, partition: str) -> RegisteredPartition:
    """The newest version of a partition; nothing but its registration is read.

    Raises UserError, by name, for a private corpus, and for what is not registered or has no units.
    """
    known = ReleaseLog(home).partitions(corpus)
    if any(part.visibility == Visibility.PRIVATE for part in known):
        raise UserError(
            f"universes: {corpus} is registered private; a simulation logs true supports and seeded noise, "
            "so it takes public and synthetic corpora only"
        )
    found = [part for part in known if part.partition == partition]
    if not found:
        raise UserError(f"universes: {corpus}/{partition} is not registered in this home")
    if found[0].n == 0:
        raise UserError(f"universes: {corpus}/{partition} has no units")
    return found[0]


def corpus_universe(home: Home, part: RegisteredPartition, *, verdicts: bool) -> Universe:
    """The statements of all releases of this version by the model of the newest one, with counts from the score cache.

    verdicts: keep also which unit supports which statement. Raises UserError where nothing was scored yet.
    """
    payloads = _releases(home, part)
    if not payloads:
        raise UserError(f"universes: nothing of {part.corpus}/{part.partition} was scored yet: run `privcert audit`")
    question = payloads[-1]["question"]
    fingerprint, rule = question["model_fingerprint"], question["unit_support"]
    statements = {
        name: Statement(statement_id=name, text=text)
        for payload in payloads
        if (payload["question"]["model_fingerprint"], payload["question"]["unit_support"]) == (fingerprint, rule)
        for name, text in zip(payload["question"]["statement_ids"], payload["described"]["statements"], strict=True)
    }
    if verdicts:
        check_verdicts(part.n, len(statements))
    key = digest([part.version, fingerprint, rule, list(statements)])
    path = _folder(home) / f"{key}{'-verdicts' if verdicts else ''}.parquet"
    if not path.exists():
        write_table(path, _table(home, part, list(statements.values()), fingerprint, UnitSupport(rule), verdicts))
    return Universe(f"corpus {key}", part.n, len(statements), Visibility(part.visibility), path=path)


def _releases(home: Home, part: RegisteredPartition) -> list[Payload]:
    log = ReleaseLog(home)
    payloads = [log.payload(key) for key in log.release_keys()]
    return [payload for payload in payloads if payload["question"]["partition_version"] == part.version]


def _folder(home: Home) -> Path:
    folder = home.private / "studies" / "universes"
    folder.mkdir(parents=True, exist_ok=True, mode=PRIVATE_DIRECTORY)
    return folder


def _table(
    home: Home, part: RegisteredPartition, statements: list[Statement], model: str, rule: UnitSupport, verdicts: bool
) -> pa.Table:
    version = home.corpora / part.corpus / part.version
    try:
        if not verdicts:
            return pa.table({"support_units": support_counts(version, statements, model, rule, home)})
        known = unit_verdicts(version, statements, model, rule, home)
    except MissingVerdictError:
        raise UserError(f"universes: {part.corpus} has lost scores: repeat its audit to score it again") from None
    return pa.table({"support_units": known.sum(axis=0, dtype=np.int64), "verdicts": _packed(known)})


def _packed(verdicts: NDArray[np.bool_]) -> pa.Array:
    return pa.array([bits.tobytes() for bits in np.packbits(verdicts, axis=0).T], pa.binary())
