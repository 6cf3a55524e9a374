"""The file of deployments: one run at a time, no burst, paths alone as parameters, schedules that are switched on."""

import shutil
from pathlib import Path

import pytest
import yaml

from schemas.errors import UserError
from tasks.cluster.deployments import checkout, prepared, scheduled, written
from tasks.storage.home import Home

ROOT = Path(__file__).parents[2]
DEPLOYMENTS = yaml.safe_load((ROOT / "deployments" / "prefect.yaml").read_text())["deployments"]


@pytest.mark.parametrize("deployment", DEPLOYMENTS, ids=lambda deployment: deployment["name"])
def test_a_deployment_has_one_run_at_a_time_and_cancels_what_is_due_meanwhile(deployment):
    assert deployment["concurrency_limit"] == {"limit": 1, "collision_strategy": "CANCEL_NEW"}
    assert deployment["work_pool"]["name"] in ("cpu", "gpu")
    assert deployment["tags"] == ["privcert"]
    assert [(at["active"], at["timezone"]) for at in deployment["schedules"]] == [(False, "UTC")]


@pytest.mark.parametrize("deployment", DEPLOYMENTS, ids=lambda deployment: deployment["name"])
def test_parameters_are_the_home_and_paths_in_its_private_zone(deployment):
    given = {name: value for name, value in deployment["parameters"].items() if value is not None}
    assert given.pop("home") == "{{ $PRIVCERT_HOME }}"
    assert given and all(str(value).startswith("{{ $PRIVCERT_HOME }}/private/") for value in given.values())


def test_every_flow_has_a_deployment():
    flows = {path.stem for path in (ROOT / "flows").glob("*.py")} - {"__init__"}
    assert {deployment["name"].removesuffix("_gpu") for deployment in DEPLOYMENTS} == flows


def test_the_schedules_that_are_named_are_on_and_all_others_off(tmp_path):
    file = scheduled(checkout(), ("backfill_support=*/5 * * * *", "run_study"), tmp_path)
    names, pools = written(file)
    assert (names, pools) == ([one["name"] for one in DEPLOYMENTS], ["cpu", "gpu"])
    found = {one["name"]: one["schedules"] for one in yaml.safe_load(file.read_text())["deployments"]}
    assert {name: (at["cron"], at["active"]) for name, [at] in found.items()} == {
        "audit_support": ("0 3 2 * *", False),
        "backfill_support": ("*/5 * * * *", True),
        "backfill_support_gpu": ("30 2 * * *", False),
        "run_study": ("0 4 * * 0", True),
    }


AUDITS = ROOT / "deployments" / "audits"


def copied(home: Home, **copies: str) -> None:
    """Examples under the names that schedules run."""
    (home.private / "audits" / "options").mkdir(parents=True)
    (home.private / "prefect").mkdir()  # as each command makes it
    for target, example in copies.items():
        shutil.copy(AUDITS / example, home.private / "audits" / f"{target.replace('__', '/')}.yaml")


def backfill_parameters(file: Path) -> dict[str, str | None]:
    deployments = yaml.safe_load(file.read_text())["deployments"]
    return next(one["parameters"] for one in deployments if one["name"] == "backfill_support")


def test_options_of_a_scheduled_backfill_are_taken_where_they_are_there(home):
    copied(home, nightly="inbox.yaml")
    assert backfill_parameters(prepared(checkout(), ("backfill_support",), home.root))["options_file"] is None
    shutil.copy(AUDITS / "options" / "inbox.yaml", home.private / "audits" / "options" / "nightly.yaml")
    options = backfill_parameters(prepared(checkout(), ("backfill_support",), home.root))["options_file"]
    assert options == "{{ $PRIVCERT_HOME }}/private/audits/options/nightly.yaml"


def test_a_pattern_that_a_worker_would_look_for_elsewhere_is_refused(home):
    copied(home, nightly="inbox.yaml")
    (home.private / "audits" / "options" / "nightly.yaml").write_text("corpora: inbox/*.parquet\n")
    with pytest.raises(UserError, match=r"nightly\.yaml: corpora: must be an absolute path"):
        prepared(checkout(), ("backfill_support",), home.root)


def test_a_schedule_that_is_off_needs_no_file(home):
    copied(home, audit="one_table.yaml")
    prepared(checkout(), ("audit_support",), home.root)
    with pytest.raises(UserError, match=r"schedule: backfill_support_gpu runs .*nightly\.yaml, which is not there"):
        prepared(checkout(), ("audit_support", "backfill_support_gpu"), home.root)


def test_an_unknown_deployment_is_refused_by_name(tmp_path):
    with pytest.raises(UserError, match="schedule: no deployment 'nightly'; known: audit_support, backfill_support"):
        scheduled(checkout(), ("nightly",), tmp_path)


def test_automations_name_deployment_and_state_and_nothing_else():
    content = yaml.safe_load((ROOT / "deployments" / "automations.yaml").read_text())
    expected = {event for one in content["automations"] for event in one["trigger"]["expect"] if "actions" not in one}
    assert expected == {"prefect.flow-run.Failed", "prefect.flow-run.Crashed", "prefect.flow-run.Late"}
    text = " ".join(content["message"].values())
    assert "message" not in text and "parameters" not in text and "deployment.name" in text
