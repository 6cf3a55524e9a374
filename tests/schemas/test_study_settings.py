"""Settings of a study: exact, one value or a list, refused by name."""

from decimal import Decimal

import pytest

from schemas.audit import Scope
from schemas.building import build
from schemas.errors import UserError
from schemas.studies import StudySettings
from tasks.studies.study import preset_names, read_request

GOOD: dict[str, object] = {
    "name": "small",
    "mechanisms": "frontier",
    "epsilon": 1,
    "theta": Decimal("0.1"),
    "statements": 5,
}


def test_one_value_is_a_list_of_one_and_decimals_stay_exact() -> None:
    settings = build(StudySettings, GOOD, {"epsilon": [1, Decimal("0.30000000000000000000000000000000001")]})
    assert settings.mechanisms == ("frontier",)
    assert settings.epsilon == (Decimal(1), Decimal("0.30000000000000000000000000000000001"))
    assert settings.scope == (Scope.REPORT,)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"epsilon": 0.5}, "epsilon: must be an exact decimal"),
        ({"epsilon": (1, 0)}, "epsilon, value 2: must be greater than 0"),
        ({"epsilon": ()}, "epsilon: give at least one"),
        ({"epsilon": (1, Decimal("1.0"))}, "epsilon: a value is given twice"),
        ({"theta": Decimal("NaN")}, "theta: must be a number, not NaN"),
        ({"theta": Decimal("1.1")}, "theta: must be between 0 and 1"),
        ({"beta": Decimal("0.5")}, "beta: must be greater than 0 and less than 0.5"),
        ({"delta": 1}, "delta: must be greater than 0 and less than 1"),
        ({"selection_share": 1}, "selection_share: must be greater than 0 and less than 1"),
        ({"statements": (5, True)}, "statements, value 2: must be a whole number, not a boolean"),
        ({"statements": 0}, "statements: "),
        ({"selected": 0}, "selected: "),
        ({"contributions": Decimal("1.5")}, "contributions: must be a whole number"),
        ({"scope": "everything"}, "scope: "),
        ({"seeds": 0}, "seeds: "),
        ({"runs": 0}, "runs: "),
        ({"n": 0}, "n: "),
        ({"confidence": 1}, "confidence: must be greater than 0 and less than 1"),
        ({"name": "../escape"}, "name: must be 1 to 63"),
        ({"mechanisms": ("frontier", "frontier")}, "mechanisms: a value is given twice"),
        ({"universes": "reviews"}, "universes: 'reviews' is none"),
        ({"universes": "corpus:"}, "universes: 'corpus:' is none"),
        ({"budget": 1}, "budget: unknown setting"),
    ],
)
def test_a_wrong_value_is_refused_by_name(changes: dict[str, object], says: str) -> None:
    with pytest.raises(UserError) as refusal:
        build(StudySettings, GOOD, changes)
    assert says in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_corpus_universe_names_a_corpus_and_a_partition() -> None:
    settings = build(StudySettings, GOOD, {"universes": ("corpus:reviews", "corpus:reviews/lisbon/old", "synthetic")})
    assert settings.corpora == {
        "corpus:reviews": ("reviews", "all"),
        "corpus:reviews/lisbon/old": ("reviews", "lisbon/old"),
    }


@pytest.mark.parametrize("name", preset_names())
def test_every_shipped_study_is_valid_and_has_the_name_of_its_file(name: str) -> None:
    assert build(StudySettings, read_request(name)).name == name


def test_a_request_is_a_yaml_file_or_a_shipped_study() -> None:
    with pytest.raises(UserError, match=r"give a \.yaml file or one of comparison, synthetic-sweep, whole-report"):
        read_request("sweep")
    with pytest.raises(UserError, match="settings file: there is none"):
        read_request("sweep.yaml")
