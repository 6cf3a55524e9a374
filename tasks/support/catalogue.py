"""Which support models can be had on this machine, and fetching one from a hub."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from schemas.errors import UserError
from tasks.inference.engine import engine_folder, find_engine, installed
from tasks.storage.home import default_home
from tasks.support.hub import checkpoints_here
from tasks.support.models import SUPPORT_MODELS, ModelReference, checkpoint_of, load_support_model


@dataclass(frozen=True, slots=True)
class ModelRow:
    """A support model as --model takes it.

    kind: how it decides. available_offline: whether all its files are on this machine; of a judge, the engine's.
    revision: the pinned commit of a hub, None: it comes with the package. takes_windows: whether --premise-windows max
    is for it.
    """

    name: str
    kind: str
    available_offline: bool
    revision: str | None
    takes_windows: bool


@dataclass(frozen=True, slots=True)
class Pulled:
    """A model that is on this machine now.

    revision: None for a model that comes with the package or is a folder. files: where they lie, and their bytes.
    fetched: whether anything had to be fetched.
    """

    name: str
    revision: str | None
    files: dict[Path, int]
    fetched: bool


def model_rows(cache_dir: Path | None = None) -> Iterator[ModelRow]:
    """The named models, then the NLI checkpoints in the folder of downloads; no network is used."""
    named = set()
    for name, entry in SUPPORT_MODELS.items():
        checkpoint = checkpoint_of(ModelReference(name=name, cache_dir=cache_dir))
        here = checkpoint is None or checkpoint.cached() is not None
        if entry.asks_language_model:
            here = installed(engine_folder(default_home() / "private")) is not None
        named.add((name, entry.hub_revision))
        yield ModelRow(name, entry.kind, here, entry.hub_revision, entry.takes_windows)
    for found in checkpoints_here(cache_dir):
        if (found.name, found.revision) not in named:
            yield ModelRow(f"{found.name}@{found.revision}", "nli", True, found.revision, True)


def pull_model(reference: ModelReference) -> Pulled:
    """Fetch the model's files where they are not here, and load it once to see that it is one.

    Raises UserError by name: unknown, no commit, hub out of reach (with what would be fetched), no NLI model, a judge
    without an engine.
    """
    checkpoint = checkpoint_of(reference)
    if checkpoint is None:
        if reference.name not in SUPPORT_MODELS:
            raise UserError(f"model: {reference.name} is a folder; there is nothing to fetch")
        if reference.found_entry().asks_language_model:
            find_engine(engine_folder(default_home() / "private"))
        return Pulled(reference.name, None, {}, fetched=False)
    was_here = checkpoint.cached() is not None
    files = checkpoint.fetched()
    load_support_model(reference)
    paths = [Path(str(file)) for file in files.files]
    sizes = {path: path.stat().st_size for path in paths}
    return Pulled(checkpoint.name, checkpoint.revision, sizes, fetched=not was_here)
