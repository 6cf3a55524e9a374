"""Projections made by hand, as a release log would give them; every number in them is invented."""

import datetime
import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import pyarrow as pa

from schemas.releases import BUDGETS, CERTIFICATES, CHARGES, RELEASES, THRESHOLDS, Projection
from schemas.statements import statement_id

DAY = datetime.date(2026, 11, 30)
RELEASE_DEFAULTS: dict[str, object] = {
    "sequence": 1,
    "day": DAY,
    "corpus": "reviews",
    "account": "reviews",
    "visibility": "private",
    "partition": "all",
    "partition_version": "v-1",
    "version_number": 1,
    "n": 1000,
    "unit": "author",
    "unit_support": "any",
    "proposer": f"tag_template restaurant-reviews seed 0 sha256 {hashlib.sha256(b'domain').hexdigest()}",
    "candidates": 1,
    "model": "nli-mini",
    "model_fingerprint": "f" * 64,
    "mechanism": "frontier",
    "epsilon": "2",
    "meaning": "at least this many units support it, except with probability beta",
    "parameters": "{}",
    "epsilon_nats": 2.0,
    "delta": "0",
    "rho": "0.5",
    "rho_nats": 0.5,
    "beta": "0.05",
    "scope": "report",
    "edition": 1,
}
DEFAULTS: dict[str, dict[str, object]] = {  # by table, also for given rows in tests/warehouse
    "releases": RELEASE_DEFAULTS,
    "certificates": {
        "position": 0,
        "weight": "1",
        "certificate_units": 0,
        "margin_units": 9,
        "epsilon_per_statement_nats": 0.5,
        "beta_per_statement": 0.0125,
    },
    "thresholds": {"asked": 1, "theta": "0.05", "theta_share": 0.05, "threshold_units": 50, "day": DAY},
    "charges": {
        "account": "reviews",
        "ledger_line": "all",
        "kind": "release",
        "epsilon": "2",
        "epsilon_nats": 2.0,
        "delta": "0",
        "rho": "0.5",
        "rho_nats": 0.5,
        "day": DAY,
    },
    "budgets": {
        "account": "reviews",
        "ledger_line": "all",
        "composition": "pure",
        "cap_epsilon": "8",
        "spent_epsilon": "2",
        "spent_delta": "0",
        "spent_rho": "0.5",
        "left_epsilon": "6",
        "cap_epsilon_nats": 8.0,
        "spent_epsilon_nats": 2.0,
        "spent_rho_nats": 0.5,
        "is_overspent": False,
    },
    "runs": {"corpus": "reviews"},
    "partition_charges": {
        "account": "reviews",
        "ledger_line": "all",
        "kind": "release",
        "epsilon_nats": 2.0,
        "delta": "0",
        "rho_nats": 0.5,
        "day": DAY,
    },
}
SCHEMAS = {
    "releases": RELEASES,
    "certificates": CERTIFICATES,
    "thresholds": THRESHOLDS,
    "charges": CHARGES,
    "budgets": BUDGETS,
}


def release_key(name: str) -> str:
    """A key of the right form for a release that the test calls `name`."""
    return hashlib.sha256(name.encode()).hexdigest()


def projection_of(rows: Mapping[str, Sequence[Mapping[str, object]]]) -> Projection:
    """The projection with these rows; columns that a row leaves out have the defaults above."""
    tables = {
        name: pa.Table.from_pylist([DEFAULTS[name] | dict(row) for row in rows.get(name, [])], schema)
        for name, schema in SCHEMAS.items()
    }
    return Projection(**tables, chain_head=release_key("head"), ledger_id="1" * 32)


def one_release(
    counts: Sequence[int],
    *,
    texts: Sequence[str] | None = None,
    thetas: Sequence[str] = ("0.05",),
    reasons: Sequence[str | None] | None = None,
    margins: Sequence[int] | None = None,
    **release: object,
) -> Projection:
    """One release with these certificate counts, asked at these thresholds; `release` overrides the defaults."""
    texts = texts or [f"Guests mention dish number {index}." for index in range(len(counts))]
    key = str(release.get("release_key", release_key("one")))
    row = RELEASE_DEFAULTS | {"release_key": key, "candidates": len(counts)} | release
    n = int(str(row["n"]))
    certificates = [
        {"release_key": key, "position": p, "statement_id": statement_id(t), "statement": t, "certificate_units": c}
        | ({} if reasons is None else {"reason": reasons[p]})
        | ({} if margins is None else {"margin_units": margins[p], "weight": str(p + 1)})
        for p, (t, c) in enumerate(zip(texts, counts, strict=True))
    ]
    thresholds = [
        {
            "release_key": key,
            "asked": asked,
            "theta": theta,
            "theta_share": float(theta),
            "threshold_units": math.ceil(n * Fraction(theta)),
        }
        for asked, theta in enumerate(thetas, start=1)
    ]
    line = {"account": row["account"], "ledger_line": row["partition"]}
    charge = line | {"sequence": row["sequence"], "release_key": key}
    return projection_of(
        {
            "releases": [row],
            "certificates": certificates,
            "thresholds": thresholds,
            "charges": [charge],
            "budgets": [line],
        }
    )


def joined(*projections: Projection) -> Projection:
    """All rows of these projections in one, a budget line once; the chain head tells what is in it."""
    tables = {name: pa.concat_tables([getattr(one, name) for one in projections]) for name in SCHEMAS}
    lines = {(row["account"], row["ledger_line"]): row for row in tables["budgets"].to_pylist()}
    tables["budgets"] = pa.Table.from_pylist(list(lines.values()), BUDGETS)
    head = release_key("+".join(key for key in tables["releases"]["release_key"].to_pylist()))
    return replace(projections[0], **tables, chain_head=head)


def few_releases() -> Projection:
    """Three releases: authors of private reviews in two cities, and a public corpus whose units are records."""
    return joined(
        one_release(
            [412, 51, 50, 49, 0], partition="lisbon", thetas=("0.05", "0.1"), release_key=release_key("lisbon")
        ),
        one_release([3, 0], partition="porto", n=40, sequence=2, release_key=release_key("porto")),
        one_release(
            [700, 20],
            corpus="cases",
            account="cases",
            visibility="public",
            unit="record",
            scope="candidate",
            sequence=3,
            release_key=release_key("cases"),
        ),
    )
