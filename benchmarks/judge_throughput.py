"""Pairs per second of the judge through `score_version`, against a bare vLLM client given the same kind of prompts.

Both ask one batched server with prefix cache, record by record, 32 requests in flight, rounds in turn (A B A B …) with
fresh texts, so that nothing is remembered. The second ratio is the price of asking one by one without prefix cache, as
a private corpus needs it, on a server of its own in the same rounds.

Example: python benchmarks/judge_throughput.py --records 40 --rounds 5
"""

import argparse
import json
import secrets
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from unittest.mock import patch

import httpx
from judge_corpora import STATEMENTS, write_texts, write_version

from schemas.statements import Statement
from tasks.inference.engine import Engine, engine_folder, find_engine
from tasks.inference.language import LanguageReference, close_languages, open_language
from tasks.inference.vllm_child import RunningServer, ServerSettings, VllmChild
from tasks.storage.home import Home, default_home, initialise_home
from tasks.support.judge_prompt import judge_messages
from tasks.support.models import ModelReference
from tasks.support.scoring import score_version

IN_FLIGHT = 32


def through_pipeline(home: Home, reference: LanguageReference, seed: int, records: int, statements: int) -> float:
    """Seconds that scoring takes."""
    version = write_version(home, home.private / f"version-{secrets.token_hex(4)}", write_texts(records, seed))
    asked = [Statement.of(text) for text in STATEMENTS[:statements]]
    began = time.perf_counter()
    score_version(version, asked, ModelReference("judge", language=reference), home)
    return time.perf_counter() - began


def bare(server: RunningServer, tokens: list[int], seed: int, records: int, statements: int) -> float:
    """Seconds that a thread pool with one HTTP client takes for prompts made beforehand; replies are decoded only."""
    bodies = [
        json.dumps(
            {
                "model": server.model,
                "messages": [{"role": part.role, "content": part.content} for part in judge_messages(text, statement)],
                "chat_template_kwargs": {"enable_thinking": False},
                "temperature": 0,
                "max_tokens": 1,
                "logprobs": True,
                "logprob_token_ids": tokens,
                "return_tokens_as_token_ids": True,
            }
        ).encode()
        for text in write_texts(records, seed)
        for statement in STATEMENTS[:statements]
    ]
    headers = {"Authorization": f"Bearer {server.api_key}", "Content-Type": "application/json"}
    with httpx.Client(headers=headers, timeout=600) as client, ThreadPoolExecutor(IN_FLIGHT) as threads:
        began = time.perf_counter()
        for reply in threads.map(lambda body: client.post(f"{server.url}/v1/chat/completions", content=body), bodies):
            reply.raise_for_status().json()
        return time.perf_counter() - began


def measure(engine: Engine, home: Home, arguments: argparse.Namespace) -> dict[str, list[float]]:
    """Seconds of every round, by what was run; the first round warms up and is left out."""
    logs, size = home.private / "logs", (arguments.records, arguments.statements)
    logs.mkdir(exist_ok=True)
    with (
        VllmChild(engine, ServerSettings(one_by_one=False), logs / "batched.log", api_key="benchmark") as batched,
        VllmChild(engine, ServerSettings(one_by_one=True), logs / "one.log", api_key="benchmark") as alone,
    ):
        shared = LanguageReference((batched.url,), batched.model, False, 2048, engine.folder, logs)
        single = LanguageReference((alone.url,), alone.model, True, 2048, engine.folder, logs)
        found = [open_language(shared).client.single_token(word) for word in ("Yes", "yes", " Yes", "No", "no", " No")]
        tokens = [token for token in found if token is not None]
        runs: dict[str, Callable[[int], float]] = {
            "judge, batched": lambda seed: through_pipeline(home, shared, seed, *size),
            "bare client, batched": lambda seed: bare(batched, tokens, seed, *size),
            "judge, one by one": lambda seed: through_pipeline(home, single, seed, *size),
        }
        seconds: dict[str, list[float]] = {name: [] for name in runs}
        for number in range(arguments.rounds + 1):
            for place, (name, run) in enumerate(runs.items()):
                taken = run(len(runs) * number + place)
                if number:
                    seconds[name].append(taken)
        close_languages()
    return seconds


def main() -> None:
    """Print pairs/s and the two ratios, as text or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", type=Path, help="Folder of the installed engine; default as the product.")
    parser.add_argument("--records", type=int, default=40)
    parser.add_argument("--statements", type=int, default=8, choices=range(1, len(STATEMENTS) + 1))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    engine = find_engine(arguments.engine or engine_folder(default_home() / "private"))
    with tempfile.TemporaryDirectory() as folder, patch.dict("os.environ", VLLM_API_KEY="benchmark"):
        seconds = measure(engine, initialise_home(Path(folder) / "home", on_purpose=True), arguments)
    pairs = arguments.records * arguments.statements
    rates = {name: pairs / median(values) for name, values in seconds.items()}
    ratios = {
        "judge over bare client": rates["judge, batched"] / rates["bare client, batched"],
        "batched over one by one": rates["judge, batched"] / rates["judge, one by one"],
    }
    if arguments.json:
        print(json.dumps({"pairs": pairs, "seconds": seconds, "pairs_per_second": rates, "ratios": ratios}))
        return
    for name, rate in rates.items():
        print(f"{name:24s} {rate:8.2f} pairs/s")
    for name, ratio in ratios.items():
        print(f"{name:24s} {ratio:8.3f}")


if __name__ == "__main__":
    main()
