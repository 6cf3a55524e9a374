"""Put the flows on a Prefect server: work pools, deployments, automations. The same again changes nothing."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from uuid import UUID

import yaml
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.events.actions import SendNotification
from prefect.events.schemas.automations import AutomationCore
from prefect.exceptions import ObjectAlreadyExists, ObjectNotFound
from prefect.workers.process import ProcessWorker

from schemas.errors import StageError, UserError

AUTOMATIONS_FILE = "automations.yaml"


def check_server() -> None:
    """Raises UserError where no Prefect server answers at PREFECT_API_URL."""
    with get_client(sync_client=True) as client:
        if client.api_healthcheck() is not None:
            raise UserError("PREFECT_API_URL: no Prefect server answers there")


def make_pools(names: list[str]) -> None:
    """Work pools of processes; those that are there stay as they are."""
    with get_client(sync_client=True) as client:
        for name in names:
            template = ProcessWorker.get_default_base_job_template()
            try:
                client.create_work_pool(WorkPoolCreate(name=name, type="process", base_job_template=template))
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


def find_block(block: str) -> UUID:
    """The notification block TYPE/NAME. Raises UserError where the server has none."""
    kind, _, name = block.partition("/")
    with get_client(sync_client=True) as client:
        try:
            return client.read_block_document_by_name(name, kind).id
        except ObjectNotFound:
            raise UserError(
                f"notify: the server has no block {block}; make one in its pages, or with its API"
            ) from None


def make_automations(file: Path, block: UUID) -> list[str]:
    """A message through this block for each of the file's triggers; their names."""
    written: dict[str, Any] = yaml.safe_load(file.read_text())
    send = SendNotification(block_document_id=block, **written["message"]).model_dump(mode="json")
    with get_client(sync_client=True) as client:
        for fields in written["automations"]:
            automation = AutomationCore.model_validate({**fields, "actions": [send]})
            known = client.read_automations_by_name(automation.name)
            if known:
                client.update_automation(known[0].id, automation)
            else:
                client.create_automation(automation)
    return [fields["name"] for fields in written["automations"]]


def deployed(names: list[str]) -> list[dict[str, object]]:
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
