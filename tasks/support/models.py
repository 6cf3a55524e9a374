"""Which support models there are, and how a process gets one.

A new support model is one module beside this one and one line in SUPPORT_MODELS.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from schemas.errors import UserError
from tasks.support.protocol import SupportModel


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """How a support model is made.

    load: a function at the top of a module (a Dask worker finds it by name), from a reference to the model.
    needs_gpu: scoring asks for the Dask resource GPU.
    """

    load: "Callable[[ModelReference], SupportModel]"
    needs_gpu: bool = False


@dataclass(frozen=True, slots=True)
class ModelReference:
    """Everything a process needs to load one support model; small, picklable, public.

    name: public name, a key of SUPPORT_MODELS (any name when `entry` is given).
    domain: shipped domain or path of a domain file, for models that read its rules.
    revision, cache_dir: pinned revision on a hub (None: the model's own), and the folder that holds downloads.
    threads: worker threads inside the model, None: one a core; never changes a verdict.
    entry: a model outside the table; None looks the name up.
    """

    name: str
    domain: str | None = None
    revision: str | None = None
    cache_dir: Path | None = None
    threads: int | None = None
    entry: ModelEntry | None = None

    def found_entry(self) -> ModelEntry:
        """The entry that makes this model. Raises UserError for an unknown name, with the names that are known."""
        if self.entry is not None:
            return self.entry
        if self.name not in SUPPORT_MODELS:
            raise UserError(f"model: unknown support model {self.name!r}; known: {', '.join(SUPPORT_MODELS)}")
        return SUPPORT_MODELS[self.name]


def load_support_model(reference: ModelReference) -> SupportModel:
    """The model that is meant, loaded once a process.

    Raises UserError when the name is unknown, or when the model cannot be had here.
    """
    with _loading:
        if reference not in _loaded:
            _loaded[reference] = reference.found_entry().load(reference)
        return _loaded[reference]


# The models are imported late: the command line must not pay for ONNX Runtime.


def _load_keyword(reference: ModelReference) -> SupportModel:
    from tasks.statements.domains import load_domain
    from tasks.support.keyword import KeywordModel

    if reference.domain is None:
        raise UserError("model: keyword needs the rules of a domain file; set --domain")
    return KeywordModel(load_domain(reference.domain))


def _load_nli_mini(reference: ModelReference) -> SupportModel:
    from tasks.support.nli import load_nli_mini

    return load_nli_mini(reference.threads)


def _load_cross_encoder(reference: ModelReference) -> SupportModel:
    from tasks.support.nli import CROSS_ENCODER_REVISION, load_cross_encoder

    revision = reference.revision or CROSS_ENCODER_REVISION
    return load_cross_encoder(reference.name, revision, reference.cache_dir, reference.threads)


SUPPORT_MODELS: Mapping[str, ModelEntry] = MappingProxyType(
    {
        "cross-encoder/nli-deberta-v3-base": ModelEntry(_load_cross_encoder),
        "nli-mini": ModelEntry(_load_nli_mini),
        "keyword": ModelEntry(_load_keyword),
    }
)

_loaded: dict[ModelReference, SupportModel] = {}
_loading = threading.Lock()
