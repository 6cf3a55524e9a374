"""The verifier accepts what the log wrote and nothing else, however well the rest was resealed and signed."""

import copy
import hashlib
import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from certificates import Document, drop, put, reseal, sign
from desk import THETA, Desk, ask
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.audit import Scope
from tasks.ledger import verifier
from tasks.ledger.export import public_key
from tasks.ledger.verifier import InvalidError, verify
from tasks.storage.home import initialise_home


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Desk, bytes]:
    """A certificate about two statements of which the first is emitted, with another release before it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PRIVCERT_LOG_URL", raising=False)
        desk = Desk(initialise_home(tmp_path_factory.mktemp("verifier") / "home", on_purpose=True))
        desk.log.set_cap("reviews", Decimal(12))
        desk.log.set_cap("other", Decimal(1))
        [partition] = desk.register(desk.stage(n=1000))
        desk.seal(ask(partition, "10"))
        sealed = desk.log.seal(ask(partition, "2", 2), [500, 0])  # 1 nat each: 50 is out of reach of noise
        return desk, desk.log.write_certificate(sealed.release_key, THETA).read_bytes()


@pytest.fixture
def genuine(written: tuple[Desk, bytes]) -> Document:
    document: Document = json.loads(written[1])
    return document


def test_a_genuine_certificate_shows_every_check(written: tuple[Desk, bytes]) -> None:
    shown = verify(written[1], public_key(written[0].home))
    assert [line.split(":")[0] for line in shown] == [
        "format", "question", "statements", "mechanism", "charge", "certificates", "selection", "decisions", "chain",
        "entries", "seal", "registration", "budget", "stated, not recomputed", "signature",
    ]  # fmt: skip
    assert "decisions: 1 emitted and 1 abstained at theta 0.05" in shown
    assert "budget: epsilon 12 of 12 spent on account reviews by then" in shown
    assert shown[-1] == "signature: made with the trusted key"
    assert "not authenticity" in verify(written[1])[-1]
    assert verify(written[1], public_key(written[0].home).upper()) == shown


@pytest.mark.parametrize("scope", Scope)
@pytest.mark.parametrize("mechanism", ["frontier", "geometric"])
def test_every_kind_of_release_is_accepted(desk: Desk, mechanism: str, scope: Scope) -> None:
    desk.log.set_cap("reviews", Decimal(100))
    [partition] = desk.register()
    for epsilon, statements, theta in (
        ("0.1", "ABC", "0.05"),
        ("3e-11", "ABC", "0"),
        ("90", "A", "1"),
        ("7.3", "ABCDE", "0.123"),
    ):
        path = desk.log.write_certificate(
            desk.seal(
                ask(partition, epsilon, statements=tuple(statements), mechanism=mechanism, scope=scope)
            ).release_key,
            Decimal(theta),
        )
        assert len(verify(path.read_bytes())) == 15


QUESTION, ANSWER, PARTITION = ("payload", "question"), ("payload", "answer"), ("payload", "described", "partition")
GROUP = (*ANSWER, "groups", 0)

# One value altered, and the whole signed again: the hashes have to tell.
UNSEALED = {
    "the format": put("format", value="privcert-certificate/2"),
    "the payload's format": put("payload", "format", value="privcert-release/0"),
    "the release key": put("release_key", value="0" * 64),
    "the release's place": put("sequence", value=3),
    "theta": put("theta", value="0.9"),
    "theta above one": put("theta", value="1.5"),
    "the threshold": put("threshold_units", value=4),
    "a decision": put("decisions", 1, "decision", value="emit"),
    "a decision left out": drop("decisions", 1),
    "decisions in another order": lambda document: document["decisions"].reverse(),
    "the product": put("payload", "product", value="privcert 99"),
    "the code": put("payload", "code_digest", value="0" * 64),
    "the code left out": drop("payload", "code_digest"),
    "the proposer": put("payload", "described", "proposer", value="an expert"),
    "the model": put("payload", "described", "model", value="a better one"),
    "the model's description": put("payload", "described", "model_description", value={}),
    "a statement's text": put("payload", "described", "statements", 0, value="Z"),
    "a statement's id": put(*QUESTION, "statement_ids", 0, value="0" * 32),
    "the fingerprint": put(*QUESTION, "model_fingerprint", value="e" * 64),
    "the sampler": put(*ANSWER, "sampler", value="a die"),
    "a certificate": put(*ANSWER, "certificate_units", 1, value=40),
    "n": put(*PARTITION, "n", value=1001),
    "the corpus": put(*PARTITION, "corpus", value="others"),
    "the version": put(*PARTITION, "version", value="0" * 32),
    "the charge": put("payload", "charge", "epsilon", value="0.1"),
    "the charge's rho": put("payload", "charge", "rho", value="0.1"),
    "the meaning": put("payload", "described", "meaning", value="everything is true"),
    "the ledger": put("ledger_id", value="0" * 32),
    "a link's day": put("chain", 2, "day", value="2001-01-01"),
    "a link's kind": put("chain", 2, "kind", value="cap"),
    "a link's body": put("chain", 0, "body", "epsilon", value="1000"),
    "a link's body hash": put("chain", 1, "body_sha256", value="0" * 64),
    "a link's hash": put("chain", 1, "hash", value="0" * 64),
    "a link left out": drop("chain", 1),
    "the last link left out": drop("chain", -1),
    "no chain": put("chain", value=[]),
}  # fmt: skip

# Altered, and every hash and the signature made to fit: the arithmetic has to tell.
RESEALED = {
    "a beta that is not kept": put(*GROUP, "margin_units", value="0"),
    "a coin too often": put(*GROUP, "coin", value="1"),
    "a coin above one": put(*GROUP, "coin", value="3/2"),
    "noise that is too small": put(*GROUP, "scale", value="1/100"),
    "no noise": put(*GROUP, "scale", value="0"),
    "a negative margin": put(*GROUP, "margin_units", value="-1"),
    "half a margin": put(*GROUP, "margin_units", value="5/2"),
    "a margin as a number": put(*GROUP, "margin_units", value=4),
    "epsilon not split": put(*GROUP, "epsilon_per_statement", value="2"),
    "beta not split": put(*GROUP, "beta_per_statement", value="1/20"),
    "a beta above one": put(*GROUP, "beta_per_statement", value="5/2"),
    "an error of the whole above one half": put(*QUESTION, "beta", value="0.6"),
    "a beta above one, independent": lambda document: (
        put(*QUESTION, "scope", value="report_independent")(document),
        put(*GROUP, "beta_per_statement", value="5/2")(document),
    ),
    "an unknown scope": put(*QUESTION, "scope", value="whatever"),
    "an unknown mechanism": put(*QUESTION, "mechanism", value="laplace"),
    "a geometric coin": put(*QUESTION, "mechanism", value="geometric"),
    "a certificate above n": put(*ANSWER, "certificate_units", 0, value=1001),
    "a negative certificate": put(*ANSWER, "certificate_units", 1, value=-1),
    "a certificate that is true": put(*ANSWER, "certificate_units", 1, value=True),
    "a certificate too few": drop(*ANSWER, "certificate_units", 1),
    "a certificate below theta that is emitted": put(*ANSWER, "certificate_units", 0, value=1),
    "a larger n under the old threshold": put(*PARTITION, "n", value=100_000),
    "a negative n": put(*PARTITION, "n", value=-1),
    "a statement twice": lambda document: (
        put(*QUESTION, "statement_ids", 1, value=document["payload"]["question"]["statement_ids"][0])(document),
        put("payload", "described", "statements", 1, value="A")(document),
    ),
    "a statement that is not its id": put("payload", "described", "statements", 0, value="Z"),
    "another unit": put(*PARTITION, "unit", value="case"),
    "another unit rule": put(*PARTITION, "unit_rule", value="folded"),
    "another partition": put(*PARTITION, "partition", value="east"),
    "a smaller charge": lambda document: (
        put("payload", "charge", "epsilon", value="0.1")(document),
        put("chain", -1, "body", "epsilon", value="0.1")(document),
    ),
    "a charge that is not the payload's": put("payload", "charge", "epsilon", value="0.1"),
    "a charge to another account": put("chain", -1, "body", "account", value="other"),
    "a lower cap": put("chain", 0, "body", "epsilon", value="11.9"),
    "no cap": drop("chain", 0, "body"),
    "an earlier release that cost more": put("chain", 4, "body", "epsilon", value="10.1"),
    "a link that is no release": put("chain", -1, "kind", value="gap"),
    "links in another order": lambda document: document["chain"].insert(1, document["chain"].pop(2)),
}  # fmt: skip


def test_there_are_at_least_25_kinds_of_each() -> None:
    assert len(UNSEALED) >= 25 and len(RESEALED) >= 25


def test_signing_again_alone_changes_nothing_else(genuine: Document, written: tuple[Desk, bytes]) -> None:
    for rewritten in (sign(genuine), reseal(genuine)):
        assert verify(rewritten)[:-1] == verify(written[1])[:-1]
        with pytest.raises(InvalidError, match="another key than the trusted one"):
            verify(rewritten, public_key(written[0].home))


@pytest.mark.parametrize("what", UNSEALED)
def test_an_altered_and_signed_document_is_refused_for(what: str, genuine: Document) -> None:
    UNSEALED[what](genuine)
    with pytest.raises(InvalidError) as caught:
        verify(sign(genuine))
    assert not str(caught.value).startswith("signature")


@pytest.mark.parametrize("what", RESEALED)
def test_an_altered_and_resealed_document_is_refused_for(what: str, genuine: Document) -> None:
    RESEALED[what](genuine)
    with pytest.raises(InvalidError) as caught:
        verify(reseal(genuine))
    assert str(caught.value).split(":")[0] not in ("signature", "chain") or "link" in what


def test_a_release_key_that_is_not_the_question_s_hash_is_refused(genuine: Document) -> None:
    with pytest.raises(InvalidError, match="question: its hash is not the release key"):
        verify(reseal(genuine, release_key="0" * 64))


@pytest.mark.parametrize(
    "alter",
    [
        lambda document: (  # another true reading of the same certificates
            put("theta", value="0")(document),
            put("threshold_units", value=0)(document),
            put("decisions", 1, "decision", value="emit")(document),
            put("decisions", 1, "reason", value=None)(document),
        ),
        put("signature", value="00" * 64),
        put("signature", value="zz"),
        put("signature", value=7),
        put("public_key", value="00" * 32),
        put("public_key", value=None),
        drop("signature"),
    ],
)
def test_the_signature_covers_the_rest(alter: Callable[[Document], None], genuine: Document) -> None:
    alter(genuine)
    with pytest.raises(InvalidError, match=r"signature|public_key"):
        verify(verifier.written(genuine))


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Every value of the document that holds no other, with its place."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, child in inner:
        if isinstance(child, dict | list) and child:
            yield from places(child, (*path, step))
        else:
            yield (*path, step), child


def another(value: Any) -> Any:
    """One of the same kind that is as like it as can be."""
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, int):
        return value + 1
    return ["x"] if value == [] else {"x": "y"} if value == {} else f"{value[:-1]}{'1' if value[-1:] != '1' else '2'}"


def test_every_field_of_a_file_that_is_altered_in_turn_is_noticed(written: tuple[Desk, bytes]) -> None:
    trusted, genuine = public_key(written[0].home), json.loads(written[1])
    unnoticed = []
    for path, value in places(genuine):
        document = copy.deepcopy(genuine)
        put(*path, value=another(value))(document)
        for key in (trusted, None):
            try:
                verify(verifier.written(document), key)
            except InvalidError:
                continue
            unnoticed.append((path, value, key))
    assert unnoticed == []
    assert len(list(places(genuine))) > 100


def test_a_wholly_recomputed_chain_is_noticed_without_the_key(genuine: Document, written: tuple[Desk, bytes]) -> None:
    """A lie that is sealed and chained anew: hashes and arithmetic fit, and only the signature can tell."""
    trusted, signature, key = public_key(written[0].home), genuine["signature"], genuine["public_key"]
    put("payload", "described", "proposer", value="an expert")(genuine)
    signed_by_another = reseal(genuine)
    assert "not authenticity" in verify(signed_by_another)[-1]
    with pytest.raises(InvalidError, match="another key than the trusted one"):
        verify(signed_by_another, trusted)
    forged = json.loads(signed_by_another) | {"public_key": key}
    for kept in (signature, forged["signature"]):
        for expected in (trusted, None):
            with pytest.raises(InvalidError, match="signature"):
                verify(verifier.written(forged | {"signature": kept}), expected)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_no_alteration_makes_the_verifier_fail_instead_of_refuse(
    written: tuple[Desk, bytes], data: st.DataObject
) -> None:
    document: Document = json.loads(written[1])
    inner: Any = document
    while True:
        step = data.draw(st.sampled_from(sorted(inner) if isinstance(inner, dict) else range(len(inner))))
        if not isinstance(inner[step], dict | list) or not inner[step] or data.draw(st.booleans()):
            break
        inner = inner[step]
    odd = [None, True, False, 0, -1, 10**400, "", "1e999", "-1", "0", "\ud800", "1/0", [], {}, [[]], {"a": {}}, "A\nok"]
    before = copy.deepcopy(document)
    inner[step] = data.draw(st.sampled_from(odd))
    for rewrite in (sign, reseal, verifier.written):
        try:
            content = rewrite(document)
        except (TypeError, AttributeError, KeyError, ValueError, IndexError):
            continue
        try:
            shown = verify(content)
        except InvalidError:
            continue
        assert all(line.isprintable() and line.isascii() for line in shown)
        assert rewrite is not verifier.written or document == before


def written_text(document: Document) -> str:
    return verifier.written(document).decode()


HOSTILE: dict[str, Callable[[Document], bytes]] = {
    "nothing": lambda document: b"",
    "not JSON": lambda document: b"certificate",
    "a list": lambda document: b"[]",
    "null": lambda document: b"null",
    "a number": lambda document: b"1" * 5000,
    "not a number": lambda document: b"NaN",
    "NaN inside": lambda document: json.dumps(document | {"sequence": float("nan")}).encode(),
    "infinity inside": lambda document: json.dumps(document | {"sequence": float("inf")}).encode(),
    "a floating-point number": lambda document: verifier.written(document | {"sequence": 6.0}),
    "a floating-point number that is sealed": lambda document: reseal(
        document | {"payload": document["payload"] | {"product": 0.5}}
    ),
    "a key twice": lambda document: written_text(document).replace('"theta":', '"theta": "0", "theta":').encode(),
    "deep lists": lambda document: b"[" * 100_000 + b"]" * 100_000,
    "deep objects": lambda document: b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "fairly deep objects": lambda document: (
        written_text(document).replace('"A"', '{"a":' * 300 + "1" + "}" * 300).encode()
    ),
    "deep model description": lambda document: (
        written_text(document).replace('"of a test"', '[' * 480 + ']' * 480).encode()
    ),
    "a huge exponent": lambda document: sign_with(document, "theta", "1e-999999999"),
    "a huge epsilon": lambda document: _group(document, "epsilon_per_statement", "1e999999999999"),
    "a huge scale": lambda document: _group(document, "scale", "1e999"),
    "a tiny scale": lambda document: _group(document, "scale", "1e-999"),
    "a scale of 2000 digits": lambda document: _group(document, "scale", "7" * 2000 + "/" + "3" * 1999),
    "a coin by zero": lambda document: _group(document, "coin", "1/0"),
    "other digits": lambda document: _group(document, "coin", "\u0661"),
    "bytes that are no text": lambda document: b"\xff\xfe\x00\xd8" * 10,
    "a UTF-16 file": lambda document: json.dumps(document).encode("utf-16")[:1001],
    "a page of spaces": lambda document: b" " * 10_000_000,
    "zeros": lambda document: bytes(50_000_000),
    "a name that is half a character": lambda document: sign_with(document, "ledger_id", "\ud800"),
    "a name that is no text": lambda document: sign_with(document, "ledger_id", ["x"]),
}  # fmt: skip


def sign_with(document: Document, key: str, value: object) -> bytes:
    return sign(document | {key: value})


def _group(document: Document, key: str, value: object) -> bytes:
    document["payload"]["answer"]["groups"][0][key] = value
    return reseal(document)


@pytest.fixture(scope="module")
def standalone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The verifier as anyone may copy it."""
    copied = tmp_path_factory.mktemp("anywhere") / "verifier.py"
    shutil.copy(verifier.__file__, copied)
    return copied


