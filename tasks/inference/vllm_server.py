"""A language model behind one or more vLLM servers, asked over their OpenAI-compatible HTTP protocol."""

import json
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Self

import httpx

from tasks.inference.probe import PROBE, fingerprint_of_answer
from tasks.inference.protocol import (
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
from tasks.inference.vllm_replies import (
    Answer,
    read_first_token,
    read_generated,
    read_prompt,
    refused,
    says_too_long,
    understood,
)

_CHAT = "/v1/chat/completions"
_JSON = {"Content-Type": "application/json"}
_OF_THE_PROMPT: Mapping[str, object] = {"max_tokens": 1, "prompt_logprobs": 0, "return_token_ids": True}
_ANY = Prompt("any", (Message("user", "Hello."),))
_CONNECT_SECONDS = 10.0
_ABOUT_THE_PROMPT = {HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.UNPROCESSABLE_ENTITY}
_TRANSIENT = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS}


@dataclass(frozen=True, slots=True)
class ServerAccess:
    """How the servers are reached; small and picklable.

    urls: `http://host:port` each; equal servers: same model, build, settings and kind of machine. Model name, vLLM
    version and context length are compared, with `probed` also their answers to a public prompt (inference/probe.py);
    the rest is the operator's word.
    model: the name under which they serve it.
    in_flight: requests that one server has at most at a time.
    timeout_seconds: from a request to its reply; waiting inside the server counts.
    patience_seconds: how long a request waits while no server is healthy.
    tries: servers that one request is sent to, before its call fails.
    salted: every request carries a fresh random salt, so that no server reuses what it kept of another request.
    probed: facts hold what a server answers to a public prompt: its tokens, and where `salted` the bits of its numbers.
    """

    urls: tuple[str, ...]
    model: str
    api_key: str | None = field(default=None, repr=False)
    in_flight: int = 8
    timeout_seconds: float = 600.0
    patience_seconds: float = 60.0
    tries: int = 4
    salted: bool = False
    probed: bool = False

    def __post_init__(self) -> None:
        for url in self.urls:
            if not re.fullmatch(r"https?://[^/@?#\s]+", url):
                raise ValueError("an engine URL is http://host:port, without path, key or password")


