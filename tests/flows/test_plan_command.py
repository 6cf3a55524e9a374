"""`privcert plan`: every part of the answer, and one line for what is wrong."""

import json
from fractions import Fraction

import pytest

PLAIN = "plan --n 1800 --theta 0.05 --epsilon 10".split()
SMALL = "plan --n 300 --statements 12 --theta 0.1 --epsilon 4".split()
OF_THEIR_OWN = {
    "hist": "--contributions 3",
    "svt": "--selected 4 --selection-share 0.5",
    "topk": "--selected 4 --selection-share 0.25",
    "gaussian": "--delta 1e-5",
    "discrete_gaussian": "--delta 1e-5",
}


def facts_of(privcert, *arguments):
    answer = privcert(*arguments, "--json")
    assert answer.code == 0, answer.err
    return json.loads(answer.out)


@pytest.mark.parametrize(
    "mechanism", ["frontier", "geometric", "staircase", "laplace", "laplace_rounded", *OF_THEIR_OWN]
)
def test_every_mechanism_can_be_planned(privcert, mechanism):
    facts = facts_of(privcert, *SMALL, "--mechanism", mechanism, *OF_THEIR_OWN.get(mechanism, "").split())
    counts = [facts["smallest_count_emitted"][power] for power in ("0.5", "0.8", "0.95")]
    assert counts == sorted(counts) and 30 <= counts[0] <= 300
    assert facts["releasable"] is (mechanism not in ("laplace", "laplace_rounded", "gaussian"))


def test_the_parameters_of_a_mechanism_are_part_of_the_answer(privcert):
    facts = facts_of(privcert, *SMALL, "--mechanism", "topk", "--selected", "4", "--selection-share", "0.25")
    assert (facts["selected"], facts["selection_share"], facts["contributions"]) == (4, 0.25, None)
    assert facts["epsilon_per_statement"] is None and facts["beta_per_statement"] == 0.0125


def test_a_plan_says_what_no_certifier_can_beat_and_what_a_reader_could_infer(privcert):
    facts = facts_of(privcert, *PLAIN, "--scope", "candidate")
    assert facts["limits"]["half_emission_distance_units"] == 47
    assert facts["limits"]["width_privcert_units"] == pytest.approx(92.103403719762)
    nearest = facts["without_certificate"][0]
    assert nearest == {
        "distance_units": 1,
        "tv_statement": pytest.approx(0.024994793618920154),  # tanh(0.05 / 2)
        "tv_release": pytest.approx(0.9999092042625951),  # tanh(10 / 2)
    }


def test_advice_names_a_mechanism_that_can_be_released_and_its_parameters(privcert):
    advice = facts_of(privcert, *SMALL, "--advice")["advice"]
    by_name = {option["mechanism"]: option for option in advice["options"]}
    lowest = by_name[advice["lowest_support"]]
    assert lowest["releasable"] and set(advice["refused"]) == {"gaussian", "discrete_gaussian"}
    released = [option for option in advice["options"] if option["releasable"]]
    counts = [option["smallest_count_certified"]["0.8"] for option in released]
    assert lowest["smallest_count_certified"]["0.8"] == min(count for count in counts if count is not None)
    assert by_name["hist"]["contributions"] and by_name["svt"]["selected"] and by_name["topk"]["selection_share"]


def test_advice_takes_delta_and_a_prior_of_public_supports(privcert, tmp_path):
    (tmp_path / "public.txt").write_text("0.01\n0.5\n0.6\n0.07\n")
    arguments = [*SMALL, "--advice", "--delta", "1e-5", "--prior-file", "public.txt"]
    advice = facts_of(privcert, *arguments)["advice"]
    assert advice["supported"] == 6 and advice["refused"] == {}
    assert facts_of(privcert, *SMALL, "--advice", "--prior", "1:1:99")["advice"]["supported"] == 0


def test_releases_planned_in_advance_are_added_up_exactly_and_numerically(privcert):
    facts = facts_of(privcert, *SMALL, "--releases", "30", "--delta", "1e-6")["releases"]
    assert (facts["releases"], facts["epsilon"], facts["delta"]) == (30, "120", "0")
    assert 20 <= Fraction(facts["rho"]) < 20 + Fraction("1e-20")  # 30 times 12 times (1/3)^2 / 2, each rounded up
    assert facts["pld_delta"] == "0.000001" and 20 < facts["pld_epsilon"] < 120
    assert facts_of(privcert, *SMALL, "--releases", "30")["releases"]["pld_epsilon"] is None


