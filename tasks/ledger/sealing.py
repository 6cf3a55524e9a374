"""Exactly once: look up, check the caps, draw, write payload and charge, commit. One transaction."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from importlib.metadata import version

from sqlalchemy import Connection, Engine, insert, select

from schemas.errors import UserError
from schemas.payloads import Payload
from tasks.cluster.code import product_digest
from tasks.ledger.amounts import loss_fields
from tasks.ledger.answers import Prepared, draw_answer
from tasks.ledger.budget import check_affordable, check_composition
from tasks.ledger.canonical import canonical, digest
from tasks.ledger.chain import append, check_witness
from tasks.ledger.charges import Amounts, charge
from tasks.ledger.database import LogUnavailableError, locked, reading
from tasks.ledger.designs import total_loss
from tasks.ledger.question import Question
from tasks.ledger.registration import find_version
from tasks.ledger.tables import ENTRY, RELEASE
from tasks.privacy.accounting import NOTHING
from tasks.storage.crash import crash_point
from tasks.storage.home import Home

FORMAT = "privcert-release/1"
CODE_DIGEST = product_digest()  # now: files may be replaced under a process that runs for hours


@dataclass(frozen=True, slots=True)
class Sealed:
    """An answer that is in the log for good. was_sealed: it was there before; nothing was drawn or charged."""

    release_key: str
    payload: Payload
    was_sealed: bool


def find_sealed(connection: Connection, release_key: str) -> Sealed | None:
    """The sealed answer to this question, if there is one."""
    text = connection.execute(
        select(RELEASE.c.payload).where(RELEASE.c.release_key == release_key)
    ).scalar_one_or_none()
    return None if text is None else Sealed(release_key, json.loads(text), was_sealed=True)


def find_by_another_build(connection: Connection, question: Question) -> Sealed | None:
    """The newest sealed answer of a model of the same name whose fingerprint is another, all else asked alike."""
    asked = question.defining()
    of_version = select(RELEASE.c.release_key, RELEASE.c.payload).where(RELEASE.c.version == asked["partition_version"])
    for row in connection.execute(of_version.order_by(RELEASE.c.sequence.desc())):
        payload: Payload = json.loads(row.payload)
        is_same = {**payload["question"], "model_fingerprint": question.model_fingerprint} == asked
        if is_same and payload["described"]["model"] == question.model:
            return Sealed(row.release_key, payload, was_sealed=True)
    return None


def seal(engine: Engine, home: Home, question: Question, counts: Sequence[int]) -> Sealed:
    """The one answer to `question`; draws and charges only when it was never asked.

    counts: support counts, one per statement of the question, in units; private, they do not leave this function.
    Raises UserError over the cap, without a cap, or when the log was rolled back; then nothing is charged.
    """
    prepared = Prepared.of(question)
    try:
        with locked(engine) as connection:
            check_witness(connection, home)
            return find_sealed(connection, question.release_key) or _draw_and_write(connection, prepared, counts)
    except LogUnavailableError:
        # the commit may have gone through all the same: the log knows
        with reading(engine) as connection:
            found = find_sealed(connection, question.release_key)
        if found is None:
            raise
        return found


def read_payload(connection: Connection, release_key: str) -> Payload:
    """A sealed payload. Raises UserError for an unknown release."""
    found = find_sealed(connection, release_key)
    if found is None:
        raise UserError('release: no such release in this log; see `privcert sql "select release_key from releases"`')
    return found.payload


def check_payloads(connection: Connection) -> None:
    """Does every sealed payload have the hash that was chained? Raises UserError at the first that has not."""
    rows = connection.execute(
        select(RELEASE.c.payload, ENTRY.c.body).join(ENTRY, ENTRY.c.sequence == RELEASE.c.sequence)
    )
    for row in rows:
        body = json.loads(row.body)
        if digest(json.loads(row.payload)) != body["payload_sha256"]:
            raise UserError(f"the release log was altered: the payload of {body['release_key']} does not fit its entry")


def check_theta(payload: Payload, theta: Decimal) -> None:
    """Refuse a threshold that this answer does not hold for. Raises UserError."""
    answered = payload["question"]["parameters"].get("theta")
    if answered is not None and Decimal(answered) != theta:
        raise UserError(
            f"theta: {payload['question']['mechanism']} answers at {answered} only; at another threshold it is another "
            "question, with a draw and a charge of its own"
        )


def _draw_and_write(connection: Connection, prepared: Prepared, counts: Sequence[int]) -> Sealed:
    question = prepared.question
    partition, key = question.partition, question.release_key
    if find_version(connection, partition.version) != partition:
        raise UserError("partition: this version is not registered in this release log; ingest it first")
    if len(counts) != len(question.statements):
        raise ArithmeticError("one support count per statement is needed")
    loss = total_loss(prepared.groups)
    check_composition(connection, partition.account, loss)
    loss = loss if partition.n else NOTHING  # n = 0: nothing is asked
    check_affordable(connection, partition.account, partition.corpus, partition.partition, loss)
    payload: Payload = {
        "format": FORMAT,
        "product": f"privcert {version('privcert')}",
        "code_digest": CODE_DIGEST,
        "question": question.defining(),
        "described": question.described(),
        "charge": loss_fields(loss),
        "answer": draw_answer(prepared, counts),
    }
    crash_point("after_draw")
    charged = payload["charge"]
    amounts: Amounts = {"epsilon": charged["epsilon"], "delta": charged["delta"], "rho": charged["rho"]}
    body = {
        "release_key": key,
        "account": partition.account,
        "corpus": partition.corpus,
        "partition": partition.partition,
        **amounts,
        "payload_sha256": digest(payload),
    }
    sequence = append(connection, "release", body)
    connection.execute(
        insert(RELEASE).values(
            release_key=key, sequence=sequence, version=partition.version, payload=canonical(payload).decode()
        )
    )
    charge(connection, sequence, partition.account, partition.corpus, partition.partition, key, amounts)
    return Sealed(key, payload, was_sealed=False)
