"""What a run is asked about the engine of its language model (judge, proposer, claim extraction)."""

import re
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from schemas.values import Whole

_URL = re.compile(r"https?://[^/@?#\s]+")


class EngineMode(StrEnum):
    """Whether requests may meet inside the engine.

    `one_by_one`: one request at a time, nothing kept of it for the next: an answer depends on its prompt alone.
    `batched`: requests share batches and common beginnings; faster, and neighbours may change an answer's last bits.
    """

    ONE_BY_ONE = "one_by_one"
    BATCHED = "batched"


def _server_url(value: str) -> str:
    if not _URL.fullmatch(value):
        raise ValueError("an engine URL is http://host:port, without path, key or password")
    return value


class EngineSettings(BaseModel):
    """Where the language model runs, and which one it is."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)
    engine_url: tuple[Annotated[str, AfterValidator(_server_url)], ...] = ()
    """Running vLLM servers, http://host:port each, all equal. Their key is read from VLLM_API_KEY, that of the server
    of `privcert engine start`, named alone, from the home. Default: one of the installed engine, for the run alone."""
    language_model: str | None = None
    """Language model: OWNER/NAME@COMMIT of a hub, a checkpoint folder (./FOLDER), or, with --engine-url, the name under
    which the servers serve it (the server of `privcert engine start` tells it itself). Default: the engine's
    SmolLM2-135M-Instruct, which judges no better than chance."""
    engine_mode: EngineMode | None = None
    """one_by_one (an answer depends on its prompt alone) or batched (faster; refused for a private corpus). Default:
    one_by_one for a private corpus, batched for any other."""
    engine_context_tokens: Whole = Field(default=2048, ge=256, le=1_000_000)
    """Prompt and answer together, at most; of a server that the run starts."""
