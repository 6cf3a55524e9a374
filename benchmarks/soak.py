"""A million records through a whole audit, then twenty audits one after the other: time, and memory of each process.

usage: soak.py [--records 1000000] [--statements 100] [--audits 20] [--audited-records 100000]

Everything is a process of its own, as in operation: Prefect server, Dask scheduler, two Dask workers, and one
`privcert audit` each time. Records are synthetic and all different, the model is `keyword`. Peak memory is what the
kernel says of each process (VmHWM). The second part prints what the long-running processes hold after each audit, and
the peak of each audit's driver: flat where the mean of the last five is at most GROWTH times that of audits 6 to 10,
else the exit code is 1.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

SEED = 20260101
GROWTH = 1.05
BLOCK = 20_000  # authors generated at a time
MEBIBYTE = 1 << 20
PRIVCERT = str(Path(sys.executable).parent / "privcert")


def main() -> None:
    """Run both parts and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--statements", type=int, default=100)
    parser.add_argument("--audits", type=int, default=20)
    parser.add_argument("--audited-records", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, help="where homes and corpora are made [a temporary folder]")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        whole(Path(folder), asked.records, asked.statements)
        if asked.audits:
            is_flat = one_after_the_other(Path(folder), asked.audited_records, asked.statements, asked.audits)
            sys.exit(not is_flat)


def whole(root: Path, records: int, statements: int) -> None:
    """One audit of all records by itself: its time by stage, and every process it starts."""
    source = root / "million.parquet"
    size = write_corpus(source, records)
    print(f"{records:,} records, {size / MEBIBYTE:,.0f} MiB of Parquet, {statements} statements, model keyword")
    home = root / "home-million"
    with watched() as peaks:
        seconds = audit(source, "million", statements, environment(home))
    print(f"one audit: {seconds:,.0f} s, {records * statements / seconds:,.0f} pairs a second, everything included")
    for stage, took in stages(home).items():
        print(f"  {stage:<8} {took:6,.0f} s")
    for name, bytes_ in sorted(peaks.items()):
        print(f"  peak of {name:<32} {bytes_ / MEBIBYTE:7,.0f} MiB")
    again = audit(source, "million", statements, environment(home))
    print(f"the same command again, sealed: {again:,.0f} s")


def one_after_the_other(root: Path, records: int, statements: int, audits: int) -> bool:
    """Audits of new records each time, each a corpus of its own, beside one server and one cluster that stay.

    Whether no process grew; too few audits say nothing of it.
    """
    from tasks.cluster.local import start_dask, start_server
    from tasks.cluster.services import free_port, services

    source, home = root / "part.parquet", root / "home-audits"
    print(f"\n{audits} audits of {records:,} records x {statements} statements; MiB after each audit")
    held: dict[str, list[float]] = {}
    with services(root / "logs") as running:
        api = start_server(running, free_port(), root / "server")
        address = start_dask(running, 2, root / "scratch")
        found = environment(home) | {"PREFECT_API_URL": api, "DASK_SCHEDULER_ADDRESS": str(address)}
        for number in range(audits):
            write_corpus(source, records, SEED + 1_000 * (number + 1))
            with watched() as peaks:
                seconds = audit(source, f"part-{number}", statements, found)
            held.setdefault("driver, peak", []).append(peaks["privcert audit"] / MEBIBYTE)
            for name, bytes_ in resident(running.running.values()).items():
                held.setdefault(name, []).append(bytes_ / MEBIBYTE)
            now = ", ".join(f"{name} {values[-1]:,.0f}" for name, values in held.items())
            print(f"  {number + 1:>3}: {seconds:5.1f} s; {now}", flush=True)
    if audits < 15:
        return True
    ratios = {
        name: statistics.mean(values[-5:]) / statistics.mean(values[5:10])
        for name, values in held.items()
        if len(values) == audits
    }
    for name, ratio in ratios.items():
        print(f"  {name:<32} audits {audits - 4} to {audits} over audits 6 to 10: {ratio:.3f}")
    return max(ratios.values()) <= GROWTH


