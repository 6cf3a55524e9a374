"""NLI checkpoints on a model hub, at a pinned commit: OWNER/NAME@COMMIT."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from huggingface_hub import constants, get_hf_file_metadata, hf_hub_download, hf_hub_url, try_to_load_from_cache
from huggingface_hub.errors import EntryNotFoundError, RepositoryNotFoundError, RevisionNotFoundError

from schemas.errors import UserError
from tasks.inference.encoder import EncoderFiles

GRAPHS = ("onnx/model.onnx", "model.onnx")  # where exporters put it; the first that is there
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

    def cached(self) -> EncoderFiles | None:
        """Its files, where they are all on this machine; no network is used."""
        graphs = (self._cached(graph) for graph in GRAPHS)
        model = next((path for path in graphs if path is not None), None)
        tokenizer, config = self._cached("tokenizer.json"), self._cached("config.json")
        return None if model is None or tokenizer is None or config is None else EncoderFiles(model, tokenizer, config)

    def fetched(self) -> EncoderFiles:
        """Its files, fetched where they are not on this machine.

        Raises UserError when the hub is out of reach, or has no such checkpoint in ONNX form.
        """
        found = self.cached()
        if found is not None:
            return found
        try:
            return EncoderFiles(self._fetch_graph(), self._fetch("tokenizer.json"), self._fetch("config.json"))
        except (EntryNotFoundError, RepositoryNotFoundError, RevisionNotFoundError) as error:
            raise UserError(
                f"{self.name} at revision {self.revision[:12]}: the hub has no such model, or not all of "
                f"{self._wanted()}"
            ) from error
        except Exception as error:  # each version of the hub's client brings the errors of its own HTTP library
            raise UserError(
                f"{self.name} at revision {self.revision[:12]} is not on this machine and cannot be fetched from the "
                f"hub: connect once to fetch {self._wanted()}, or choose a model that is there with --model nli-mini "
                "or --model keyword"
            ) from error

    @staticmethod
    def _wanted() -> str:
        return f"{' or '.join(GRAPHS)}, tokenizer.json and config.json"

    def _cached(self, file: str) -> Path | None:
        found = try_to_load_from_cache(self.name, file, cache_dir=self.cache_dir, revision=self.revision)
        return Path(found) if isinstance(found, str) else None

    def _fetch_graph(self) -> Path:
        try:
            return self._fetch(GRAPHS[0])
        except EntryNotFoundError:
            return self._fetch(GRAPHS[1])

    def _fetch(self, file: str) -> Path:
        cached = self._cached(file)
        if cached is not None:
            return cached
        # Fails at once where the hub is out of reach; the download itself would retry for half a minute.
        get_hf_file_metadata(hf_hub_url(self.name, file, revision=self.revision), timeout=_SECONDS)
        return Path(hf_hub_download(self.name, file, revision=self.revision, cache_dir=self.cache_dir))


def checkpoints_here(cache_dir: Path | None = None) -> Iterator[HubCheckpoint]:
    """The checkpoints in a folder of downloads that have all their files, by name and commit."""
    root = cache_dir or Path(constants.HF_HUB_CACHE)
    for snapshot in sorted(root.glob("models--*--*/snapshots/*")):
        if _COMMIT.match(snapshot.name):
            name = snapshot.parent.parent.name.removeprefix("models--").replace("--", "/", 1)
            checkpoint = HubCheckpoint(name, snapshot.name, cache_dir)
            if checkpoint.cached() is not None:
                yield checkpoint
