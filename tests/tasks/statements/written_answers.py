"""Answers of a language model that were written by hand, for what a real one cannot be made to say."""

import json
from collections.abc import Callable, Sequence

from tasks.inference.protocol import Generated, Prompt, Reason, Schema, Unanswered
from tasks.statements.worded import Ask


def answer(text: str, *, complete: bool = True) -> Generated:
    return Generated("one", text, complete, 0, 0)


def listing(key: str, *texts: object) -> Generated:
    return answer(json.dumps({key: texts}))


def answered_by(write: Callable[[str], Generated | None], log: list[str] | None = None) -> Ask:
    """Answers each prompt by what `write` makes of its last message; None: it does not fit into the context."""

    def ask(prompts: Sequence[Prompt], *, max_tokens: int, schema: Schema) -> Sequence[Generated | Unanswered]:
        asked = [prompt.messages[-1].content for prompt in prompts]
        if log is not None:
            log.extend(asked)
        written = zip(prompts, map(write, asked), strict=True)
        return [Unanswered(prompt.id, Reason.TOO_LONG) if one is None else one for prompt, one in written]

    return ask
