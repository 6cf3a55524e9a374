"""What a failing stage may say."""

import traceback

import pytest

from schemas.errors import StageError, UserError
from tasks.audits.guard import guarded
from tests.audits import new_run, settings_for

CANARY = "zqxCANARY"


def failing_stage(run):
    raise RuntimeError(f"cannot read {CANARY}")


def refusing_stage(run):
    try:
        raise KeyError(CANARY)
    except KeyError:
        raise UserError("text: the column is missing")  # noqa: B904 - with the private error as its context


@pytest.mark.parametrize("stage", [failing_stage, refusing_stage])
@pytest.mark.parametrize("log_can_be_written", [True, False])
def test_an_error_leaves_a_stage_without_what_is_private(home, tmp_path, stage, log_can_be_written):
    run = new_run(home, settings_for(tmp_path / "reviews.parquet"))
    if not log_can_be_written:
        (home.private / "logs").write_text("a file where the folder should be")
    with pytest.raises((StageError, UserError)) as failure:
        guarded(stage, str(home.root), run.run_id)
    assert CANARY not in "".join(traceback.format_exception(failure.value))
    assert failure.value.__context__ is None
    if log_can_be_written:  # the operator sees all of it
        assert CANARY in (home.private / "logs" / f"{run.run_id}.log").read_text()


def test_a_public_reason_stays_what_it_is(home, tmp_path):
    run = new_run(home, settings_for(tmp_path / "reviews.parquet"))
    with pytest.raises(UserError, match="text: the column is missing"):
        guarded(refusing_stage, str(home.root), run.run_id)
