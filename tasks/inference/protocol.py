"""What every language-model engine answers: a text, the log-probabilities of first tokens, those of a prompt's tokens.

Texts are kept out of `repr`, and no error of this module holds one. A request's id is made up by the caller, opaque and
unique within a call; it says nothing about a record.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, Protocol

_SURROGATE = re.compile("[\ud800-\udfff]")

Schema = Mapping[str, object]  # a JSON schema


class EngineError(RuntimeError):
    """The engine gave no answer; there is no verdict. The message holds no text, no id and no reply."""


class EngineUnavailableError(EngineError):
    """No server answered in time, after all retries: asking again later may help."""


class EngineRefusedError(EngineError):
    """The engine refuses what was asked whatever the prompt is: parameters, key or model name are wrong."""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a chat.

    content: valid Unicode, any length.
    """

    role: Literal["system", "user", "assistant"]
    content: str = field(repr=False)

    def __post_init__(self) -> None:
        if _SURROGATE.search(self.content):
            raise ValueError("a message is not valid Unicode; ingestion sets such records aside")


@dataclass(frozen=True, slots=True)
class Prompt:
    """A chat that the engine's own template turns into tokens, with the model's thinking disabled.

    id: opaque, unique within a call, of letters, digits, '.', '_' and '-'; sent to the engine.
    """

    id: str
    messages: tuple[Message, ...]

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z0-9._-]{1,128}", self.id):
            raise ValueError("a request id has 1 to 128 letters, digits, '.', '_' or '-'")
        if not self.messages:
            raise ValueError("a prompt needs a message")


@dataclass(frozen=True, slots=True)
class Generated:
    """The greedy continuation of a prompt.

    complete: the model ended by itself; False where `max_tokens` or the context cut it.
    prompt_tokens, tokens: lengths of prompt and continuation.
    """

    id: str
    text: str = field(repr=False)
    complete: bool
    prompt_tokens: int
    tokens: int


@dataclass(frozen=True, slots=True)
class FirstToken:
    """ln P(first generated token = t | prompt) in nats for each asked t, over the whole vocabulary, in asked order."""

    id: str
    log_probabilities: tuple[float, ...]
    prompt_tokens: int

    @property
    def choice(self) -> int:
        """Place of the most probable asked token; of equal ones, the first."""
        return self.log_probabilities.index(max(self.log_probabilities))


@dataclass(frozen=True, slots=True)
class PromptLogProbabilities:
    """ln P(token | all tokens before it) in nats for every token of the prompt but the first, and their ids."""

    id: str
    token_ids: tuple[int, ...] = field(repr=False)
    log_probabilities: tuple[float, ...] = field(repr=False)


class Reason(StrEnum):
    """Why one prompt has no answer, while others have."""

    TOO_LONG = "too_long"  # prompt and answer do not fit into the model's context
    REFUSED = "refused"  # the engine refuses this prompt and takes another one with the same parameters


@dataclass(frozen=True, slots=True)
class Unanswered:
    """A prompt that this engine can never answer; a retry would say the same."""

    id: str
    reason: Reason


class LanguageModel(Protocol):
    """A frozen language model. Answers come in the order of the prompts, one each; temperature is 0.

    All methods raise EngineUnavailableError, EngineRefusedError, and ValueError for ids that are not unique.
    """

    def facts(self) -> dict[str, str]:
        """What an answer may depend on besides its prompt, as far as the engine says, as public strings."""

    def generate(
        self, prompts: Sequence[Prompt], *, max_tokens: int, schema: Schema | None = None
    ) -> list[Generated | Unanswered]:
        """Continue each prompt by at most `max_tokens` tokens; with `schema`, by JSON that fits it, if complete."""

    def choose_first_token(self, prompts: Sequence[Prompt], tokens: Sequence[str]) -> list[FirstToken | Unanswered]:
        """Log-probabilities of `tokens` as the first token of the answer.

        Raises: ValueError where one is not exactly one token of the model, or two are the same one.
        """

    def prompt_log_probabilities(self, prompts: Sequence[Prompt]) -> list[PromptLogProbabilities | Unanswered]:
        """Log-probabilities of each prompt's own tokens, template included."""

    def single_token(self, text: str) -> int | None:
        """Id of the token that is this text, None where it is not exactly one token of the model."""

    def length(self, messages: Sequence[Message]) -> int:
        """Tokens of a chat as a prompt, template included."""

    def shortened(self, text: str, tokens: int) -> str:
        """The text where it has no more than `tokens` tokens, else its first ones without a broken character."""
