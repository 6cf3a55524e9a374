"""Pairs per second of the NLI support model against named peers, in one run; rounds alternate between all of them.

Peers: the bare ONNX session called the same way (one pair per call at its exact length, as many threads, inputs made
beforehand), against which `score_version` is measured, the whole of it: reading, tokenising, scoring, writing the
cache; and sentence-transformers' CrossEncoder.predict on the same weights (--peer-python: an interpreter that has onnx,
torch and sentence-transformers; left out, loudly, without). Ratios of medians, by wall clock and by CPU seconds: on a
busy machine the second says more.

Example: python benchmarks/nli_throughput.py --peer-python ../peer/bin/python --texts 200 --statements 5
"""

import argparse
import json
import math
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from schemas.audit import PremiseWindows
from schemas.records import RECORDS, UNITS
from schemas.statements import Statement
from tasks.inference.encoder import EncoderFiles, PairEncoder, read_pair_pieces, usable_cores
from tasks.inference.onnx_session import OnnxSession
from tasks.inference.pairs import PairTokenizer
from tasks.storage.home import Home, initialise_home
from tasks.support import scoring
from tasks.support.models import ModelReference
from tasks.support.nli import NliModel, nli_mini_files

SENTENCES = (
    "We waited {n} minutes for a table.",
    "The soup was served cold and the waiter did not seem to care.",
    "On the other hand the dessert, a cake with plums, was the best I have had in {n} years.",
    "Great location.",
    "I paid {n} dollars for two, which is a lot for what it was, but the wine made up for it.",
    "My seat in row {n} did not recline, and the crew said that nothing could be done about it before landing.",
    "Would I come back? Perhaps.",
)
STATEMENTS = (
    "The review praises the food.",
    "The reviewer complains about slow service.",
    "The reviewer says that the prices were too high.",
    "The passenger had enough legroom.",
    "The reviewer would come back.",
    "The review criticises the waiting time.",
    "The reviewer says that the staff was friendly.",
    "The customer asks for a refund.",
)


class Took(NamedTuple):
    """One run."""

    seconds: float
    cpu_seconds: float


@dataclass
class Contender:
    """Something that scores all pairs."""

    run: Callable[[], Took]
    took: list[Took] = field(default_factory=list)

    def rate(self, clock: str, pairs: int) -> float:
        """Pairs per second, by the median round."""
        return pairs / median(getattr(took, clock) for took in self.took)


def main() -> None:
    """Print pairs/s and ratios, as text or JSON."""
    asked = arguments()
    texts = read_texts(asked.pairs, asked.texts, asked.seed) if asked.pairs else write_reviews(asked.texts, asked.seed)
    statements = list(STATEMENTS[: asked.statements])
    with tempfile.TemporaryDirectory() as name, peer(asked.peer_python, Path(name), texts, statements) as predict:
        contenders = {
            "pipeline": Contender(lambda: run_pipeline(texts, statements, asked.dask)),
            "bare session": Contender(bare_session(texts, statements)),
            "model, int8 weights": Contender(timed(PairEncoder(nli_mini_files()), texts, statements)),
        }
        if predict is not None:
            fp32 = EncoderFiles(Path(name) / "model_fp32.onnx", *nli_mini_files().files[1:])
            contenders["model, fp32 weights"] = Contender(timed(PairEncoder(fp32), texts, statements))
            contenders["CrossEncoder.predict"] = Contender(predict.run)
        for round_number in range(asked.rounds + 1):  # the first round warms up
            for contender in contenders.values():
                took = contender.run()
                if round_number:
                    contender.took.append(took)
        answers = None if predict is None else predict.compare(texts, statements)
    show(contenders, len(texts) * len(statements), answers, as_json=asked.json)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer-python", type=Path, help="Interpreter with onnx, torch and sentence-transformers.")
    parser.add_argument("--pairs", type=Path, help="Parquet with a column `text`, instead of generated reviews.")
    parser.add_argument("--texts", type=int, default=200)
    parser.add_argument("--statements", type=int, default=5, choices=range(1, len(STATEMENTS) + 1))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dask", action="store_true", help="Let the pipeline start Dask workers, as it does for long.")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def write_reviews(count: int, seed: int) -> list[str]:
    """Distinct reviews of 1 to 14 sentences, so of very different lengths."""
    rng = random.Random(seed)
    return [
        f"Visit {place}. "
        + " ".join(
            rng.choice(SENTENCES).format(n=rng.randint(2, 99)) for _ in range(rng.choice((1, 2, 3, 4, 6, 9, 14)))
        )
        for place in range(count)
    ]


def read_texts(path: Path, count: int, seed: int) -> list[str]:
    """A sample of the distinct texts in the column `text` of a Parquet file."""
    import polars as pl

    return (
        pl.read_parquet(path, columns=["text"])["text"].unique(maintain_order=True).sample(count, seed=seed).to_list()
    )


def timed(model: PairEncoder, texts: list[str], statements: list[str]) -> Callable[[], Took]:
    """A run of the classifier alone."""
    return lambda: measure(lambda: model.logits(texts, statements))


def measure(work: Callable[[], object]) -> Took:
    """Seconds of this process."""
    began, cpu = time.perf_counter(), time.process_time()
    work()
    return Took(time.perf_counter() - began, time.process_time() - cpu)


