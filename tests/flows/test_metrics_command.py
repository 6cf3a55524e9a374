"""`privcert metrics`: what monitoring may see, and what stays in the private zone."""

import os
import signal
import stat
import subprocess
import sys
import urllib.request
from decimal import Decimal
from pathlib import Path

import psutil
import pytest
from audits import capped, new_run, settings_for, write_corpus
from backfills import audit_due, backfill, by_quarter, new_backfill, write_dated
from prometheus_client.parser import text_string_to_metric_families

from tasks.audits.backfilling import plan_stage, publish_stage
from tasks.audits.stages import run_audit
from tasks.ledger.log import ReleaseLog
from tasks.reporting.metrics import METRICS
from tasks.storage.home import Home, initialise_home

PRIVATE = {f"privcert_{metric.name}" for metric in METRICS if metric.is_private} | {
    "privcert_stages_stopped",
    "privcert_partitions_changed",
}


def read(text: str) -> dict[str, dict[tuple[str, ...], float]]:
    """Values by name, then by label values in the order of their names."""
    return {
        family.name: {
            tuple(one.labels[name] for name in sorted(one.labels)): Decimal(str(one.value)) for one in family.samples
        }
        for family in text_string_to_metric_families(text)
    }


@pytest.fixture
def audited(tmp_path: Path) -> Home:
    """One audit of 40 authors with two reviews each and a cap of 8, and another that was begun."""
    home = capped(initialise_home(tmp_path / "home", on_purpose=True))
    source = write_corpus(tmp_path / "reviews.parquet")
    run_audit(new_run(home, settings_for(source)))
    new_run(home, settings_for(source, epsilon=Decimal(3)))
    return home


def test_budgets_and_runs_are_shown_and_nothing_private(audited, privcert, tmp_path):
    out = tmp_path / "privcert.prom"
    assert privcert("metrics", "--output", str(out)).code == 0
    assert stat.S_IMODE(out.stat().st_mode) == 0o644
    found = read(out.read_text())
    assert not PRIVATE & set(found) and len(PRIVATE) == 7
    assert found["privcert_up"] == {(): 1}
    assert found["privcert_budget_spent"]["reviews", "epsilon", "all"] == 2
    assert found["privcert_budget_left"]["reviews", "epsilon", "all"] == 6
    assert found["privcert_releases_drawn"] == {("reviews",): 1}
    assert found["privcert_runs_finished"] == {("reviews", "keyword"): 1}
    assert found["privcert_runs_unfinished"] == {(): 1}
    assert found["privcert_last_run_start_timestamp_seconds"]["reviews", "keyword"] % 86400 == 0


@pytest.mark.parametrize("name", ["home.json", "release_log.sqlite", "metrics.prom"])
def test_no_file_of_the_private_zone_is_replaced(audited, privcert, name):
    before = (audited.private / "home.json").read_bytes()
    refused = privcert("metrics", "--output", str(audited.private / name))
    assert refused.code == 2 and f"output: {name} would lie in the private zone" in refused.err
    assert (audited.private / "home.json").read_bytes() == before
    ReleaseLog(audited).check()


def test_private_figures_go_to_the_private_zone_only(audited, privcert, tmp_path):
    out = tmp_path / "privcert.prom"
    assert privcert("metrics", "--private", "--output", str(out)).code == 2 and not out.exists()
    assert privcert("metrics", "--private").code == 0
    own = audited.private / "metrics.prom"
    assert stat.S_IMODE(own.stat().st_mode) == 0o600
    found = read(own.read_text())
    assert set(found) >= PRIVATE
    scored = found["privcert_pairs_scored"]["reviews", "keyword"]
    assert scored == 12 * 4  # texts of two kinds on two visits
    assert not list(audited.release.rglob("*.prom"))


def private_figures(privcert, home: Home) -> dict[str, dict[tuple[str, ...], float]]:
    assert privcert("metrics", "--private").code == 0
    return read((home.private / "metrics.prom").read_text())


