"""Which support models there are, and how a process gets one.

A new support model is one module beside this one and one line in SUPPORT_MODELS. Any NLI cross-encoder is one without a
line: OWNER/NAME@COMMIT of a hub, or a folder whose path starts with `.`, `/` or `~`.
"""

import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from schemas.audit import Device, PremiseWindows
from schemas.errors import UserError
from tasks.support.default_model import CROSS_ENCODER, CROSS_ENCODER_REVISION
from tasks.support.protocol import SupportModel

if TYPE_CHECKING:
    from tasks.inference.language import LanguageReference
    from tasks.support.hub import HubCheckpoint


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """How a support model is made.

    load: a function at the top of a module (a Dask worker finds it by name), from a reference to the model.
    needs_gpu: scoring asks for the Dask resource GPU.
    kind: how it decides: `nli`, `keyword`, `judge`.
    takes_windows: whether it may read a long premise in windows.
    hub_revision: the commit that is pinned, for a model of a hub; None: it comes with the package, or is a folder.
    asks_language_model: whether it needs `ModelReference.language`.
    pairs_a_call: pairs that one call should hold at least; many, for an engine that fills its batches with them.
    """

    load: "Callable[[ModelReference], SupportModel]"
    needs_gpu: bool = False
    kind: str = "other"
    takes_windows: bool = False
    hub_revision: str | None = None
    asks_language_model: bool = False
    pairs_a_call: int = 1


@dataclass(frozen=True, slots=True)
class ModelReference:
    """Everything a process needs to load one support model; small, picklable, public.

    name: as in --model: a key of SUPPORT_MODELS, OWNER/NAME@COMMIT or a folder (any name when `entry` is given).
    domain: shipped domain or path of a domain file, for models that read its rules.
    revision, cache_dir: pinned revision on a hub (None: the model's own), and the folder that holds downloads.
    threads: worker threads inside the model, None: one a core; never changes a verdict.
    premise_windows: what an NLI model reads of a long record.
    device: where an NLI model in ONNX form computes.
    language: the language model that a judge asks.
    entry: a model outside the table; None looks the name up.
    """

    name: str
    domain: str | None = None
    revision: str | None = None
    cache_dir: Path | None = None
    threads: int | None = None
    entry: ModelEntry | None = None
    premise_windows: PremiseWindows = PremiseWindows.TRUNCATE
    device: Device = Device.CPU
    language: "LanguageReference | None" = None

    def found_entry(self) -> ModelEntry:
        """The entry that makes this model. Raises UserError for an unknown name, with the names that are known."""
        if self.entry is not None:
            return self.entry
        if self.name in SUPPORT_MODELS:
            return SUPPORT_MODELS[self.name]
        if (match := _ON_A_HUB.match(self.name)) is not None:
            return ModelEntry(_load_cross_encoder, kind="nli", takes_windows=True, hub_revision=match["commit"])
        if self.name.startswith((".", "/", "~")):
            return ModelEntry(_load_folder, kind="nli", takes_windows=True)
        raise UserError(
            f"model: unknown support model {self.name!r}; known: {', '.join(SUPPORT_MODELS)}, OWNER/NAME@COMMIT of a "
            "hub (all 40 digits of the commit), ./FOLDER"
        )


def load_support_model(reference: ModelReference) -> SupportModel:
    """The model that is meant, loaded once a process.

    Raises UserError when the name is unknown, when the model cannot be had here, or takes no windows.
    """
    with _loading:
        if reference not in _loaded:
            entry = reference.found_entry()
            if reference.premise_windows is not PremiseWindows.TRUNCATE and not entry.takes_windows:
                raise UserError(f"premise_windows: {reference.name} takes no windows; leave it at truncate")
            if reference.device is not Device.CPU and entry.kind != "nli":
                raise UserError(f"device: {reference.name} is no NLI model; leave it at cpu")
            _loaded[reference] = entry.load(reference)
        return _loaded[reference]


# The models are imported late: the command line must not pay for ONNX Runtime.


def _load_keyword(reference: ModelReference) -> SupportModel:
    from tasks.statements.domains import load_domain
    from tasks.support.keyword import KeywordModel

    if reference.domain is None:
        raise UserError(
            "model: keyword needs the rules of a domain file: set --domain, or take another model for the statements "
            "of a task, a file or a report"
        )
    return KeywordModel(load_domain(reference.domain))


def _load_nli_mini(reference: ModelReference) -> SupportModel:
    from tasks.support.nli import load_nli_mini

    return load_nli_mini(reference.threads, reference.premise_windows, reference.device)


def _load_cross_encoder(reference: ModelReference) -> SupportModel:
    from tasks.support.nli import load_cross_encoder

    found = checkpoint_of(reference)
    if found is None:
        raise ValueError(f"{reference.name} is no checkpoint of a hub")
    options = reference.threads, reference.premise_windows, reference.device
    return load_cross_encoder(found.name, found.revision, found.cache_dir, *options)


def _load_folder(reference: ModelReference) -> SupportModel:
    from tasks.support.nli import load_folder

    options = reference.threads, reference.premise_windows, reference.device
    return load_folder(Path(reference.name).expanduser(), *options)


def _load_judge(reference: ModelReference) -> SupportModel:
    from tasks.support.judge import load_judge

    if reference.language is None:
        raise UserError("model: judge asks a language model, and none is named")
    return load_judge(reference.language)


def checkpoint_of(reference: ModelReference) -> "HubCheckpoint | None":
    """The checkpoint on a hub that is meant; None for a model that comes from elsewhere. Raises UserError."""
    pinned = reference.found_entry().hub_revision
    if pinned is None:
        return None
    from tasks.support.hub import HubCheckpoint

    return HubCheckpoint(reference.name.split("@")[0], reference.revision or pinned, reference.cache_dir)


SUPPORT_MODELS: Mapping[str, ModelEntry] = MappingProxyType(
    {
        CROSS_ENCODER: ModelEntry(
            _load_cross_encoder, kind="nli", takes_windows=True, hub_revision=CROSS_ENCODER_REVISION
        ),
        "nli-mini": ModelEntry(_load_nli_mini, kind="nli", takes_windows=True),
        "keyword": ModelEntry(_load_keyword, kind="keyword"),
        "judge": ModelEntry(_load_judge, kind="judge", asks_language_model=True, pairs_a_call=64),
    }
)

_ON_A_HUB = re.compile(r"[\w.-]+/[\w.-]+@(?P<commit>[0-9a-f]{40})\Z", re.ASCII)
_loaded: dict[ModelReference, SupportModel] = {}
_loading = threading.Lock()
