"""Support by a language model that is asked about every pair: a frozen judge (spec 1.9)."""

import hashlib
import json
import secrets
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from schemas.errors import UserError
from tasks.inference.engine import engine_here, find_engine
from tasks.inference.language import Language, LanguageReference, open_language
from tasks.inference.protocol import EngineError, FirstToken, Prompt
from tasks.inference.vllm_server import VllmServer
from tasks.support.judge_prompt import SPELLINGS, judge_messages, prompt_facts
from tasks.support.judge_reading import TRUNCATION, Room, read_record, read_statement
from tasks.support.operator_log import note_for_operator


class JudgeModel:
    """The predicate 1[yes is strictly more probable than no] of a frozen language model, as a `SupportModel`.

    Pairs go to the engine record by record. Where it answers one request at a time, nothing but the pair is in its
    computation; in batches the last bits may depend on the other pairs.
    """

    name = "judge"

    def __init__(self, language: Language, logs: Path) -> None:
        """language: nothing is started before the first pair. logs: the operator's folder."""
        self._language, self._logs = language, logs
        self._asking: _Asking | None = None
        self._making = threading.Lock()

    @cached_property
    def description(self) -> Mapping[str, str]:
        """Public facts for the certificate; with the name, all that the fingerprint covers."""
        return {**self._language.facts, "truncation": TRUNCATION, **prompt_facts()}

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of the canonical JSON of name and description."""
        return hashlib.sha256(json.dumps([self.name, self.description], sort_keys=True).encode()).hexdigest()

    def verdicts(self, texts: Sequence[str], statements: Sequence[str]) -> NDArray[np.bool_]:
        """Which text supports which statement; shape (len(texts), len(statements)).

        Raises: UserError for a statement that is empty or too long, EngineError where there is no engine any more.
        """
        return self.decide(self.logits(texts, statements))

    def logits(self, texts: Sequence[str], statements: Sequence[str]) -> NDArray[np.float32]:
        """Log-probabilities in nats of the spellings of yes, then of no, as first token of the answer; not released.

        Shape (len(texts), len(statements), 2 k). NaN where a pair has no answer.
        """
        return self._language.ask(lambda client: self._ask(client, texts, statements))

    def decide(self, logits: NDArray[np.float32]) -> NDArray[np.bool_]:
        """The verdicts that follow from logits; shape without the last axis."""
        k = logits.shape[-1] // 2
        verdicts: NDArray[np.bool_] = logits[..., :k].max(axis=-1) > logits[..., k:].max(axis=-1)
        return verdicts

    def _ask(self, client: VllmServer, texts: Sequence[str], statements: Sequence[str]) -> NDArray[np.float32]:
        asking = self._asking_of(client)
        asked = [asking.statement(statement) for statement in statements]
        call, prompts, places = secrets.token_hex(8), list[Prompt](), list[tuple[int, int]]()
        tally = Counter[str]()
        for row, text in enumerate(texts):
            if text.strip():
                record, is_cut = read_record(text, asking.room, client)
                tally["records read in part"] += is_cut
                for column, statement in enumerate(asked):
                    prompts.append(Prompt(f"{call}-{len(prompts)}", judge_messages(record, statement)))
                    places.append((row, column))
        logits = np.full((len(texts), len(statements), len(asking.tokens)), np.nan, np.float32)
        answers = client.choose_first_token(prompts, asking.tokens)
        for place, answer in zip(places, answers, strict=True):
            if isinstance(answer, FirstToken):
                logits[place] = answer.log_probabilities
            else:
                tally[f"pairs without an answer, which support nothing ({answer.reason})"] += 1
        self._note(tally)
        return logits

    def _asking_of(self, client: VllmServer) -> "_Asking":
        with self._making:
            if self._asking is None or self._asking.client is not client:
                self._asking = _Asking(client, Room.of(client), _tokens(client))
            return self._asking

    def _note(self, tally: Counter[str]) -> None:
        found = [f"{count} {what}" for what, count in sorted(tally.items()) if count]
        if found:
            note_for_operator(self._logs, f"judge: {', '.join(found)}")


@dataclass(frozen=True, slots=True)
class _Asking:
    """What is fixed for one client: the room, and the spellings of yes, then of no."""

    client: VllmServer
    room: Room
    tokens: tuple[str, ...]
    _written: dict[str, str] = field(default_factory=dict)

    def statement(self, text: str) -> str:
        """The statement as it is asked, prepared once."""
        if text not in self._written:
            self._written[text] = read_statement(text, self.room, self.client)
        return self._written[text]


def _tokens(client: VllmServer) -> tuple[str, ...]:
    """Raises UserError where the model spells neither yes nor no in one token."""
    kept: dict[tuple[int, int], tuple[str, str]] = {}
    for yes, no in SPELLINGS:
        ids = client.single_token(yes), client.single_token(no)
        if ids[0] is not None and ids[1] is not None and not {*ids} & {known for pair in kept for known in pair}:
            kept[ids[0], ids[1]] = (yes, no)
    if not kept:
        raise UserError("language_model: it has no single tokens for yes and no, so it cannot judge")
    return tuple(yes for yes, _ in kept.values()) + tuple(no for _, no in kept.values())


def load_judge(reference: LanguageReference) -> JudgeModel:
    """The judge on this language model; an engine of ours is not started yet.

    Raises UserError where no engine is installed, or where the servers do not answer or are not equal.
    """
    language = open_language(reference)
    if reference.urls:
        try:
            _ = language.facts
        except EngineError as error:
            raise UserError(f"{'' if str(error).startswith('engine_url') else 'engine_url: '}{error}") from None
    else:
        find_engine(engine_here(reference.engine))
    return JudgeModel(language, reference.logs)
