"""Sealed payloads as the tables of the release database (schemas/releases.py)."""

import datetime
import json
from fractions import Fraction

import pyarrow as pa
from sqlalchemy import Connection, select

from schemas.payloads import Payload
from schemas.releases import BUDGETS, CERTIFICATES, CHARGES, RELEASES, THRESHOLDS, Projection
from tasks.ledger.budget import lines
from tasks.ledger.canonical import digest
from tasks.ledger.tables import CHARGE, ENTRY, HEAD, RELEASE, THRESHOLD
from tasks.privacy.thresholds import threshold_units


def project(connection: Connection) -> Projection:
    """Everything the release database is made of; reads sealed payloads, charges and caps only."""
    rows = connection.execute(
        select(RELEASE.c.sequence, RELEASE.c.payload, ENTRY.c.day)
        .join(ENTRY, ENTRY.c.sequence == RELEASE.c.sequence)
        .order_by(RELEASE.c.sequence)
    ).all()
    payloads: list[tuple[int, datetime.date, Payload]] = [
        (row.sequence, row.day, json.loads(row.payload)) for row in rows
    ]
    head = connection.execute(select(HEAD)).one()
    return Projection(
        releases=pa.Table.from_pylist([_release(*row) for row in payloads], RELEASES),
        certificates=pa.Table.from_pylist(
            [line for _, _, payload in payloads for line in _certificates(payload)], CERTIFICATES
        ),
        thresholds=pa.Table.from_pylist(_thresholds(connection, [payload for _, _, payload in payloads]), THRESHOLDS),
        charges=pa.Table.from_pylist(_charges(connection), CHARGES),
        budgets=pa.Table.from_pylist(_budgets(connection), BUDGETS),
        chain_head=head.hash,
        ledger_id=head.ledger_id,
    )


def release_key(payload: Payload) -> str:
    """The key of a sealed payload."""
    return digest(payload["question"])


def _release(sequence: int, day: datetime.date, payload: Payload) -> dict[str, object]:
    question, described, answer = payload["question"], payload["described"], payload["answer"]
    partition = described["partition"]
    return {
        "mechanism": question["mechanism"],
        "epsilon": question["epsilon"],
        "beta": question["beta"],
        "scope": question["scope"],
        "edition": question["edition"],
        "unit_support": question["unit_support"],
        "release_key": release_key(payload),
        "sequence": sequence,
        "day": day,
        "corpus": partition["corpus"],
        "account": partition["account"],
        "visibility": partition["visibility"],
        "partition": partition["partition"],
        "partition_version": partition["version"],
        "version_number": partition["number"],
        "n": partition["n"],
        "unit": partition["unit"],
        "proposer": described["proposer"],
        "candidates": len(described["statements"]),
        "model": described["model"],
        "model_fingerprint": question["model_fingerprint"],
        "epsilon_nats": float(Fraction(question["epsilon"])),
        "epsilon_per_statement_nats": float(Fraction(answer["epsilon_per_statement"])),
        "beta_per_statement": float(Fraction(answer["beta_per_statement"])),
        "margin_units": int(answer["margin_units"]),
    }


def _certificates(payload: Payload) -> list[dict[str, object]]:
    key = release_key(payload)
    ids, texts = payload["question"]["statement_ids"], payload["described"]["statements"]
    units = payload["answer"]["certificate_units"]
    return [
        {"release_key": key, "position": at, "statement_id": name, "statement": text, "certificate_units": count}
        for at, (name, text, count) in enumerate(zip(ids, texts, units, strict=True))
    ]


def _thresholds(connection: Connection, payloads: list[Payload]) -> list[dict[str, object]]:
    n_by_key = {release_key(payload): payload["described"]["partition"]["n"] for payload in payloads}
    return [
        {
            "release_key": row.release_key,
            "asked": row.asked,
            "theta": row.theta,
            "theta_share": float(Fraction(row.theta)),
            "threshold_units": threshold_units(n_by_key[row.release_key], Fraction(row.theta)),
            "day": row.day,
        }
        for row in connection.execute(select(THRESHOLD).order_by(THRESHOLD.c.asked))
    ]


def _charges(connection: Connection) -> list[dict[str, object]]:
    rows = connection.execute(
        select(CHARGE, ENTRY.c.day, ENTRY.c.kind)
        .join(ENTRY, ENTRY.c.sequence == CHARGE.c.sequence)
        .order_by(CHARGE.c.sequence, CHARGE.c.account)
    )
    return [
        {
            "sequence": row.sequence,
            "account": row.account,
            "ledger_line": row.partition,
            "kind": row.kind,
            "release_key": row.release_key,
            "epsilon": row.epsilon,
            "epsilon_nats": float(Fraction(row.epsilon)),
            "day": row.day,
        }
        for row in rows
    ]


def _budgets(connection: Connection) -> list[dict[str, object]]:
    return [
        {
            "account": line.account,
            "ledger_line": line.line,
            "cap": line.cap,
            "spent": line.spent,
            "left": line.left,
            "cap_nats": None if line.cap is None else float(Fraction(line.cap)),
            "spent_nats": float(Fraction(line.spent)),
        }
        for line in lines(connection)
    ]