def test_a_sweep_is_the_single_plans(privcert):
    sweep = "--sweep-epsilon 8,2.50 --sweep-statements 12,3 --sweep-theta 0.1,0.2".split()
    rows = facts_of(privcert, *SMALL, *sweep)["sweep"]
    assert [(row["theta"], row["statements"], row["epsilon"]) for row in rows] == [
        (theta, m, epsilon) for theta in ("0.1", "0.2") for m in (3, 12) for epsilon in ("2.5", "8")
    ]
    for row in rows:
        one = ["--statements", str(row["statements"]), "--theta", row["theta"], "--epsilon", row["epsilon"]]
        alone = facts_of(privcert, "plan", "--n", "300", *one)
        for percent, power in ((50, "0.5"), (80, "0.8"), (95, "0.95")):
            assert row[f"smallest_count_emitted_{percent}"] == alone["smallest_count_emitted"][power]
        assert row["margin_units"] == alone["margin_units"] and row["vacuous"] is alone["vacuous"]


def test_a_sweep_leaves_the_one_plan_as_it_is(privcert):
    swept = facts_of(privcert, *SMALL, "--sweep-epsilon", "1,8", "--sweep-theta", "0.3,0.2")
    assert facts_of(privcert, *SMALL) == {name: value for name, value in swept.items() if name != "sweep"}


def test_files_are_written_where_they_are_asked_for(privcert, tmp_path):
    answer = privcert(*SMALL, "--sweep-epsilon", "1,4", "--output", "plans.csv", "--plot", "sweep.svg")
    assert answer.code == 0, answer.err
    assert len((tmp_path / "plans.csv").read_text().splitlines()) == 3
    assert (tmp_path / "sweep.svg").read_bytes().startswith(b"<?xml")
    assert not (tmp_path / "home").exists()


def test_text_fits_a_hundred_columns_and_says_everything(privcert, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    arguments = "--advice --releases 12 --delta 1e-5 --records 500 --sweep-epsilon 0.1,4 --sweep-theta 0.1,0.9".split()
    out = privcert(*SMALL, *arguments).out
    assert max(len(line.rstrip()) for line in out.splitlines()) <= 100
    for text in (
        "emitted with prob. 0.95",
        "k* = ",
        "Theorem 5",
        "total variation",
        "not a filter",
        "certifies the lowest support",
        "scoring",
        "smallest support emitted with probability",
    ):
        assert text in out


def test_text_says_what_the_numbers_of_selecting_and_bounding_mechanisms_mean(privcert):
    assert "after contribution bounding" in privcert(*SMALL, "--mechanism", "hist", "--contributions", "3").out
    topk = privcert(*SMALL, "--mechanism", "topk", "--selected", "4", "--selection-share", "0.5").out
    assert "beside other statements as the prior has them" in topk
    assert "simulation only" in privcert(*SMALL, "--mechanism", "laplace").out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("--mechanism magic", "mechanism: unknown mechanism 'magic'"),
        ("--mechanism hist", "contributions: hist needs it"),
        ("--mechanism svt --selected 3", "selection_share: svt needs it"),
        ("--mechanism gaussian", "delta: gaussian needs it"),
        ("--delta 1e-5", "delta: frontier does not take it"),
        ("--contributions 3", "contributions: frontier does not take it"),
        ("--delta 0", "delta: must be greater than 0"),
        ("--selected 0", "selected:"),
        ("--sweep-epsilon 1,x", "sweep_epsilon.1: must be a number"),
        ("--sweep-theta 0.1,2", "sweep_theta.1: must be between 0 and 1"),
        ("--sweep-statements 5,1.5", "sweep_statements.1: must be a whole number"),
        ("--sweep-statements 5,0", "sweep_statements: each must be between 1 and 100000"),
        ("--prior 1:2", "prior: write weight:a:b"),
        ("--prior-file none.txt", "prior_file: cannot read 'none.txt'"),
        ("--output plans.xls", "output: the file must end in .parquet or .csv"),
        ("--output none/plans.csv", "output: cannot write 'none/plans.csv'"),
        ("--plot sweep.png", "plot: the file must end in .svg"),
        ("--statements 20000 --advice", "advice: compares mechanisms for at most 10000 statements"),
        ("--epsilon 5e-324", "epsilon: "),
        ("--records 10 --model none", "model: unknown support model 'none'"),
    ],
)
def test_what_is_wrong_is_one_line_that_begins_with_its_name(privcert, arguments, says):
    answer = privcert(*SMALL, *arguments.split())
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(f"privcert: {says}") and answer.err.count("\n") == 1
