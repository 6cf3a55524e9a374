"""The grid: only what a mechanism takes multiplies its cells, and wrong requests are refused by name."""

from dataclasses import replace
from decimal import Decimal

import pytest

from schemas.audit import Scope
from schemas.errors import UserError
from schemas.studies import StudySettings
from tasks.studies.cells import Cell, cells_of
from tasks.studies.universes import Universe, synthetic
from tests.small_studies import preset, small_settings


def cells(settings: StudySettings) -> list[Cell]:
    return cells_of(settings, lambda name, statements, theta: universe(settings))


def universe(settings: StudySettings) -> Universe:
    return synthetic(settings.n, settings.universe_statements, settings.universe_seed)


def test_only_parameters_that_a_mechanism_takes_multiply_its_cells() -> None:
    settings = small_settings(selected=(1, 2, 3), selection_share=("0.25", "0.5"), contributions=(1, 2))
    by_mechanism = {name: [cell for cell in cells(settings) if cell.mechanism == name] for name in settings.mechanisms}
    assert {name: len(found) for name, found in by_mechanism.items()} == {
        "frontier": 4,
        "laplace": 4,
        "svt": 24,
        "topk": 24,
        "hist": 8,
    }
    assert {cell.selected for cell in by_mechanism["frontier"]} == {None}
    assert {cell.contributions for cell in by_mechanism["svt"]} == {None}


def test_the_sweep_has_108_cells() -> None:
    found = cells(preset("synthetic-sweep"))
    assert len(found) == len({cell.key for cell in found}) == 108
    assert {(cell.scope, cell.distinct) for cell in found} == {(Scope.CANDIDATE, False)}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"mechanisms": "gauss"}, "mechanisms: unknown mechanism 'gauss'; known: frontier, geometric"),
        ({"delta": "0.00001"}, "delta: none of frontier, laplace, svt, topk, hist takes it"),
        ({"mechanisms": ("frontier", "gaussian"), "selected": (), "selection_share": (), "contributions": ()},
         "delta: gaussian needs it"),
        ({"contributions": ()}, "contributions: hist needs it"),
        ({"selected": ()}, "selected: svt needs it"),
        ({"statements": (5, 41)}, "statements: 41 distinct ones are asked, universe synthetic has 40"),
        ({"epsilon": "1e-13"}, "epsilon: "),
        ({"n": 10**7}, "n: hist needs to know who supports what; n times the statements must be at most 2^28"),
        ({"seeds": 100_000}, "seeds: 20 cells with 100000 seeds are more than 1000000 simulations"),
    ],
)  # fmt: skip
def test_a_wrong_request_is_refused_by_name(changes: dict[str, object], says: str) -> None:
    with pytest.raises(UserError) as refusal:
        cells(small_settings(**changes))
    assert says in str(refusal.value)


def test_more_statements_than_the_universe_has_are_drawn_with_replacement() -> None:
    assert len(cells(small_settings(statements=41, distinct=False))) == 10


def test_a_cell_key_changes_with_everything_that_the_draws_depend_on_and_with_nothing_else() -> None:
    cell = next(cell for cell in cells(small_settings()) if cell.mechanism == "svt")
    changed = [
        replace(cell, **change)
        for change in (
            {"mechanism": "topk"},
            {"universe": synthetic(200, 40, 1)},
            {"statements": 6},
            {"epsilon": Decimal(2)},
            {"theta": Decimal("0.2")},
            {"beta": Decimal("0.01")},
            {"scope": Scope.CANDIDATE},
            {"runs": 5},
            {"distinct": False},
            {"delta": Decimal("0.1")},
            {"selected": 4},
            {"selection_share": Decimal("0.4")},
            {"contributions": 1},
        )
    ]
    assert len({cell.key, *(other.key for other in changed)}) == 1 + len(changed)
    assert replace(cell, theta=Decimal("0.100"), universe_name="renamed").key == cell.key


def test_a_study_that_is_too_large_is_refused_before_its_cells_are_made() -> None:
    asked = small_settings(
        **{name: tuple(range(1, 200)) for name in ("epsilon", "statements", "selected", "contributions")}
    )
    with pytest.raises(UserError, match=r"cells with 3 seeds are more than 1000000 simulations"):
        cells_of(asked, lambda name, statements, theta: pytest.fail("a cell was made"))
