"""Stand-alone verifier of a privcert certificate file: `python verifier.py FILE`.

Needs Python >= 3.11 and nothing else; with the package `cryptography` it checks the signature too. It recomputes the
question's key, the margins, the decisions, the chain, the registration and the budget from the file alone, without
any private data. What cannot be recomputed is named as stated only.
"""

import datetime
import hashlib
import json
import math
import re
import sys
import unicodedata
from collections.abc import Iterator
from decimal import Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

Document = dict[str, Any]
MAX_BYTES = 2**28  # a certificate of 100,000 statements has about 2^25

DISCLOSURES = (
    "Neighbouring datasets replace the content of one unit's records; which units exist, in which partition each "
    "lies, and n are fixed and not protected.",
    "Registration may have been refused because too many records could not be read or because of repeated or "
    "misplaced ids; that it was not is an unprotected precondition.",
    "So is that no file was malformed (a CSV quote that swallows rows, a record that is not well-formed), no record id "
    "was null, no two unit ids looked alike, and no record was also in another corpus.",
    "That content was replaced under a partition key is public, and when: the version number and its day show it.",
    "Support is what the named frozen model says of each record; certificates bound that count, not the truth.",
    "A statement that is not emitted is not certified; it is not certified to be false.",
)
_PARTITION = "corpus account visibility partition version number n unit unit_rule"
_KEYS = {
    "certificate": "format ledger_id release_key sequence payload theta threshold_units decisions disclosures chain "
    "public_key signature",
    "payload": "format product question described charge answer",
    "question": "corpus partition partition_version unit unit_rule unit_support statement_ids model_fingerprint "
    "mechanism epsilon beta scope edition",
    "described": "partition statements proposer model model_description",
    "partition": _PARTITION,
    "answer": "epsilon_per_statement beta_per_statement scale margin_units coin sampler certificate_units",
    "link": "sequence kind day account_tag body_sha256 hash",
}
_TERMS = {
    "scope": ("candidate", "report", "report_independent"),
    "mechanism": ("frontier", "geometric"),
    "unit_support": ("any", "all"),
    "unit_rule": ("exact", "as_written", "folded"),
    "visibility": ("private", "public", "synthetic"),
    "partition_by": ("all", "list", "year", "month", "day"),
    "kind": ("cap", "corpus", "partition", "release", "gap"),
}


class InvalidError(Exception):
    """The certificate does not hold; the message says which check failed."""


def verify(content: bytes, trusted_key: str | None = None) -> list[str]:
    """What was shown, one line a check; raises InvalidError at the first check that fails.

    trusted_key: hex of the public key that the reader trusts; without it the signature proves integrity only.
    """
    document = _parse(content)
    shown = []
    for check in _CHECKS:
        try:
            shown.append(check(document))
        except _UNREADABLE as error:
            raise InvalidError(
                f"malformed: {check.__name__.strip('_')} cannot be read ({type(error).__name__})"
            ) from None
    return [_printable(line) for line in (*shown, _signature(document, trusted_key))]


_UNREADABLE = (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError, RecursionError)


