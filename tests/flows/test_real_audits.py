"""Real public corpora, one command each, as a user runs it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

AIRLINE = "--corpus airline --unit author_key --domain airline-reviews --statements 40 --epsilon 10 --theta 0.05"
COURT = "--corpus court --id doc_id --domain court-cases --statements 40 --epsilon 20 --theta 0.1"


def privcert(home: Path, *arguments: str) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    done = subprocess.run(
        [str(Path(sys.executable).parent / "privcert"), *arguments],
        env=environment | {"PRIVCERT_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(("file", "options"), [("reviews_skytrax", AIRLINE), ("tab_cases", COURT)])
def test_a_real_corpus_is_audited_by_one_command(shared_dir, tmp_path, file, options):
    source = shared_dir / "data" / f"{file}.parquet"
    arguments = [*options.split(), "--visibility", "public", "--model", "keyword", "--json"]
    results = json.loads(privcert(tmp_path, "audit", str(source), *arguments))
    (part,) = results["partitions"]
    assert part["emitted"]
    assert not part["vacuous"]
    query = "select statement, certificate from statements where decision = 'emit' order by certificate desc"
    rows = json.loads(privcert(tmp_path, "sql", query, "--json"))["rows"]
    assert {row["statement"] for row in rows} == {line["statement"] for line in part["emitted"]}
    checked = json.loads(privcert(tmp_path, "verify", part["certificate"], "--json"))
    assert checked["valid"] is True
    assert "<html" in Path(part["report"]).read_text()