def write_corpus(path: Path, records: int, seed: int = SEED) -> int:
    """Synthetic reviews, no two alike; equal arguments give equal bytes. Returns the file's size in bytes."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    from tasks.corpora.synthetic import REVIEWS, synthetic_reviews
    from tasks.statements.domains import load_domain

    domain, made = load_domain("restaurant-reviews"), 0
    with pq.ParquetWriter(path, REVIEWS, compression="zstd") as writer:
        while made < records:
            block = made // BLOCK
            table = synthetic_reviews(BLOCK, seed + block, domain).slice(0, records - made)
            numbers = pa.array([f"{made + at:08d}" for at in range(len(table))])
            columns = {
                "id": pc.binary_join_element_wise("review", numbers, "-"),
                "author": pc.binary_join_element_wise(table["author"], str(block), "-"),
                "text": pc.binary_join_element_wise(table["text"], "Receipt", numbers, " "),
            }
            writer.write_table(pa.table([columns[name] for name in REVIEWS.names], schema=REVIEWS))
            made += len(table)
    return path.stat().st_size


def audit(source: Path, corpus: str, statements: int, found: dict[str, str]) -> float:
    """Wall seconds of one `privcert audit`, which must end well."""
    options = f"--corpus {corpus} --visibility synthetic --unit author --domain restaurant-reviews --model keyword"
    numbers = f"--statements {statements} --seed 0 --epsilon 2 --theta 0.05 --json"
    began = time.perf_counter()
    command = [PRIVCERT, "audit", str(source), *options.split(), *numbers.split()]
    subprocess.run(command, env=found, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def environment(home: Path) -> dict[str, str]:
    """One home, no analytics, nothing of the caller's Prefect or cluster."""
    own = ("PREFECT_", "DASK_", "PRIVCERT_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(own)}
    return kept | {"PRIVCERT_HOME": str(home), "PREFECT_SERVER_ANALYTICS_ENABLED": "false", "DO_NOT_TRACK": "1"}


def stages(home: Path) -> dict[str, float]:
    """Seconds by stage, of a home with one audit, to the second."""
    from datetime import datetime

    began: dict[str, datetime] = {}
    took: dict[str, float] = {}
    for line in (home / "private" / "logs" / "events.jsonl").read_text().splitlines():
        event = json.loads(line)
        at = datetime.fromisoformat(event["at"])
        if event["event"] == "began":
            began[event["stage"]] = at
        else:
            took[event["stage"]] = (at - began[event["stage"]]).total_seconds()
    return took


@contextmanager
def watched() -> Iterator[dict[str, int]]:
    """Peak resident bytes by role of every process that is started while the block runs, of several the largest."""
    peaks: dict[str, int] = {}
    over = threading.Event()
    before = {child.pid for child in psutil.Process().children(recursive=True)}

    def watch() -> None:
        while not over.wait(0.2):
            for child in psutil.Process().children(recursive=True):
                if child.pid not in before:
                    note(child, peaks)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield peaks
    finally:
        over.set()
        thread.join()


def note(process: psutil.Process, peaks: dict[str, int]) -> None:
    """Take what the kernel says of its peak, where it is still there."""
    try:
        role = role_of(process.cmdline())
        status = Path(f"/proc/{process.pid}/status").read_text()
    except (psutil.Error, OSError):
        return
    for line in status.splitlines():
        if line.startswith("VmHWM:"):
            peaks[role] = max(peaks.get(role, 0), int(line.split()[1]) << 10)


def resident(processes: object) -> dict[str, float]:
    """Resident bytes now of the long-running processes and all they started; workers together."""
    now: dict[str, float] = {}
    for started in processes:  # type: ignore[attr-defined]
        for process in psutil.Process(started.pid).children(recursive=True):
            try:
                role, bytes_ = role_of(process.cmdline()), process.memory_info().rss
            except psutil.Error:
                continue
            now[role] = now.get(role, 0.0) + bytes_
    return now


def role_of(command: list[str]) -> str:
    """A name for a process by its command line."""
    line = " ".join(command)
    for part, role in (
        ("watchdog.py", "watchdogs"),
        ("dask_scheduler", "Dask scheduler"),
        ("dask_worker", "Dask workers, with their parent"),
        ("prefect server", "Prefect server"),
        ("uvicorn", "Prefect server"),
        ("privcert audit", "privcert audit"),
        ("spawn_main", "Dask worker"),
    ):
        if part in line:
            return role
    return "other: " + (Path(command[0]).name if command else "?")


if __name__ == "__main__":
    main()
