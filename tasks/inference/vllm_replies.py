"""What the replies of a vLLM server mean. No error made here holds a reply or a text."""

import math
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Any, TypeVar

import httpx

from tasks.inference.protocol import (
    EngineError,
    EngineRefusedError,
    FirstToken,
    Generated,
    Prompt,
    PromptLogProbabilities,
)

Answer = TypeVar("Answer")


def understood(read: Callable[[], Answer]) -> Answer:
    """What `read` makes of a reply; a reply of another shape raises EngineError that does not hold it."""
    try:
        return read()
    except (ValueError, TypeError, LookupError):
        pass
    raise EngineError("a language-model server sent a reply of a shape that is not understood")


def refused(response: httpx.Response) -> EngineRefusedError:
    """The error for a request that is refused whatever its prompt is."""
    why = f"HTTP {response.status_code}"
    if response.status_code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        why += "; it wants the key that it was started with: set VLLM_API_KEY to that"
    return EngineRefusedError(f"the language-model server refuses the request whatever its prompt is: {why}")


def says_too_long(response: httpx.Response) -> bool:
    """Whether a refusal is about the length of the prompt."""
    try:
        return response.json()["error"]["param"] in ("input_tokens", "input_text")
    except (ValueError, TypeError, LookupError):
        return response.status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE


def read_generated(prompt: Prompt, reply: Any) -> Generated:
    """A chat completion."""
    choice, usage = reply["choices"][0], reply["usage"]
    return Generated(
        id=prompt.id,
        text=str(choice["message"]["content"] or ""),
        complete=choice["finish_reason"] == "stop",
        prompt_tokens=int(usage["prompt_tokens"]),
        tokens=int(usage["completion_tokens"]),
    )


def read_first_token(prompt: Prompt, reply: Any, ids: Sequence[int]) -> FirstToken:
    """The log-probabilities of these token ids at the first place of a chat completion."""
    first = reply["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
    found = {entry["token"]: _number(entry["logprob"]) for entry in first}
    asked = tuple(found[f"token_id:{token}"] for token in ids)
    return FirstToken(prompt.id, asked, int(reply["usage"]["prompt_tokens"]))


def read_prompt(prompt: Prompt, reply: Any) -> PromptLogProbabilities:
    """The log-probabilities of a prompt's own tokens."""
    ids = tuple(int(token) for token in reply["prompt_token_ids"])
    places = reply["prompt_logprobs"]
    if len(places) != len(ids):
        raise LookupError
    values = tuple(_number(place[str(token)]["logprob"]) for token, place in zip(ids[1:], places[1:], strict=True))
    return PromptLogProbabilities(prompt.id, ids, values)


def _number(value: Any) -> float:
    """A log-probability; one that is not a number is no answer."""
    number = float(value)
    if math.isnan(number):
        raise ValueError
    return number
