"""A language model behind one or more vLLM servers, asked over their OpenAI-compatible HTTP protocol."""

import json
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Self, TypeVar

import httpx

from tasks.inference.protocol import (
    EngineError,
    EngineRefusedError,
    EngineUnavailableError,
    FirstToken,
    Generated,
    Message,
    Prompt,
    PromptLogProbabilities,
    Reason,
    Schema,
    Unanswered,
)
from tasks.inference.server_pool import ServerPool

Answer = TypeVar("Answer")

_CHAT = "/v1/chat/completions"
_PROBE = Prompt("probe", (Message("user", "Hello."),))
_CONNECT_SECONDS = 10.0
_ABOUT_THE_PROMPT = {HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.UNPROCESSABLE_ENTITY}
_TRANSIENT = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS}


@dataclass(frozen=True, slots=True)
class ServerAccess:
    """How the servers are reached; small and picklable.

    urls: `http://host:port` each; equal servers: same model, build, settings and kind of machine. Model name, vLLM
    version and context length are compared, the rest is the operator's word.
    model: the name under which they serve it.
    in_flight: requests that one server has at most at a time.
    timeout_seconds: from a request to its reply; waiting inside the server counts.
    patience_seconds: how long a request waits while no server is healthy.
    tries: servers that one request is sent to, before its call fails.
    salted: every request carries a fresh random salt, so that no server reuses what it kept of another request.
    """

    urls: tuple[str, ...]
    model: str
    api_key: str | None = field(default=None, repr=False)
    in_flight: int = 8
    timeout_seconds: float = 600.0
    patience_seconds: float = 60.0
    tries: int = 4
    salted: bool = False

    def __post_init__(self) -> None:
        for url in self.urls:
            if not re.fullmatch(r"https?://[^/@?#\s]+", url):
                raise ValueError("an engine URL is http://host:port, without path, key or password")