def run(standalone: Path, *arguments: str, flags: str = "-I") -> subprocess.CompletedProcess[str]:
    """As a stranger runs it: no environment, no current folder, no product."""
    command = [sys.executable, *flags.split(), str(standalone), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=standalone.parent)


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_file_is_refused_in_one_line_and_soon(
    what: str, genuine: Document, standalone: Path, tmp_path: Path
) -> None:
    file = tmp_path / "certificate.json"
    file.write_bytes(HOSTILE[what](genuine))
    begun = time.monotonic()
    ended = run(standalone, str(file))
    assert ended.returncode == 1 and ended.stdout == ""
    assert ended.stderr.startswith("INVALID  ") and ended.stderr.count("\n") == 1, ended.stderr[-500:]
    assert time.monotonic() - begun < 30  # not a measure of speed: it ends


def test_nesting_as_deep_as_the_parser_allows_is_refused_too(genuine: Document) -> None:
    text = written_text(genuine)
    for depth in range(600, 1000):  # somewhere here reading works and hashing would not
        with pytest.raises(InvalidError):
            verify(text.replace('"of a test"', "[" * depth + "]" * depth).encode())


@pytest.mark.parametrize("margin", ["9" * 2000, "1" + "0" * 999, "1000"])
def test_a_margin_of_any_size_is_looked_at_and_is_no_danger(margin: str, genuine: Document) -> None:
    with pytest.raises(InvalidError, match="mechanism: the margin is"):
        verify(_group(genuine, "margin_units", margin))