def test_a_backfill_is_unfinished_until_it_is_published_and_audits_that_failed_are_counted(home, privcert, tmp_path):
    source = write_dated(tmp_path / "reviews.parquet", {"2025-Q3": 20, "2025-Q4": 30})
    run = new_backfill(capped(home), by_quarter(source, last="2025-Q4"))
    due = plan_stage(run)
    damaged = next(part for part in ReleaseLog(home).partitions("reviews") if part.partition == "2025-Q4")
    for path in (home.corpora / "reviews" / damaged.version / "records").iterdir():
        path.write_bytes(b"no table")
    audit_due(run, due)
    (home.private / "logs" / "events.jsonl").open("a").write('{"at": "2026-11-30T0')  # a full disk cut this line
    killed = private_figures(privcert, home)
    assert killed["privcert_runs_unfinished"] == {(): 2}  # the backfill, and the audit that failed
    stopped = {stop: number for stop, number in killed["privcert_stages_stopped"].items() if number}
    assert [(stage, number) for (_, stage), number in sorted(stopped.items())] == [("audit", 1), ("score", 1)]
    assert killed["privcert_stages_stopped"]["refused", "certify"] == 0
    publish_stage(run)
    assert private_figures(privcert, home)["privcert_runs_unfinished"] == {(): 1}


def test_a_backfill_of_an_earlier_version_which_marked_no_end_does_not_count_for_ever(home, privcert, tmp_path):
    run = new_backfill(capped(home), by_quarter(write_dated(tmp_path / "reviews.parquet")))
    assert private_figures(privcert, home)["privcert_runs_unfinished"] == {(): 1}
    (run.folder / "open.json").unlink()
    assert private_figures(privcert, home)["privcert_runs_unfinished"] == {(): 0}


def test_partitions_that_changed_after_their_release_are_counted_until_they_are_audited_again(home, privcert, tmp_path):
    quarters = {"2025-Q3": 20, "2025-Q4": 30}
    definition = by_quarter(write_dated(tmp_path / "reviews.parquet", quarters), last="2025-Q4")
    backfill(capped(home), definition)
    assert private_figures(privcert, home)["privcert_partitions_changed"] == {("reviews",): 0}
    write_dated(tmp_path / "reviews.parquet", quarters, late={"2025-Q4": 3})
    backfill(home, definition)
    assert private_figures(privcert, home)["privcert_partitions_changed"] == {("reviews",): 1}
    due = new_backfill(home, definition, changed=True)
    plan_stage(due)  # and it was killed before its audit
    assert private_figures(privcert, home)["privcert_partitions_changed"] == {("reviews",): 1}
    backfill(home, definition, changed=True)
    assert private_figures(privcert, home)["privcert_partitions_changed"] == {("reviews",): 0}


def test_a_port_is_open_on_this_machine_alone_and_closed_by_a_signal(audited):
    command = [str(Path(sys.executable).parent / "privcert"), "metrics", "--private", "--serve", "0"]
    environment = os.environ | {"PRIVCERT_HOME": str(audited.root)}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        url = server.stdout.readline().strip()
        opened = [one.laddr.ip for one in psutil.Process(server.pid).net_connections() if one.status == "LISTEN"]
        with urllib.request.urlopen(url, timeout=60) as answer:
            assert read(answer.read().decode())["privcert_up"] == {(): 1}
        (audited.private / "release_log.sqlite").write_bytes(b"no database")
        with urllib.request.urlopen(url, timeout=60) as answer:
            assert read(answer.read().decode()) == {"privcert_up": {(): 0}}
        server.send_signal(signal.SIGTERM)
        said = server.communicate(timeout=60)
    assert (server.returncode, said, opened) == (0, ("", ""), ["127.0.0.1"])


def test_two_places_at_once_and_a_port_in_use_are_refused_by_name(audited, privcert, tmp_path):
    assert privcert("metrics", "--serve", "0", "--output", str(tmp_path / "x")).code == 2
    refused = privcert("metrics", "--serve", "1", "--output", str(tmp_path / "x"))
    assert refused.err.startswith("privcert: metrics: ")
