"""What is not certified tells nothing: non-interference, and canaries that are found nowhere."""

import os
import re
import shutil
import sqlite3
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tasks.ledger.log import ReleaseLog
from tasks.storage.home import Home, initialise_home, open_home
from tests.audits import DISLIKES, LIKES

INJECTED = Path(__file__).parent / "injected.py"
CANARY = "zqxCANARY"


def privcert(home: Path, *arguments: str, script: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    command = [sys.executable, str(script)] if script else [str(Path(sys.executable).parent / "privcert")]
    return subprocess.run(
        [*command, *arguments],
        env=environment | {"PRIVCERT_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=300,
    )


def audit_arguments(source: Path, *more: str) -> list[str]:
    options = "--corpus reviews --unit author --domain restaurant-reviews --statements 60 --model keyword"
    return ["audit", str(source), *options.split(), "--epsilon", "2", "--theta", "0.05", *more]


def capped_home(root: Path) -> Home:
    home = initialise_home(root, on_purpose=True)
    ReleaseLog(home).set_cap("reviews", Decimal(8))
    return home


def plain_corpus(path: Path) -> Path:
    rows = [(f"r{at}", f"author {at}", LIKES if at < 30 else DISLIKES) for at in range(40)]
    return write(path, rows)


def unrelated_corpus(path: Path) -> Path:
    """Equal n and equal counts, nothing else: other texts and ids, more records, unreadable ones, long ones."""
    rows = []
    for at in range(40):
        unit = f"{at * 7919 % 1000:04d}-customer"
        rows.append(
            (f"{at}/first", unit, f"Yesterday, {'on a rainy evening, ' * at}. " + (LIKES if at < 30 else DISLIKES))
        )
        rows += [(f"{at}/other{more}", unit, "We parked nearby. " * (1 + 50 * more)) for more in range(at % 4)]
        if at % 40 == 5:
            rows.append((f"{at}/empty", unit, "   "))
    return write(path, rows)


def write(path: Path, rows: list[tuple[str, str, str]]) -> Path:
    pq.write_table(pa.Table.from_pylist([dict(zip(("id", "author", "text"), row, strict=True)) for row in rows]), path)
    return path


@pytest.fixture(scope="module")
def two_homes(tmp_path_factory) -> tuple[Path, Path, str, str]:
    """The same audit of two unrelated corpora, in homes with equal keys at the same place."""
    root = tmp_path_factory.mktemp("twins")
    capped_home(root / "template")
    homes, outputs = [], []
    for name, corpus in (
        ("first", plain_corpus(root / "a.parquet")),
        ("second", unrelated_corpus(root / "bb.parquet")),
    ):
        shutil.copytree(root / "template", root / "home")
        done = privcert(root / "home", *audit_arguments(corpus, "--json"), script=INJECTED)
        assert done.returncode == 0, done.stderr
        outputs.append(done)
        (root / "home").rename(root / name)
        homes.append(root / name)
    return homes[0], homes[1], outputs[0].stderr, outputs[1].stderr


def counts_of(root: Path) -> list[int]:
    from schemas.audit import UnitSupport
    from schemas.statements import Statement
    from tasks.support.counts import support_counts

    home = open_home(root)
    log = ReleaseLog(home)
    payload = log.payload(log.release_keys()[0])
    question = payload["question"]
    version = home.corpora / "reviews" / question["partition_version"]
    statements = [Statement.of(text) for text in payload["described"]["statements"]]
    return list(support_counts(version, statements, question["model_fingerprint"], UnitSupport.ANY, home))


def test_the_two_corpora_have_equal_counts_and_nothing_else(two_homes):
    first, second, *_ = two_homes
    assert counts_of(first) == counts_of(second)
    assert max(counts_of(first)) > 0
    sizes = [
        sum(file.stat().st_size for file in (root / "private" / "corpora").rglob("*.parquet"))
        for root in (first, second)
    ]
    assert sizes[0] != sizes[1]


def test_release_folders_are_byte_identical(two_homes):
    first, second, *_ = two_homes
    files = [
        {str(p.relative_to(r / "release")): p.read_bytes() for p in (r / "release").rglob("*") if p.is_file()}
        for r in (first, second)
    ]
    assert files[0].keys() == files[1].keys()
    assert [name for name in files[0] if files[0][name] != files[1][name]] == []


def test_prefect_knows_the_same_of_both_apart_from_run_ids_and_times(two_homes):
    first, second, *_ = two_homes
    one, other = prefect_content(first), prefect_content(second)
    assert one.keys() == other.keys()
    assert len(one["flow_run"]) == 1
    assert len(one["task_run"]) == 5
    for table in one:
        assert one[table] == other[table], table


def test_logs_outside_the_operators_are_equal(two_homes):
    *_, one, other = two_homes
    assert masked(one) == masked(other)


def prefect_content(root: Path) -> dict[str, list[str]]:
    """Every row of Prefect's database, with ids, names of runs and times masked."""
    connection = sqlite3.connect(root / "private" / "prefect" / "prefect.db")
    connection.row_factory = sqlite3.Row
    tables = [row[0] for row in connection.execute("select name from sqlite_master where type = 'table'")]
    content = {}
    for table in tables:
        if table.startswith("block_"):  # Prefect's own catalogue of block types, in hash order
            continue
        rows = connection.execute(f'select * from "{table}"').fetchall()
        content[table] = sorted(masked(repr({key: hide(key, row[key]) for key in tuple(row.keys())})) for row in rows)
    return content


def hide(column: str, value: object) -> object:
    timed = ("time", "name", "created", "updated", "timestamp", "occurred", "received", "_seconds")
    unique = ("key", "id", "slug", "version")
    if any(word in column for word in timed) or column in unique or isinstance(value, float):
        return "…"
    return value


def masked(text: str) -> str:
    text = re.sub(r"\b[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}\b", "<uuid>", text)
    text = re.sub(r"\b[0-9a-f]{16}\b", "<run>", text)
    text = re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)?", "<time>", text)
    text = re.sub(r'"(prefect.resource.name|name|flow_run_name)": "[a-z_]+-[a-z0-9-]+"', "<random name>", text)
    return re.sub(r"\d+\.\d+", "<number>", text)


def canary_corpus(path: Path) -> Path:
    rows = [(f"{CANARY}-id-{at}", f"{CANARY}-unit-{at}", f"{LIKES} {CANARY} text {at}") for at in range(40)]
    return write(path, rows)


def places_with_canary(home: Path) -> list[str]:
    """Files outside the private zone, or Prefect's own inside it, that hold the canary in some encoding."""
    needles = [CANARY.encode(encoding) for encoding in ("utf-8", "utf-16-le")] + [CANARY.lower().encode()]
    prefect = [file for file in (home / "private" / "prefect").rglob("*") if file.is_file()]
    release = [file for file in (home / "release").rglob("*") if file.is_file()]
    assert release
    return [str(file) for file in [*release, *prefect] if any(needle in file.read_bytes() for needle in needles)]


def test_canaries_are_found_nowhere_outside_the_private_zone(tmp_path):
    home = capped_home(tmp_path / "home")
    source = canary_corpus(tmp_path / f"{CANARY}.parquet")
    done = privcert(home.root, *audit_arguments(source))
    assert done.returncode == 0, done.stderr
    assert CANARY not in done.stdout + done.stderr
    assert places_with_canary(home.root) == []


@pytest.mark.parametrize("failure", ["record", "unit", "model"])
def test_a_failing_run_does_not_name_what_failed(failure, tmp_path):
    """Unreadable records, a null unit and a model that breaks in mid-scoring: public reasons only."""
    home = capped_home(tmp_path / "home")
    done = privcert(home.root, *audit_arguments(plain_corpus(tmp_path / "good.parquet")))
    assert done.returncode == 0, done.stderr
    rows = [(f"{CANARY}-{at}", f"{CANARY}-unit-{at}", f"{CANARY} {LIKES}") for at in range(20)]
    if failure == "record":
        rows = [(name, unit, "" if at % 2 else text) for at, (name, unit, text) in enumerate(rows)]
    if failure == "unit":
        rows[7] = (rows[7][0], "", rows[7][2])
    source = write(tmp_path / f"{CANARY}.parquet", rows)
    script = BREAKING if failure == "model" else None
    if script:
        (tmp_path / "breaking.py").write_text(script)
    again = privcert(
        home.root, *audit_arguments(source, "--replace"), script=tmp_path / "breaking.py" if script else None
    )
    # after the first release, unreadable records never stop a run
    assert again.returncode == {"record": 0, "unit": 2, "model": 1}[failure], again.stdout + again.stderr
    assert len(again.stderr.strip().splitlines()) == (failure != "record")
    assert CANARY not in again.stdout + again.stderr
    assert places_with_canary(home.root) == []


BREAKING = """
import flows.cli
from tasks.support.keyword import KeywordModel


def verdicts(self, texts, statements):
    raise RuntimeError(f"cannot read {texts[0]}")


KeywordModel.verdicts = verdicts
flows.cli.main()
"""
