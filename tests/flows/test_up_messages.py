"""What `privcert deploy` puts on a real server beside deployments: work pools, messages, and what finds lost runs."""

import json
import subprocess
import threading
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest
from prefect_servers import clean_environment
from up_commands import (
    PRIVCERT,
    Up,
    asked,
    deployment,
    end_up,
    is_deployed,
    make_due,
    nightly_home,
    runs,
    start_up,
    until,
)

MESSAGES = {"privcert run failed", "privcert run late"}
LOST = "privcert run lost"
WEBHOOK = ("--notify", "custom-webhook/ops")


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """Without a schedule."""
    started = start_up(*nightly_home(tmp_path_factory.mktemp("up"), {"2025-Q3": 10}), "--dask-workers", "0")
    try:
        until(lambda: is_deployed(started) and LOST in automations(started), started)
        yield started
    finally:
        end_up(started)


@pytest.fixture
def heard() -> Iterator[tuple[str, dict[str, list[str]]]]:
    """A webhook on this machine: its URL, and by path what was sent to it."""
    said: dict[str, list[str]] = {}

    class Ear(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            said.setdefault(self.path, []).append(self.rfile.read(int(self.headers["content-length"])).decode())
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Silent."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Ear) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", said
        server.shutdown()


def deploy(up: Up, *arguments: str) -> "subprocess.CompletedProcess[str]":
    environment = clean_environment() | {"PRIVCERT_HOME": str(up.home.root), "PREFECT_API_URL": up.api}
    command = [PRIVCERT, "deploy", "--json", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)


def make_block(up: Up, slug: str, name: str, data: dict[str, object]) -> str:
    """A notification block on the server; its id."""
    kind = asked(up, f"block_types/slug/{slug}", method="GET")["id"]
    [schema] = asked(up, "block_schemas/filter", block_schemas={"block_type_id": {"any_": [kind]}})
    made = asked(up, "block_documents/", name=name, block_type_id=kind, block_schema_id=schema["id"], data=data)
    return str(made["id"])


def webhook(up: Up, name: str, url: str) -> str:
    return make_block(
        up, "custom-webhook", name, {"name": name, "url": url, "json_data": {"said": "{{subject}}|{{body}}"}}
    )


def ids(up: Up) -> dict[str, set[str]]:
    """Of all that a deployment makes on the server."""
    kinds = ("deployments", "automations", "work_pools", "flows")
    return {kind: {one["id"] for one in asked(up, f"{kind}/filter", limit=200)} for kind in kinds}


def automations(up: Up) -> dict[str, list[dict[str, Any]]]:
    """What each does."""
    return {one["name"]: one["actions"] for one in asked(up, "automations/filter", limit=200)}


def told_through(up: Up) -> set[tuple[str, ...]]:
    """The blocks of the messages, in order."""
    found = automations(up)
    return {tuple(action["block_document_id"] for action in found[name]) for name in MESSAGES}


@pytest.mark.slow
def test_messages_go_through_the_blocks_that_are_named_and_no_others(up: Up) -> None:
    no_block = deploy(up, *WEBHOOK)
    assert no_block.returncode == 2 and "notify: the server has no block custom-webhook/ops" in no_block.stderr
    assert set(automations(up)) == {LOST}
    ops = webhook(up, "ops", "http://127.0.0.1:9/")
    mail = {"api_key": "secret-key", "sender_email": "a@example.org", "to_emails": ["b@example.org"]}
    post = make_block(up, "sendgrid-email", "ops", mail)
    both = (*WEBHOOK, "--notify", "sendgrid-email/ops", *WEBHOOK)
    first = deploy(up, *both)
    assert first.returncode == 0, first.stderr
    assert set(json.loads(first.stdout)["automations"]) == {*MESSAGES, LOST}
    assert told_through(up) == {(ops, post)}
    before, written = ids(up), asked(up, "automations/filter", limit=200)
    second = deploy(up, *both)
    assert (second.stdout, ids(up)) == (first.stdout, before)
    assert asked(up, "automations/filter", limit=200) == written  # not even the time of an update
    assert len(before["automations"]) == 3 and len(before["deployments"]) == 4
    assert deploy(up, *WEBHOOK).returncode == 0
    assert told_through(up) == {(ops,)}
    assert deploy(up).returncode == 0
    assert set(automations(up)) == {LOST}


@pytest.mark.slow
def test_what_a_deployment_switches_off_is_said(up: Up) -> None:
    assert deploy(up, "--schedule", "backfill_support=0 0 1 1 *").stderr == ""
    said = "switched off: the schedule of backfill_support; --schedule backfill_support keeps it on\n"
    assert [deploy(up).stderr, deploy(up).stderr] == [said, ""]


@pytest.mark.slow
def test_failed_and_late_runs_are_told_through_every_block_without_a_reason(
    up: Up, heard: tuple[str, dict[str, list[str]]]
) -> None:
    url, said = heard
    for name in ("pager", "desk"):
        webhook(up, name, f"{url}/{name}")
    assert deploy(up, "--notify", "custom-webhook/pager", "--notify", "custom-webhook/desk").returncode == 0
    run = asked(up, f"deployments/{deployment(up, 'run_study')}/create_flow_run", state={"type": "PENDING"})
    state = {"type": "FAILED", "name": "Failed", "message": "a reason that is not told"}
    asked(up, f"flow_runs/{run['id']}/set_state", state=state, force=True)
    until(lambda: len(said) == 2, up)
    told = f"privcert: run_study Failed|Run {run['name']} of deployment run_study is Failed."
    assert {path: [json.loads(one) for one in bodies] for path, bodies in said.items()} == {
        "/pager": [{"said": told}],
        "/desk": [{"said": told}],
    }
    make_due(up, "backfill_support_gpu")  # nobody takes runs of the pool gpu
    until(lambda: all(len(bodies) == 2 for bodies in said.values()), up)
    [late] = runs(up, "Late")
    told = f"privcert: backfill_support_gpu Late|Run {late['name']} of deployment backfill_support_gpu is Late."
    assert [json.loads(bodies[1]) for bodies in said.values()] == [{"said": told}] * 2


@pytest.mark.slow
def test_a_run_that_shows_no_sign_of_life_gives_its_place_back(up: Up) -> None:
    """As when its process was killed with its worker: the run stands as running after its last sign."""
    [lost] = [one for one in asked(up, "automations/filter", limit=200) if one["name"] == LOST]
    assert lost["trigger"]["within"] == 300
    soon = {key: lost[key] for key in ("name", "description", "enabled", "actions")}
    soon["trigger"] = lost["trigger"] | {"within": 10}  # how often the server looks, too
    asked(up, f"automations/{lost['id']}", method="PUT", **soon)
    run = asked(up, f"deployments/{deployment(up, 'backfill_support_gpu')}/create_flow_run", state={"type": "PENDING"})
    asked(up, f"flow_runs/{run['id']}/set_state", state={"type": "RUNNING", "name": "Running"}, force=True)
    sign = {
        "id": str(uuid.uuid4()),
        "occurred": datetime.now(UTC).isoformat(),
        "event": "prefect.flow-run.heartbeat",
        "resource": {"prefect.resource.id": f"prefect.flow-run.{run['id']}"},
        "related": [{"prefect.resource.id": "prefect.tag.privcert", "prefect.resource.role": "tag"}],
    }
    httpx.post(f"{up.api}/events", json=[sign]).raise_for_status()
    until(lambda: asked(up, f"flow_runs/{run['id']}", method="GET")["state"]["type"] == "CRASHED", up)


@pytest.mark.slow
def test_a_new_pool_has_a_limit_and_that_of_an_operator_stays(up: Up) -> None:
    assert limits(up) == {"cpu": 16, "gpu": 16}
    asked(up, "work_pools/gpu", method="PATCH", concurrency_limit=3)
    assert deploy(up).returncode == 0
    [lost] = [one for one in asked(up, "automations/filter", limit=200) if one["name"] == LOST]
    assert lost["trigger"]["within"] == 300  # as the file has it, whatever was there
    assert limits(up) == {"cpu": 16, "gpu": 3}


def limits(up: Up) -> dict[str, int | None]:
    """By work pool."""
    pools = asked(up, "work_pools/filter", limit=200)
    return {pool["name"]: pool["concurrency_limit"] for pool in pools if pool["name"] in ("cpu", "gpu")}
