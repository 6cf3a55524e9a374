"""`privcert report` and `privcert export release`, on a release that really was sealed."""

import json
import os
import shutil
import stat
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

from tasks.audits.stages import run_audit
from tasks.ledger.verifier import verify
from tasks.storage.home import Home, initialise_home
from tests.audits import capped, new_run, settings_for, write_corpus


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home with one private audit at theta = 0.05; tests leave it as it is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PRIVCERT_LOG_URL", raising=False)
        home = capped(initialise_home(tmp_path_factory.mktemp("published") / "home", on_purpose=True))
        source = write_corpus(home.root.parent / "reviews.parquet", authors=200)
        run_audit(new_run(home, settings_for(source, epsilon=Decimal(8))))
    return home


@pytest.fixture
def home(published: Home, tmp_path: Path) -> Home:
    """A copy of it, where `privcert` looks for one."""
    shutil.copytree(published.root, tmp_path / "home")
    return Home(tmp_path / "home", published.ledger_id, on_purpose=True)


@pytest.fixture
def key(home: Home) -> str:
    from tasks.ledger.log import ReleaseLog

    return ReleaseLog(home).release_keys()[0]


def test_an_audit_leaves_a_report_and_an_index(home, key):
    report = home.release / "reports" / f"reviews-all-{key[:12]}-theta-0.05.html"
    assert key in report.read_text()
    assert f'href="{report.name}"' in (home.release / "reports" / "index.html").read_text()


def test_another_threshold_is_built_free_and_named_by_the_first_page(privcert, home, key):
    spent = privcert("budget", "show", "--json").out
    answer = privcert("report", "build", key[:8], "--theta", "0.1", "--json")
    assert answer.code == 0, answer.err
    names = [Path(file).name for file in json.loads(answer.out)["files"]]
    stem = f"reviews-all-{key[:12]}-theta-0.1"
    assert names == ["release.duckdb", f"{stem}.json", f"{stem}.html", "index.html"]
    assert f"{stem}.html" in (home.release / "reports" / f"reviews-all-{key[:12]}-theta-0.05.html").read_text()
    assert f"{stem}.html" in (home.release / "reports" / "index.html").read_text()
    assert privcert("budget", "show", "--json").out == spent


def test_a_report_is_opened_in_the_browser_that_is_named(privcert, home, key, tmp_path, monkeypatch):
    browser = tmp_path / "browser"
    browser.write_text(f"#!{sys.executable}\nimport sys; open({str(tmp_path / 'opened')!r}, 'w').write(sys.argv[1])\n")
    browser.chmod(0o755)
    command = [sys.executable, "-c", "import flows.cli; flows.cli.main()", "report", "open"]
    for arguments, name in (([], "index.html"), ([key[:6]], f"reviews-all-{key[:12]}-theta-0.05.html")):
        environment = os.environ | {"BROWSER": f"{browser} %s", "PRIVCERT_HOME": str(home.root)}
        done = subprocess.run([*command, *arguments, "--json"], env=environment, capture_output=True, text=True)
        assert json.loads(done.stdout) == {"report": str(home.release / "reports" / name), "opened": True}, done.stderr
        assert (tmp_path / "opened").read_text() == (home.release / "reports" / name).as_uri()


def test_an_analyst_exports_a_report_without_the_private_zone(privcert, home, key, tmp_path):
    shutil.rmtree(home.private)
    answer = privcert("report", "export", key, "--output", "sent.html", "--json")
    assert json.loads(answer.out) == {"report": "sent.html"}
    page = (tmp_path / "sent.html").read_text()
    assert key in page and "href=" in page and ".html" not in page
    assert stat.S_IMODE((tmp_path / "sent.html").stat().st_mode) == 0o644
    refused = privcert("report", "export", key, "--output", "sent.html", "--theta", "0.2")
    assert refused.code == 2 and "read at 0.05 only" in refused.err
    assert privcert("report", "export", "zz", "--output", "x.html").err.startswith("privcert: release: no release")
    assert privcert("report", "export", key, "--output", "no/such/x.html").err.startswith("privcert: output: x.html")


def test_without_a_report_the_command_says_how_to_get_one(privcert, home, key):
    shutil.rmtree(home.release / "reports")
    refused = privcert("report", "open")
    assert refused.code == 2 and "privcert report build" in refused.err
    assert privcert("report", "build").code == 0
    assert (home.release / "reports" / "index.html").is_file()


def test_one_certificate_file_is_exported_and_verified(privcert, home, key, tmp_path):
    answer = privcert("export", "release", key[:8], "--output", "one.json", "--verifier", "--json")
    assert json.loads(answer.out) == {"certificate": "one.json", "files": ["one.json", "verifier.py"]}
    in_zone = home.release / "certificates" / f"reviews-all-{key[:12]}-theta-0.05.json"
    assert (tmp_path / "one.json").read_bytes() == in_zone.read_bytes()
    assert verify((tmp_path / "one.json").read_bytes())
    assert privcert("verify", "one.json").code == 0
    privcert("export", "release", key[:8], "--theta", "0.2", "--output", "other.json")
    assert json.loads((tmp_path / "other.json").read_text())["theta"] == "0.2"
    assert privcert("export", "release", "zz").code == 2
    assert "output: x.json cannot" in privcert("export", "release", key, "--output", "no/such/x.json").err
