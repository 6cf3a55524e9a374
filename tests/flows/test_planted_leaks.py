"""The scan for leaks can fail: a word and a number, planted in every kind of place that is scanned, are found there."""

import base64
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from leaks import Secrets, find_leaks
from private_audits import CANARY

from flows.cli.output import writing_output
from tasks.audits.stages import run_audit
from tasks.ledger.log import ReleaseLog
from tasks.reporting.report import find_report, report_page
from tasks.storage.home import initialise_home
from tests.audits import capped, new_run, settings_for, write_corpus

NUMBER = 31_607
SECRETS = Secrets((CANARY,), (NUMBER,), units=40_009)


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home after an audit, with exports beside its two zones and a small database as Prefect's."""
    home = capped(initialise_home(tmp_path_factory.mktemp("clean") / "home", on_purpose=True))
    run_audit(new_run(home, settings_for(write_corpus(home.root.parent / "reviews.parquet"))))
    log = ReleaseLog(home)
    [key] = log.release_keys()
    (home.root / "exports").mkdir()
    writing_output(home.root / "exports" / "report.html", report_page(home, *find_report(home, key, None)).encode())
    writing_output(home.root / "exports" / "certificate.json", log.certificate(key, log.last_threshold(key)))
    (home.private / "prefect").mkdir()
    with sqlite3.connect(home.private / "prefect" / "prefect.db") as connection:
        connection.execute("create table log as select 'Finished in state Completed()' as message, 0 as seconds")
    connection.close()
    return home.root


@pytest.fixture
def root(clean: Path, tmp_path: Path) -> Path:
    """A copy of it, to be spoiled."""
    return shutil.copytree(clean, tmp_path / "home")


def scanned(root: Path) -> list[str]:
    places = ["release", "exports", "private/prefect", "private/validation"]
    return find_leaks([root / place for place in places], SECRETS)


def inserted(pattern: str, before: str) -> Callable[[Path, str], None]:
    """Plants text in the one kind of file, in front of the last `before`."""

    def plant(root: Path, secret: str) -> None:
        path = sorted(root.glob(pattern))[0]
        head, mark, tail = path.read_text().rpartition(before)
        path.write_text(head + secret + mark + tail)

    return plant


def queried(query: str) -> Callable[[Path, str], None]:
    """Plants by SQL in the release database; SECRET in the query is the word or number."""

    def plant(root: Path, secret: str) -> None:
        path = root / "release" / "release.duckdb"
        path.chmod(0o600)
        with duckdb.connect(str(path)) as connection:
            for statement in query.replace("SECRET", secret).split(";"):
                connection.execute(statement)

    return plant


def in_prefect(root: Path, secret: str) -> None:
    with sqlite3.connect(root / "private" / "prefect" / "prefect.db") as connection:
        connection.execute("update log set message = message || ?", [f", {secret} records"])
    connection.close()


TEXTS = "insert into base.charges select * replace ('SECRET ' || account as account) from base.charges"
ANYWHERE: dict[str, Callable[[Path, str], None]] = {
    "data docs": inserted("release/data-docs/index.html", "</td>"),
    "a report": inserted("release/reports/*-theta-*.html", "</p>"),
    "an attribute of a report": inserted("release/reports/*-theta-*.html", '"'),
    "the index": inserted("release/reports/index.html", "</td>"),
    "a certificate file": inserted("release/certificates/*.json", '"}'),
    "an exported report": inserted("exports/report.html", "</p>"),
    "an exported certificate": inserted("exports/certificate.json", '"}'),
    "a text of a table": queried(TEXTS),
    "the text of a view": queried("create view leaking as select 'SECRET records' as said"),
    "a comment": queried("comment on table base.releases is 'of SECRET records'"),
    "prefect": in_prefect,
}
NUMBERS: dict[str, Callable[[Path, str], None]] = {
    "a whole number of a table": queried("update base.releases set version_number = SECRET"),
    "a number with a fraction": queried("update base.releases set epsilon_nats = SECRET"),
    "a share of the units": queried("update base.thresholds set theta_share = SECRET / 40009"),
    "a number that a view computes": queried(
        "create view leaking as select 31600 + count(*) + 6 as said from base.releases"
    ),
    "grouped": inserted("release/reports/index.html", "</td>"),
}


def test_a_clean_home_is_clean(root):
    assert scanned(root) == []
    kinds = {path.suffix for path in (root / "release").rglob("*") if path.is_file()}
    assert kinds == {".duckdb", ".html", ".json"}


@pytest.mark.parametrize("plant", ANYWHERE.values(), ids=ANYWHERE.keys())
@pytest.mark.parametrize("secret", [CANARY, CANARY.lower(), str(NUMBER)])
def test_a_planted_leak_is_found(root, plant, secret):
    plant(root, f" {secret} ")
    assert any(secret.lower() in leak.lower() for leak in scanned(root))


@pytest.mark.parametrize("plant", NUMBERS.values(), ids=NUMBERS.keys())
def test_a_planted_number_is_found(root, plant):
    plant(root, f" {NUMBER:,} " if plant is NUMBERS["grouped"] else str(NUMBER))
    assert any(str(NUMBER) in leak for leak in scanned(root))


def test_base64_does_not_hide_a_word(root):
    for shift in range(3):
        coded = base64.b64encode(b"x" * shift + CANARY.encode() + b"yz").decode()
        assert SECRETS.words_in(coded.encode()) == {CANARY}


def test_a_number_in_a_digest_or_a_uuid_is_none():
    for text in ("a31607b", "31607.5", "0.31607", "5,031,607", "131607", "2026-11-30 10:00:00.31607", "v31607"):
        assert SECRETS.in_text(text) == set(), text
    for text in ("31607.", "[1,31607,2]", "(31,607)", '"31607"', "=31607 ", "0.79000"):
        assert SECRETS.in_text(text) != set(), text


def words_in_bytes(path: Path) -> set[str]:
    return SECRETS.words_in(path.read_bytes())


def test_the_bytes_of_a_database_alone_prove_nothing(root):
    """DuckDB compresses long texts that differ, and packs numbers: they lie in the file and cannot be seen in it."""
    path = root / "release" / "release.duckdb"
    queried(
        f"create table packed as select 'The guests speak of {CANARY} and ' || i || md5(i::varchar) as said,"
        " 31000 + i as many from range(5000) as t(i)"
    )(root, "")
    assert words_in_bytes(path) == set()
    assert NUMBER.to_bytes(4, "little") not in path.read_bytes()
    found = scanned(root)
    assert any("packed.said" in leak for leak in found) and any("packed.many" in leak for leak in found)


def test_the_rows_of_a_database_alone_prove_nothing(root):
    """What was deleted and overwritten is in no table; a page may still hold it."""
    queried(
        "create table gone as select 'SECRET' || i as said, i from range(300) as t(i); checkpoint;"
        "delete from gone where i > 0; update gone set said = 'nothing'; checkpoint"
    )(root, CANARY)
    assert words_in_bytes(root / "release" / "release.duckdb") == {CANARY}
    assert {leak.partition(", ")[2] for leak in scanned(root)} == {"in its bytes or its name"}
