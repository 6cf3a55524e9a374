"""Proposer and claim extraction through the pipeline against a bare client of the same vLLM server.

The pipeline drafts in a fresh home each time: prompts, answers kept on disk, parsing, rejects. The bare client sends
the very prompts that the pipeline sent, at the same concurrency, and reads nothing of the answers but
their length. It waits where the pipeline waits (how many lists are asked for next depends on the answers before), and
once more it sends all at once, which says what that waiting costs. Rounds alternate, so that a slow moment of the
machine hits all; the first round warms the server's prefix cache and is not counted.

Example: python benchmarks/proposer_throughput.py --statements 64 --passages 16
"""

import argparse
import asyncio
import contextlib
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import httpx

from schemas.engines import EngineMode, EngineSettings
from tasks.audits.drafts import draft_once
from tasks.inference.engine import engine_folder, find_engine
from tasks.inference.language import Language, language_reference, open_language
from tasks.inference.protocol import Generated, Prompt, Schema, Unanswered
from tasks.inference.vllm_child import ServerSettings, VllmChild
from tasks.statements.model_claims import claims_of_passages
from tasks.statements.model_proposal import propose_from_task
from tasks.statements.worded import Ask, Draft
from tasks.storage.home import default_home, initialise_home

IN_FLIGHT = 32  # requests that the pipeline has at one batched server
TASK = "Reviews that guests wrote about restaurants"
SENTENCES = (
    "Most guests praise the food of the house on {name} street.",
    "Guests who came in week {n} waited a long time for a table.",
    "The staff is called friendly, and now and then slow.",
    "Some say that the prices have gone up since the new owner came.",
    "The terrace is liked by families, who come on Sundays.",
)
NAMES = ("Oak", "Elm", "Main", "Mill", "Church", "Station", "River", "Market")


@dataclass(frozen=True)
class Sent:
    """One call of `generate`."""

    prompts: Sequence[Prompt]
    max_tokens: int
    schema: Schema


def write_report(passages: int) -> str:
    """A released text of as many passages, each under its heading; no two are equal."""
    parts = []
    for number in range(passages):
        told = " ".join(SENTENCES).format(name=NAMES[number % len(NAMES)], n=number + 1)
        parts.append(f"## House {number + 1}\n\n{told}\n")
    return "\n".join(parts)


def pipeline(language: Language, draft: Callable[[Ask], Draft]) -> Draft:
    """A draft in a home where nothing was asked before."""
    with tempfile.TemporaryDirectory() as folder:
        home = initialise_home(Path(folder) / "home", on_purpose=False)
        return draft_once(home, {"kind": "benchmark"}, language, draft).draft


def recorded(language: Language, draft: Callable[[Ask], Draft]) -> list[Sent]:
    """What the pipeline sends."""
    sent: list[Sent] = []

    def ask(prompts: Sequence[Prompt], *, max_tokens: int, schema: Schema) -> list[Generated | Unanswered]:
        sent.append(Sent(prompts, max_tokens, schema))
        return language.client.generate(prompts, max_tokens=max_tokens, schema=schema)

    draft(ask)
    return sent


