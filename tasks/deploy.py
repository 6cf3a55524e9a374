"""Put the flows on a Prefect server: work pools, deployments, automations. The same again changes nothing."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import yaml
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.client.schemas.filters import (
    FlowRunFilter,
    FlowRunFilterState,
    FlowRunFilterStateType,
    WorkPoolFilter,
    WorkPoolFilterName,
)
from prefect.client.schemas.objects import StateType
from prefect.events.actions import SendNotification
from prefect.events.schemas.automations import AutomationCore
from prefect.exceptions import ObjectAlreadyExists, ObjectNotFound
from prefect.states import Crashed
from prefect.workers.process import ProcessWorker

from schemas.errors import StageError, UserError

AUTOMATIONS_FILE = "automations.yaml"
# Runs that a new pool has at once. Far above one for each deployment: a worker that was away must be given a fortnight
# of missed nights together, so that all but one are cancelled; those that wait for a place would run one by one
POOL_LIMIT = 16


def check_server() -> None:
    """Raises UserError where no Prefect server answers at PREFECT_API_URL."""
    with get_client(sync_client=True) as client:
        if client.api_healthcheck() is not None:
            raise UserError("PREFECT_API_URL: no Prefect server answers there")


def make_pools(names: list[str]) -> None:
    """Work pools of processes; those that are there stay as they are, with the limit that the operator gave them."""
    with get_client(sync_client=True) as client:
        for name in names:
            template = ProcessWorker.get_default_base_job_template()
            try:
                client.create_work_pool(
                    WorkPoolCreate(name=name, type="process", base_job_template=template, concurrency_limit=POOL_LIMIT)
                )
            except ObjectAlreadyExists:
                continue


def deploy_file(file: Path, checkout: Path, environment: dict[str, str]) -> None:
    """Every deployment of a file, with Prefect's own command. Raises StageError where that fails."""
    command = [sys.executable, "-m", "prefect", "--no-prompt", "deploy", "--all", "--prefect-file", str(file)]
    done = subprocess.run(  # noqa: S603
        command, cwd=checkout, env=os.environ | environment, capture_output=True, text=True
    )
    if done.returncode:
        last = (done.stdout + done.stderr).strip().splitlines()[-1:]
        raise StageError(f"deploy: Prefect refused: {' '.join(last)}")


def find_blocks(blocks: Sequence[str]) -> list[UUID]:
    """The notification blocks TYPE/NAME, each once, in order. Raises UserError where the server has none."""
    found: list[UUID] = []
    with get_client(sync_client=True) as client:
        for block in dict.fromkeys(blocks):
            kind, _, name = block.partition("/")
            try:
                found.append(client.read_block_document_by_name(name, kind).id)
            except ObjectNotFound:
                raise UserError(
                    f"notify: the server has no block {block}; make one in its pages, or with its API"
                ) from None
    return found


def make_automations(file: Path, blocks: Sequence[UUID]) -> list[str]:
    """What the file says, a message through each of these blocks where it says no action; the names of what is there.

    One of the file that has no action is removed from the server.
    """
    written: dict[str, Any] = yaml.safe_load(file.read_text())
    messages = [SendNotification(block_document_id=block, **written["message"]) for block in blocks]
    send = [message.model_dump(mode="json") for message in messages]
    with get_client(sync_client=True) as client:
        for fields in written["automations"]:
            _put_automation(client, {"actions": send} | fields)
        return [fields["name"] for fields in written["automations"] if "actions" in fields or send]


def _put_automation(client: SyncPrefectClient, fields: Mapping[str, Any]) -> None:
    wanted = AutomationCore.model_validate(fields)
    known = client.read_automations_by_name(wanted.name)
    if not known:
        if wanted.actions:
            client.create_automation(wanted)
    elif not wanted.actions:
        client.delete_automation(known[0].id)
    elif AutomationCore.model_validate(known[0].model_dump(mode="json")) != wanted:
        # an update forgets which runs it waits for: without a change there is none
        client.update_automation(known[0].id, wanted)


def end_left_runs(pools: Sequence[str]) -> None:
    """Mark what stands as running in these pools as crashed; for a server and workers that ended together, before the
    workers start again. Without it each would keep its place in the pool for ever."""
    states = FlowRunFilterState(
        type=FlowRunFilterStateType(any_=[StateType.RUNNING, StateType.PENDING, StateType.CANCELLING])
    )
    of_pools = WorkPoolFilter(name=WorkPoolFilterName(any_=list(pools)))
    with get_client(sync_client=True) as client:
        for run in client.read_flow_runs(flow_run_filter=FlowRunFilter(state=states), work_pool_filter=of_pools):
            client.set_flow_run_state(run.id, Crashed(message="it was running when its server ended"))


def deployed(names: list[str]) -> list[dict[str, Any]]:
    """What the server says of these deployments, in order of name."""
    with get_client(sync_client=True) as client:
        found = [one for one in client.read_deployments() if one.name in names]
    return [
        {
            "deployment": one.name,
            "pool": one.work_pool_name,
            "schedules": [
                {"cron": getattr(kept.schedule, "cron", None), "active": kept.active} for kept in one.schedules
            ],
        }
        for one in sorted(found, key=lambda one: one.name)
    ]
