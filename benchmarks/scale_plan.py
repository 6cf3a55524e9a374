"""What an audit past one machine takes: arithmetic from measured rates, and a simulation of its scheduling.

    python benchmarks/scale_plan.py [--records 100000000] [--statements 1000] [--workers 64] [--rate 5000]
        [--price-per-hour 2.5] [--json]

Measured here, in this run: the driver's seconds and bytes for a chunk (the product's own plan, pickled as Dask sends
it), and the seconds of one release. Given: --rate, pairs per second of one worker, as `privcert models check` or
`benchmarks/gpu_throughput.py` measures it on the worker's machine; nothing here was measured on a GPU.
Simulated: one driver that hands out the chunks of one partition after the other, workers of unlike speed, some of them
very slow, chunks that stall, deaths that lose the chunk in flight. --price-per-hour: of one worker; no price is ours.
"""

import argparse
import json
import math
import pickle
import statistics
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from release_log import open_log, question, seconds
from scaling.simulation import Cluster, simulate

from schemas.statements import Statement
from tasks.support.bits import full, width_of
from tasks.support.chunks import Chunk
from tasks.support.models import ModelReference
from tasks.support.plan import Plan
from tasks.support.scoring import chunk_seconds
from tasks.support.texts import KEY_BYTES

INDEX_BYTES = KEY_BYTES + 3 * 8 + 8 + 8  # of a record in VersionTexts: key, place, text, unit
SORTING = 2  # np.unique holds the keys and the places twice while it sorts
SIMULATED_CHUNKS = 100_000  # enough partitions to make up so many; the others are alike
SUBMIT_SECONDS = 0.003  # of a chunk through Dask's scheduler: 2 to 4 ms, docs/scale.md


@dataclass(frozen=True, slots=True)
class Job:
    """records × statements, of which a share `distinct` of the texts is scored once; text_bytes: mean of a record."""

    records: int
    statements: int
    distinct: float
    text_bytes: int

    @property
    def texts(self) -> int:
        """Distinct texts."""
        return math.ceil(self.records * self.distinct)

    @property
    def pairs(self) -> int:
        """Pairs that a model answers."""
        return self.texts * self.statements


@dataclass(frozen=True, slots=True)
class Driver:
    """Of one chunk of this many pairs: seconds to cut and pickle it, bytes that it has then."""

    seconds: float
    bytes: float


