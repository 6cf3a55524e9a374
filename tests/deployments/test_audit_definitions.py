"""The examples of audit definitions: each builds, and a dry run of it on a small corpus says what is due."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import run_privcert

from schemas.audit import AuditSettings
from schemas.backfills import BackfillSettings
from schemas.building import build, read_settings_file

AUDITS = Path(__file__).parents[2] / "deployments" / "audits"
DEFINITIONS = sorted(AUDITS.glob("*.yaml"))
DUE = {  # of a corpus with one record in February and one in May 2025
    "airline_by_quarter": ["2025-Q1", "2025-Q2"],
    "inbox": ["all"],
    "monthly_reviews": ["2025-02", "2025-05"],
    "one_table": ["all"],
}


def write_small(path: Path, unit: str) -> None:
    """Two units with one record each."""
    rows = [
        {"id": str(number), unit: f"unit {number}", "date": date, "text": f"It was good on {date}."}
        for number, date in enumerate(["2025-02-01", "2025-05-31"])
    ]
    pq.write_table(pa.Table.from_pylist(rows), path)


@pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda path: path.stem)
def test_a_dry_run_of_an_example_says_what_is_due(definition, tmp_path):
    settings = build(AuditSettings, read_settings_file(definition))
    assert Path(settings.source).is_absolute()
    (tmp_path / "data").mkdir()
    source = tmp_path / "data" / "small.parquet"
    write_small(source, settings.unit)
    copy = tmp_path / "nightly.yaml"
    asked = definition.read_text().replace(settings.source, str(source))
    copy.write_text(f"{asked}\nallow_vacuous: true\n")  # two units are too few for any certificate
    home = tmp_path / "home"
    run_privcert(home, "init")
    run_privcert(home, "budget", "set", settings.account_name, "--epsilon", "20")
    options = AUDITS / "options" / definition.name
    if options.exists():
        found = build(BackfillSettings, read_settings_file(options))
        assert found.corpora.startswith(f"{settings.source}/")
        more = ("--corpora", str(source.parent / Path(found.corpora).name), "--parallel", str(found.parallel))
    else:
        more = ()
    answer = run_privcert(home, "backfill", "--audit", str(copy), "--dry-run", "--json", *more)
    assert (answer.returncode, answer.stderr) == (0, "")
    due = [row["partition"] for row in json.loads(answer.stdout)["partitions"] if row["standing"] == "due"]
    assert due == DUE[definition.stem]


def test_each_options_file_belongs_to_a_definition_and_all_are_listed():
    assert {path.name for path in AUDITS.glob("options/*.yaml")} <= {path.name for path in DEFINITIONS}
    page = (AUDITS / "README.md").read_text()
    assert all(f"`{path.relative_to(AUDITS)}`" in page for path in AUDITS.rglob("*.yaml"))
