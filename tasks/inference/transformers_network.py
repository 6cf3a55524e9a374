"""The network of a torch checkpoint, in processes of the engine's environment that this process owns.

One pair (or window) is one call at its exact length on one thread, as on ONNX Runtime. torch stays out of our own
environment; see transformers_child.py for what is said over the pipes.
"""

import contextlib
import json
import os
import subprocess
import threading
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Self

import numpy as np

from schemas.audit import PremiseWindows
from tasks.inference import transformers_child
from tasks.inference.classifier import Job, Logits, Put, run_in_threads
from tasks.inference.cpu import cpu_kernel_class
from tasks.inference.encoder import NetworkClassifier, usable_cores
from tasks.inference.engine import Engine
from tasks.inference.pairs import Inputs
from tasks.inference.protocol import EngineError, EngineUnavailableError
from tasks.inference.transformers_child import read_frame, write_frame

_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH")  # what else is set might choose kernels
_SETTINGS = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "MKL_CBWR": "AUTO,STRICT",  # the same bits wherever a tensor lies in memory
    "CUDA_VISIBLE_DEVICES": "",
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "DO_NOT_TRACK": "1",
}
_TRIES = 3  # of one pair: the process may have been killed for memory, or by the operator
_END_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class TorchFiles:
    """The files that define a pair classifier without a graph.

    weights: `model.safetensors`, or all its shards. tokenizer: `tokenizer.json`. config: `config.json`, with `id2label`
    and the architecture.
    """

    weights: tuple[Path, ...]
    tokenizer: Path
    config: Path

    @property
    def files(self) -> tuple[Traversable, ...]:
        """All of them."""
        return *self.weights, self.tokenizer, self.config


class TransformersEncoder(NetworkClassifier):
    """A cross-encoder on torch and transformers, on the CPU."""

    def __init__(
        self,
        engine: Engine,
        files: TorchFiles,
        workers: int | None = None,
        premise_windows: PremiseWindows = PremiseWindows.TRUNCATE,
    ) -> None:
        """workers: processes; default one per core that this process may use. It never changes a value.

        Raises ValueError for a checkpoint that is no pair classifier with an entailment label.
        """
        self._arguments = (engine, files, workers, premise_windows)
        super().__init__(
            lambda: TransformersPairs(engine, files, workers or usable_cores()),
            files.tokenizer,
            files.config,
            premise_windows,
        )

    def __reduce__(self) -> tuple[type[Self], tuple[object, ...]]:
        # processes cannot travel; the files can
        return type(self), self._arguments


class TransformersPairs:
    """A `Network` of one process per worker; the first is started at once, the others when they are needed."""

    def __init__(self, engine: Engine, files: TorchFiles, workers: int) -> None:
        """Raises ValueError, from the process, for files that are no sequence classifier."""
        self._engine = engine
        self._children = [TransformersChild(engine, files) for _ in range(workers)]
        self._facts = self._children[0].start()

    def facts(self, row: str) -> dict[str, str]:
        """See Network."""
        return {
            **self._facts,
            "engine_recipe_sha256": self._engine.recipe_sha256,
            "engine_build": self._engine.build.value,
            "batch_shape": f"one {row} per call at its exact length",
            "cpu": cpu_kernel_class(),
        }

    def run(self, jobs: Iterator[Job], put: Put) -> None:
        """See Network. Raises EngineUnavailableError when a process dies of the same row again and again."""

        def answerer(child: TransformersChild) -> Callable[[Job], None]:
            return lambda job: put(job, self._answer(child, job.inputs))

        run_in_threads(jobs, [answerer(child) for child in self._children])

    def _answer(self, child: "TransformersChild", inputs: Inputs) -> Logits:
        for _ in range(_TRIES):
            with contextlib.suppress(ChildGoneError):
                if child.start() != self._facts:
                    raise EngineError("the files of the model, or its engine, changed while it ran")
                return child.logits(inputs)
        raise EngineUnavailableError("the process that runs the model ended again and again, on one pair")


class ChildGoneError(EngineError):
    """The process ended; the same may be asked of another one."""


class TransformersChild:
    """One process; it lives at most as long as this object, and as this process. Used by one thread at a time."""

    def __init__(self, engine: Engine, files: TorchFiles) -> None:
        self._engine, self._files = engine, files
        self._process: subprocess.Popen[bytes] | None = None
        self._facts: dict[str, str] = {}
        self._using = threading.RLock()

    def start(self) -> dict[str, str]:
        """What the process says of itself; started, where there is none.

        Raises: ValueError for files that are no sequence classifier; ChildGoneError where it ends before it says so.
        """
        with self._using:
            if self._process is None:
                self._process = self._launch()
                asked = {
                    "owner": os.getpid(),
                    "config": str(self._files.config.absolute()),
                    "weights": [str(path.absolute()) for path in self._files.weights],
                }
                said = json.loads(self._ask(json.dumps(asked).encode()))
                if "error" in said:
                    self._end()
                    raise ValueError(f"transformers cannot load it: {said['error']}")
                self._facts = said["facts"]
            return self._facts

    def logits(self, inputs: Inputs) -> Logits:
        """Logits of one pair, shape (labels,). Raises ChildGoneError; EngineError where the model fails on it."""
        rows = np.concatenate([inputs["input_ids"], inputs["token_type_ids"]])
        with self._using:
            answer = self._ask(rows.astype("<i8").tobytes())
        if len(answer) % 2:
            raise EngineError(f"the model failed on a pair: {answer.decode().strip()}")
        return np.frombuffer(answer, dtype="<f4").astype(np.float32)

    def _launch(self) -> subprocess.Popen[bytes]:
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        process = subprocess.Popen(  # noqa: S603
            [str(self._engine.python), "-I", transformers_child.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=kept | _SETTINGS,
            start_new_session=True,
        )
        self._end_process = weakref.finalize(self, _end, process)
        return process

    def _ask(self, frame: bytes) -> bytes:
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            raise ChildGoneError("the process that runs the model is not there")
        answer = None
        with contextlib.suppress(OSError):
            write_frame(process.stdin, frame)
            answer = read_frame(process.stdout)
        if answer is None:
            self._end()
            raise ChildGoneError("the process that runs the model ended")
        return answer

    def _end(self) -> None:
        self._process = None
        self._end_process()


def _end(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        with contextlib.suppress(OSError):
            if pipe is not None:
                pipe.close()
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
