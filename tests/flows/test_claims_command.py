"""privcert claims, and the flags of an audit of a report."""

import json

from tests.audits import write_corpus

TEXT = "# News\n\nThe food was good. Was it hot? [/red] The staff were kind.\n\n" + "Why? " * 30


def test_claims_and_rejects_are_shown_and_no_home_is_made(privcert, tmp_path):
    (tmp_path / "news.md").write_text(TEXT)
    facts = json.loads(privcert("claims", "news.md", "--json").out)
    assert set(facts) == {"sha256", "extractor", "claims", "rejects"}
    assert facts["claims"] == ["The food was good.", "[/red] The staff were kind."]
    assert facts["rejects"][:2] == [
        {"text": "# News", "reason": "heading", "start": 0, "end": 8},
        {"text": "Was it hot?", "reason": "question", "start": 26, "end": 38},
    ]
    assert len(facts["rejects"]) == 32
    text = privcert("claims", "news.md").out
    assert "The food was good." in text and "Was it hot?" in text and "[/red]" in text
    assert "12 more are no claims" in text
    assert "2 claims, 32 rejects (1 heading, 30 too_short, 1 question)" in text
    assert not (tmp_path / "home").exists()


def test_a_text_that_cannot_be_read_is_the_users_fault(privcert):
    answer = privcert("claims", "missing.md")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == "privcert: report: no such file, or it is no file\n"


def test_an_empty_text_and_weird_characters_are_shown(privcert, tmp_path):
    (tmp_path / "empty.md").write_text("")
    assert privcert("claims", "empty.md").out == "0 claims, 0 rejects\n"
    (tmp_path / "weird.md").write_bytes(
        "الطعام جيد جدا. The \0 food was bad. 👍🏽\n".encode() + b"\xff is not a word here"
    )
    shown = privcert("claims", "weird.md").out
    assert "\\x00" in shown and "\\udcff" in shown and "\0" not in shown


def test_an_audit_of_a_report_is_refused_by_name_before_anything_is_spent(privcert, tmp_path):
    privcert("init")
    privcert("budget", "set", "reviews", "--epsilon", "8")
    write_corpus(tmp_path / "reviews.parquet")
    (tmp_path / "news.md").write_text(TEXT)
    (tmp_path / "home" / "private" / "news.md").write_text(TEXT)
    (tmp_path / "none.md").write_text("Why?")
    asked = ["audit", "reviews.parquet", "--corpus", "reviews", "--unit", "author", "--epsilon", "2", "--theta", "0.05"]
    asked += ["--model", "nli-mini", "--report-origin", "our blog"]
    refused = {
        ("--report", "news.md"): "declare_released: say that the report was released already",
        ("--report", "home/private/news.md", "--declare-released"): "report: lies in the private zone of the home",
        ("--report", "reviews.parquet", "--declare-released"): "report: is the corpus's own source",
        ("--report", "none.md", "--declare-released"): "report: has no claim",
        ("--report", "missing.md", "--declare-released"): "report: no such file",
        ("--report", "news.md", "--declare-released", "--domain", "court-cases"): "domain: give either",
        ("--domain", "court-cases"): "report: report_origin and declare_released speak of a report",
    }
    for flags, says in refused.items():
        answer = privcert(*asked, *flags)
        assert (answer.code, answer.err.count("\n")) == (2, 1), answer
        assert says in answer.err
    [line] = json.loads(privcert("budget", "show", "--json").out)["accounts"]
    assert line["spent"]["epsilon"] == "0"
