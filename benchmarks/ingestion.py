"""Ingestion: time against polars, peak memory on a large corpus.

    python benchmarks/ingestion.py                    ratio to polars scan_parquet -> sink_parquet of the same file
    python benchmarks/ingestion.py --gigabytes 2      peak memory of ingesting a synthetic corpus of 2 GB of text

polars only copies columns; ingestion also checks ids, normalises, computes three keyed hashes a record, orders units
and finds duplicates. Every measurement runs in a process of its own, so that none sees another's memory.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOURCE_ROWS = 50_000  # rows generated at a time
MEGABYTE = 1e6


def make_corpus(path: Path, megabytes: int, characters: int) -> None:
    """Write a synthetic corpus: `id`, `author` (about 8 records each) and texts of words, a tenth not ASCII."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(20260101)
    words = ["the", "seat", "was", "clean", "and", "wide", "crew", "friendly", "late", "meal", "cold"]
    # Texts are cut from ten long strings of random words, one of them not ASCII: fast, and hardly two are alike.
    pools = [" ".join(rng.choice([*words, word], 2_000_000)) for word in ["coffee"] * 9 + ["crème"]]
    rows, made = int(megabytes * MEGABYTE / characters), 0
    schema = pa.schema([("id", pa.int64()), ("author", pa.string()), ("text", pa.large_string())])
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        while made < rows:
            here = min(SOURCE_ROWS, rows - made)
            places = rng.integers(0, [len(pools), min(map(len, pools)) - characters], (here, 2)).tolist()
            table = {
                "id": np.arange(made, made + here),
                "author": [f"author-{number}" for number in rng.integers(0, max(rows // 8, 1), here)],
                "text": [pools[pool][start : start + characters] for pool, start in places],
            }
            writer.write_table(pa.table(table, schema=schema))
            made += here


def copy_with_polars(source: Path, folder: Path) -> None:
    """The peer: stream the same columns from Parquet to Parquet."""
    import polars as pl

    pl.scan_parquet(source).select("id", "author", "text").sink_parquet(folder / "copy.parquet", compression="zstd")


def ingest(source: Path, folder: Path) -> None:
    """Stage the corpus in a fresh home."""
    from schemas.corpora import CorpusSettings
    from tasks.corpora.staging import stage_corpus
    from tasks.storage.home import initialise_home

    home = initialise_home(folder / "home", on_purpose=True)
    settings = CorpusSettings(source=str(source), corpus="synthetic", visibility="synthetic", unit="author")
    stage_corpus(settings, home, folder / "staging")


def baseline(source: Path, folder: Path) -> None:
    """Import what ingestion imports, and nothing else."""
    import tasks.corpora.staging  # noqa: F401


WORK = {"polars": copy_with_polars, "ingest": ingest, "imports": baseline}


def measure(work: str, source: Path, folder: Path) -> dict[str, float]:
    """Seconds without imports of the interpreter, and peak resident memory, of one kind of work in a child process."""
    command = [sys.executable, __file__, "--child", work, "--source", str(source), "--folder", str(folder)]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(answer.stdout.splitlines()[-1])


def run_child(work: str, source: Path, folder: Path) -> None:
    """Do the work and print its seconds and peak megabytes."""
    start = time.perf_counter()
    WORK[work](source, folder)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MEGABYTE
    print(json.dumps({"seconds": seconds, "peak_megabytes": peak}))


def main() -> None:
    """Parse, generate, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gigabytes", type=float, help="peak memory on a synthetic corpus with this much text")
    parser.add_argument("--characters", type=int, default=500, help="per record")
    parser.add_argument("--repeat", type=int, default=3, help="measurements of the ratio; the fastest counts")
    parser.add_argument("--make", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--child", choices=sorted(WORK), help=argparse.SUPPRESS)
    parser.add_argument("--source", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return run_child(options.child, options.source, options.folder)
    megabytes = int((options.gigabytes or 0.2) * 1000)
    if options.make:
        return make_corpus(options.source, megabytes, options.characters)
    with tempfile.TemporaryDirectory() as name:
        source = Path(name) / "corpus.parquet"
        shape = ["--gigabytes", str(megabytes / 1000), "--characters", str(options.characters)]
        subprocess.run([sys.executable, __file__, "--make", "--source", str(source), *shape], check=True)
        report(source, Path(name), megabytes, 1 if options.gigabytes else options.repeat)
    return None


def report(source: Path, scratch: Path, megabytes: int, repeat: int) -> None:
    """Print the ratio of the fastest runs, and the peaks."""
    runs: dict[str, list[dict[str, float]]] = {work: [] for work in WORK}
    for _ in range(repeat):
        for work, results in runs.items():
            with tempfile.TemporaryDirectory(dir=scratch) as folder:
                results.append(measure(work, source, Path(folder)))
    fastest = {work: min(result["seconds"] for result in results) for work, results in runs.items()}
    peak = {work: max(result["peak_megabytes"] for result in results) for work, results in runs.items()}
    print(f"text {megabytes} MB, file {source.stat().st_size / MEGABYTE:.0f} MB")
    print(f"seconds: ingestion {fastest['ingest']:.2f}, polars {fastest['polars']:.2f}")
    print(f"ratio ingestion / polars scan->sink: {fastest['ingest'] / fastest['polars']:.2f}")
    print(f"peak MB: ingestion {peak['ingest']:.0f}, polars {peak['polars']:.0f}, imports alone {peak['imports']:.0f}")


if __name__ == "__main__":
    main()