def canonical(value: object) -> bytes:
    """JSON with sorted keys, no white space, ASCII escapes: what is hashed and signed."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()


def digest(value: object) -> str:
    """SHA-256 of the canonical form, hex."""
    return hashlib.sha256(canonical(value)).hexdigest()


def _parse(content: bytes) -> Document:
    _require(len(content) <= MAX_BYTES, "malformed: too large for a certificate")
    try:
        document = json.loads(
            content, object_pairs_hook=_no_duplicates, parse_float=_no_float, parse_constant=_no_float
        )
    except (ValueError, RecursionError):
        raise InvalidError("malformed: not one JSON object") from None
    if not isinstance(document, dict):
        raise InvalidError("malformed: not one JSON object")
    return document


def _no_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError("a key occurs twice")
    return dict(pairs)


def _no_float(text: str) -> object:
    raise ValueError("a certificate holds whole numbers and exact text only")


def _printable(line: str) -> str:
    """ASCII without control characters: a name in a hostile file must not write lines of its own."""
    return "".join(letter if " " <= letter <= "~" else ascii(letter)[1:-1] for letter in line)


def _require(condition: bool, says: str) -> None:
    if not condition:
        raise InvalidError(says)


_NUMBER = r"\d{1,2000}(\.\d{1,1000})?(/\d{1,2000}|[eE][+-]?\d{1,3})?"


def _exact(text: object) -> Fraction:
    """An exact number written as text; bounded, so that a hostile file cannot ask for gigabytes of digits."""
    if not isinstance(text, str) or not re.fullmatch(_NUMBER, text, re.ASCII):
        raise ValueError("not an exact number")
    return Fraction(text)


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError("not a whole number")
    return value


def _is_spelled(text: object) -> bool:
    """Is this decimal in its one spelling (no exponent up to 60 characters, no idle zeros)?"""
    if not isinstance(text, str) or "/" in text or _exact(text) == 0:
        return text == "0"
    number = Decimal(text)
    shortest = number.normalize(Context(prec=len(number.as_tuple().digits)))
    plain = f"{shortest:f}"
    return text == (plain if len(plain) <= 60 else str(shortest))


def _format(document: Document) -> str:
    _require(document["format"] == "privcert-certificate/1", "format: not a privcert-certificate/1")
    payload = document["payload"]
    _require(payload["format"] == "privcert-release/1", "format: not a privcert-release/1")
    question, described = payload["question"], payload["described"]
    _has_keys("certificate", document)
    _has_keys("payload", payload)
    _has_keys("question", question)
    _has_keys("described", described)
    _has_keys("partition", described["partition"])
    _has_keys("answer", payload["answer"])
    for link in document["chain"]:
        _has_keys("link", {name: link[name] for name in link if name != "body"})
        _is_term("kind", link)
    for name in ("scope", "mechanism", "unit_support", "unit_rule"):
        _is_term(name, question)
    _is_term("visibility", described["partition"])
    _require(_whole(question["edition"]) >= 1, "format: the edition is not 1 or more")
    _require(document["disclosures"] == list(DISCLOSURES), "format: the disclosures are not those of the format")
    return "format: privcert-certificate/1"


def _has_keys(name: str, part: Document) -> None:
    expected = set(_KEYS[name].split())
    _require(expected <= set(part), f"format: the {name} lacks {', '.join(sorted(expected - set(part)))}")
    _require(set(part) <= expected, f"format: the {name} has unknown keys")


def _is_term(name: str, part: Document) -> None:
    _require(part[name] in _TERMS[name], f"format: {name} is not one of {', '.join(_TERMS[name])}")


def _question(document: Document) -> str:
    payload = document["payload"]
    question, partition = payload["question"], payload["described"]["partition"]
    _require(digest(question) == document["release_key"], "question: its hash is not the release key")
    for name, other in (("corpus", "corpus"), ("partition", "partition"), ("partition_version", "version")):
        _require(question[name] == partition[other], f"question: {name} differs from the described partition")
    for name in ("unit", "unit_rule"):
        _require(question[name] == partition[name], f"question: {name} differs from the described partition")
    _require(
        all(_is_spelled(text) for text in (question["epsilon"], question["beta"], document["theta"])),
        "question: a decimal in another spelling",
    )
    return f"question: release {document['release_key'][:12]} asks {len(question['statement_ids'])} statements"


def _statements(document: Document) -> str:
    ids = document["payload"]["question"]["statement_ids"]
    texts = document["payload"]["described"]["statements"]
    _require(len(set(ids)) == len(ids) == len(texts) > 0, "statements: not distinct, or without text")
    _require(sorted(ids) == ids, "statements: not in the order of their ids: another order is the same question")
    for name, text in zip(ids, texts, strict=True):
        expected = hashlib.sha256(unicodedata.normalize("NFC", text).encode()).hexdigest()[:32]
        _require(name == expected, "statements: an id is not the hash of its text")
    return f"statements: {len(ids)} distinct, each id is the hash of its text"


def _mechanism(document: Document) -> str:
    payload = document["payload"]
    question, answer = payload["question"], payload["answer"]
    m = len(question["statement_ids"])
    epsilon, beta = _exact(answer["epsilon_per_statement"]), _exact(answer["beta_per_statement"])
    _require(epsilon > 0 and epsilon * m == _exact(question["epsilon"]), "mechanism: epsilon is not split equally")
    _require(_scope_holds(question["scope"], beta, _exact(question["beta"]), m), "mechanism: beta exceeds its scope")
    scale, margin, q = _exact(answer["scale"]), _exact(answer["margin_units"]), _exact(answer["coin"])
    k = int(margin)
    _require(scale * epsilon >= 1, "mechanism: the noise scale is too small for epsilon")
    _require(margin == k and 0 <= q <= 1, "mechanism: margin or coin out of range")
    _require(question["mechanism"] == "frontier" or q == 0, "mechanism: geometric has no coin")
    error = _tail(k + 1, 1 / scale) * (1 - q) + _tail(k, 1 / scale) * q
    _require(error <= beta * (1 + Fraction(1, 10**25)), "mechanism: the margin does not keep the error below beta")
    return f"mechanism: {question['mechanism']}, margin {k} units, error of one certificate at most {float(beta):.6g}"


def _scope_holds(scope: str, beta: Fraction, beta_total: Fraction, m: int) -> bool:
    if not 0 < beta_total < Fraction(1, 2) or not 0 < beta < 1:
        return False
    if scope == "candidate":
        return beta <= beta_total
    if scope == "report":
        return beta * m <= beta_total
    if scope == "report_independent":
        context = Context(prec=80)
        base = context.divide(Decimal((1 - beta).numerator), Decimal((1 - beta).denominator))
        all_hold = Fraction(context.power(base, m))
        return all_hold >= (1 - beta_total) * (1 - Fraction(1, 10**60))
    return False


def _tail(j: int, rate: Fraction) -> Fraction:
    """Pr[G >= j] of the two-sided geometric law with a = e^-rate, to about 60 digits."""
    context = Context(prec=120, Emin=-(10**17), Emax=10**17)

    def power(exponent: int) -> Decimal:
        return context.exp(
            context.divide(Decimal(-(rate * exponent).numerator), Decimal((rate * exponent).denominator))
        )

    below = context.divide(power(j if j >= 1 else 1 - j), context.add(1, power(1)))
    return Fraction(below) if j >= 1 else 1 - Fraction(below)


def _certificates(document: Document) -> str:
    payload = document["payload"]
    units, n = payload["answer"]["certificate_units"], _whole(payload["described"]["partition"]["n"])
    _require(len(units) == len(payload["question"]["statement_ids"]), "certificates: not one per statement")
    _require(all(_whole(value) <= n for value in units), "certificates: above n")
    return f"certificates: {len(units)} lower bounds between 0 and n = {n}"


def _decisions(document: Document) -> str:
    payload = document["payload"]
    n, theta = payload["described"]["partition"]["n"], _exact(document["theta"])
    threshold, said = math.ceil(n * theta), _whole(document["threshold_units"])
    _require(0 <= theta <= 1 and said == threshold, "decisions: the threshold is not ceil(n theta)")
    expected = [
        {"statement_id": name, "decision": "emit" if n > 0 and units >= threshold else "abstain"}
        for name, units in zip(
            payload["question"]["statement_ids"], payload["answer"]["certificate_units"], strict=True
        )
    ]
    _require(document["decisions"] == expected, "decisions: not what the certificates say at theta")
    emitted = sum(line["decision"] == "emit" for line in expected)
    return f"decisions: {emitted} emitted and {len(expected) - emitted} abstained at theta {document['theta']}"


def _chain(document: Document) -> str:
    previous, day = hashlib.sha256(document["ledger_id"].encode()).hexdigest(), ""
    for at, link in enumerate(document["chain"], 1):
        _require(_whole(link["sequence"]) == at, "chain: a link is missing")
        _require(_is_day(link["day"]) and link["day"] >= day, "chain: a day is none, or before the one before")
        _require("body" not in link or digest(link["body"]) == link["body_sha256"], "chain: a body was altered")
        fields = {name: link[name] for name in ("sequence", "kind", "day", "account_tag", "body_sha256")}
        _require(digest(fields | {"previous": previous}) == link["hash"], "chain: a link does not fit the one before")
        previous, day = link["hash"], link["day"]
    last = document["chain"][-1]
    _require(
        last["kind"] == "release" and last["sequence"] == _whole(document["sequence"]),
        "chain: does not end at the release",
    )
    return f"chain: {len(document['chain'])} links, the last one is this release"


def _is_day(text: str) -> bool:
    return datetime.date.fromisoformat(text).isoformat() == text


def _entries(document: Document) -> str:
    """Every entry of the account is shown and names it: a charge or a cap that is withheld cannot be summed."""
    account = document["payload"]["described"]["partition"]["account"]
    own = hashlib.sha256(f"{document['ledger_id']}:{account}".encode()).hexdigest()[:16]
    corpora: set[str] = set()
    for link in document["chain"]:
        tag, kind = link["account_tag"], link["kind"]
        _require((tag is None) == (kind == "gap"), "entries: only a gap concerns every account")
        _require(("body" in link) == (tag in (own, None)), "entries: one of this account is withheld, or another shown")
        if tag == own:
            body = link["body"]
            if kind == "corpus":
                _require(body["corpus"] not in corpora, "entries: a corpus is registered twice")
                corpora.add(body["corpus"])
            _require(
                body.get("account", kind == "partition" and account) == account,
                "entries: one is tagged as this account's and names another",
            )
            _require(kind == "cap" or body["corpus"] in corpora, "entries: one is about a corpus of another account")
    keys = [body["release_key"] for body in _bodies(document, "release")]
    _require(len(set(keys)) == len(keys), "entries: the same question was answered twice")
    shown = sum("body" in link for link in document["chain"])
    return f"entries: all {shown} that concern account {account} are shown, {len(document['chain']) - shown} do not"


def _seal(document: Document) -> str:
    payload, body = document["payload"], document["chain"][-1]["body"]
    partition = payload["described"]["partition"]
    sealed = {
        "release_key": document["release_key"],
        "account": partition["account"],
        "corpus": partition["corpus"],
        "partition": partition["partition"],
        "epsilon": payload["charge"],
        "payload_sha256": digest(payload),
    }
    for name, value in sealed.items():
        _require(body[name] == value, f"seal: the {name} is not the one that was sealed")
    _require(set(body) == set(sealed), "seal: the last entry has unknown keys")
    return "seal: the last entry seals this payload"


def _registration(document: Document) -> str:
    """What the payload says of its corpus and partition is what was registered, before the release."""
    said = document["payload"]["described"]["partition"]
    corpora = [body for body in _bodies(document, "corpus") if body["corpus"] == said["corpus"]]
    versions = [body for body in _bodies(document, "partition") if body["version"] == said["version"]]
    _require(len(corpora) == len(versions) == 1, "registration: corpus or version is not registered exactly once")
    corpus, version = corpora[0], versions[0]
    registered = {name: corpus[name] for name in ("corpus", "account", "visibility")}
    registered |= {name: corpus["scheme"][name] for name in ("unit", "unit_rule")}
    registered |= {name: version[name] for name in ("corpus", "partition", "version", "number", "n")}
    for name in _PARTITION.split():
        _require(said[name] == registered[name], f"registration: {name} is not what was registered")
    _whole(said["n"])
    numbers: dict[tuple[str, str], int] = {}
    for body in _bodies(document, "partition"):
        lineage = (body["corpus"], body["partition"])
        numbers[lineage] = numbers.get(lineage, 0) + 1
        _require(_whole(body["number"]) == numbers[lineage], "registration: versions do not count 1, 2, ...")
    for body in _bodies(document, "release"):
        _require((body["corpus"], body["partition"]) in numbers, "registration: a release about an unknown partition")
    for body in _bodies(document, "corpus"):
        _is_term("partition_by", body["scheme"])
        _require(body["visibility"] == said["visibility"], "registration: private and other corpora on one account")
    return (
        f"registration: {said['corpus']}, {said['partition']}, version {said['number']}, n = {said['n']}, "
        f"{said['visibility']}"
    )


def _budget(document: Document) -> str:
    payload = document["payload"]
    partition, question = payload["described"]["partition"], payload["question"]
    due = question["epsilon"] if partition["n"] > 0 else "0"
    _require(payload["charge"] == due, "budget: the charge is not the question's epsilon")
    if due == "0":
        return "budget: nothing was charged (n = 0)"
    cap = _cap(document)
    if cap is None:
        _require(partition["visibility"] != "private", "budget: a private corpus without a cap")
        return (
            f"budget: {due} nats on account {partition['account']}, which has no cap ({partition['visibility']} data)"
        )
    spent = sum((_exact(epsilon) for epsilon in _charges(document)), Fraction(0))
    _require(spent <= cap, "budget: the account's charges exceed its cap")
    return f"budget: {float(spent):g} of {float(cap):g} nats spent on account {partition['account']} by then"


def _bodies(document: Document, kind: str) -> Iterator[Document]:
    """Bodies of the account's entries of this kind, in their order."""
    return (link["body"] for link in document["chain"] if link["kind"] == kind and "body" in link)