def test_a_copied_verifier_needs_nothing_of_the_product(
    written: tuple[Desk, bytes], standalone: Path, tmp_path: Path
) -> None:
    file = tmp_path / "certificate.json"
    file.write_bytes(written[1])
    ended = run(standalone, str(file), public_key(written[0].home))
    assert ended.returncode == 0 and ended.stderr == ""
    assert ended.stdout.count("ok  ") == 14 and ended.stdout.count("--  stated, not recomputed") == 1
    assert ended.stdout.endswith("ok  signature: made with the trusted key\n")


def test_without_the_package_for_signatures_it_checks_the_rest_and_says_so(
    written: tuple[Desk, bytes], genuine: Document, standalone: Path, tmp_path: Path
) -> None:
    file = tmp_path / "certificate.json"
    file.write_bytes(written[1])
    ended = run(standalone, str(file), flags="-I -S")
    assert ended.returncode == 0 and "signature: not checked" in ended.stdout
    trusting = run(standalone, str(file), public_key(written[0].home), flags="-I -S")
    assert trusting.returncode == 1 and "cryptography" in trusting.stderr
    genuine["payload"]["answer"]["certificate_units"][1] = 9
    file.write_bytes(verifier.written(genuine))
    assert run(standalone, str(file), flags="-I -S").returncode == 1