class VllmServer:
    """The protocol of `LanguageModel` over HTTP. Close it, or use it as a context manager."""

    def __init__(self, access: ServerAccess) -> None:
        self._access = access
        slots = access.in_flight * len(access.urls)
        self._http = httpx.Client(
            headers={"Authorization": f"Bearer {access.api_key}"} if access.api_key else None,
            timeout=httpx.Timeout(access.timeout_seconds, connect=_CONNECT_SECONDS, pool=None),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=slots),
            trust_env=False,  # a proxy from the environment must not see texts
        )
        self._pool = ServerPool(access.urls, self._healthy, access.in_flight, access.patience_seconds)
        self._threads = ThreadPoolExecutor(slots, thread_name_prefix="language-model")
        self._facts: dict[str, str] | None = None
        self._token_ids: dict[str, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; requests that wait are given up."""
        self._threads.shutdown(cancel_futures=True)
        self._http.close()

    def facts(self) -> dict[str, str]:
        """Model name, vLLM version, context length, template and sampling, as public strings."""
        if self._facts is None:
            self._pool.give(self._pool.take(), failed=False)  # a server's first health check reads them
        return dict(self._facts or {})

    def generate(
        self, prompts: Sequence[Prompt], *, max_tokens: int, schema: Schema | None = None
    ) -> list[Generated | Unanswered]:
        """Continue each prompt greedily by at most `max_tokens` tokens; with `schema`, by JSON that fits it."""
        parameters: dict[str, object] = {"max_tokens": max_tokens}
        if schema is not None:
            form = {"name": "answer", "schema": schema, "strict": True}
            parameters["response_format"] = {"type": "json_schema", "json_schema": form}
        return self._ask_all(prompts, parameters, _read_generated)

    def choose_first_token(self, prompts: Sequence[Prompt], tokens: Sequence[str]) -> list[FirstToken | Unanswered]:
        """Log-probabilities of `tokens` as the first token of each answer, over the whole vocabulary."""
        ids = [self._token_id(token) for token in tokens]
        if not ids or len(set(ids)) != len(ids):
            raise ValueError("first tokens: name one at least, each once")
        parameters = {
            "max_tokens": 1,
            "logprobs": True,
            "logprob_token_ids": ids,
            "return_tokens_as_token_ids": True,
        }
        return self._ask_all(prompts, parameters, lambda prompt, reply: _read_first_token(prompt, reply, ids))

    def prompt_log_probabilities(self, prompts: Sequence[Prompt]) -> list[PromptLogProbabilities | Unanswered]:
        """Log-probabilities of each prompt's own tokens, template included."""
        parameters = {"max_tokens": 1, "prompt_logprobs": 0, "return_token_ids": True}
        return self._ask_all(prompts, parameters, _read_prompt)

    def _ask_all(
        self,
        prompts: Sequence[Prompt],
        parameters: Mapping[str, object],
        read: Callable[[Prompt, Any], Answer],
    ) -> list[Answer | Unanswered]:
        if len({prompt.id for prompt in prompts}) != len(prompts):
            raise ValueError("request ids: two prompts of one call have the same")
        return list(self._threads.map(lambda prompt: self._ask(prompt, parameters, read), prompts))

    def _ask(
        self, prompt: Prompt, parameters: Mapping[str, object], read: Callable[[Prompt, Any], Answer]
    ) -> Answer | Unanswered:
        response = self._send(_CHAT, self._body(prompt, parameters), prompt.id)
        if response.status_code == HTTPStatus.OK:
            return _understood(lambda: read(prompt, response.json()))
        if response.status_code not in _ABOUT_THE_PROMPT:
            raise _refused(response)
        if _is_too_long(response):
            return Unanswered(prompt.id, Reason.TOO_LONG)
        other = self._send(_CHAT, self._body(_PROBE, parameters), _PROBE.id)
        if other.status_code != HTTPStatus.OK:
            raise _refused(other)
        return Unanswered(prompt.id, Reason.REFUSED)

    def _body(self, prompt: Prompt, parameters: Mapping[str, object]) -> bytes:
        body = {
            "model": self._access.model,
            "request_id": prompt.id,
            "messages": [{"role": message.role, "content": message.content} for message in prompt.messages],
            "chat_template_kwargs": {"enable_thinking": False},
            "temperature": 0,
            **({"cache_salt": secrets.token_hex(16)} if self._access.salted else {}),
            **parameters,
        }
        return json.dumps(body).encode()

    def _send(self, path: str, body: bytes, request_id: str) -> httpx.Response:
        """The reply of the first server that gives one; the same id goes to every server that is tried."""
        tried: set[str] = set()
        headers = {"Content-Type": "application/json", "X-Request-Id": request_id}
        for _ in range(self._access.tries):
            url = self._pool.take(tried)
            tried.add(url)
            response = None
            try:
                response = self._http.post(url + path, content=body, headers=headers)
            except httpx.RequestError:
                pass  # not raised from: the error holds the request, and so its text
            finally:
                failed = response is None or response.is_server_error or response.status_code in _TRANSIENT
                self._pool.give(url, failed=failed)
            if response is not None and not failed:
                return response
        raise EngineUnavailableError(f"a request had no answer from the language model in {self._access.tries} tries")

    def _healthy(self, url: str) -> bool:
        """Whether the server answers and serves the model. Raises EngineRefusedError where it is another one."""
        try:
            health, version, models = (
                self._http.get(url + path, timeout=_CONNECT_SECONDS) for path in ("/health", "/version", "/v1/models")
            )
        except httpx.RequestError:
            return False
        if any(reply.is_server_error for reply in (health, version, models)) or health.status_code != HTTPStatus.OK:
            return False
        if models.status_code != HTTPStatus.OK:
            raise _refused(models)
        found = _understood(lambda: self._read_facts(version.json(), models.json()))
        if self._facts is None:
            self._facts = found
        if found != self._facts:
            raise EngineRefusedError("the language-model servers differ in vLLM version or context length")
        return True

    def _read_facts(self, version: Any, models: Any) -> dict[str, str]:
        served = {model["id"]: model for model in models["data"]}
        if self._access.model not in served:
            raise EngineRefusedError(f"a language-model server does not serve {self._access.model!r}")
        return {
            "model": self._access.model,
            "engine": f"vllm {version['version']}",
            "context_tokens": str(served[self._access.model]["max_model_len"]),
            "template": "the model's own chat template, thinking disabled",
            "sampling": "temperature 0",
        }

    def _token_id(self, token: str) -> int:
        if token not in self._token_ids:
            body = {"model": self._access.model, "prompt": token, "add_special_tokens": False}
            response = self._send("/tokenize", json.dumps(body).encode(), "token")
            if response.status_code != HTTPStatus.OK:
                raise _refused(response)
            ids = _understood(lambda: [int(found) for found in response.json()["tokens"]])
            if len(ids) != 1:
                raise ValueError(f"first tokens: {token!r} is {len(ids)} tokens of this model, not one")
            self._token_ids[token] = ids[0]
        return self._token_ids[token]


def _understood(read: Callable[[], Answer]) -> Answer:
    """What `read` makes of a reply; a reply of another shape raises EngineError that does not hold it."""
    try:
        return read()
    except (ValueError, TypeError, LookupError):
        pass
    raise EngineError("a language-model server sent a reply of a shape that is not understood")


def _refused(response: httpx.Response) -> EngineRefusedError:
    return EngineRefusedError(
        f"the language-model server refuses the request whatever its prompt is: HTTP {response.status_code}"
    )


def _is_too_long(response: httpx.Response) -> bool:
    try:
        return response.json()["error"]["param"] in ("input_tokens", "input_text")
    except (ValueError, TypeError, LookupError):
        return response.status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE


def _read_generated(prompt: Prompt, reply: Any) -> Generated:
    choice, usage = reply["choices"][0], reply["usage"]
    return Generated(
        id=prompt.id,
        text=str(choice["message"]["content"] or ""),
        complete=choice["finish_reason"] == "stop",
        prompt_tokens=int(usage["prompt_tokens"]),
        tokens=int(usage["completion_tokens"]),
    )


def _read_first_token(prompt: Prompt, reply: Any, ids: Sequence[int]) -> FirstToken:
    first = reply["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
    found = {entry["token"]: float(entry["logprob"]) for entry in first}
    asked = tuple(found[f"token_id:{token}"] for token in ids)
    return FirstToken(prompt.id, asked, int(reply["usage"]["prompt_tokens"]))


def _read_prompt(prompt: Prompt, reply: Any) -> PromptLogProbabilities:
    ids = tuple(int(token) for token in reply["prompt_token_ids"])
    places = reply["prompt_logprobs"]
    if len(places) != len(ids):
        raise LookupError
    values = tuple(float(place[str(token)]["logprob"]) for token, place in zip(ids[1:], places[1:], strict=True))
    return PromptLogProbabilities(prompt.id, ids, values)
