"""What is wrong with settings is said in plain words, without the words of a library."""

from decimal import Decimal
from pathlib import Path

import pytest

from schemas.audit import AuditSettings
from schemas.building import build, read_settings_file
from schemas.errors import UserError
from schemas.plans import PlanSettings
from schemas.studies import StudySettings
from schemas.values import SPELLING

PLAN = {"n": 100, "theta": Decimal("0.1"), "epsilon": Decimal(1)}
STUDY = {"name": "mine", "mechanisms": "frontier", "epsilon": 1, "theta": Decimal("0.1"), "statements": 5}
AUDIT = {"source": "a", "corpus": "a", "domain": "b", "epsilon": Decimal(1), "theta": Decimal("0.1")}


@pytest.mark.parametrize(
    ("model", "given", "says"),
    [
        (PlanSettings, {**PLAN, "n": 0}, "n: must be at least 1"),
        (PlanSettings, {**PLAN, "n": 10**13}, "n: must be at most 1000000000000"),
        (PlanSettings, {**PLAN, "n": Decimal("1e3")}, "n: must be a whole number, written in digits only"),
        (PlanSettings, {**PLAN, "theta": "5%"}, f"theta: must be a number, not text: {SPELLING}"),
        (PlanSettings, {**PLAN, "theta": [1]}, "theta: must be a number, not a list"),
        (PlanSettings, {**PLAN, "n": "many"}, "n: must be a whole number, not text: write it in plain digits, as 20"),
        (PlanSettings, {**PLAN, "mechanism": 3}, "mechanism: must be text"),
        (PlanSettings, {**PLAN, "advice": "perhaps"}, "advice: must be true or false"),
        (PlanSettings, {**PLAN, "scope": "all"}, "scope: must be 'candidate', 'report' or 'report_independent'"),
        (
            PlanSettings,
            {**PLAN, "sweep_epsilon": (1, 2, "x")},
            f"sweep_epsilon, value 3: must be a number, not text: {SPELLING}",
        ),
        (StudySettings, {**STUDY, "beta": Decimal(1)}, "beta: must be greater than 0 and less than 0.5"),
        (StudySettings, {**STUDY, "statements": [5, 0]}, "statements, value 2: must be at least 1"),
        (AuditSettings, {**AUDIT, "source": 3}, "source: must be text"),
        (AuditSettings, {**AUDIT, "source": ""}, "source: must not be shorter than 1 in characters"),
        (AuditSettings, {**AUDIT, "partitions": 3}, "partitions: must be a list"),
    ],
)
def test_what_is_wrong_is_said_in_plain_words(model: type, given: dict[str, object], says: str) -> None:
    with pytest.raises(UserError) as refusal:
        build(model, given)
    assert str(refusal.value) == says


def test_a_settings_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"^settings file: there is none at '.*/none\.yaml'"):
        read_settings_file(tmp_path / "none.yaml")
