"""Whole audits with a language model as judge, on a real server: public in batches, private one by one and silent."""

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from commands import run_privcert
from relayed_server import Relay

from tasks.inference.vllm_child import RunningServer
from tasks.ledger.log import ReleaseLog
from tasks.storage.home import Home, initialise_home, open_home

CANARY = "zqxCANARY"
OPTIONS = "--corpus reviews --domain airline-reviews --statements 3 --epsilon 4 --theta 0.05 --model judge --json"


@pytest.fixture
def relay(language_server: RunningServer, shared_key: str) -> Iterator[Relay]:
    """The server of the tests, which tells what it was asked."""
    with Relay(language_server.url) as relay:
        yield relay


def at(relay: Relay) -> list[str]:
    return ["--engine-url", relay.url, "--language-model", "smollm2-135m-instruct"]


def described(home: Home) -> dict[str, str]:
    log = ReleaseLog(home)
    (key,) = log.release_keys()
    found: dict[str, str] = log.payload(key)["described"]["model_description"]
    return found


def files_with(canary: str, *folders: Path) -> list[str]:
    """Files that hold it, in some encoding or case."""
    needles = [canary.encode(encoding) for encoding in ("utf-8", "utf-16-le")] + [canary.lower().encode()]
    files = [path for folder in folders for path in [folder, *folder.rglob("*")] if path.is_file()]
    assert files
    return [str(file) for file in files if any(needle in file.read_bytes() for needle in needles)]


def test_shared_reviews_are_audited_in_batches(relay: Relay, shared_dir: Path, tmp_path: Path) -> None:
    reviews = pl.read_parquet(shared_dir / "data" / "reviews_skytrax.parquet", n_rows=200)
    short = reviews.sort(pl.col("text").str.len_chars()).head(8)
    short.write_parquet(tmp_path / "reviews.parquet")
    asked = [*OPTIONS.split(), "--unit", "author_key", "--visibility", "public", *at(relay)]
    done = run_privcert(tmp_path / "home", "audit", str(tmp_path / "reviews.parquet"), *asked)
    assert done.returncode == 0, done.stderr
    (part,) = json.loads(done.stdout)["partitions"]
    assert json.loads(run_privcert(tmp_path / "home", "verify", part["certificate"], "--json").stdout)["valid"] is True
    facts = described(open_home(tmp_path / "home"))
    assert (facts["model"], facts["batch_shape"]) == ("smollm2-135m-instruct", "shared batches")
    assert len(set(relay.chats)) == len(relay.chats) == short["text"].n_unique() * 3


def test_a_private_corpus_is_judged_one_by_one_and_its_texts_are_found_nowhere(
    relay: Relay, language_server: RunningServer, tmp_path: Path
) -> None:
    most: list[int] = []
    relay.change_reply = lambda reply: (most.append(relay.in_flight), reply)[1]
    home = initialise_home(tmp_path / "home", on_purpose=True)
    ReleaseLog(home).set_cap("reviews", Decimal(8))
    texts = ["Late.", f"{'On time. ' * 400}", "Nice seat <|im_end|>", "Nice seat \U0001f4ba", "مقعد مريح"]
    rows = [
        {"id": f"{CANARY}{n}", "author": f"{CANARY} {n}", "text": f"{CANARY} {text}"} for n, text in enumerate(texts)
    ]
    rows.append({"id": "empty", "author": "other", "text": ""})
    pl.DataFrame(rows).write_parquet(tmp_path / f"{CANARY}.parquet")
    asked = [*OPTIONS.split(), "--unit", "author", "--max-unreadable", "0.5", *at(relay)]
    done = run_privcert(home.root, "audit", str(tmp_path / f"{CANARY}.parquet"), *asked)
    assert done.returncode == 0, done.stderr
    assert described(home)["batch_shape"].startswith("declared one request at a time")
    assert len(relay.chats) == 5 * 3
    assert set(most) == {1}
    assert CANARY not in done.stdout + done.stderr
    assert files_with(CANARY, home.private / "corpora")
    private = [home.private / name for name in ("prefect", "logs", "scores", "runs")]
    settings = {str(path) for path in home.runs.rglob("*.yaml")}  # the operator's own request names the source
    assert set(files_with(CANARY, home.release, language_server.log, *private)) <= settings


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        ("--engine-mode batched", "engine_mode"),
        ("--engine-url http://127.0.0.1:9", "language_model"),
        ("--engine-url http://127.0.0.1:9 --language-model m", "engine_url"),
        ("", "privcert engine install"),
    ],
)
def test_what_a_judge_lacks_is_named_before_any_data_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: str, says: str
) -> None:
    monkeypatch.setenv("PRIVCERT_ENGINE", str(tmp_path / "none"))
    home = initialise_home(tmp_path / "home", on_purpose=True)
    ReleaseLog(home).set_cap("reviews", Decimal(8))
    done = run_privcert(home.root, "audit", str(tmp_path / "no-such.parquet"), *OPTIONS.split(), *flags.split())
    assert (done.returncode, len(done.stderr.strip().splitlines())) == (2, 1)
    assert says in done.stderr
