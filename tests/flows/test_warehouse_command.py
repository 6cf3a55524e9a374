"""privcert warehouse: path, check and rebuild, on an audited home."""

import json
import shutil
import sqlite3
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

from tasks.audits.stages import run_audit
from tasks.ledger.log import ReleaseLog
from tasks.storage.home import Home, open_home
from tests.audits import capped, new_run, settings_for, write_corpus


def states(answer) -> dict[str, tuple[str, list[str]]]:
    return {Path(one["database"]).name: (one["state"], one["failed"]) for one in json.loads(answer.out)["databases"]}


def test_path_check_and_rebuild(privcert, tmp_path: Path) -> None:
    """One home for all, since an audit takes seconds: fine, missing, damaged, a failing suite, mended."""
    privcert("init")
    assert states(privcert("warehouse", "check", "--json")) == {
        "release.duckdb": ("missing", []),
        "operator.duckdb": ("missing", []),
    }
    home = capped(open_home(tmp_path / "home"))
    run_audit(new_run(home, settings_for(write_corpus(tmp_path / "reviews.parquet"))))
    dimensions = json.loads(privcert("sql", "select distinct dimension from coverage_by_dimension", "--json").out)
    assert "(none declared)" not in {row["dimension"] for row in dimensions["rows"]} != set()
    release = Path(privcert("warehouse", "path").out.strip())
    operator = Path(json.loads(privcert("warehouse", "path", "--operator", "--json").out)["path"])
    good = privcert("warehouse", "check", "--json")
    assert (good.code, json.loads(good.out)["valid"]) == (0, True)

    operator.write_bytes(b"\0" * 20_000)
    release.chmod(0o644)
    with duckdb.connect(str(release)) as connection:
        connection.execute("update statements_at_thresholds set certificate_units = -1")
    wrong = privcert("warehouse", "check", "--json")
    found = states(wrong)
    assert (wrong.code, found["operator.duckdb"][0], found["release.duckdb"][0]) == (2, "damaged", "current")
    says = "statements_at_thresholds: expect_column_values_to_be_between of certificate_units"
    assert says in found["release.duckdb"][1]
    assert "rebuild" in privcert("warehouse", "check").out

    assert privcert("warehouse", "rebuild").code == 0
    assert privcert("warehouse", "check").code == 0
    release.unlink()
    assert states(privcert("warehouse", "check", "--json"))["release.duckdb"] == ("missing", [])


@pytest.mark.parametrize("arguments", [(), ("--operator",)])
def test_a_path_is_known_before_anything_is_there(privcert, arguments) -> None:
    privcert("init")
    assert privcert("warehouse", "path", *arguments).out.strip().endswith(".duckdb")


def caps(answer) -> list[str]:
    return [row["cap_epsilon"] for row in json.loads(answer.out)["rows"]]


def raw_backup(home: Home) -> bytes:
    with sqlite3.connect(home.private / "release_log.sqlite") as connection:
        return connection.serialize()


def raw_restore(home: Home, copy: bytes) -> None:
    for file in home.private.glob("release_log.sqlite*"):
        file.unlink()
    path = home.private / "release_log.sqlite"
    path.write_bytes(copy)
    path.chmod(0o600)


ASKED = ("sql", "select cap_epsilon from budget_total", "--json")
BEHIND = "privcert: release.duckdb is older than the release log"


def test_a_budget_is_published_when_it_is_set_and_an_older_database_is_named(
    privcert, tmp_path: Path, monkeypatch
) -> None:
    """One home for all: the command publishes, and what was not published is said on standard error."""
    privcert("init")
    assert privcert("budget", "set", "reviews", "--epsilon", "8").code == 0
    home = open_home(tmp_path / "home")
    assert not (home.release / "release.duckdb").exists()  # nothing was published yet, so nothing is outdated
    run_audit(new_run(home, settings_for(write_corpus(tmp_path / "reviews.parquet"))))
    assert privcert("budget", "set", "reviews", "--epsilon", "24", "--reason", "test").code == 0
    answer = privcert(*ASKED)
    assert (caps(answer), answer.err) == (["24"], "")
    backup = raw_backup(home)

    ReleaseLog(home).set_cap("reviews", Decimal(25), "behind the command's back")
    answer = privcert(*ASKED)
    assert caps(answer) == ["24"] and answer.err.startswith(BEHIND) and answer.err.count("\n") == 1
    shutil.copytree(home.release, tmp_path / "analyst" / "release")
    assert privcert("sql", "select 1 as one", "--operator", "--json").err == ""
    monkeypatch.setenv("PRIVCERT_HOME", str(tmp_path / "analyst"))
    assert privcert(*ASKED).err == ""  # nobody told the release zone yet
    ReleaseLog(home).project()
    shutil.copy(home.release / "chain_head.json", tmp_path / "analyst" / "release")
    assert privcert(*ASKED).err.startswith(BEHIND)
    monkeypatch.setenv("PRIVCERT_HOME", str(home.root))

    raw_restore(home, backup)
    lost = privcert("budget", "accept-gap", "--epsilon", "1", "--delta", "0", "--reason", "test")
    assert lost.code == 0, lost.err
    rows = json.loads(privcert("sql", "select kind from charges where kind = 'gap'", "--json").out)["rows"]
    assert rows == [{"kind": "gap"}]

    for file in home.private.glob("release_log.sqlite*"):
        file.rename(tmp_path / file.name)
    assert privcert(*ASKED).code == 0
    assert not list(home.private.glob("release_log.sqlite*"))  # asking makes no log


def test_a_cap_that_could_not_be_published_is_set_and_says_so(privcert, tmp_path: Path) -> None:
    privcert("init")
    home = open_home(tmp_path / "home")
    run_audit(new_run(capped(home), settings_for(write_corpus(tmp_path / "reviews.parquet"))))
    with duckdb.connect(str(home.release / "release.duckdb")) as connection:
        connection.execute("update base.origin set warehouse_version = 99")
    answer = privcert("budget", "set", "reviews", "--epsilon", "7")
    assert answer.code == 2 and "the release log has it, release.duckdb not yet: release.duckdb is of" in answer.err
    assert ReleaseLog(home).budget_lines()[0].epsilon.cap == "7"
