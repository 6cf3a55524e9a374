"""How much longer a warm `privcert audit` takes than an empty Prefect flow, with and without a running server.

usage: flow_overhead.py [--runs 5]

Each measurement is a whole process. Prints medians, ratios and differences of pairs that ran one after the other.
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

EMPTY = "from prefect import flow\n@flow(persist_result=False)\ndef empty() -> None: ...\nempty()\n"


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
            report("with a server", compare(root, audit, environment | {"PREFECT_API_URL": url}, runs))


def prepare(root: Path) -> list[str]:
    """A small corpus, audited once so that the next run is warm; the command."""
    texts = [f"The food was delicious on visit {number}." for number in range(500)]
    rows = {"id": [str(at) for at in range(500)], "author": [f"a{at % 100}" for at in range(500)], "text": texts}
    pq.write_table(pa.table(rows), root / "reviews.parquet")
    (root / "empty.py").write_text(EMPTY)
    options = "--corpus demo --visibility synthetic --unit author --domain restaurant-reviews --model keyword"
    numbers = "--statements 50 --epsilon 5 --theta 0.1 --json"
    command = [str(Path(sys.executable).parent / "privcert"), "audit", str(root / "reviews.parquet")]
    audit = [*command, *options.split(), *numbers.split()]
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


def compare(root: Path, audit: list[str], environment: dict[str, str], runs: int) -> list[tuple[float, float]]:
    """(seconds of the audit, seconds of the empty flow), pair by pair."""
    empty = [sys.executable, str(root / "empty.py")]
    timed(empty, environment)
    return [(timed(audit, environment), timed(empty, environment)) for _ in range(runs)]


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
        yield f"http://127.0.0.1:{port}/api"
    finally:
        process.terminate()
        process.wait()


def report(title: str, pairs: list[tuple[float, float]]) -> None:
    """Medians, ratio and difference."""
    audit, empty = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratio = statistics.median(one / other for one, other in pairs)
    difference = statistics.median(one - other for one, other in pairs)
    print(
        f"{title}: warm audit {audit:.1f} s, empty flow {empty:.1f} s, ratio {ratio:.2f}, beyond it {difference:.1f} s"
    )


if __name__ == "__main__":
    main()
