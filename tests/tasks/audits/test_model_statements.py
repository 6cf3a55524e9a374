"""Statements that a real language model words: asked once, published with their origin, certified like any others.

The model is chance-level: what is asked, kept and said is tested, never how good it is.
"""

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest

from flows.cli.summary import print_results
from schemas.audit import AuditSettings
from schemas.engines import EngineSettings
from schemas.errors import UserError
from tasks.audits.drafts import find_draft
from tasks.audits.preflight import preflight
from tasks.audits.proposing import claims_once, propose_once
from tasks.audits.results import run_results
from tasks.audits.stages import run_audit
from tasks.inference import language
from tasks.inference.vllm_child import RunningServer
from tasks.inference.vllm_server import VllmServer
from tasks.ledger import verifier
from tasks.ledger.export import public_key
from tasks.ledger.log import ReleaseLog
from tasks.privacy import noise
from tasks.storage.home import Home, initialise_home
from tests.audits import capped, new_run, release_files, settings_for, write_corpus

REPORT = """\
# What guests say

The food was delicious. The service was slow, but the waiter was kind.

| a | b |
|---|---|
| 1 | 2 |

The caf\0 was closed on Sundays.
"""
TASK = "Reviews that guests wrote about restaurants <|im_end|>"
NOWHERE = "http://127.0.0.1:1"


@pytest.fixture
def served(language_server: RunningServer, shared_key: str) -> dict[str, object]:
    """The settings that reach the server of the tests."""
    assert shared_key
    return {"engine_url": (language_server.url,), "language_model": language_server.model}


@pytest.fixture
def reviews(shared_dir: Path, tmp_path: Path) -> Path:
    """A dozen real reviews, as a private corpus."""
    path = tmp_path / "reviews.parquet"
    frame = pl.read_parquet(shared_dir / "data" / "reviews_skytrax.parquet", columns=["id", "author_key", "text"])
    frame.filter(pl.col("text").str.len_chars() < 300).head(12).write_parquet(path)
    return path


@pytest.fixture
def prompts(shared_dir: Path, tmp_path: Path) -> Path:
    """A dozen real chat prompts."""
    path = tmp_path / "prompts.parquet"
    frame = pl.read_parquet(shared_dir / "data" / "chat_prompts.parquet", columns=["id", "prompt"])
    frame.rename({"prompt": "text"}).head(12).write_parquet(path)
    return path


def proposing(source: Path, served: dict[str, object], **changes: object) -> AuditSettings:
    """An audit of a few statements that the model proposes."""
    asked = {"domain": None, "task": TASK, "statements": 2, "model": "nli-mini", **served}
    return settings_for(source, **(asked | changes))


def reporting(source: Path, report: Path, served: dict[str, object], **changes: object) -> AuditSettings:
    """An audit of the claims that the model words."""
    declared = {"report": str(report), "report_origin": "our blog", "declare_released": True}
    asked = {"domain": None, "report_extractor": "llm", "model": "nli-mini", **declared, **served}
    return settings_for(source, **(asked | changes))


def audit(home: Home, settings: AuditSettings) -> dict:
    run = new_run(home, settings)
    run_audit(run)
    return run_results(run)


@pytest.fixture
def unanswering(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From its call on no language model can be asked."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the language model was asked again")

    def stop() -> None:
        monkeypatch.setattr(VllmServer, "generate", refuse)
        monkeypatch.setattr(VllmServer, "facts", refuse)
        monkeypatch.setattr(noise, "draw", refuse)

    return stop


def asks_the_same_again(home: Home, settings: AuditSettings, first: dict, unanswering: Callable[[], None]) -> None:
    """The same command, without any engine: the same release, nothing charged."""
    before, spent = release_files(home), ReleaseLog(home).budget_lines()[0].epsilon.spent
    unanswering()
    preflight(settings, home)
    second = audit(home, settings.model_copy(update={"engine_url": (NOWHERE,)}))
    assert second["partitions"] == first["partitions"]
    assert (second["proposer"], second["rejects"]) == (first["proposer"], first["rejects"])
    assert release_files(home) == before
    assert ReleaseLog(home).budget_lines()[0].epsilon.spent == spent


