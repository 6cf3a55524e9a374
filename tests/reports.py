"""Reports of made-up projections: the files that publishing leaves, and nothing of the validation before them."""

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa

from schemas.releases import Projection, file_stem
from tasks.reporting.database import WAREHOUSE_VERSION, building, create_table, fill
from tasks.reporting.projection import _ORIGIN, release_database
from tasks.reporting.report import write_reports
from tasks.reporting.tables import release_tables
from tasks.storage.atomic import RELEASE_FILE
from tasks.storage.home import Home
from tests.projections import release_key
from warehouse.views import database_views

KEY = release_key("one")
PUBLIC_KEY = "ab" * 32
CAP = {"kind": "cap", "body": {"account": "reviews", "composition": "pure", "epsilon": "8", "delta": None, "rho": None}}


def publish_made_up(projection: Projection, home: Home, chain: Sequence[Mapping[str, Any]] = (CAP,)) -> None:
    """release.duckdb, and a certificate file for each asked threshold. chain: links before the releases'."""
    tables = release_tables(projection)
    path = release_database(home)
    path.unlink(missing_ok=True)
    with building(path) as connection:
        fill(connection, tables, database_views("reports", tables))
        origin = {
            "ledger_id": projection.ledger_id,
            "chain_head": projection.chain_head,
            "product_version": "1",
            "warehouse_version": WAREHOUSE_VERSION,
            "marker": "",
        }
        create_table(connection, "origin", pa.Table.from_pylist([origin], _ORIGIN))
    path.chmod(RELEASE_FILE)
    releases = {row["release_key"]: row for row in projection.releases.to_pylist()}
    for threshold in projection.thresholds.to_pylist():
        row = releases[threshold["release_key"]]
        stem = file_stem(row["corpus"], row["partition"], row["release_key"], threshold["theta"])
        document = certificate(projection, row, threshold, chain)
        (home.release_folder("certificates") / f"{stem}.json").write_text(json.dumps(document))


def certificate(
    projection: Projection, row: Mapping[str, Any], threshold: Mapping[str, Any], chain: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """What a report reads of a certificate file; nothing in it is sealed or signed."""
    links = [
        {
            "kind": "release",
            "body": {name: charge[name] for name in ("release_key", "account", "epsilon", "delta", "rho")}
            | {"corpus": one["corpus"], "partition": one["partition"]},
        }
        for one in projection.releases.to_pylist()
        for charge in projection.charges.to_pylist()
        if charge["release_key"] == one["release_key"]
        and one["sequence"] <= row["sequence"]
        and one["account"] == row["account"]
    ]
    return {
        "release_key": row["release_key"],
        "theta": threshold["theta"],
        "threshold_units": threshold["threshold_units"],
        "ledger_id": projection.ledger_id,
        "public_key": PUBLIC_KEY,
        "payload": {
            "described": {
                "proposer": row["proposer"],
                "partition": {name: row[name] for name in ("corpus", "partition", "account", "n")},
            },
            "answer": {"sampler": "OpenDP, exact discrete Laplace"},
        },
        "chain": [*chain, {"kind": "corpus", "body": {"scheme": {"partition_by": "all"}}}, *links],
    }


def write_report(
    projection: Projection, key: str, theta: str | Decimal, home: Home, chain: Sequence[Mapping[str, Any]] = (CAP,)
) -> Path:
    """The report of one release at one threshold."""
    publish_made_up(projection, home, chain)
    return write_reports(home, [(key, Decimal(theta))])[0]


class Page(HTMLParser):
    """The visible text, and every start tag with its attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.pieces: list[str] = []
        self.html = html
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if not self.tags or self.tags[-1][0] not in ("style", "script") or self.get_starttag_text() is None:
            self.pieces.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.pieces).split())


def page(home: Home, projection: Projection, theta: str = "0.05", key: str = KEY, **more: Any) -> Page:
    """The report of a made-up release, parsed."""
    return Page(write_report(projection, key, theta, home, **more).read_text())


def units_at(n: int, percent: str) -> int:
    """ceil(n theta) for theta in percent, exact."""
    exact = n * Fraction(percent) / 100
    return -(-exact.numerator // exact.denominator)
