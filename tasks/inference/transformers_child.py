"""Answer pairs of word pieces with a torch checkpoint: `transformers_child.py`, run by the engine's interpreter.

A program of its own: it has torch and transformers, and nothing of this package. Frames go both ways over standard
input and output: four bytes of length (little endian), then that many bytes.

1. In: JSON with `owner` (process id), `config` (path) and `weights` (paths of safetensors files).
2. Out: JSON with `facts` (public strings), or with `error` (class and text; nothing private has been seen yet).
3. In: two rows of int64, word pieces and token types of one pair. Out: float32 logits; or, when the length is odd, the
   name of an exception's class, padded, and never its text.
"""

import hashlib
import inspect
import json
import os
import signal
import struct
import sys
import threading
import time
from typing import IO, Any

OWNER_SECONDS = 1.0


def main() -> None:
    """Ends when standard input does, or when the owner is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the owner
    asked, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not get between the frames
    sys.addaudithook(_refuse_network)
    settings = json.loads(read_frame(asked) or b"{}")
    threading.Thread(target=_end_with, args=(settings["owner"],), daemon=True).start()
    try:
        model = Model(settings["config"], settings["weights"])
    except Exception as error:
        write_frame(answers, json.dumps({"error": f"{type(error).__name__}: {error}"}).encode())
        return
    write_frame(answers, json.dumps({"facts": model.facts}).encode())
    while (frame := read_frame(asked)) is not None:
        try:
            answer = model.logits(frame)
        except Exception as error:  # whatever it says may hold word pieces
            answer = type(error).__name__.encode()
            answer += b" " * (1 - len(answer) % 2)
        write_frame(answers, answer)


class Model:
    """A frozen sequence classifier in fp32 on one CPU thread."""

    def __init__(self, config_path: str, weights: list[str]) -> None:
        """Raises ValueError for weights that do not fit the config: a head that is not there would be random."""
        import torch
        import transformers
        from safetensors.torch import load_file

        torch.set_num_threads(1)
        torch.use_deterministic_algorithms(True)
        transformers.logging.set_verbosity_error()
        config = transformers.AutoConfig.from_pretrained(config_path, trust_remote_code=False, local_files_only=True)
        if getattr(config, "quantization_config", None) is not None:
            raise ValueError("the checkpoint is quantised; only plain weights are read")
        state = {name: tensor for path in weights for name, tensor in load_file(path).items()}
        classifier = transformers.MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING.get(type(config), None)
        if classifier is None:
            raise ValueError(f"transformers has no sequence classifier of the type {config.model_type}")
        # from tensors that were read here: a folder might hold other files, which no digest covers
        self._model, found = classifier.from_pretrained(
            None, config=config, state_dict=state, dtype=torch.float32, output_loading_info=True
        )
        missing = sorted(found["missing_keys"]) + sorted(map(str, found["mismatched_keys"]))
        if missing:
            raise ValueError(f"the weights lack {len(missing)} tensors of a sequence classifier, such as {missing[0]}")
        self._model.eval()
        parameters = inspect.signature(self._model.forward).parameters
        # a model of one token type would look a second one up beyond its table
        self._takes_types = "token_type_ids" in parameters and (getattr(config, "type_vocab_size", 0) or 0) > 1
        self.facts = {
            "model_sha256": ", ".join(map(_sha256, weights)),
            "engine": f"transformers {transformers.__version__}, torch {torch.__version__}, fp32, deterministic",
            "kernels": (
                f"{torch.backends.cpu.get_cpu_capability()}, oneDNN {torch.backends.mkldnn.is_available()}, "
                f"MKL {torch.backends.mkl.is_available()} {os.environ.get('MKL_CBWR', '')}, "
                f"attention {getattr(self._model.config, '_attn_implementation', None)}"
            ),
            "architecture": type(self._model).__name__,
            "threads": f"{torch.get_num_threads()} per call",
        }

    def logits(self, frame: bytes) -> bytes:
        """Logits of one pair, in the order of the config's labels."""
        import torch

        ids, types = torch.frombuffer(bytearray(frame), dtype=torch.int64).reshape(2, 1, -1)
        inputs: dict[str, Any] = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        if self._takes_types:
            inputs["token_type_ids"] = types
        with torch.inference_mode():
            return bytes(self._model(**inputs).logits[0].contiguous().numpy().tobytes())


def read_frame(source: IO[bytes]) -> bytes | None:
    """The next frame; None at the end."""
    head = source.read(4)
    if len(head) < 4:
        return None
    body = source.read(struct.unpack("<I", head)[0])
    return body if len(body) == struct.unpack("<I", head)[0] else None


def write_frame(target: IO[bytes], body: bytes) -> None:
    """Write and flush a frame."""
    target.write(struct.pack("<I", len(body)) + body)
    target.flush()


def _sha256(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _refuse_network(event: str, _: tuple[object, ...]) -> None:
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
        raise PermissionError("the process that reads private texts has no network")


def _end_with(owner: int) -> None:
    while os.getppid() == owner:
        time.sleep(OWNER_SECONDS)
    os._exit(1)


if __name__ == "__main__":
    main()