SPELLINGS: dict[str, Callable[[str], bytes]] = {
    "no line end": lambda text: text.removesuffix("\n").encode(),
    "a second line end": lambda text: f"{text}\n".encode(),
    "a blank before": lambda text: f" {text}".encode(),
    "other line ends": lambda text: text.replace("\n", "\r\n").encode(),
    "one line": lambda text: json.dumps(json.loads(text), sort_keys=True).encode() + b"\n",
    "other white space": lambda text: json.dumps(json.loads(text), sort_keys=True, indent=2).encode() + b"\n",
    "another order": lambda text: (
        json.dumps(dict(reversed(list(json.loads(text).items()))), indent=1).encode() + b"\n"
    ),
    "a minus before 0": lambda text: re.sub(r"(\s)0(,?\n)", r"\1-0\2", text, count=1).encode(),
    "a letter escaped": lambda text: text.replace('"emit"', '"\\u0065mit"').encode(),
    "a slash escaped": lambda text: text.replace("privcert-certificate/1", "privcert-certificate\\/1").encode(),
    "a key escaped": lambda text: text.replace('"theta"', '"\\u0074heta"').encode(),
    "a byte-order mark": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "UTF-16": lambda text: text.encode("utf-16"),
    "UTF-16 without a mark": lambda text: text.encode("utf-16-le"),
    "UTF-32": lambda text: text.encode("utf-32-be"),
}  # fmt: skip