async def bare(url: str, model: str, key: str | None, sent: Sequence[Sent], *, at_once: bool = False) -> int:
    """Tokens that a bare client gets for the same prompts, call after call or all at once."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    gate = asyncio.Semaphore(IN_FLIGHT)
    limits = httpx.Limits(max_connections=IN_FLIGHT)
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=1200, limits=limits, trust_env=False) as http:

        async def one(call: Sent, prompt: Prompt) -> int:
            form = {"name": "answer", "schema": call.schema, "strict": True}
            body = {
                "model": model,
                "messages": [{"role": part.role, "content": part.content} for part in prompt.messages],
                "chat_template_kwargs": {"enable_thinking": False},
                "temperature": 0,
                "max_tokens": call.max_tokens,
                "response_format": {"type": "json_schema", "json_schema": form},
            }
            async with gate:
                reply = await http.post("/v1/chat/completions", json=body)
            tokens: int = reply.raise_for_status().json()["usage"]["completion_tokens"]
            return tokens

        waves = [[(call, prompt) for call in sent for prompt in call.prompts]]
        if not at_once:
            waves = [[(call, prompt) for prompt in call.prompts] for call in sent]
        return sum([sum(await asyncio.gather(*(one(*asked) for asked in wave))) for wave in waves])


@contextlib.contextmanager
def server(arguments: argparse.Namespace) -> Iterator[tuple[str, str, str | None]]:
    """URL, model name and key of the server that is given, or of one that is started."""
    if arguments.url:
        yield arguments.url, arguments.model, os.environ.get("VLLM_API_KEY")
        return
    engine = find_engine(engine_folder(default_home() / "private"))
    with tempfile.TemporaryDirectory() as folder:
        with VllmChild(engine, ServerSettings(one_by_one=False), Path(folder) / "server.log") as running:
            os.environ["VLLM_API_KEY"] = running.api_key
            yield running.url, running.model, running.api_key


def measure(
    language: Language, draft: Callable[[Ask], Draft], access: tuple[str, str, str | None], rounds: int
) -> dict[str, float]:
    """Seconds of both, medians, and their ratio: how fast the pipeline is as a share of the bare client."""
    sent = recorded(language, draft)
    tokens = asyncio.run(bare(*access, sent))
    seconds: dict[str, list[float]] = {"pipeline": [], "bare": [], "at once": []}
    runs: dict[str, Callable[[], object]] = {
        "pipeline": lambda: pipeline(language, draft),
        "bare": lambda: asyncio.run(bare(*access, sent)),
        "at once": lambda: asyncio.run(bare(*access, sent, at_once=True)),
    }
    for _ in range(rounds):
        for name, run in runs.items():
            started = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - started)
    ours, theirs, at_once = (median(seconds[name]) for name in runs)
    requests = sum(len(call.prompts) for call in sent)
    return {
        "requests": requests, "calls": len(sent), "tokens": tokens, "pipeline_seconds": ours, "bare_seconds": theirs,
        "pipeline_over_bare": theirs / ours, "pipeline_over_bare_at_once": at_once / ours,
    }  # fmt: skip


def main() -> None:
    """Print seconds and ratios, as text or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", help="A running batched server (key: VLLM_API_KEY); default: one is started.")
    parser.add_argument("--model", default="smollm2-135m-instruct", help="The name under which it serves its model.")
    parser.add_argument("--statements", type=int, default=64)
    parser.add_argument("--passages", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    report = write_report(arguments.passages)
    drafts: dict[str, Callable[[Ask], Draft]] = {
        "proposer": lambda ask: propose_from_task(TASK, arguments.statements, 0, ask),
        "claim extraction": lambda ask: claims_of_passages(report, ask),
    }
    with server(arguments) as access, tempfile.TemporaryDirectory() as folder:
        asked = EngineSettings(engine_url=(access[0],), language_model=access[1], engine_mode=EngineMode.BATCHED)
        language = open_language(language_reference(asked, Path(folder), is_private=False))
        found = {name: measure(language, draft, access, arguments.rounds) for name, draft in drafts.items()}
        language.close()
    if arguments.json:
        print(json.dumps(found))
        return
    for name, figures in found.items():
        print(
            f"{name:17s} {figures['requests']:.0f} requests in {figures['calls']:.0f} calls, {figures['tokens']:.0f} "
            f"tokens: pipeline {figures['pipeline_seconds']:.1f} s, bare client {figures['bare_seconds']:.1f} s; "
            f"pipeline / bare throughput {figures['pipeline_over_bare']:.3f} "
            f"({figures['pipeline_over_bare_at_once']:.3f} of one that need not wait between calls)"
        )


if __name__ == "__main__":
    main()
