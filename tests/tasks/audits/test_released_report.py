"""Audits of the claims of a released text: certified once, told in public, and refused where the text is private."""

import os
from pathlib import Path

import fsspec
import pytest

from flows.cli.summary import print_results
from schemas.audit import AuditSettings
from schemas.errors import UserError
from tasks.audits.publishing import rebuild_everything
from tasks.audits.released_report import check_report
from tasks.audits.results import run_results
from tasks.audits.stages import run_audit
from tasks.ledger import verifier
from tasks.ledger.export import public_key
from tasks.ledger.log import ReleaseLog
from tasks.privacy import noise
from tasks.storage.home import Home
from tests.audits import capped, new_run, release_files, settings_for, write_corpus

REPORT = """\
# What guests say

The food was delicious. The service was slow. Was it worth it? Great!
The food was delicious.
"""


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    (tmp_path / "corpus").mkdir()
    return write_corpus(tmp_path / "corpus" / "reviews.parquet")


def asking(source: Path | str, report: Path | str, **changes: object) -> AuditSettings:
    """An audit of the claims of `report`, declared as it must be; `source` as a user writes it."""
    asked: dict[str, object] = {"domain": None, "model": "nli-mini", "report": str(report), "declare_released": True}
    right = settings_for(Path("x"), **(asked | {"report_origin": "our <b>blog</b>"} | changes))
    return right.model_copy(update={"source": str(source)})


