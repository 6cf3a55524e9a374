"""`privcert up` and `privcert deploy` for real: a schedule fires, audits what appeared; all ends with the command."""

import json
import signal
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import psutil
import pytest
from backfills import write_dated
from prefect_servers import clean_environment
from up_commands import PRIVCERT, Up, asked, end_up, is_deployed, nightly_home, runs, sealed, start_up, until

from tasks.ledger.log import ReleaseLog

EVERY_MINUTE = "backfill_support=* * * * *"


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """One for the module; the last test ends it."""
    home, source = nightly_home(tmp_path_factory.mktemp("up"), {"2025-Q3": 10})
    started = start_up(home, source, "--dask-workers", "1", "--schedule", EVERY_MINUTE)
    try:
        yield started
    finally:
        end_up(started)


@pytest.fixture
def heard() -> Iterator[tuple[str, list[str]]]:
    """A webhook on this machine: its URL, and what was sent to it."""
    bodies: list[str] = []

    class Ear(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["content-length"])).decode())
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Silent."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Ear) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/", bodies
        server.shutdown()


def deploy(up: Up, *arguments: str) -> "subprocess.CompletedProcess[str]":
    environment = clean_environment() | {"PRIVCERT_HOME": str(up.home.root), "PREFECT_API_URL": up.api}
    return subprocess.run(
        [PRIVCERT, "deploy", "--schedule", EVERY_MINUTE, "--json", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


def ids(up: Up) -> dict[str, set[str]]:
    """Of all that a deployment makes on the server."""
    kinds = ("deployments", "automations", "work_pools", "flows")
    return {kind: {one["id"] for one in asked(up, f"{kind}/filter", limit=200)} for kind in kinds}


@pytest.mark.slow
def test_deploying_again_changes_nothing_and_a_failed_run_is_told(up, heard):
    url, bodies = heard
    until(lambda: is_deployed(up), up)
    no_block = deploy(up, "--notify", "custom-webhook/ops")
    assert no_block.returncode == 2 and "notify: the server has no block custom-webhook/ops" in no_block.stderr
    kind = asked(up, "block_types/slug/custom-webhook", method="GET")["id"]
    [schema] = asked(up, "block_schemas/filter", block_schemas={"block_type_id": {"any_": [kind]}})
    data = {"name": "ops", "url": url, "json_data": {"said": "{{subject}}|{{body}}"}}
    asked(up, "block_documents/", name="ops", block_type_id=kind, block_schema_id=schema["id"], data=data)
    first = deploy(up, "--notify", "custom-webhook/ops")
    assert first.returncode == 0, first.stderr
    before = ids(up)
    second = deploy(up, "--notify", "custom-webhook/ops")
    assert (second.stdout, ids(up)) == (first.stdout, before)
    assert len(before["automations"]) == 2 and len(before["deployments"]) == 4
    study = next(one for one in asked(up, "deployments/filter") if one["name"] == "run_study")
    run = asked(up, f"deployments/{study['id']}/create_flow_run", state={"type": "PENDING"})
    state = {"type": "FAILED", "name": "Failed", "message": "a reason that is not told"}
    asked(up, f"flow_runs/{run['id']}/set_state", state=state, force=True)
    until(lambda: bodies, up)
    assert json.loads(bodies[0]) == {
        "said": f"privcert: run_study Failed|Run {run['name']} of deployment run_study is Failed."
    }


@pytest.mark.slow
def test_a_schedule_audits_what_appeared_once_and_leaves_nothing_behind(up):
    until(lambda: sealed(up) == 1, up)
    write_dated(up.source, {"2025-Q3": 10, "2025-Q4": 30})
    until(lambda: sealed(up) == 2, up)
    until(lambda: len(runs(up, "Completed")) >= 2, up)
    assert [line.epsilon.spent for line in ReleaseLog(up.home).budget_lines()] == ["4"]
    parameters = [run["parameters"] for run in runs(up, "Completed")]
    nightly = str(up.home.private / "audits" / "nightly.yaml")
    assert {tuple(sorted(one.items())) for one in parameters} == {
        (("audit_file", nightly), ("home", str(up.home.root)), ("options_file", None))
    }
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
