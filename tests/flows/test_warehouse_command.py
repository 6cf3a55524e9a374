"""privcert warehouse: path, check and rebuild, on an audited home."""

import json
from pathlib import Path

import duckdb
import pytest

from tasks.audits.stages import run_audit
from tasks.storage.home import open_home
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