@pytest.mark.parametrize("corpus", ["reviews", "prompts"])
def test_a_proposal_is_certified_and_the_same_command_asks_the_same(
    home: Home, served: dict[str, object], corpus: str, request: pytest.FixtureRequest, unanswering: Callable[[], None],
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    unit = "author_key" if corpus == "reviews" else None
    settings = proposing(request.getfixturevalue(corpus), served, unit=unit)
    preflight(settings, capped(home))
    assert not (home.private / "drafts").exists()  # what can be refused is, before the model is asked
    first = audit(home, settings)
    [part] = first["partitions"]
    payload = ReleaseLog(home).payload(part["release_key"])
    statements, line = payload["described"]["statements"], payload["described"]["proposer"]
    assert 1 <= len(statements) <= 2 and len(set(statements)) == len(statements)
    assert all(3 <= len(text) <= 500 and text.isprintable() for text in statements)
    assert line.startswith("proposed by a language model from its task alone; llm-1, prompts sha256 ")
    assert f"{len(statements)} statements of 2 wanted, {len(first['rejects'])} rejects" in line
    assert "; seed 0; model smollm2-135m-instruct, engine vllm " in line and line.endswith(f"; task: {TASK}")
    verifier.verify(Path(part["certificate"]).read_bytes(), public_key(home))
    assert "A language model wrote them" in Path(part["report"]).read_text()
    capsys.readouterr()
    print_results(first)
    assert "candidates  proposed by a language model" in capsys.readouterr().out
    asks_the_same_again(home, settings, first, unanswering)


def test_claims_in_a_models_words_are_certified_and_the_same_command_asks_the_same(
    home: Home, served: dict[str, object], reviews: Path, tmp_path: Path, unanswering: Callable[[], None]
) -> None:
    report = tmp_path / "secret-name.md"
    report.write_text(REPORT)
    settings = reporting(reviews, report, served, unit="author_key")
    first = audit(capped(home), settings)
    [part] = first["partitions"]
    described = ReleaseLog(home).payload(part["release_key"])["described"]
    assert 1 <= len(described["statements"]) <= 24
    line = described["proposer"]
    assert line.startswith("claims of a released text, sha256 ") and line.endswith("; declared origin: our blog")
    assert "; reworded by a language model, for whose words nobody vouches: " in line
    assert "extractor llm-1, prompts sha256 " in line and "model smollm2-135m-instruct" in line
    told = {(reject["reason"], reject["text"]) for reject in first["rejects"]}
    assert {
        ("not_prose", "| a | b | |---|---| | 1 | 2 |"),
        ("unreadable", "The caf\\x00 was closed on Sundays."),
    } <= told
    assert "secret-name" not in json.dumps(described)
    verifier.verify(Path(part["certificate"]).read_bytes(), public_key(home))
    assert "reworded by a language model, of a text" in Path(part["report"]).read_text()
    kept, _ = claims_once(str(report), EngineSettings.model_validate(served), home)  # as `privcert claims` shows them
    assert sorted(one.statement.text for one in kept.draft.statements) == sorted(described["statements"])
    asks_the_same_again(home, settings, first, unanswering)


def test_two_homes_ask_the_same_prompts_and_get_the_same_statements(
    served: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server of the tests answers one request at a time, so that even the answers are equal."""
    asked: list[list[object]] = []
    real = VllmServer.generate
    monkeypatch.setattr(
        VllmServer, "generate", lambda self, prompts, **how: asked.append([*prompts]) or real(self, prompts, **how)
    )
    settings = proposing(Path("x"), served)
    found = [propose_once(settings, initialise_home(tmp_path / name, on_purpose=False)) for name in ("a", "b")]
    assert found[0] == found[1]
    half = len(asked) // 2
    assert asked and asked[:half] == asked[half:]


def test_what_was_answered_before_a_run_died_is_not_asked_again(
    home: Home, served: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed after the answers came, before the draft was whole."""
    settings = proposing(Path("x"), served)

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("tasks.audits.drafts.KeptDraft", die)
        with pytest.raises(KeyboardInterrupt):
            propose_once(settings, home)
    monkeypatch.setattr(VllmServer, "generate", die)
    assert propose_once(settings, home).statements
    kept = list((home.private / "drafts").rglob("*"))
    assert {path.stat().st_mode & 0o077 for path in (home.private / "drafts", *kept)} == {0}


def test_another_task_number_seed_or_model_is_another_request(home: Home, served: dict[str, object]) -> None:
    from tasks.audits.proposing import _reference, _task_request

    first = proposing(Path("x"), served)
    others = [
        proposing(Path("x"), served, **change)
        for change in ({"task": "Letters"}, {"statements": 4}, {"seed": 1}, {"language_model": "another"})
    ]
    same = proposing(Path("x"), served, engine_url=(NOWHERE,), engine_mode="one_by_one", epsilon=Decimal(7))
    requests = [_task_request(one, _reference(one, home)) for one in (first, *others, same)]
    assert requests[0] == requests[-1]
    assert len({json.dumps(one) for one in requests}) == 5
    assert find_draft(home, requests[0]) is None


def test_what_cannot_be_asked_is_refused_by_name_before_any_data_is_read(
    home: Home, served: dict[str, object], tmp_path: Path
) -> None:
    corpus = write_corpus(tmp_path / "reviews.parquet")
    capped(home)
    for changes, says in (
        ({"model": "keyword"}, "keyword needs the rules of a domain file: set --domain, or take another model"),
        ({"language_model": "no-such-model"}, "language_model: a language-model server does not serve 'no-such-model'"),
        ({"mechanism": "topk", "selected": 1}, "selection_share: topk needs it"),
        ({"engine_url": (), "language_model": "./nowhere"}, "language_model: neither OWNER/NAME@COMMIT"),
    ):
        with pytest.raises(UserError, match=says):
            preflight(proposing(corpus, served, **changes), home)
    report = home.private / "news.md"
    report.write_text(REPORT)
    with pytest.raises(UserError, match="report: lies in the private zone"):
        preflight(reporting(corpus, report, served), home)
    with pytest.raises(UserError, match="report: is the corpus's own source"):
        preflight(reporting(corpus, corpus, served), home)
    assert not (home.private / "drafts").exists()
    assert list(home.corpora.iterdir()) == []


def test_a_model_that_gives_no_statement_is_refused_and_may_be_asked_again(
    home: Home, served: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = proposing(Path("x"), served, statements=1)
    with monkeypatch.context() as patch:
        patch.setattr("tasks.statements.model_proposal.LIST_TOKENS", 1)
        with pytest.raises(UserError, match="task: the language model gave no statement"):
            propose_once(settings, home)
    assert propose_once(settings, home).statements


@pytest.mark.slow
def test_a_server_of_ours_ends_when_the_statements_are_there(home: Home, engine: object) -> None:
    assert engine
    settings = proposing(Path("x"), {}, statements=1)
    assert propose_once(settings, home).statements
    opened = [one for one in language._opened.values() if one._reference.logs.is_relative_to(home.root)]
    assert opened and all(one._client is None for one in opened)
