"""A released text as a source of candidates: what is read, what is refused, and what is said of it in public."""

import hashlib
import os
from pathlib import Path

import fsspec
import pytest

from schemas.audit import MAX_ORIGIN_CHARACTERS, ProposalSettings
from schemas.building import build
from schemas.errors import UserError
from tasks.statements import propose
from tasks.statements.claims import extractor
from tasks.statements.released_text import MAX_FILE_BYTES, MAX_MARKS, read_released_text

TEXT = "# News\n\nThe food was good. Was it hot? The staff were kind.\n"


def settings(report: object, **changes: object) -> ProposalSettings:
    values = {"report": str(report), "report_origin": "our blog, 2026-11-02", "declare_released": True}
    return build(ProposalSettings, values, changes)


def test_the_claims_are_proposed_in_order_and_their_origin_is_public(tmp_path: Path) -> None:
    path = tmp_path / "secret-name.md"
    path.write_text(TEXT)
    proposal = propose(settings(path))
    assert [statement.text for statement in proposal.statements] == ["The food was good.", "The staff were kind."]
    assert [str(reject.reason) for reject in proposal.rejects] == ["heading", "question"]
    assert proposal.description == (
        f"claims of a released text, sha256 {hashlib.sha256(TEXT.encode()).hexdigest()}; extractor {extractor()}: "
        "2 claims, 2 rejects (1 heading, 1 question); declared origin: our blog, 2026-11-02"
    )


def test_a_url_is_read_and_gives_the_same(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(TEXT)
    memory = fsspec.filesystem("memory")
    memory.pipe("/news/a.md", TEXT.encode())
    try:
        assert propose(settings("memory://news/a.md")) == propose(settings(tmp_path / "a.md"))
        assert propose(settings(f"file://{tmp_path}/a.md")) == propose(settings(tmp_path / "a.md"))
    finally:
        memory.rm("/news", recursive=True)


def test_bytes_that_are_no_utf8_spoil_their_sentence_only(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(
        b"\xef\xbb\xbfThe food was good. The caf\xe9 was closed. \xed\xa0\x80 It was quite late."
    )
    found = read_released_text(str(tmp_path / "a.txt")).extraction
    assert [claim.statement.text for claim in found.claims] == ["The food was good."]
    assert [(str(reject.reason), reject.text) for reject in found.rejects] == [
        ("unreadable", "The caf\\udce9 was closed."),
        ("unreadable", "\\udced\\udca0\\udc80 It was quite late."),
    ]


def test_a_report_without_a_claim_is_refused(tmp_path: Path) -> None:
    for content in ("", " \n", "Why?", TEXT.encode("utf-16").decode("latin-1")):
        (tmp_path / "a.txt").write_text(content)
        with pytest.raises(UserError, match="report: has no claim; `privcert claims` shows"):
            propose(settings(tmp_path / "a.txt"))


def test_piled_marks_are_refused_where_normalising_them_would_take_hours(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("The food was go" + "\u0301\u0316" * (MAX_MARKS // 2) + "od.")
    assert len(read_released_text(str(path)).extraction.claims) == 1
    path.write_text("The food was go" + "\u0301\u0316" * 2_000_000 + "od.")
    with pytest.raises(UserError, match="more than 100 combining marks in a row"):
        read_released_text(str(path))


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "a.txt").open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)
    with pytest.raises(UserError, match="larger than 16 MiB"):
        read_released_text(str(tmp_path / "a.txt"))


def test_what_is_no_file_is_refused_without_its_address(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    missing = ["missing.txt", ".", "pipe", "nul\0"]
    urls = ["s9://key:token@bucket/a", "memory://missing", "", "zip://a::file:///b"]
    for report in [*(f"{tmp_path}/{name}" for name in missing), *urls]:
        with pytest.raises(UserError, match=r"^report: ") as refusal:
            read_released_text(report)
        assert "token" not in str(refusal.value) and str(tmp_path) not in str(refusal.value)


REFUSED = {
    "no origin": ({"report_origin": None}, "report_origin: say where the report came from"),
    "an empty origin": ({"report_origin": "  "}, "report_origin: must have 1 to 200"),
    "a long origin": ({"report_origin": "x" * (MAX_ORIGIN_CHARACTERS + 1)}, "report_origin: must have 1 to 200"),
    "an origin of two lines": ({"report_origin": "a\nb"}, "report_origin: has the control character"),
    "an origin that turns": ({"report_origin": "a\u202eb"}, "report_origin: has the direction override"),
    "no declaration": ({"declare_released": False}, "declare_released: say that the report was released already"),
    "blind is not released": ({"declare_released": None, "declare_blind": True}, "declare_released: say"),
    "a domain, too": ({"domain": "court-cases"}, "domain: give either a domain or a task or a"),
    "a file, too": ({"statements_file": "a.txt", "declare_blind": True}, "domain: give either"),
    "no report": ({"report": None, "domain": "court-cases"}, "report: report_origin and declare_released speak of"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_report_that_is_not_declared_is_refused_by_name(kind: str) -> None:
    changes, says = REFUSED[kind]
    values = {"report": "a.md", "report_origin": "our blog", "declare_released": True} | changes
    with pytest.raises(UserError, match=says):
        build(ProposalSettings, values)