class VllmServer:
    """The protocol of `LanguageModel` over HTTP. Close it, or use it as a context manager."""

    def __init__(self, access: ServerAccess, has_ended: Callable[[], bool] = lambda: False) -> None:
        """has_ended: whether the servers are gone for good, so that nobody need wait for them."""
        self._access, self._has_ended = access, has_ended
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
        self._single_tokens: dict[str, int | None] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; requests that wait are given up."""
        self._threads.shutdown(cancel_futures=True)
        self._http.close()

    def facts(self) -> dict[str, str]:
        """Model name, vLLM version, context length, template and sampling, as public strings.

        The first call asks every server, so that one that differs is refused before it gets a text. Raises
        EngineUnavailableError where one does not answer now.
        """
        if self._facts is None:
            self._pool.ask_all()
        return dict(self._facts or {})

    def generate(
        self, prompts: Sequence[Prompt], *, max_tokens: int, schema: Schema | None = None
    ) -> list[Generated | Unanswered]:
        """Continue each prompt greedily by at most `max_tokens` tokens; with `schema`, by JSON that fits it."""
        parameters: dict[str, object] = {"max_tokens": max_tokens}
        if schema is not None:
            form = {"name": "answer", "schema": schema, "strict": True}
            parameters["response_format"] = {"type": "json_schema", "json_schema": form}
        return self._ask_all(prompts, parameters, read_generated)

    def choose_first_token(self, prompts: Sequence[Prompt], tokens: Sequence[str]) -> list[FirstToken | Unanswered]:
        """Log-probabilities of `tokens` as the first token of each answer, over the whole vocabulary."""
        ids = [self._id_of(token) for token in tokens]
        if not ids or len(set(ids)) != len(ids):
            raise ValueError("first tokens: name one at least, each once")
        parameters = {
            "max_tokens": 1,
            "logprobs": True,
            "logprob_token_ids": ids,
            "return_tokens_as_token_ids": True,
        }
        return self._ask_all(prompts, parameters, lambda prompt, reply: read_first_token(prompt, reply, ids))

    def prompt_log_probabilities(self, prompts: Sequence[Prompt]) -> list[PromptLogProbabilities | Unanswered]:
        """Log-probabilities of each prompt's own tokens, template included."""
        return self._ask_all(prompts, _OF_THE_PROMPT, read_prompt)

    def single_token(self, text: str) -> int | None:
        """Id of the token that is this text, None where it is not exactly one token of the model."""
        if text not in self._single_tokens:
            ids = self._tokens({"prompt": text, "add_special_tokens": False})
            self._single_tokens[text] = ids[0] if len(ids) == 1 else None
        return self._single_tokens[text]

    def length(self, messages: Sequence[Message]) -> int:
        """Tokens of a chat as a prompt, template included."""
        return len(self._tokens(_chat(messages)))

    def shortened(self, text: str, tokens: int) -> str:
        """The text where it has no more than `tokens` tokens, else its first ones without a broken character."""
        ids = self._tokens({"prompt": text, "add_special_tokens": False})
        if len(ids) <= tokens:
            return text
        body = {"model": self._access.model, "tokens": ids[:tokens]}
        cut = self._answered("/detokenize", body, lambda reply: str(reply["prompt"]))
        return cut.rstrip("\ufffd")

    def _tokens(self, body: Mapping[str, object]) -> list[int]:
        whole = {"model": self._access.model, **body}
        return self._answered("/tokenize", whole, lambda reply: [int(token) for token in reply["tokens"]])

    def _answered(self, path: str, body: Mapping[str, object], read: Callable[[Any], Answer]) -> Answer:
        """What the tokenizer says; it takes every text."""
        response = self._send(path, json.dumps(body).encode(), "tokens")
        if response.status_code != HTTPStatus.OK:
            raise refused(response)
        return understood(lambda: read(response.json()))

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
            return understood(lambda: read(prompt, response.json()))
        if response.status_code not in _ABOUT_THE_PROMPT:
            raise refused(response)
        if says_too_long(response):
            return Unanswered(prompt.id, Reason.TOO_LONG)
        other = self._send(_CHAT, self._body(_ANY, parameters), _ANY.id)
        if other.status_code != HTTPStatus.OK:
            raise refused(other)
        return Unanswered(prompt.id, Reason.REFUSED)

    def _body(self, prompt: Prompt, parameters: Mapping[str, object]) -> bytes:
        body = {
            "model": self._access.model,
            "request_id": prompt.id,
            **_chat(prompt.messages),
            "temperature": 0,
            **({"cache_salt": secrets.token_hex(16)} if self._access.salted else {}),
            **parameters,
        }
        return json.dumps(body).encode()

    def _send(self, path: str, body: bytes, request_id: str) -> httpx.Response:
        """The reply of the first server that gives one; the same id goes to every server that is tried."""
        tried: set[str] = set()
        headers = {**_JSON, "X-Request-Id": request_id}
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
            if self._has_ended():
                raise EngineUnavailableError("the language-model server has ended") from None
            return False
        if any(reply.is_server_error for reply in (health, version, models)) or health.status_code != HTTPStatus.OK:
            return False
        if models.status_code != HTTPStatus.OK:
            raise refused(models)
        found = understood(lambda: self._read_facts(version.json(), models.json()))
        if self._access.probed:
            if (probe := self._probe(url)) is None:
                return False
            found |= {"probe": probe}
        self._compare(url, found)
        return True

    def _probe(self, url: str) -> str | None:
        """What this server answers to the public prompt; None where it does not answer now."""
        try:
            reply = self._http.post(url + _CHAT, content=self._body(PROBE, _OF_THE_PROMPT), headers=_JSON)
        except httpx.RequestError:
            return None
        if reply.is_server_error or reply.status_code in _TRANSIENT:
            return None
        if reply.status_code != HTTPStatus.OK:
            raise refused(reply)
        answer = understood(lambda: read_prompt(PROBE, reply.json()))
        return fingerprint_of_answer(answer, with_numbers=self._access.salted)

    def _compare(self, url: str, found: dict[str, str]) -> None:
        first = self._facts = self._facts or found
        names = [name for name in found if found[name] != first[name]]
        if names:
            why = "; the probe tells other weights, template, precision or kind of machine" if "probe" in names else ""
            raise EngineRefusedError(f"engine_url: {url} differs from the other servers in {', '.join(names)}{why}")

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

    def _id_of(self, token: str) -> int:
        found = self.single_token(token)
        if found is None:
            raise ValueError(f"first tokens: {token!r} is not exactly one token of this model")
        return found


def _chat(messages: Sequence[Message]) -> dict[str, object]:
    return {
        "messages": [{"role": message.role, "content": message.content} for message in messages],
        "chat_template_kwargs": {"enable_thinking": False},
    }