def test_every_claim_of_a_report_is_certified_once_and_its_rejects_are_told(
    home: Home, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "news.md"
    report.write_text(REPORT)
    run = new_run(capped(home), asking(corpus, report))
    run_audit(run)
    results = run_results(run)
    [part] = results["partitions"]  # type: ignore[misc, attr-defined]
    payload = ReleaseLog(home).payload(part["release_key"])
    assert sorted(payload["described"]["statements"]) == ["The food was delicious.", "The service was slow."]
    told = "2 claims, 4 rejects (1 heading, 1 too_short, 1 question, 1 duplicate); declared origin: our <b>blog</b>"
    assert payload["described"]["proposer"] == results["proposer"]
    assert str(results["proposer"]).endswith(told)
    rejects = [(reject["reason"], reject["text"]) for reject in results["rejects"]]  # type: ignore[attr-defined]
    assert rejects == [
        ("heading", "# What guests say"),
        ("question", "Was it worth it?"),
        ("too_short", "Great!"),
        ("duplicate", "The food was delicious."),
    ]
    assert len(part["emitted"]) + part["abstained"] == 2
    verifier.verify(Path(part["certificate"]).read_bytes(), public_key(home))

    page = Path(part["report"]).read_text()
    assert "the claims of a text that was released before, as its user declares; nobody checked that" in page
    assert "our &lt;b&gt;blog&lt;/b&gt;" in page and told.partition(";")[0] in page
    assert "proposed without" not in page
    assert all(f"<bdi>{text}</bdi>" in page for _, text in rejects)
    assert Path(part["report"]).with_name("index.html").is_file()
    capsys.readouterr()
    print_results(results)
    said = capsys.readouterr().out
    assert told in said and "Was it worth it?" in said and "too_short" in said

    before = release_files(home)
    monkeypatch.setattr(noise, "draw", None)
    again = new_run(home, asking(corpus, report, report_origin="another name for it"))
    run_audit(again)
    assert run_results(again)["partitions"] == results["partitions"]
    rebuild_everything(home)
    assert release_files(home).keys() == before.keys()
    assert Path(part["report"]).read_text() == page
    assert ReleaseLog(home).budget_lines()[0].epsilon.spent == "2"


def test_the_keyword_model_has_no_rules_for_claims(home: Home, corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "news.md").write_text(REPORT)
    with pytest.raises(UserError, match="keyword needs the rules of a domain file"):
        run_audit(new_run(capped(home), asking(corpus, tmp_path / "news.md", model="keyword")))


def refusal(home: Home, settings: AuditSettings) -> str:
    with pytest.raises(UserError) as error:
        check_report(settings, home)
    return str(error.value)


def test_a_report_in_the_private_zone_is_refused_under_every_name(home: Home, corpus: Path, tmp_path: Path) -> None:
    place = home.private / "demo" / "a.md"
    place.parent.mkdir()
    place.write_text(REPORT)
    (tmp_path / "link.md").symlink_to(place)
    (tmp_path / "folder").symlink_to(home.private)
    names = [place, f"file://{place}", f"local://{place}", tmp_path / "link.md", tmp_path / "folder" / "demo" / "a.md",
             tmp_path / "home" / ".." / "home" / "private" / "demo" / "a.md"]  # fmt: skip
    for name in names:
        assert "report: lies in the private zone" in refusal(home, asking(corpus, name)), name


def test_a_report_that_the_corpus_is_read_from_is_refused_under_every_name(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "texts"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "a.txt").write_text(REPORT)
    (folder / ".hidden.md").write_text(REPORT)
    outside = tmp_path / "outside.txt"
    os.link(folder / "deep" / "a.txt", outside)
    (tmp_path / "b.csv").write_text("id,text\n1,x\n")
    (tmp_path / "c.csv").symlink_to(tmp_path / "b.csv")
    monkeypatch.chdir(tmp_path)
    own = [
        (folder, folder / "deep" / "a.txt"),
        (folder, folder / ".hidden.md"),
        (folder, outside),
        (f"file://{folder}", "texts/deep/a.txt"),
        (tmp_path / "b.csv", tmp_path / "b.csv"),
        (tmp_path / "b.csv", "b.csv"),
        (tmp_path / "b.csv", tmp_path / "c.csv"),
        (tmp_path / "c.csv", f"file://{tmp_path}/b.csv"),
        (f"{tmp_path}/*.csv", tmp_path / "b.csv"),
        (f"simplecache::file://{tmp_path}/b.csv", tmp_path / "b.csv"),
    ]
    for source, report in own:
        assert "report: is the corpus's own source" in refusal(home, asking(source, report)), (source, report)
    (tmp_path / "news.md").write_text(REPORT)
    for source in (folder, tmp_path / "b.csv", f"{tmp_path}/*.csv"):
        check_report(asking(source, tmp_path / "news.md"), home)


def test_a_remote_report_that_the_corpus_is_read_from_is_refused(home: Home) -> None:
    memory = fsspec.filesystem("memory")
    memory.pipe({"/corpus/a.txt": b"a", "/corpus/b.csv": b"id,text\n1,x\n", "/news/a.md": b"a"})
    try:
        for source, report in [
            ("memory://corpus", "memory://corpus/a.txt"),
            ("memory:///corpus/b.csv", "memory://corpus/b.csv"),
        ]:
            assert "own source" in refusal(home, asking(source, report, format="csv" if "csv" in source else "text"))
        check_report(asking("memory://corpus/b.csv", "memory://news/a.md"), home)
    finally:
        memory.rm("/corpus", recursive=True)
        memory.rm("/news", recursive=True)


def test_a_copy_of_a_record_is_not_looked_for(home: Home, corpus: Path, tmp_path: Path) -> None:
    """A refusal that depended on private records would tell something about them."""
    (tmp_path / "news.md").write_text("The food was delicious and the staff were friendly. Visit 1.")
    check_report(asking(corpus, tmp_path / "news.md"), home)


def test_a_source_that_is_not_there_is_said(home: Home, tmp_path: Path) -> None:
    (tmp_path / "news.md").write_text(REPORT)
    assert refusal(home, asking(tmp_path / "missing.csv", tmp_path / "news.md")).startswith("source: no such file")
    assert refusal(home, asking(tmp_path / "missing.csv", "s9://bucket/a")).startswith("report: cannot be read")