def run_pipeline(texts: list[str], statements: list[str], dask: bool) -> Took:
    """`score_version` in a fresh home."""
    with tempfile.TemporaryDirectory() as folder:
        home = initialise_home(Path(folder) / "home", on_purpose=True)
        version = write_version(home, Path(folder) / "version", texts)
        asked = [Statement.of(statement) for statement in statements]
        scoring.IN_PROCESS_SECONDS = 8.0 if dask else math.inf
        return measure(lambda: scoring.score_version(version, asked, ModelReference(name="nli-mini"), home))


def write_version(home: Home, path: Path, texts: list[str]) -> Path:
    """A registered version of one record a unit, as ingestion leaves it."""
    (path / "records").mkdir(parents=True)
    records = [
        {
            "unit_index": place,
            "record_id": str(place),
            "status": "ok",
            "text": text,
            "text_key": home.keyed_hash(b"text", text.encode()),
        }
        for place, text in enumerate(texts)
    ]
    units = [
        {"unit_id": str(place), "unit_key": home.keyed_hash(b"unit", str(place).encode()), "records": 1}
        for place in range(len(texts))
    ]
    pq.write_table(pa.Table.from_pylist(records, schema=RECORDS), path / "records" / "part-00000.parquet")
    pq.write_table(pa.Table.from_pylist(units, schema=UNITS), path / "units.parquet")
    return path


def packaged_pairs() -> PairTokenizer:
    """Pairs as the packaged model reads them."""
    files = nli_mini_files()
    return PairTokenizer(files.tokenizer, PremiseWindows.TRUNCATE, read_pair_pieces(files.config))


def bare_session(texts: list[str], statements: list[str]) -> Callable[[], Took]:
    """The session that the encoder opens, on inputs made beforehand, longest first."""
    files = nli_mini_files()
    session, pairs = OnnxSession(files.model), packaged_pairs()
    frames, premises = [pairs.frame(statement) for statement in statements], [pairs.premise(text) for text in texts]
    inputs = [pairs.inputs(premise, frame)[0] for premise in premises for frame in frames]
    inputs.sort(key=lambda pair: -pair["input_ids"].shape[1])

    def run() -> None:
        with ThreadPoolExecutor(usable_cores()) as pool:
            list(pool.map(session.logits, inputs))

    return lambda: measure(run)


class Peer(NamedTuple):
    """The running process of the peer, and what it answered last."""

    process: subprocess.Popen[str]
    answers: list[list[list[float]]]

    def run(self) -> Took:
        """One prediction of all pairs."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        said = json.loads(self.process.stdout.readline())
        self.answers[:] = [said["logits"]]
        return Took(said["seconds"], said["cpu_seconds"])

    def compare(self, texts: list[str], statements: list[str]) -> dict[str, float]:
        """Greatest difference of a logit, and pairs with another verdict, of the packaged model."""
        model = NliModel("benchmark", "0", PairEncoder(nli_mini_files()))
        ours = model.logits(texts, statements)
        theirs = np.array(self.answers[0], dtype=np.float32).reshape(ours.shape)
        flips = int(np.sum(model.decide(ours) != model.decide(theirs)))
        return {"greatest_difference": float(np.abs(ours - theirs).max()), "other_verdicts": flips}


@contextmanager
def peer(python: Path | None, folder: Path, texts: list[str], statements: list[str]) -> Iterator[Peer | None]:
    """The peer, ready; None where there is no interpreter for it."""
    if python is None:
        print("SKIPPED: sentence-transformers (no --peer-python)")
        yield None
        return
    for file in nli_mini_files().files:
        shutil.copyfile(str(file), folder / Path(str(file)).name)
    (folder / "pairs.json").write_text(json.dumps([(text, statement) for text in texts for statement in statements]))
    command = [str(python), str(Path(__file__).with_name("peer_cross_encoder.py")), str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        if process.stdout.readline().strip() != "ready":
            raise SystemExit("the peer did not start")
        yield Peer(process, [])


def show(contenders: dict[str, Contender], pairs: int, answers: dict[str, float] | None, *, as_json: bool) -> None:
    """Rates, then the ratios that have targets."""
    clocks = Took._fields
    rates = {name: {clock: each.rate(clock, pairs) for clock in clocks} for name, each in contenders.items()}
    wanted = [("pipeline", "bare session", 0.95)]
    if answers is not None:
        wanted += [
            ("model, fp32 weights", "CrossEncoder.predict", 1.2),
            ("model, int8 weights", "CrossEncoder.predict", 1.5),
        ]
    ratios = {
        f"{ours} / {theirs}": {clock: rates[ours][clock] / rates[theirs][clock] for clock in clocks}
        | {"target": target}
        for ours, theirs, target in wanted
    }
    if as_json:
        print(json.dumps({"pairs": pairs, "pairs_per_second": rates, "ratios": ratios, "answers": answers}))
        return
    for name, rate in rates.items():
        print(f"{name:24s} {rate['seconds']:8.1f} pairs/s {rate['cpu_seconds']:8.1f} pairs/CPU s")
    for name, ratio in ratios.items():
        print(f"{name}: {ratio['seconds']:.2f} ({ratio['cpu_seconds']:.2f} by CPU seconds), target {ratio['target']}")
    if answers is not None:
        print(
            f"same weights: greatest difference {answers['greatest_difference']:.1e}, "
            f"{answers['other_verdicts']} of {pairs} verdicts differ"
        )


if __name__ == "__main__":
    main()
