"""Audits as a user runs them, each in a process of its own, of corpora that are made to tell what leaks."""

import os
import subprocess
import sys
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tasks.ledger.log import ReleaseLog
from tasks.storage.home import Home, initialise_home, open_home
from tests.audits import DISLIKES, LIKES

INJECTED = Path(__file__).parent / "injected.py"
CANARY = "zqxCANARY"
AUTHORS = 40
_NUMBERS = "--model keyword --epsilon 2 --theta 0.05 --allow-vacuous"  # so few authors leave no certificate
Row = tuple[str, str, str]  # id, author, text


def privcert(
    home: Path, *arguments: str, script: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """What `privcert ARGS…` did with this home, or what a script that calls it did."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    command = [sys.executable, str(script)] if script else [str(Path(sys.executable).parent / "privcert")]
    return subprocess.run(
        [*command, *arguments],
        env=plain | {"PRIVCERT_HOME": str(home)} | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


def audit_arguments(source: Path, *more: str) -> list[str]:
    """`privcert audit SOURCE`: 60 statements, the keyword model."""
    options = "--corpus reviews --format parquet --unit author --domain restaurant-reviews --statements 60"
    return ["audit", str(source), *options.split(), *_NUMBERS.split(), *more]


def everything_else(key: str, folder: Path) -> list[str]:
    """Arguments of every other command that writes or says something of a release: exports into `folder`, and so on."""
    commands: list[Sequence[str]] = [
        ("report", "build", key, "--theta", "0.1"),
        ("report", "export", key, "--theta", "0.05", "--output", str(folder / "report.html")),
        ("export", "release", key, "--theta", "0.05", "--output", str(folder / "certificate.json"), "--verifier"),
        ("verify", str(folder / "certificate.json")),
        ("sql", "select * from releases"),
        ("sql", "select * from statements_at_thresholds", "--json"),
        ("budget", "show", "--json"),
        ("warehouse", "rebuild"),
        ("warehouse", "check", "--json"),
    ]
    return [word for command in commands for word in ("--then", *command)][1:]


def capped_home(root: Path) -> Home:
    """A home on purpose with a cap on the account of the reviews."""
    home = initialise_home(root, on_purpose=True)
    ReleaseLog(home).set_cap("reviews", Decimal(8))
    return home


def write(path: Path, rows: Sequence[Row]) -> Path:
    """The rows as a Parquet file."""
    columns = dict(zip(("id", "author", "text"), zip(*rows, strict=True), strict=True))
    pq.write_table(pa.table({name: list(values) for name, values in columns.items()}), path)
    return path


def plain_rows() -> list[Row]:
    """One record of each author; most like the food."""
    return [(f"r{at}", f"author {at}", LIKES if at < 30 else DISLIKES) for at in range(AUTHORS)]


def neighbouring_rows() -> list[Row]:
    """The same authors; what one of them wrote is replaced: more records, longer, one that cannot be read."""
    rows = [row for row in plain_rows() if row[1] != "author 7"]
    texts = [f"Yesterday, {'on a rainy evening, ' * at}{DISLIKES}" for at in range(9)]
    return rows + [(f"other {at}", "author 7", text) for at, text in enumerate([*texts, "   "])]


def unrelated_rows() -> list[Row]:
    """Equal n and nothing else: other texts, ids and counts, more records, unreadable ones, long ones."""
    rows: list[Row] = []
    for at in range(AUTHORS):
        unit = f"{at * 7919 % 1000:04d}-customer"
        opening = f"Yesterday, {'on a rainy evening, ' * at}. "
        rows.append((f"{at}/first", unit, opening + (LIKES if at % 3 else DISLIKES)))
        rows += [(f"{at}/other{more}", unit, "We parked nearby. " * (1 + 50 * more)) for more in range(at % 4)]
        if at % 40 == 5:
            rows.append((f"{at}/empty", unit, "   "))
    return rows


def canary_folder(folder: Path, authors: int) -> Path:
    """Parquet files whose names, ids, units, texts and further columns are canaries, and whose counts are rare numbers.

    Half of the authors and 1,009 like the food; of the others' records 1,103 cannot be read; 2,203 are there twice.
    """
    folder.mkdir()
    rows = [
        (f"{CANARY}-id-{at}", f"{CANARY}-unit-{at}", f"{LIKES if at < authors // 2 + 1009 else DISLIKES} {CANARY} {at}")
        for at in range(authors)
    ]
    rows += [(f"{CANARY}-more-{at}", f"{CANARY}-unit-{at}", f"{CANARY} parked nearby.") for at in range(authors)]
    rows += [(f"{CANARY}-empty-{at}", f"{CANARY}-unit-{authors - 1 - at}", "  ") for at in range(1103)]
    rows += rows[:2203]
    for part in range(2):
        named = [dict(zip(("id", "author", "text"), row, strict=True)) for row in rows[part::2]]
        table = pa.Table.from_pylist([row | {"waiter": f"{CANARY}-waiter"} for row in named])
        pq.write_table(table, folder / f"{CANARY}-{part}.parquet")
    return folder


def counts_of(root: Path) -> list[int]:
    """The support counts behind the only release of a home; private."""
    from schemas.audit import UnitSupport
    from schemas.statements import Statement
    from tasks.support.counts import support_counts

    home = open_home(root)
    log = ReleaseLog(home)
    payload = log.payload(log.release_keys()[0])
    question = payload["question"]
    version = home.corpora / "reviews" / question["partition_version"]
    statements = [Statement.of(text) for text in payload["described"]["statements"]]
    return list(map(int, support_counts(version, statements, question["model_fingerprint"], UnitSupport.ANY, home)))