def _cap(document: Document) -> Fraction | None:
    caps = [_exact(body["epsilon"]) for body in _bodies(document, "cap")]
    return caps[-1] if caps else None


def _charges(document: Document) -> Iterator[str]:
    """Charges that add up with this release: its own partition's, or the whole account's where units may recur."""
    partition = document["payload"]["described"]["partition"]
    corpora = list(_bodies(document, "corpus"))
    pooled = len(corpora) > 1 or any(body["scheme"]["partition_by"] not in ("all", "list") for body in corpora)
    lineage = (partition["corpus"], partition["partition"])
    for body in _bodies(document, "release"):
        if pooled or (body["corpus"], body["partition"]) == lineage:
            yield body["epsilon"]
    for body in _bodies(document, "gap"):  # charged to every account
        yield body["epsilon"]


def _stated(document: Document) -> str:
    described, answer = document["payload"]["described"], document["payload"]["answer"]
    description = described["model_description"]
    texts = [described["model"], described["proposer"], answer["sampler"], *description, *description.values()]
    texts += [document["payload"]["product"], document["payload"]["question"]["model_fingerprint"]]
    _require(all(isinstance(text, str) for text in texts), "stated: a description that is no text")
    model, proposer, sampler = (text if len(text) <= 100 else text[:100] + "..." for text in texts[:3])
    return (
        f"stated, not recomputed: model {model} with its fingerprint and description, sampler {sampler}, "
        f"proposer {proposer}"
    )


