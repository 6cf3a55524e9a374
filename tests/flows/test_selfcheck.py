"""privcert selfcheck: real draws, so each run that should pass fails with probability 1e-6."""

import json
import re
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import pytest

from flows.cli import selfcheck
from tasks.privacy import empirical
from tasks.privacy.empirical import sampling
from tasks.privacy.empirical.sampling import real_draws


@pytest.mark.statistical
def test_selfcheck_passes_without_a_home_and_says_how_much_was_proved(privcert, tmp_path):
    answer = privcert(*"selfcheck --mechanism frontier --draws 2000 --workers 1 --json".split())
    found = json.loads(answer.out)
    assert (answer.code, found["passed"], found["confidence"]) == (0, True, "1 - 1e-06")
    assert [line["pair"] for line in found["findings"]] == ["both up", "one up, one down"]
    for line in found["findings"]:
        assert line["refuted"] == [] and line["draws"] == 10_000
        assert 0.3 < line["share_of_epsilon"] == line["epsilon_at_least"] / line["epsilon"] <= 1
        assert line["error_at_least"] <= line["beta"] <= line["error_at_most"]
        assert (line["delta"], line["delta_at_least"]) == (0, 0)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.statistical
def test_selfcheck_names_what_is_refuted_and_fails(privcert, monkeypatch):
    def half_the_noise(pair):
        return real_draws(replace(pair, design=replace(pair.design, epsilon=2 * pair.design.epsilon)))

    monkeypatch.setattr(empirical, "real_draws", half_the_noise)
    monkeypatch.setenv("COLUMNS", "160")
    answer = privcert(*"selfcheck --mechanism geometric --draws 4000 --workers 1".split())
    assert answer.code == 1 and answer.err.count("\n") == 1
    assert "geometric (both up): epsilon at least 1." in answer.err and "claimed 1" in answer.err
    assert answer.out.count("epsilon, delta") == 2


def test_selfcheck_names_a_sampler_that_accounts_for_more_than_the_budget(privcert, monkeypatch):
    monkeypatch.setattr(sampling, "_of_many", lambda loss, releases: replace(loss, epsilon=loss.epsilon / 2))
    answer = privcert(*"selfcheck --mechanism svt --draws 1000 --workers 1".split())
    assert answer.code == 1
    assert answer.err == (
        "privcert: selfcheck: svt (three up, the last down): the sampler's privacy loss exceeds the budget\n"
    )


@pytest.mark.statistical
def test_the_same_is_found_on_several_workers_in_the_same_order(privcert):
    found = json.loads(privcert(*"selfcheck --mechanism topk --draws 1000 --workers 2 --json".split()).out)
    assert [line["pair"] for line in found["findings"]] == ["one up, others down", "two up, others down"]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("laplace", "laplace is for studies only and has no exact sampler; give one of frontier"),
        ("gaussian", "gaussian is for studies only and has no exact sampler; give one of frontier"),
        ("nothing", "unknown mechanism 'nothing'; give one of frontier"),
    ],
)
def test_what_cannot_be_audited_is_refused_by_name(privcert, name, says):
    answer = privcert("selfcheck", "--mechanism", name)
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert f"mechanism: {says}" in answer.err and "discrete_gaussian" in answer.err


@pytest.mark.statistical
def test_the_table_cuts_nothing_at_80_columns(privcert, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # a terminal
    monkeypatch.setenv("TERM", "dumb")  # of 80 columns without colours
    answer = privcert(*"selfcheck --mechanism discrete_gaussian --draws 1000 --workers 1".split())
    assert answer.code == 0 and "…" not in answer.out
    assert max(map(len, answer.out.splitlines())) <= 80
    assert answer.out.count("discrete_gaussian:") == 2
    assert len(re.findall(r" \d\.\d{3} of 2 +0\.\d{4} to 0\.\d{4} +0\.05 +nothing", answer.out)) == 2


def test_the_table_rounds_what_was_proved_outwards(capsys):
    finding = SimpleNamespace(
        mechanism="frontier", pair="both up", epsilon=Fraction(1), epsilon_at_least=0.9996, error_at_least=0.00129,
        error_at_most=0.00131, beta=Fraction("0.05"), refuted=[],
    )  # fmt: skip
    selfcheck._print([finding])
    said = capsys.readouterr().out
    assert "0.999 of 1" in said and "0.0012 to 0.0014" in said
