"""What accepting a gap asks for on the command line, and what a summary says of statements without a certificate."""

import json
import shutil

from flows.cli.summary import print_results

LOST = ("budget", "accept-gap", "--reason", "restored")


def test_a_gap_is_accepted_with_a_delta_that_was_said_and_without_one_never(privcert, tmp_path):
    assert privcert("init").code == 0
    privcert("budget", "set", "reviews", "--epsilon", "8")
    privcert("warehouse", "rebuild")
    log = tmp_path / "home" / "private" / "release_log.sqlite"
    shutil.copy(log, tmp_path / "backup")
    privcert("budget", "set", "other", "--epsilon", "8")
    privcert("warehouse", "rebuild")
    shutil.copy(tmp_path / "backup", log)
    older = privcert("budget", "set", "reviews", "--epsilon", "7")
    assert "accept-gap --epsilon E --delta D" in older.err and "--rho R" in older.err
    for amounts, says in (
        (("--epsilon", "2"), "delta: say --delta D beside --epsilon"),
        (("--epsilon", "2", "--rho", "1"), "delta: say --delta D beside --epsilon"),
        (("--rho", "1"), "epsilon: account reviews counts it, so accepting a gap must state it: --epsilon E"),
        (("--epsilon", "2", "--delta", "1"), "delta: must be greater than 0 and less than 1"),
        (("--epsilon", "2", "--delta", "no"), "delta: must be a number"),
    ):
        answer = privcert(*LOST, *amounts)
        assert answer.code != 0 and says in answer.err, (amounts, answer)
    answer = privcert(*LOST, "--epsilon", "2", "--delta", "0.0", "--json")
    assert json.loads(answer.out) == {"charged": {"epsilon": "2", "delta": "0"}}
    spent = json.loads(privcert("budget", "show", "reviews", "--json").out)["accounts"][0]["spent"]
    assert spent == {"epsilon": "2", "delta": "0", "rho": "2"}


def test_the_help_says_what_a_gap_must_state(privcert):
    said = " ".join(privcert("budget", "accept-gap", "--help").out.split())
    assert "needs --delta" in said and "0 only if nothing that was lost had one" in said and "--rho" in said


def test_a_cap_on_delta_is_still_above_0(privcert):
    assert "delta: must be greater than 0" in privcert("budget", "set", "reviews", "--epsilon", "8", "--delta", "0").err


def test_the_summary_names_no_support_where_there_is_no_certificate(capsys):
    line = {"statement": "A.", "certificate": 0.0, "certificate_units": 0, "has_certificate": False}
    sure = line | {"statement": "B.", "certificate": 0.5, "certificate_units": 50, "has_certificate": True}
    partition = {
        "partition": "all", "n": 100, "unit": "author", "mechanism": "topk", "epsilon": "1", "scope": "report",
        "meaning": "at least", "vacuous": False, "margin_units": 1, "margin": 0.01, "abstained": 0,
        "abstain_reasons": {}, "parameters": {"selected": "1"}, "emitted": [line] * 22 + [sure], "report": "r",
        "certificate": "c",
    }  # fmt: skip
    print_results(
        {"corpus": "reviews", "theta": "0", "proposer": "file", "rejects": [], "partitions": [partition]}
        | {"budget": [], "operator": dict.fromkeys(("pairs_scored", "pairs_reused", "answers_reused"), 0)}
        | {"database": "d"}
    )
    said = " ".join(capsys.readouterr().out.split())
    assert "0.5000" in said and "0.0000" not in said and said.count("no certificate") == 19
    assert "emitted 23 (3 more in the report, 22 without a certificate), abstained 0" in said
