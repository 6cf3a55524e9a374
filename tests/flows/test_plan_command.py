"""`privcert plan`: every part of the answer, and one line for what is wrong."""

import json
import re
from fractions import Fraction

import pytest

from schemas.rounding import chance_at_most

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
    by_name = {option["mechanism"]: option for option in advice["lowest_options"]}
    lowest = by_name[advice["lowest_support"]]
    assert lowest["releasable"] and set(advice["refused"]) == {"gaussian", "discrete_gaussian"}
    released = [option for option in advice["lowest_options"] if option["releasable"]]
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
    arguments += ["--output", "plans.csv"]
    out = privcert(*SMALL, *arguments).out
    assert [line for line in out.splitlines() if len(line.rstrip()) > 100] == []
    for text in (
        "emitted with prob. 0.95",
        "k* = ",
        "Theorem 5",
        "total variation",
        "not a filter",
        "the lowest support is certified by",
        "file                      plans.csv",
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
        ("--mechanism topk", "selected: topk needs it; selection_share: topk needs it"),
        ("--mechanism gaussian", "delta: gaussian needs it"),
        ("--delta 1e-5", "delta: frontier does not take it"),
        ("--contributions 3", "contributions: frontier does not take it"),
        ("--delta 0", "delta: must be greater than 0"),
        ("--selected 0", "selected: must be at least 1"),
        ("--sweep-epsilon 1,x", "sweep_epsilon, value 2: must be a number"),
        ("--sweep-theta 0.1,2", "sweep_theta, value 2: must be between 0 and 1"),
        ("--sweep-statements 5,1.5", "sweep_statements, value 2: must be a whole number"),
        ("--sweep-statements 5,0", "sweep_statements, value 2: must be at least 1"),
        ("--sweep-epsilon 1,2,1.0", "sweep_epsilon: a value is given twice"),
        ("--sweep-epsilon 0", "sweep_epsilon: must be greater than 0"),
        ("--n 1e3", "n: must be a whole number, written in digits only"),
        ("--n 0", "n: must be at least 1"),
        ("--prior 1:1:9 --prior-file none.txt", "prior: give either a prior or a prior_file"),
        ("--prior 1:2", "prior: write weight:a:b"),
        ("--prior-file none.txt", "prior_file: cannot read 'none.txt'"),
        ("--output plans.xls", "output: the file must end in .parquet or .csv"),
        ("--output none/plans.csv", "output: cannot write 'none/plans.csv'"),
        ("--plot sweep.png", "plot: the file must end in .svg"),
        ("--statements 20000 --advice", "advice: compares mechanisms for at most 10000 statements"),
        ("--epsilon 5e-324", "epsilon: "),
        ("--records 10 --model none", "pairs_per_second: the rate of 'none' is not known here"),
        ("--records 10 --pairs-per-second 0", "pairs_per_second: must be between 0.000001 and"),
        ("--records 10 --pairs-per-second 1e-400", "pairs_per_second: must be between 0.000001 and"),
        ("--sweep-statements 1_0,5", "sweep_statements, value 1: must be a whole number, not text"),
    ],
)
def test_what_is_wrong_is_one_line_that_begins_with_its_name(privcert, arguments, says):
    answer = privcert(*SMALL, *arguments.split())
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(f"privcert: {says}") and answer.err.count("\n") == 1


def test_hours_follow_from_a_measured_rate_of_any_model(privcert):
    known = facts_of(privcert, *SMALL, "--records", "3600", "--model", "nli-mini")
    measured = facts_of(privcert, *SMALL, "--records", "3600", "--model", "judge", "--pairs-per-second", "0.5")
    assert (known["pairs_per_second"], measured["pairs_per_second"]) == (60, 0.5)
    assert measured["hours"] == pytest.approx(measured["pairs"] / 1800) and measured["pairs"] == known["pairs"]


@pytest.mark.parametrize("flag", ["theta", "epsilon", "statements"])
def test_what_is_swept_need_not_be_given_once_more(privcert, flag):
    values = {"theta": "0.3,0.2", "epsilon": "8,1", "statements": "12,3"}[flag]
    given = {"theta": "0.1", "epsilon": "4", "statements": "5"} | {flag: values.split(",")[0]}
    alone = ["plan", "--n", "300", *(part for name, value in given.items() for part in (f"--{name}", value))]
    swept = [part for part in alone if part not in (f"--{flag}", given[flag])] + [f"--sweep-{flag}", values]
    found = facts_of(privcert, *swept)
    assert len(found.pop("sweep")) == 2 and found == facts_of(privcert, *alone)
    lacking = privcert("plan", "--n", "300", "--sweep-statements", "1,2")
    assert (lacking.code, lacking.err) == (2, "privcert: theta: is required; epsilon: is required\n")


def test_a_plan_repeats_what_was_asked_and_says_what_a_certificate_pays(privcert):
    facts = facts_of(privcert, *SMALL, "--mechanism", "svt", "--selected", "4", "--selection-share", "0.25")
    assert [facts[name] for name in ("epsilon", "delta", "theta", "beta")] == ["4", None, "0.1", "0.05"]
    assert facts["epsilon_per_certificate"] == 0.75 and facts["epsilon_per_statement"] is None
    gaussian = facts_of(privcert, *SMALL, "--mechanism", "discrete_gaussian", "--delta", "1e-5")
    assert gaussian["delta"] == "0.00001" and gaussian["epsilon_per_certificate"] is None
    out = privcert(*SMALL, "--mechanism", "svt", "--selected", "4", "--selection-share", "0.25").out
    assert "at most 4 of 12 statements, epsilon 0.75 each" in out


