"""`privcert up` in a home with a definition for every night, for tests, and its server's API."""

import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import httpx
from backfills import write_dated
from commands import run_privcert
from prefect.client.base import PrefectHttpxSyncClient
from prefect_servers import clean_environment

from tasks.cluster.services import free_port
from tasks.ledger.log import ReleaseLog
from tasks.storage.home import Home, open_home

PRIVCERT = str(Path(sys.executable).parent / "privcert")
DEFINITION = """\
source: {source}
corpus: reviews
unit: author
partition_column: date
time_grid: quarter
first_period: 2025-Q3
last_period: 2030-Q4
domain: restaurant-reviews
statements: 12
model: keyword
epsilon: 2
theta: 0.05
allow_vacuous: true
"""


class Up(NamedTuple):
    """A home with a definition for every night, its corpus, the API of a running `privcert up`, and that command."""

    home: Home
    source: Path
    api: str
    process: "subprocess.Popen[str]"


def nightly_home(folder: Path, authors: Mapping[str, int]) -> tuple[Home, Path]:
    """A home with a cap and a definition, and its corpus: so many authors in each quarter."""
    root, source = folder / "home", write_dated(folder / "reviews.parquet", authors)
    run_privcert(root, "init")
    run_privcert(root, "budget", "set", "reviews", "--epsilon", "20")
    (root / "private" / "audits").mkdir()
    (root / "private" / "audits" / "nightly.yaml").write_text(DEFINITION.format(source=source))
    return open_home(root), source


def start_up(home: Home, source: Path, *options: str) -> Up:
    """`privcert up` on a free port."""
    port = str(free_port())
    process = subprocess.Popen(
        [PRIVCERT, "up", "--port", port, "--json", *options],
        env=clean_environment() | {"PRIVCERT_HOME": str(home.root)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    return Up(home, source, f"http://127.0.0.1:{port}/api", process)


def end_up(up: Up) -> None:
    """With all that it started, unless it has ended."""
    if up.process.poll() is None:
        up.process.terminate()
        up.process.communicate(timeout=120)


def until(what: Callable[[], object], up: Up, seconds: float = 180) -> None:
    """Wait until it is so, while the command runs."""
    patience = time.monotonic() + seconds
    while not what():
        assert up.process.poll() is None and time.monotonic() < patience, "it did not happen"
        time.sleep(0.5)


def sealed(up: Up) -> int:
    """How many releases there are."""
    return len(ReleaseLog(up.home).release_keys())


def asked(up: Up, path: str, *, method: str = "POST", **body: object) -> Any:
    """What the server answers: asked again where it says that its database is busy (503), as Prefect's clients do."""
    with PrefectHttpxSyncClient(timeout=30) as client:
        answer = client.request(method, f"{up.api}/{path}", json=None if method == "GET" else body)
    return answer.json() if answer.content else None


def answers(up: Up) -> bool:
    """Whether the server is there."""
    with suppress(httpx.HTTPError):
        return httpx.get(f"{up.api}/health", timeout=2).status_code == 200
    return False


def is_deployed(up: Up) -> bool:
    """Whether the server is there with all deployments."""
    return answers(up) and len(asked(up, "deployments/filter")) == 4


def deployment(up: Up, name: str) -> str:
    """Its id."""
    [found] = [one["id"] for one in asked(up, "deployments/filter") if one["name"] == name]
    return str(found)


def make_due(up: Up, name: str, since: timedelta = timedelta(0)) -> None:
    """A run of this deployment, as its schedule makes one."""
    due = {"type": "SCHEDULED", "state_details": {"scheduled_time": (datetime.now(UTC) - since).isoformat()}}
    asked(up, f"deployments/{deployment(up, name)}/create_flow_run", state=due)


def runs(up: Up, state: str) -> list[dict[str, Any]]:
    """Those that are in this state."""
    return list(asked(up, "flow_runs/filter", flow_runs={"state": {"name": {"any_": [state]}}}))
