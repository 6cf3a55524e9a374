"""A database that a newer privcert built stops an audit before it reads a record or spends anything."""

from pathlib import Path

import duckdb
import pytest

from tasks.audits.stages import run_audit
from tasks.ledger.log import ReleaseLog
from tasks.reporting.database import WAREHOUSE_VERSION
from tasks.storage.home import open_home
from tests.audits import capped, new_run, settings_for, write_corpus

NEWER = WAREHOUSE_VERSION + 1


@pytest.mark.parametrize("database", ["release/release.duckdb", "private/operator.duckdb"])
def test_it_is_refused_by_name_before_anything_is_spent(privcert, tmp_path: Path, database: str) -> None:
    privcert("init")
    home = capped(open_home(tmp_path / "home"))
    run_audit(new_run(home, settings_for(write_corpus(tmp_path / "first.parquet"))))
    path = home.root / database
    path.chmod(0o644)
    with duckdb.connect(str(path)) as connection:
        connection.execute("update base.origin set warehouse_version = ?, product_version = '99'", [NEWER])
    content, spent = path.read_bytes(), ReleaseLog(home).budget_lines()

    source = write_corpus(tmp_path / "second.parquet", authors=60)
    arguments = ("audit", str(source), "--corpus", "reviews", "--unit", "author", "--domain", "restaurant-reviews",
                 "--model", "keyword", "--epsilon", "2", "--theta", "0.05", "--replace")  # fmt: skip
    refused = privcert(*arguments)
    assert refused.code == 2
    assert refused.err.count("\n") == 1
    assert f"{path.name} is of warehouse version {NEWER}, built by privcert 99" in refused.err
    assert "`privcert warehouse rebuild` to replace it" in refused.err
    assert ReleaseLog(home).budget_lines() == spent
    assert len(list((home.corpora / "reviews").iterdir())) == 1  # no second version was registered
    assert not (home.private / "prefect").exists()
    assert path.read_bytes() == content

    assert privcert("warehouse", "rebuild").code == 0
    run_audit(new_run(home, settings_for(source, replace=True)))
    assert len(ReleaseLog(home).release_keys()) == 2