@pytest.mark.parametrize("mechanism", ["svt", "topk", "discrete_gaussian", "gaussian"])
def test_no_limit_is_printed_that_does_not_hold_for_the_mechanism(privcert, mechanism):
    arguments = [*SMALL, "--mechanism", mechanism, *OF_THEIR_OWN[mechanism].split()]
    facts = facts_of(privcert, *arguments)
    assert set(facts["limits"].values()) == {None} and facts["epsilon_of_one_statement"] is None
    assert {line["tv_statement"] for line in facts["without_certificate"]} == {None}
    out = privcert(*arguments).out
    assert "k* =" not in out and "pure DP with equal shares" in out


def test_where_a_theorem_says_nothing_the_text_says_so(privcert):
    out = privcert(*SMALL).out
    assert "the bound on the width says nothing here (Theorem 5" in out and "w >= " not in out


def test_advice_that_needs_delta_says_which_account_takes_it_and_the_best_without(privcert):
    arguments = [*"plan --n 1800 --theta 0.05 --epsilon 10 --statements 60 --advice".split(), "--delta", "1e-5"]
    advice, out = facts_of(privcert, *arguments)["advice"], " ".join(privcert(*arguments).out.split())
    assert advice["lowest_support"] == advice["most_statements"] == "discrete_gaussian"
    for name in ("lowest_support_pure", "most_statements_pure"):
        assert advice[name] not in (None, "discrete_gaussian")
        assert f"Without delta: {advice[name]} (" in out
    assert "an account that counts delta or rho: `privcert budget set … --epsilon E --delta D` or `--rho R`" in out


def test_files_that_were_written_are_named(privcert):
    arguments = [*SMALL, "--sweep-epsilon", "1,4", "--output", "plans.csv", "--plot", "sweep.svg"]
    assert facts_of(privcert, *arguments)["files"] == ["plans.csv", "sweep.svg"]
    assert "file                      sweep.svg" in privcert(*arguments).out


@pytest.mark.parametrize(
    ("bound", "says"),
    [
        (1e-7, "1e-7"),
        (0.02499479, "0.02500"),
        (0.46211715726, "0.4622"),
        (0.9999092042625951, "1 - 0.000090"),
        (1 - 2.55e-14, "1 - 2.5e-14"),
        (1.0, "1 (no bound)"),
        (0.0, "0"),
    ],
)
def test_an_upper_bound_is_rounded_up_and_never_to_nothing(bound, says):
    assert chance_at_most(bound) == says or float(chance_at_most(bound)) == pytest.approx(float(says))


@pytest.mark.parametrize("columns", ["80", "100"])
def test_tables_cut_no_number_and_no_name(privcert, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("FORCE_COLOR", "1")
    arguments = "plan --n 100000 --statements 60 --epsilon 4 --theta 0.1 --delta 1e-5 --advice".split()
    arguments += ["--sweep-epsilon", "0.123456,999.999", "--sweep-theta", "0.0123456,0.9"]
    out = re.sub(r"\x1b\[[0-9;]*m", "", privcert(*arguments).out)
    assert "…" not in out.replace("budget set …", "")
    rows = [line.split() for line in out.splitlines()]
    assert ["999.999", "60", "0.0123456", "1235"] in [row[:4] for row in rows]
    assert sum(row[:1] == ["laplace_rounded*"] and len(row) == 6 for row in rows) == 2
    assert ["*"] not in rows
    for table in re.findall(r"(?ms)^mechanism.*?(?=\n\s*\n)", out):
        assert max(len(line.rstrip()) for line in table.splitlines()) <= int(columns)


def test_a_support_that_is_needed_is_rounded_up_and_so_is_a_margin(privcert):
    said = privcert(*"plan --n 4000 --statements 20 --theta 0.25 --epsilon 1 --sweep-theta 0.25,0.3".split()).out
    assert "emitted with prob. 0.5    1105 units, support 0.2763" in said  # 0.27625
    assert ["0.2763", "0.2810", "0.2880"] in [line.split()[-3:] for line in said.splitlines()]
    thirds = privcert(*"plan --n 3000 --statements 20 --theta 0.25 --epsilon 1".split()).out
    assert "margin                    106 units, 0.03534 of n = 3000" in thirds  # 0.035333...


def test_advice_rounds_the_support_that_is_needed_up(privcert):
    arguments = "plan --n 4000 --statements 20 --theta 0.25 --epsilon 1 --advice".split()
    options = facts_of(privcert, *arguments)["advice"]["lowest_options"]
    said = privcert(*arguments).out.split("Best parameters for the lowest support")[1]
    needed = {option["mechanism"]: option["smallest_count_certified"].values() for option in options}
    for row in [line.split() for line in said.splitlines()]:
        if row and row[0].rstrip("*") in needed and len(row) >= 6:
            for shown, count in zip(row[-4:-1], needed.pop(row[0].rstrip("*")), strict=True):
                assert shown == "-" or 0 <= Fraction(shown) - Fraction(count, 4000) < Fraction(1, 10**4)
    assert needed == {}


@pytest.mark.parametrize(
    ("flags", "name"), [("--beta 1e-400", "beta_per_statement"), ("--beta 1e-330", "beta_per_statement")]
)
def test_an_error_that_can_happen_is_never_said_to_be_nothing(privcert, flags, name):
    arguments = [*"plan --n 1000 --statements 3 --theta 0.1 --epsilon 1".split(), *flags.split()]
    assert 0 < facts_of(privcert, *arguments)[name] < 1e-300
    said = privcert(*arguments).out
    assert "error 5e-324 each" in said and "error 0 each" not in said
