"""Sealed payloads as the tables of the release database (schemas/releases.py)."""

import datetime
import json
from fractions import Fraction

import pyarrow as pa
from sqlalchemy import Connection, select

from schemas.payloads import LOSS_PARTS, Payload
from schemas.releases import BUDGETS, CERTIFICATES, CHARGES, RELEASES, THRESHOLDS, Projection
from schemas.rounding import double_at_most
from tasks.ledger.budget import Line, lines
from tasks.ledger.canonical import canonical, digest
from tasks.ledger.charges import EVERYTHING, is_pooled
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


def weights_of(payload: Payload) -> list[str]:
    """The weight of each statement, 1 where all are equal."""
    return payload["question"]["weights"] or ["1"] * len(payload["question"]["statement_ids"])


def _release(sequence: int, day: datetime.date, payload: Payload) -> dict[str, object]:
    question, described, charge = payload["question"], payload["described"], payload["charge"]
    partition = described["partition"]
    return {
        "mechanism": question["mechanism"],
        "meaning": described["meaning"],
        "parameters": canonical(question["parameters"]).decode(),
        "epsilon": question["epsilon"],
        "epsilon_nats": _double(question["epsilon"]),
        "delta": question["parameters"].get("delta", "0"),
        "rho": charge["rho"],
        "rho_nats": _double(charge["rho"]),
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
    }


def _certificates(payload: Payload) -> list[dict[str, object]]:
    key, question, answer = release_key(payload), payload["question"], payload["answer"]
    groups = {group["weight"]: group for group in answer["groups"]}
    return [
        {
            "release_key": key,
            "position": at,
            "statement_id": name,
            "statement": payload["described"]["statements"][at],
            "weight": weight,
            "certificate_units": answer["certificate_units"][at],
            "reason": answer["reasons"][at],
            "margin_units": int(groups[weight]["margin_units"]),
            "epsilon_per_statement_nats": _double(groups[weight]["epsilon_per_statement"]),
            "beta_per_statement": _double(groups[weight]["beta_per_statement"]),
        }
        for at, (name, weight) in enumerate(zip(question["statement_ids"], weights_of(payload), strict=True))
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
    rows = (
        connection.execute(
            select(CHARGE, ENTRY.c.day, ENTRY.c.kind)
            .join(ENTRY, ENTRY.c.sequence == CHARGE.c.sequence)
            .order_by(CHARGE.c.sequence, CHARGE.c.account)
        )
        .mappings()
        .all()
    )
    pooled = {account for account in {row["account"] for row in rows} if is_pooled(connection, account)}
    return [
        {
            "sequence": row["sequence"],
            "account": row["account"],
            "ledger_line": EVERYTHING if row["account"] in pooled else row["partition"],  # as the account's lines
            "kind": row["kind"],
            "release_key": row["release_key"],
            **{part: row[part] for part in LOSS_PARTS},
            "epsilon_nats": _double(row["epsilon"]),
            "rho_nats": _double(row["rho"]),
            "day": row["day"],
        }
        for row in rows
    ]


def _budgets(connection: Connection) -> list[dict[str, object]]:
    return [_budget(line) for line in lines(connection)]


def _budget(line: Line) -> dict[str, object]:
    parts = {part: getattr(line, part) for part in LOSS_PARTS}
    texts = {f"{kind}_{part}": getattr(parts[part], kind) for part in LOSS_PARTS for kind in ("cap", "spent", "left")}
    doubles = {
        f"{name}_nats": _double(texts[name]) for name in ("cap_epsilon", "spent_epsilon", "cap_rho", "spent_rho")
    }
    return {
        "account": line.account,
        "ledger_line": line.line,
        "composition": line.composition,
        **texts,
        **doubles,
        "is_overspent": line.is_overspent,
    }


def _double(text: str | None) -> float | None:
    """The nearest double; never 0 for what is positive."""
    return None if text is None else double_at_most(Fraction(text))
