"""What a failing stage may say."""

import errno
import json
import stat
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


def stage_without_room(run):
    raise OSError(errno.ENOSPC, "No space left on device", CANARY)


def test_a_full_disk_is_named(home, tmp_path):
    run = new_run(home, settings_for(tmp_path / "reviews.parquet"))
    with pytest.raises(UserError, match=r"the home cannot be written \(ENOSPC\): make room") as failure:
        guarded(stage_without_room, str(home.root), run.run_id)
    assert CANARY not in "".join(traceback.format_exception(failure.value))


def well_done_stage(run, partition):
    return partition


def events(home):
    """All lines of the operator's event log without their times."""
    lines = map(json.loads, (home.private / "logs" / "events.jsonl").read_text().splitlines())
    return [(line["run"], line["stage"], line["partition"], line["event"]) for line in lines if line.pop("at")]


def test_the_operator_sees_when_stages_begin_and_how_they_end(home, tmp_path, capsys, monkeypatch):
    run = new_run(home, settings_for(tmp_path / "reviews.parquet"))
    assert guarded(well_done_stage, str(home.root), run.run_id, "2024") == "2024"
    monkeypatch.setenv("PRIVCERT_LOG_JSON", "1")
    for stage in (refusing_stage, failing_stage):
        with pytest.raises((StageError, UserError)):
            guarded(stage, str(home.root), run.run_id)
    told = [
        ("well_done", "2024", "began"), ("well_done", "2024", "ended"),
        ("refusing", None, "began"), ("refusing", None, "refused"),
        ("failing", None, "began"), ("failing", None, "failed"),
    ]  # fmt: skip
    assert events(home) == [(run.run_id, *line) for line in told]
    path = home.private / "logs" / "events.jsonl"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and CANARY not in path.read_text()
    assert capsys.readouterr().err == "".join(path.read_text().splitlines(keepends=True)[2:])