_CHECKS = (
    _format,
    _question,
    _statements,
    _mechanism,
    _certificates,
    _decisions,
    _chain,
    _entries,
    _seal,
    _registration,
    _budget,
    _stated,
)


def _signature(document: Document, trusted_key: str | None) -> str:
    if trusted_key is not None and document.get("public_key") != trusted_key.lower():
        raise InvalidError("signature: made with another key than the trusted one")
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ImportError:
        if trusted_key is not None:
            raise InvalidError("signature: the package `cryptography` is needed to check it") from None
        return "signature: not checked (the package `cryptography` is missing); integrity only"
    unsigned = {name: value for name, value in document.items() if name != "signature"}
    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(document["public_key"]))
        key.verify(bytes.fromhex(document["signature"]), canonical(unsigned))
    except (InvalidSignature, *_UNREADABLE):
        raise InvalidError("signature: does not fit the document") from None
    if trusted_key is None:
        return (
            f"signature: fits the key in the file, {document['public_key']}; that is integrity, not authenticity: "
            "pass the key you trust"
        )
    return "signature: made with the trusted key"


def marked(line: str) -> str:
    """A line of `verify` for the reader: what is only stated gets no ok."""
    return f"{'--' if line.startswith('stated') else 'ok'}  {line}"


def main() -> int:
    """Print what was shown; exit code 0 when everything holds, 1 when not."""
    if len(sys.argv) not in (2, 3):
        sys.stderr.write("usage: python verifier.py FILE [PUBLIC_KEY_HEX]\n")
        return 2
    try:
        with Path(sys.argv[1]).open("rb") as file:
            lines = verify(file.read(MAX_BYTES + 1), *sys.argv[2:])
    except (InvalidError, OSError) as error:
        sys.stderr.write(f"INVALID  {error}\n")
        return 1
    sys.stdout.write("".join(f"{marked(line)}\n" for line in lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
