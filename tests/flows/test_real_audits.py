"""Real public corpora, one command each, as a user runs it."""

import json
from pathlib import Path

import pytest
from commands import run_privcert

AIRLINE = "--corpus airline --unit author_key --domain airline-reviews --statements 40 --epsilon 10 --theta 0.05"
COURT = "--corpus court --id doc_id --domain court-cases --statements 40 --epsilon 20 --theta 0.1"


def privcert(home: Path, *arguments: str) -> str:
    done = run_privcert(home, *arguments)
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