def measure_driver(job: Job, chunk_pairs: int, rounds: int = 40) -> Driver:
    """The product's plan over as many texts as some chunks need, statements of 60 characters."""
    texts = max(2 * chunk_pairs // job.statements, 1) * rounds
    statements = [
        Statement.of(f"The reviewer mentions matter number {n:06d} of the whole list.") for n in range(job.statements)
    ]
    where = np.stack([np.zeros(texts, np.int64), np.arange(texts) // 50_000, np.arange(texts) % 50_000], axis=1)
    folder, reference = Path("private/corpora/reviews/version"), ModelReference("nli-mini")
    template = Chunk(folder, folder, folder, reference, "0" * 64, (), where[:0], full(0, job.statements))
    plan = Plan(template, statements, where, full(texts, job.statements))
    taken, sizes = [], []
    for _ in range(rounds):
        began = time.perf_counter()
        chunk = plan.take(chunk_pairs)
        if chunk is None:
            break
        sizes.append(len(pickle.dumps(chunk, protocol=pickle.HIGHEST_PROTOCOL)))
        taken.append(time.perf_counter() - began)
    return Driver(statistics.median(taken) + SUBMIT_SECONDS, statistics.median(sizes))


def measure_release(statements: int, rounds: int = 4) -> float:
    """Seconds of one sealed release of so many statements (see benchmarks/release_log.py); the first warms up."""
    counts = [1500 if at % 20 == 0 else at % 20 for at in range(statements)]
    with tempfile.TemporaryDirectory() as folder:
        log, partition = open_log(Path(folder))
        asked = [question(partition, "frontier", statements, edition + 1) for edition in range(rounds)]
        taken = [seconds(lambda one=one: log.seal(one, counts)) for one in asked]
    return statistics.median(taken[1:])


def gigabytes(count: float) -> float:
    """10^9 bytes."""
    return round(count / 1e9, 1)


def plan_of(job: Job, cluster: Cluster, partitions: int, price: float, seed: int) -> dict[str, float]:
    """All figures of one plan; hours are wall time, of scoring alone. price: of one worker and hour."""
    driver, release_seconds = measure_driver(job, cluster.chunk_pairs), measure_release(job.statements)
    chunks = math.ceil(job.pairs / cluster.chunk_pairs)
    each = math.ceil(chunks / partitions)
    taken = min(partitions, max(1, SIMULATED_CHUNKS // each))
    seen = simulate(cluster, driver.seconds, [each] * taken, seed)
    ideal_hours, hours = (
        job.pairs / cluster.rate / cluster.workers / 3600,
        seen.wall_seconds * partitions / taken / 3600,
    )
    bitmap = width_of(job.statements) * job.texts
    return {
        "pairs": job.pairs,
        "worker_hours": round(job.pairs / cluster.rate / 3600),
        "ideal_hours": round(ideal_hours, 1),
        "simulated_hours": round(hours, 1),
        "efficiency": round(ideal_hours / hours, 3),
        "cost": round(hours * cluster.workers * price),
        "chunks": chunks,
        "chunk_seconds": cluster.chunk_seconds,
        "chunks_scored_again": round(seen.lost * partitions / taken),
        "driver_busy_share": round(seen.driver_seconds / seen.wall_seconds, 3),
        "driver_ms_a_chunk": round(1000 * driver.seconds, 2),
        "most_workers_of_one_driver": math.floor(cluster.chunk_seconds / driver.seconds),
        "network_gb": gigabytes(driver.bytes * chunks + job.texts * job.text_bytes),
        "texts_gb": gigabytes(job.records * job.text_bytes),
        "score_cache_gb": gigabytes(2 * bitmap + KEY_BYTES * job.texts),
        "driver_memory_gb": gigabytes((3 * bitmap + SORTING * INDEX_BYTES * job.records) / partitions),
        "releases": partitions,
        "release_seconds": round(release_seconds, 3),
        "last_release_waits_seconds": round(release_seconds * partitions, 1),
    }


def main() -> None:
    """Print the plan as a table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=10**8)
    parser.add_argument("--statements", type=int, default=1000)
    parser.add_argument("--distinct", type=float, default=1.0, help="Share of the texts that are distinct.")
    parser.add_argument("--text-bytes", type=int, default=500)
    parser.add_argument("--partitions", type=int, default=100, help="Scored one after the other, released each.")
    parser.add_argument("--workers", type=int, default=64)
    parser.add_argument("--rate", type=float, default=5000.0, help="Pairs per second of one worker.")
    parser.add_argument("--unlike", type=float, default=0.15)
    parser.add_argument("--chunk-seconds", type=float, help="Default: as the product chooses for one partition.")
    parser.add_argument("--hours-between-deaths", type=float, default=100.0)
    parser.add_argument("--restart-seconds", type=float, default=180.0)
    parser.add_argument("--slow", type=int, default=0, help="Workers with a tenth of their speed.")
    parser.add_argument("--stalled", type=float, default=0.0, help="Share of the chunks that last ten times as long.")
    parser.add_argument("--price-per-hour", type=float, default=0.0, help="Of one worker, in any currency.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    job = Job(asked.records, asked.statements, asked.distinct, asked.text_bytes)
    lasts = asked.chunk_seconds or chunk_seconds(job.pairs / asked.partitions / asked.rate)
    deaths = asked.hours_between_deaths, asked.restart_seconds
    stragglers = {"slow": asked.slow, "stalled": asked.stalled}
    cluster = Cluster(asked.workers, asked.rate, asked.unlike, lasts, *deaths, **stragglers)
    found = plan_of(job, cluster, asked.partitions, asked.price_per_hour, asked.seed)
    if asked.json:
        print(json.dumps({"job": asdict(job), "cluster": asdict(cluster), "plan": found}))
        return
    for name, value in found.items():
        print(f"{name.replace('_', ' '):28s}{value:>18,}")


if __name__ == "__main__":
    main()
