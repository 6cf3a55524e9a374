"""`privcert verify` as a user types it: one file, several, and what is none."""

import json
import os
import sys
from decimal import Decimal

import pytest

from tasks.ledger.export import public_key
from tasks.storage.home import initialise_home
from tests.tasks.ledger.desk import Desk, ask


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """The public key of a log, and two of its certificates."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PRIVCERT_LOG_URL", raising=False)
        desk = Desk(initialise_home(tmp_path_factory.mktemp("verify") / "home", on_purpose=True))
        desk.log.set_cap("reviews", Decimal(2))
        [partition] = desk.register()
        return public_key(desk.home), [desk.publish(ask(partition, epsilon)).read_bytes() for epsilon in ("1", "0.5")]


@pytest.fixture
def files(certificates, tmp_path):
    """a.json and b.json hold, c.json was touched."""
    for name, content in zip("ab", certificates[1], strict=True):
        (tmp_path / f"{name}.json").write_bytes(content)
    (tmp_path / "c.json").write_bytes(certificates[1][0].replace(b'"epsilon": "1"', b'"epsilon": "0.1"'))
    return tmp_path


def test_each_of_several_files_is_checked_and_named(privcert, files, certificates):
    answer = privcert("verify", "a.json", "b.json", "--key", certificates[0])
    assert (answer.code, answer.err) == (0, "")
    assert [line for line in answer.out.splitlines() if line.endswith(".json")] == ["a.json", "b.json"]
    assert answer.out.count("ok  signature: made with the trusted key") == 2
    assert "budget: epsilon 1.5 of 2" in answer.out


def test_one_file_of_several_that_does_not_hold_decides_the_exit_code_and_the_rest_are_still_checked(privcert, files):
    answer = privcert("verify", "c.json", "a.json", "b.json")
    assert (answer.code, answer.err) == (2, "privcert: not valid: 1 of 3 files\n")
    assert answer.out.startswith("c.json\nnot valid: question: ") and answer.out.count("ok  chain") == 2


def test_the_json_of_one_file_is_its_own_and_that_of_several_names_them(privcert, files):
    one = json.loads(privcert("verify", "a.json", "--json").out)
    assert set(one) == {"valid", "reason", "checks"} and one["valid"] and len(one["checks"]) == 15
    answer = privcert("verify", "a.json", "c.json", "--json")
    both = json.loads(answer.out)
    assert answer.code == 2 and both["valid"] is False
    assert [(line["file"], line["valid"]) for line in both["files"]] == [("a.json", True), ("c.json", False)]
    assert both["files"][0] == one | {"file": "a.json"}
    assert both["files"][1]["reason"].startswith("question: ") and both["files"][1]["checks"] == []


@pytest.mark.parametrize("touch", [lambda text: text + b"\n", lambda text: b"\xef\xbb\xbf" + text])
def test_a_file_in_other_bytes_is_refused(privcert, files, touch):
    (files / "a.json").write_bytes(touch((files / "a.json").read_bytes()))
    answer = privcert("verify", "a.json")
    assert answer.code == 2 and answer.err.startswith("privcert: not valid: malformed: ")


@pytest.mark.skipif(sys.platform != "linux", reason="devices of Linux")
@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null"])
def test_a_device_is_refused_in_one_line(privcert, device, monkeypatch):
    monkeypatch.setattr("pathlib.Path.read_bytes", lambda path: pytest.fail("read without a bound"))
    answer = privcert("verify", device)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("privcert: not valid: malformed: not one JSON")


def test_no_file_a_missing_one_and_one_that_may_not_be_read_are_told(privcert, files):
    assert privcert("verify").code == 2
    missing = privcert("verify", "a.json", "nowhere.json")
    assert missing.code == 2 and "nowhere.json" in missing.err and missing.out == ""
    if os.geteuid():
        (files / "a.json").chmod(0)
        assert privcert("verify", "a.json").err.count("\n") == 1