@pytest.mark.parametrize("what", SPELLINGS)
def test_a_file_of_the_same_value_in_other_bytes_is_refused(
    what: str, written: tuple[Desk, bytes], standalone: Path, tmp_path: Path
) -> None:
    content = SPELLINGS[what](written[1].decode())
    assert content != written[1]
    assert json.loads(content.decode("utf-8-sig") if what == "a byte-order mark" else content) == json.loads(written[1])
    with pytest.raises(InvalidError, match=r"^malformed: "):
        verify(content, public_key(written[0].home))
    (tmp_path / "file.json").write_bytes(content)
    assert run(standalone, str(tmp_path / "file.json")).returncode == 1


def test_a_name_outside_ascii_is_written_in_one_way(desk: Desk) -> None:
    desk.log.set_cap("reviews", Decimal(1))
    [partition] = desk.register(visibility="public")
    content = desk.publish(ask(partition, "0.1", statements=("Caf\u00e9 \u2713 \U0001f600",))).read_bytes()
    assert b"Caf\\u00e9" in content and len(verify(content)) == 15
    with pytest.raises(InvalidError, match="ASCII"):
        verify(content.replace(b"\\u00e9", "\u00e9".encode()))
    with pytest.raises(InvalidError, match="byte by byte"):
        verify(content.replace(b"\\u00e9", b"\\u00E9"))


@pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_AS is Linux's")
@pytest.mark.parametrize("endless", ["/dev/zero", "/dev/urandom"])
def test_a_file_without_an_end_is_refused_in_little_memory(standalone: Path, endless: str) -> None:
    limited = (
        "import resource, runpy, sys; resource.setrlimit(resource.RLIMIT_AS, (200 * 2**20,) * 2); "
        "sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    command = [sys.executable, "-I", "-c", limited, str(standalone), endless]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1 and ended.stderr == "INVALID  malformed: not one JSON object in ASCII\n"


def test_a_file_is_read_no_further_than_a_certificate_reaches(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(verifier, "MAX_BYTES", 2 * 2**20)
    (tmp_path / "file.json").write_bytes(b"{" + b" " * (2 * 2**20 - 1))
    assert len(verifier.read(tmp_path / "file.json")) == 2 * 2**20
    with (tmp_path / "file.json").open("r+b") as file:
        file.truncate(10**12)  # a hole: it takes no room
    with pytest.raises(InvalidError, match="too large for a certificate"):
        verifier.read(tmp_path / "file.json")


def test_what_may_go_wrong_is_never_said_to_be_less_or_nothing(desk: Desk) -> None:
    desk.log.set_cap("reviews", Decimal("0.30000000000000000001"))
    [partition] = desk.register()
    question = ask(partition, "0.3", statements=("A", "B", "C"), beta=Decimal("1e-400"))
    shown = " ".join(verify(desk.publish(question).read_bytes()))
    assert "error of one certificate at most 3.33334e-401" in shown
    assert "epsilon 0.3 of 0.30000000000000000001 spent" in shown
    assert set(desk.log.project().certificates["beta_per_statement"].to_pylist()) == {5e-324}  # nor in the tables


def test_a_missing_file_and_no_file_are_told_apart(standalone: Path, tmp_path: Path) -> None:
    assert run(standalone, str(tmp_path / "nowhere")).returncode == 1
    assert run(standalone, str(tmp_path)).returncode == 1
    assert run(standalone).returncode == 2
    endless = run(standalone, "/dev/zero")
    assert endless.returncode == 1 and "not one JSON object" in endless.stderr


def test_a_name_in_the_file_writes_no_line_of_its_own(desk: Desk) -> None:
    desk.log.set_cap("reviews", Decimal(1))
    [partition] = desk.register(visibility="public")
    document = json.loads(desk.publish(ask(partition, "0.1")).read_bytes())
    name = "x\nok  signature: made with the trusted key\x1b[2J\u202e"
    tag = hashlib.sha256(f"{document['ledger_id']}:{name}".encode()).hexdigest()[:16]
    document["payload"]["described"]["partition"]["account"] = name
    for link in document["chain"]:
        link["account_tag"] = tag
        link["body"] |= {"account": name} if "account" in link["body"] else {}
    shown = verify(reseal(document))
    assert len(shown) == 15 and all(line.isascii() and line.isprintable() for line in shown)
