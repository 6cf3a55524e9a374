"""A sweep is the plans of its cells, as a table, as files and as a picture."""

from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree

import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError

from schemas.errors import UserError
from schemas.plans import PLANS, PlanSettings
from tasks.plans.plot import plot_sweep, write_plot
from tasks.plans.sweep import Cell, single, sweep
from tasks.plans.table import plan_row, write_plans
from tasks.privacy.design import Design
from tasks.privacy.mechanisms import MECHANISMS
from tasks.privacy.planning import DEFAULT_PRIOR, plan

OWN = {
    "delta": Decimal("1e-5"),
    "contributions": 4,
    "selected": 3,
    "selection_share": Decimal("0.5"),
}


def settings(mechanism: str = "frontier", **given: object) -> PlanSettings:
    """Two epsilons, two numbers of statements and two thetas."""
    own = {name: value for name, value in OWN.items() if name in MECHANISMS[mechanism].takes}
    values: dict[str, object] = {
        "n": 500,
        "theta": Decimal("0.05"),
        "epsilon": Decimal(3),
        "sweep_epsilon": (Decimal(10), Decimal("0.5")),
        "sweep_statements": (20, 5),
        "sweep_theta": (Decimal("0.1"), Decimal("0.07")),
    }
    return PlanSettings.model_validate(values | {"mechanism": mechanism} | own | given)


def cells_of(asked: PlanSettings) -> list[Cell]:
    """Under the default prior."""
    return list(sweep(asked, DEFAULT_PRIOR))


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_every_cell_is_the_single_plan_of_its_settings(mechanism: str) -> None:
    asked = settings(mechanism)
    cells = cells_of(asked)
    assert [(c.theta, c.statements, c.epsilon) for c in cells] == [
        (Decimal(theta), m, Decimal(epsilon)) for theta in ("0.07", "0.1") for m in (5, 20) for epsilon in ("0.5", "10")
    ]
    for cell in cells:
        alone = asked.model_dump() | {"sweep_epsilon": (), "sweep_statements": (), "sweep_theta": ()}
        one = {"epsilon": cell.epsilon, "statements": cell.statements, "theta": cell.theta}
        alone = {name: value for name, value in alone.items() if name not in OWN} | {
            name: getattr(asked, name) for name in OWN
        }
        alone_asked = PlanSettings.model_validate(alone | {"beta": asked.beta} | one)
        assert single(alone_asked, DEFAULT_PRIOR) == cell.plan
        assert [c.plan for c in cells_of(alone_asked)] == [cell.plan]


def test_a_cell_has_the_design_that_its_settings_name() -> None:
    (cell, *_) = cells_of(settings())
    expected = Design(500, 5, Fraction(1, 2), Fraction("0.05"))
    assert cell.plan == plan("frontier", expected, Fraction("0.07"), DEFAULT_PRIOR)


def test_rows_say_what_was_asked_exactly_and_what_was_found() -> None:
    asked = settings()
    rows = [plan_row(asked, cell) for cell in cells_of(asked)]
    assert list(rows[0]) == PLANS.names
    assert (rows[0]["epsilon"], rows[0]["theta"], rows[0]["statements"]) == ("0.5", "0.07", 5)
    best = rows[1]
    made = cells_of(asked)[1].plan
    assert best["smallest_count_emitted_80"] == made.smallest_count_emitted["0.8"]
    assert best["smallest_support_emitted_95"] == made.smallest_count_emitted["0.95"] / 500  # type: ignore[operator]
    assert best["margin_units"] == float(made.margin_units) and best["threshold_units"] == 35


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_a_file_holds_the_rows(suffix: str, tmp_path: Path) -> None:
    asked, path = settings("topk"), tmp_path / f"plans{suffix}"
    rows = [plan_row(asked, cell) for cell in cells_of(asked)]
    write_plans(str(path), rows)
    types = dict(zip(PLANS.names, PLANS.types, strict=True))
    options = pyarrow.csv.ConvertOptions(column_types=types, strings_can_be_null=True, quoted_strings_can_be_null=False)
    found = pq.read_table(path) if suffix == ".parquet" else pyarrow.csv.read_csv(path, convert_options=options)
    assert found.schema == PLANS or suffix == ".csv"
    assert found.to_pylist() == rows


def test_the_same_rows_give_the_same_file(tmp_path: Path) -> None:
    asked = settings()
    for name in ("a", "b"):
        write_plans(str(tmp_path / f"{name}.csv"), [plan_row(asked, cell) for cell in cells_of(asked)])
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_the_same_sweep_gives_the_same_bytes_of_a_picture() -> None:
    asked = settings()
    drawn = plot_sweep(asked, cells_of(asked))
    assert drawn == plot_sweep(asked, cells_of(asked))
    assert b"<dc:date>" not in drawn and ElementTree.fromstring(drawn).tag.endswith("svg")
    other = settings(beta=Decimal("0.01"))
    assert plot_sweep(other, cells_of(other)) != drawn


def test_the_picture_names_its_axes_units_and_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tasks.plots.svg._SETTINGS", {"svg.fonttype": "none"})  # letters stay letters
    asked = settings(sweep_epsilon=(Decimal("0.01"), Decimal(10)))
    drawn = plot_sweep(asked, cells_of(asked)).decode()
    for text in (
        "epsilon of the release (nats)",
        "smallest support emitted (% of units)",
        "theta = 7 %",
        "theta = 10 %",
        "5 statements",
        "20 statements",
        "frontier, n = 500, beta = 0.05 (report)",
        "no point: not even all units are enough",
    ):
        assert f">{text}<" in drawn
    alone = settings(sweep_epsilon=(), sweep_statements=(5, 20, 50))
    assert ">epsilon 3<" in plot_sweep(alone, cells_of(alone)).decode()


@pytest.mark.parametrize(("write", "name"), [(write_plans, "output"), (write_plot, "plot")])
def test_a_file_that_cannot_be_written_is_said_by_name(write: object, name: str, tmp_path: Path) -> None:
    asked = settings()
    path = str(tmp_path / "missing" / "file")
    with pytest.raises(UserError, match=f"^{name}: cannot write .*: No such file or directory"):
        write_plans(f"{path}.csv", []) if write is write_plans else write_plot(f"{path}.svg", asked, cells_of(asked))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"output": "plans.txt"}, "output: the file must end in .parquet or .csv"),
        ({"plot": "sweep.png"}, "plot: the file must end in .svg"),
        ({"sweep_statements": (0,)}, "greater than or equal to 1"),
        ({"sweep_epsilon": (Decimal(0),)}, "greater than 0"),
        ({"sweep_theta": (Decimal("1.1"),)}, "between 0 and 1"),
        ({"sweep_statements": tuple(range(1, 6000))}, "has 23996 plans, more than 10000"),
        ({"selection_share": Decimal(1)}, "greater than 0 and less than 1"),
        ({"releases": 0}, "greater than or equal to 1"),
    ],
)
def test_settings_out_of_range_are_refused_by_name(given: dict[str, object], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        settings(**given)
