"""What Prefect costs a warm `privcert audit`, beside what it costs a flow that does nothing.

usage: flow_overhead.py [--runs 5]

Each measurement is a whole process: the audit, the same stages in order without an orchestrator, and an empty flow.
The overhead is the audit's time beyond the bare stages, in empty flows. Prints medians over triples that ran one after
the other, with and without a running server. The exit code is 1 where, with a server, it is more than LIMIT.
"""

import argparse
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

LIMIT = 1.5  # empty flows
EMPTY = "from prefect import flow\n@flow(persist_result=False)\ndef empty() -> None: ...\nempty()\n"
BARE = """
import sys
from tasks.audits.run import begin_run, open_run
from tasks.audits.stages import run_audit
run_audit(open_run(sys.argv[1], begin_run(*sys.argv[1:])))
"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        audit = prepare(root)
        environment = quiet(root)
        report("without a server", compare(root, audit, environment, runs))
        with server(root) as url:
            overhead = report("with a server", compare(root, audit, environment | {"PREFECT_API_URL": url}, runs))
    sys.exit(overhead > LIMIT)


def prepare(root: Path) -> list[str]:
    """A small corpus, audited once so that the next run is warm; the command, and beside it the two peers' scripts."""
    texts = [f"The food was delicious on visit {number}." for number in range(500)]
    rows = {"id": [str(at) for at in range(500)], "author": [f"a{at % 100}" for at in range(500)], "text": texts}
    pq.write_table(pa.table(rows), root / "reviews.parquet")
    (root / "empty.py").write_text(EMPTY)
    (root / "bare.py").write_text(BARE)
    options = "corpus: demo, visibility: synthetic, unit: author, domain: restaurant-reviews, model: keyword"
    numbers = "statements: 50, epsilon: 5, theta: 0.1"
    (root / "audit.yaml").write_text(f"{{source: {root / 'reviews.parquet'}, {options}, {numbers}}}\n")
    audit = [str(Path(sys.executable).parent / "privcert"), "audit", str(root / "audit.yaml"), "--json"]
    timed(audit, quiet(root))
    return audit


def quiet(root: Path) -> dict[str, str]:
    """Environment of every measured process: one home, no analytics."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    return kept | {
        "PRIVCERT_HOME": str(root / "home"),
        "PREFECT_HOME": str(root / "home" / "private" / "prefect"),
        "PREFECT_LOGGING_LEVEL": "CRITICAL",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
        "DO_NOT_TRACK": "1",
    }


def compare(root: Path, audit: list[str], environment: dict[str, str], runs: int) -> list[tuple[float, float, float]]:
    """(seconds of the audit, of its bare stages, of the empty flow), triple by triple."""
    bare = [sys.executable, str(root / "bare.py"), str(root / "home"), str(root / "audit.yaml")]
    empty = [sys.executable, str(root / "empty.py")]
    timed(empty, environment)
    return [tuple(timed(command, environment) for command in (audit, bare, empty)) for _ in range(runs)]


def timed(command: list[str], environment: dict[str, str]) -> float:
    """Wall seconds of one process that must end well."""
    began = time.perf_counter()
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


@contextmanager
def server(root: Path) -> Iterator[str]:
    """A Prefect server of its own while the block runs."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = quiet(root) | {"PREFECT_HOME": str(root / "server")}
    command = [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port)]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(240):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/api/health", timeout=2)
                break
            except OSError:
                time.sleep(0.5)
        else:
            sys.exit("the Prefect server does not answer")
        yield f"http://127.0.0.1:{port}/api"
    finally:
        process.terminate()
        process.wait()


def report(title: str, triples: list[tuple[float, float, float]]) -> float:
    """Print medians; the overhead in empty flows."""
    audit, bare, empty = (statistics.median(column) for column in zip(*triples, strict=True))
    overhead = statistics.median((whole - stages) / nothing for whole, stages, nothing in triples)
    print(
        f"{title}: warm audit {audit:.1f} s, its stages alone {bare:.1f} s, empty flow {empty:.1f} s; "
        f"overhead {overhead:.2f} empty flows"
    )
    return overhead


if __name__ == "__main__":
    main()
