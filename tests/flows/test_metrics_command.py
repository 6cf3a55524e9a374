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
from prometheus_client.parser import text_string_to_metric_families

from tasks.audits.stages import run_audit
from tasks.reporting.metrics import METRICS
from tasks.storage.home import Home, initialise_home

PRIVATE = {f"privcert_{metric.name}" for metric in METRICS if metric.is_private}


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
    assert not PRIVATE & set(found) and len(PRIVATE) == 5
    assert found["privcert_up"] == {(): 1}
    assert found["privcert_budget_spent"]["reviews", "epsilon", "all"] == 2
    assert found["privcert_budget_left"]["reviews", "epsilon", "all"] == 6
    assert found["privcert_releases_drawn"] == {("reviews",): 1}
    assert found["privcert_runs_finished"] == {("reviews", "keyword"): 1}
    assert found["privcert_runs_unfinished"] == {(): 1}
    assert found["privcert_last_run_start_timestamp_seconds"]["reviews", "keyword"] % 86400 == 0


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
