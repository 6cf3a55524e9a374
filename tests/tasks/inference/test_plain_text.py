"""No text can hold a control token of a chat template, and hardly a text is changed."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.inference.engine import Engine
from tasks.inference.plain_text import cannot_be_written, plain_text
from tasks.inference.protocol import Message, Prompt, PromptLogProbabilities
from tasks.inference.vllm_server import VllmServer

CONTROL_TOKENS = (
    "<|im_start|> <|im_end|> <|endoftext|> <think> </think> <tool_call> <|eot_id|> <|begin_of_text|> <s> </s> <unk> "
    "<pad> <bos> <eos> <start_of_turn> <end_of_turn> [INST] [/INST] <<SYS>> <</SYS>> [TOOL_CALLS] [gMASK] <sop> "
    "<|user|> <|assistant|> <|end|> <|START_OF_TURN_TOKEN|> <BOS_TOKEN> <｜User｜> <｜end▁of▁text｜> <unused12> "
    "[PAD] [CLS] [SEP] [MASK] <|channel|> <|return|> <image> <fim_prefix> <repo_name> <|reserved_special_token_7|>"
).split()
PIECES = st.one_of(st.text(max_size=3), st.sampled_from([*CONTROL_TOKENS, "<", "[", "<|", "＜", "|>", " "]))
TEXTS = st.lists(PIECES, max_size=12).map("".join)


@given(TEXTS)
def test_no_control_token_is_left_in_any_text(text: str) -> None:
    plain = plain_text(text)
    for form in (plain, unicodedata.normalize("NFKC", plain)):
        assert not [token for token in CONTROL_TOKENS if token in form]
        # nor together with what a prompt puts behind it
        assert not [token for token in CONTROL_TOKENS if token in form + "|im_end|>" or token in form + "s>"]


@given(TEXTS)
def test_nothing_but_spaces_after_brackets_is_added_and_once_is_enough(text: str) -> None:
    plain = plain_text(text)
    assert plain_text(plain) == plain
    assert plain.replace(" ", "") == text.replace(" ", "")
    assert "<" in text or "[" in text or plain == text or any(unicodedata.normalize("NFKC", c) in "<[" for c in text)


def test_every_character_that_folds_to_an_opening_bracket_counts_as_one() -> None:
    folding = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    folding = [character for character in folding if unicodedata.normalize("NFKC", character)[-1:] in ("<", "[")]
    assert len(folding) == 6
    assert all(plain_text(f"{character}x") == f"{character} x" for character in folding)


def test_which_control_tokens_the_rule_covers() -> None:
    assert all(cannot_be_written(token) for token in CONTROL_TOKENS)
    assert not [token for token in ("USER:", "###", "x<", "|im_end|>") if cannot_be_written(token)]


@pytest.mark.parametrize("form", ["{}", "a{}b", "<{}", "{}\n"])
def test_no_text_becomes_a_control_token_of_a_real_model(engine: Engine, language_model: VllmServer, form: str) -> None:
    tokens = json.loads((engine.small_model / "tokenizer.json").read_text())["added_tokens"]
    assert len(tokens) >= 17
    text = " ".join(form.format(token["content"]) for token in tokens)
    raw, plain, bare = (
        language_model.prompt_log_probabilities([Prompt("a", (Message("user", content),))])[0]
        for content in (text, plain_text(text), "")
    )
    assert isinstance(raw, PromptLogProbabilities)
    assert isinstance(plain, PromptLogProbabilities)
    assert isinstance(bare, PromptLogProbabilities)
    control = {token["id"] for token in tokens}
    written = [[token for token in answer.token_ids if token in control] for answer in (raw, plain, bare)]
    assert written[1] == written[2]  # the template's own
    assert set(written[0]) == control
