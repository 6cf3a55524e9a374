"""NLI checkpoints on a model hub, at a pinned commit: OWNER/NAME@COMMIT."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from huggingface_hub import constants, get_hf_file_metadata, hf_hub_download, hf_hub_url, try_to_load_from_cache
from huggingface_hub.errors import EntryNotFoundError, RepositoryNotFoundError, RevisionNotFoundError

from schemas.errors import UserError
from tasks.inference.encoder import EncoderFiles, read_labels
from tasks.inference.transformers_network import TorchFiles

GRAPHS = ("onnx/model.onnx", "model.onnx")  # where exporters put it; the first that is there
WEIGHTS, SHARDS = "model.safetensors", "model.safetensors.index.json"  # of a checkpoint without a graph
CheckpointFiles = EncoderFiles | TorchFiles
_COMMIT = re.compile(r"[0-9a-f]{40}\Z")
_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class HubCheckpoint:
    """A checkpoint at one commit.

    name: OWNER/NAME. revision: full commit hash; a branch or tag could change under a certificate.
    cache_dir: folder of downloads, None: the hub client's own.
    """

    name: str
    revision: str
    cache_dir: Path | None = None

    def __post_init__(self) -> None:
        if _COMMIT.match(self.revision) is None:
            raise UserError("a model's revision must be a full commit hash of 40 hexadecimal digits")

    def cached(self) -> CheckpointFiles | None:
        """Its files, where they are all on this machine: those of the graph, else of the weights; no network is used.

        Raises UserError for an index of weights that cannot be read.
        """
        return self._files(self._cached)

    def fetched(self) -> CheckpointFiles:
        """Its files, fetched where they are not on this machine.

        Raises UserError when the hub is out of reach, or has no such checkpoint.
        """
        found = self.cached()
        if found is not None:
            return found
        try:
            found = self._files(self._fetch)
        except (RepositoryNotFoundError, RevisionNotFoundError) as error:
            raise self._absent() from error
        except UserError:
            raise
        except Exception as error:  # each version of the hub's client brings the errors of its own HTTP library
            raise UserError(
                f"{self.name} at revision {self.revision[:12]} is not on this machine and cannot be fetched from the "
                f"hub: connect once to fetch {self._wanted()}, or choose a model that is there with --model nli-mini "
                "or --model keyword"
            ) from error
        if found is None:
            raise self._absent()
        return found

    def _files(self, get: Callable[[str], Path | None]) -> CheckpointFiles | None:
        """get: the path of a file, None where there is none."""
        graph = next((path for name in GRAPHS if (path := get(name)) is not None), None)
        weights = () if graph is not None else self._weights(get)
        if graph is None and not weights:
            return None
        tokenizer, config = get("tokenizer.json"), get("config.json")
        if tokenizer is None or config is None:
            return None
        return TorchFiles(weights, tokenizer, config) if graph is None else EncoderFiles(graph, tokenizer, config)

    @staticmethod
    def _weights(get: Callable[[str], Path | None]) -> tuple[Path, ...]:
        """The file of the weights, or all its shards; empty where one is missing."""
        whole = get(WEIGHTS)
        if whole is not None:
            return (whole,)
        index = get(SHARDS)
        shards = [get(name) for name in shard_names(index)] if index is not None else []
        return tuple(path for path in shards if path is not None) if all(shards) else ()

    def _absent(self) -> UserError:
        return UserError(
            f"{self.name} at revision {self.revision[:12]}: the hub has no such model, or not all of {self._wanted()}"
        )

    @staticmethod
    def _wanted() -> str:
        return f"{' or '.join((*GRAPHS, WEIGHTS))}, tokenizer.json and config.json"

    def _cached(self, file: str) -> Path | None:
        found = try_to_load_from_cache(self.name, file, cache_dir=self.cache_dir, revision=self.revision)
        return Path(found) if isinstance(found, str) else None

    def _fetch(self, file: str) -> Path | None:
        cached = self._cached(file)
        if cached is not None:
            return cached
        try:
            # Fails at once where the hub is out of reach; the download itself would retry for half a minute.
            get_hf_file_metadata(hf_hub_url(self.name, file, revision=self.revision), timeout=_SECONDS)
        except EntryNotFoundError:
            return None
        return Path(hf_hub_download(self.name, file, revision=self.revision, cache_dir=self.cache_dir))


def shard_names(index: Path) -> list[str]:
    """The files that an index of weights names, in order. Raises UserError for one that cannot be read."""
    try:
        names = sorted(set(map(str, json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())))
    except (ValueError, LookupError, AttributeError, TypeError):
        raise UserError(f"model: its {SHARDS} cannot be read") from None
    if not all(Path(name).name == name and name.endswith(".safetensors") for name in names):
        raise UserError(f"model: its {SHARDS} names files elsewhere")
    return names


def is_nli(files: CheckpointFiles) -> bool:
    """Whether the config names an entailment label: a folder of downloads holds models of all kinds."""
    try:
        return bool(read_labels(files.config))
    except ValueError:
        return False


def checkpoints_here(cache_dir: Path | None = None) -> Iterator[HubCheckpoint]:
    """The NLI checkpoints in a folder of downloads that have all their files, by name and commit."""
    root = cache_dir or Path(constants.HF_HUB_CACHE)
    for snapshot in sorted(root.glob("models--*--*/snapshots/*")):
        if _COMMIT.match(snapshot.name):
            name = snapshot.parent.parent.name.removeprefix("models--").replace("--", "/", 1)
            checkpoint = HubCheckpoint(name, snapshot.name, cache_dir)
            if _is_nli_here(checkpoint):
                yield checkpoint


def _is_nli_here(checkpoint: HubCheckpoint) -> bool:
    try:
        files = checkpoint.cached()
    except UserError:  # a broken index
        return False
    return files is not None and is_nli(files)
