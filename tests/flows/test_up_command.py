"""`privcert up` for real: a schedule fires, audits what appeared; all ends with the command."""

import json
import signal
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import psutil
import pytest
from backfills import write_dated
from prefect_servers import clean_environment
from up_commands import DEFINITION, PRIVCERT, Up, asked, end_up, nightly_home, runs, sealed, start_up, until

from tasks.ledger.log import ReleaseLog
from tasks.reporting.sql import run_sql
from tasks.storage.home import Home


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """One for the module; the last test ends it."""
    home, source = nightly_home(tmp_path_factory.mktemp("up"), {"2025-Q3": 10})
    started = start_up(home, source, "--dask-workers", "1", "--schedule", "backfill_support=* * * * *")
    try:
        yield started
    finally:
        end_up(started)


def nothing_was_due(up: Up, since: datetime) -> list[dict[str, Any]]:
    """Runs that began after `since` and said so."""
    done = [run for run in runs(up, "Completed") if datetime.fromisoformat(run["start_time"]) > since]
    return [run for run in done if run["state"]["message"] == "nothing was due"]


def published(home: Home) -> tuple[set[str], list[str], list[str | None]]:
    """Certificate files, keys in the published database, and what the log has charged."""
    certificates = {path.name for path in (home.release / "certificates").glob("*.json")}
    database = home.release / "release.duckdb"
    rows = json.loads(str(run_sql(home, "select release_key from releases", operator=False, output="json")))
    keys = sorted(row["release_key"] for row in rows) if database.exists() else []
    return certificates, keys, [line.epsilon.spent for line in ReleaseLog(home).budget_lines()]


@pytest.mark.slow
def test_a_schedule_audits_what_appeared_once_says_so_and_leaves_nothing_behind(up):
    until(lambda: sealed(up) == 1 and runs(up, "Completed"), up)
    write_dated(up.source, {"2025-Q3": 10, "2025-Q4": 30})
    until(lambda: sealed(up) == 2 and not runs(up, "Running"), up)
    after, before = datetime.now(UTC), published(up.home)
    assert len(before[0]) == len(before[1]) == 2 and before[2] == ["4"]
    until(lambda: nothing_was_due(up, after), up)
    assert published(up.home) == before
    done = runs(up, "Completed")
    said = {run["state"]["message"] for run in done}
    assert said - {"nothing was due"} == {"1 audited, 21 not due"}
    assert "reviews" not in json.dumps([run["state"] for run in done])
    parameters = [run["parameters"] for run in done]
    nightly = str(up.home.private / "audits" / "nightly.yaml")
    assert {tuple(sorted(one.items())) for one in parameters} == {
        (("audit_file", nightly), ("home", str(up.home.root)), ("options_file", None))
    }
    signs = asked(up, "events/filter", filter={"event": {"name": ["prefect.flow-run.heartbeat"]}})["events"]
    assert {"prefect.tag.privcert"} <= {one["prefect.resource.id"] for sign in signs for one in sign["related"]}
    started = psutil.Process(up.process.pid).children(recursive=True)
    assert len(started) > 5
    up.process.send_signal(signal.SIGTERM)
    out, error = up.process.communicate(timeout=120)
    assert (up.process.returncode, error) == (0, "ended\n")
    assert json.loads(out)["workers"] == ["cpu"]
    assert psutil.wait_procs(started, timeout=10)[1] == []


def test_up_and_deploy_say_what_they_need(privcert, monkeypatch):
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    privcert("init")
    assert "PREFECT_API_URL: set it" in privcert("deploy").err
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    command = [PRIVCERT, "deploy"]  # in a process of its own: Prefect reads its settings once
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, "privcert: PREFECT_API_URL: no Prefect server answers there\n")
    answer = privcert("up")
    assert answer.code == 2 and "PREFECT_API_URL: it names a server already" in answer.err


@pytest.mark.parametrize("command", ["up", "deploy"])
@pytest.mark.parametrize(
    ("schedule", "file", "content", "says"),
    [
        ("backfill_support", "audits/nightly.yaml", None, "which is not there; write an audit definition ("),
        ("audit_support", "audits/audit.yaml", "corpus: reviews\n", "epsilon: is required"),
        ("run_study=* * * * *", "study.yaml", None, "which is not there; write the settings of a study there"),
        (
            "backfill_support_gpu", "audits/nightly.yaml", DEFINITION.format(source="reviews.parquet"),
            "source: must be an absolute path, since a worker runs it",
        ),
        ("backfill_support", "audits/options/nightly.yaml", "parallel: 0\n", "parallel: must be at least 1"),
    ],
)  # fmt: skip
def test_a_schedule_whose_file_is_missing_or_wrong_is_refused_before_anything_starts(
    home, tmp_path, command, schedule, file, content, says
):
    path = home.private / file
    path.parent.mkdir(parents=True, exist_ok=True)
    if "options" in file:
        (home.private / "audits" / "nightly.yaml").write_text(DEFINITION.format(source="/reviews.parquet"))
    if content is not None:
        path.write_text(content)
    environment = clean_environment() | {"PRIVCERT_HOME": str(home.root)}
    environment |= {"PREFECT_API_URL": "http://127.0.0.1:9/api"} if command == "deploy" else {}
    done = subprocess.run(
        [PRIVCERT, command, "--schedule", schedule], env=environment, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert f"schedule: {schedule.partition('=')[0]} runs {path}" in done.stderr and says in done.stderr
    assert not (home.private / "logs").exists() and not (home.private / "prefect-up").exists()
