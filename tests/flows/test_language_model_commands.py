"""A language model's statements through the commands, as a user runs them, with a real engine."""

import json
from pathlib import Path

import polars as pl
import pytest
from commands import run_privcert

from tasks.inference.vllm_child import RunningServer
from tests.flows.conftest import Answer

REPORT = "# What users ask\n\nMost users ask about code. Some of them want a poem.\n"
ASKED = "--corpus chats --id id --text prompt --visibility public --model nli-mini --epsilon 8 --theta 0.05 --json"
DECLARED = ("--report-origin", "our blog", "--declare-released")


def run(home: Path, *arguments: str) -> Answer:
    done = run_privcert(home, *arguments)
    return Answer(done.returncode, done.stdout, done.stderr)


def answered(home: Path, *arguments: str) -> dict:
    answer = run(home, *arguments)
    assert answer.code == 0, answer.err
    return json.loads(answer.out)


@pytest.mark.slow
def test_claims_are_shown_certified_and_asked_again_without_an_engine(
    shared_dir: Path, tmp_path: Path, language_server: RunningServer, shared_key: str
) -> None:
    assert shared_key
    home, chats, report = tmp_path / "home", tmp_path / "chats.parquet", tmp_path / "news.md"
    pl.read_parquet(shared_dir / "data" / "chat_prompts.parquet").head(12).write_parquet(chats)
    report.write_text(REPORT)
    engine = ("--engine-url", language_server.url, "--language-model", language_server.model)
    nowhere = ("--engine-url", "http://127.0.0.1:1", "--language-model", language_server.model)
    shown = answered(home, "claims", str(report), "--extractor", "llm", *engine, "--json")
    assert shown["claims"] and shown["extractor"].startswith("llm-1, prompts sha256 ")

    audit = ("audit", str(chats), *ASKED.split())
    of_report = (*audit, "--report", str(report), *DECLARED, "--report-extractor", "llm")
    first = answered(home, *of_report, *nowhere)  # the claims that were shown; no engine is needed any more
    [part] = first["partitions"]
    emitted = {line["statement"] for line in part["emitted"]}
    assert emitted <= set(shown["claims"]) and len(emitted) + part["abstained"] == len(shown["claims"])
    assert first["rejects"] == shown["rejects"]

    of_task = (*audit, "--task", "Prompts that users typed into a chat", "--statements", "2")
    proposed = answered(home, *of_task, *engine)
    assert proposed["proposer"].startswith("proposed by a language model from its task alone")
    again = answered(home, *of_task, *nowhere)
    assert again["partitions"] == proposed["partitions"]
    assert again["operator"]["answers_reused"] == 1
    [line] = [line for line in again["budget"] if line["partition"] == part["partition"]]
    assert line["spent"]["epsilon"] == "16"

    refused = run(home, *of_task, "--seed", "1", "--engine-url", "http://127.0.0.1:1", "--language-model", "x")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "language_model: 1 of 1 language-model servers is not healthy: http://127.0.0.1:1" in refused.err
