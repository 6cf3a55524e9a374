"""Sessions of ONNX Runtime, and the network that takes one row per call at its exact length."""

import os
from collections.abc import Iterator, Mapping
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

from schemas.audit import Device
from schemas.errors import UserError
from tasks.inference.classifier import Job, Logits, Put, run_in_threads, sha256
from tasks.inference.cpu import cpu_kernel_class
from tasks.inference.onnx_device import CUDA_OPTIONS, Provider

INTEGERS: Mapping[str, type[np.signedinteger[Any]]] = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}


class OnnxSession:
    """An open graph that classifies rows of word pieces.

    takes: its inputs, and the whole numbers of each. rows: how many it takes at once; None: any number.
    """

    def __init__(self, model: Traversable, device: Device = Device.CPU) -> None:
        """Raises ValueError for a graph that is no pair classifier; UserError for a device that is not there."""
        self._session = open_session(model, device)
        self.takes = read_inputs(self._session)
        outputs = [item.name for item in self._session.get_outputs()]
        self._output = "logits" if "logits" in outputs else outputs[0]
        first = self._session.get_inputs()[0].shape[0]
        self.rows = first if isinstance(first, int) else None

    def logits(self, inputs: Mapping[str, NDArray[np.int64]]) -> Logits:
        """Logits of rows, shape (rows, labels). inputs: of shape (rows, pieces); those that the graph has not, may be
        among them."""
        feed = {name: inputs[name].astype(integers, copy=False) for name, integers in self.takes.items()}
        logits: Logits = self._session.run([self._output], feed)[0]
        return logits


class OnnxPairs:
    """A `Network` on the CPU: one row is one call at its exact length, so nothing else is ever in the tensor.

    One thread inside a call, one calling thread per worker. Nothing is padded, bucketed or scaled over a batch: order,
    number and neighbours of the rows cannot change a bit.
    """

    def __init__(self, model: Traversable, workers: int) -> None:
        """Raises ValueError for a graph that is no pair classifier. workers: calling threads."""
        self._model, self._workers = model, workers
        self._session = OnnxSession(model)

    def facts(self, row: str) -> dict[str, str]:
        """See Network."""
        return {
            "model_sha256": sha256(self._model),
            "engine": engine_fact(Device.CPU),
            "batch_shape": f"one {row} per call at its exact length",
            "threads": "1 per call",
            "cpu": cpu_kernel_class(),
        }

    def run(self, jobs: Iterator[Job], put: Put) -> None:
        """See Network."""

        def answer(job: Job) -> None:
            put(job, self._session.logits(job.inputs)[0])

        run_in_threads(jobs, [answer] * self._workers)


def engine_fact(device: Device) -> str:
    """Build and settings of the runtime, as a public string."""
    return (
        f"onnxruntime {ort.__version__}, {Provider[device.name]}, all graph optimisations, deterministic compute, "
        "quantised weights unpacked to fp32"
    )


def open_session(model: Traversable, device: Device = Device.CPU) -> ort.InferenceSession:
    """A session that computes the same bits at every call of one shape; one CPU thread inside a call.

    Raises ValueError for a graph that keeps weights in a second file: no digest would cover them; UserError for a
    device that is not there.
    """
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.use_deterministic_compute = True
    options.enable_mem_pattern = False  # patterns pay for repeated shapes only
    # int8 weights become fp32 once: left to itself the runtime quantises activations too, which no file says
    options.add_session_config_entry("session.disable_quant_qdq", "1")
    # no folder: a second file with weights is looked for below a path that holds no files, and so refused
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", os.devnull)
    provider = Provider[device.name]
    if provider not in ort.get_available_providers():
        raise UserError(f"device: this environment's ONNX Runtime has no {provider}; install onnxruntime-gpu")
    source = str(model) if isinstance(model, Path) else model.read_bytes()
    chosen = (str(provider), CUDA_OPTIONS) if device is Device.CUDA else str(provider)
    try:
        session = ort.InferenceSession(source, options, providers=[chosen])
    except Exception as error:  # the runtime's own classes are not public
        if "External data" not in str(error):
            raise
        raise ValueError("the model keeps weights in a second file: export it as one") from None
    if session.get_providers()[0] != provider:  # the runtime falls back without an error
        raise UserError(f"device: {device} was asked for, and ONNX Runtime finds no such device here")
    return session


def read_inputs(session: ort.InferenceSession) -> dict[str, type[np.signedinteger[Any]]]:
    """The inputs of a graph and the whole numbers that each takes.

    Raises ValueError for an input that a pair classifier does not have, and for one that is no row of any length.
    """
    inputs = {item.name: item for item in session.get_inputs()}
    unknown = set(inputs) - {"input_ids", "attention_mask", "token_type_ids"}
    if unknown:
        raise ValueError(f"the model asks for inputs that a pair classifier does not have: {sorted(unknown)}")
    for name, item in inputs.items():
        one_row = len(item.shape) == 2 and (item.shape[0] == 1 or not isinstance(item.shape[0], int))
        if item.type not in INTEGERS or not one_row or isinstance(item.shape[1], int):
            raise ValueError(f"the model's input {name} must be one row of whole numbers of any length")
    return {name: INTEGERS[item.type] for name, item in inputs.items()}
