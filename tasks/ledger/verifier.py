"""Stand-alone verifier of a privcert certificate file: `python verifier.py FILE`.

Needs Python >= 3.11 and nothing else; with the package `cryptography` it checks the signature too. It recomputes the
question's key, the margins, the decisions, the chain, the registration and the budget from the file alone, without
any private data. What cannot be recomputed is named as stated only.
"""

import collections
import datetime
import functools
import hashlib
import json
import math
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple, cast

Document = dict[str, Any]
MAX_BYTES = 2**28  # a certificate of 100,000 statements has about 2^25
_PIECE = 2**20

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
_TERMS = {
    "scope": ("candidate", "report", "report_independent"),
    "mechanism": ("frontier", "geometric", "staircase", "discrete_gaussian", "hist", "svt", "topk"),
    "unit_support": ("any", "all"),
    "unit_rule": ("exact", "as_written", "folded"),
    "visibility": ("private", "public", "synthetic"),
    "partition_by": ("all", "list", "year", "quarter", "month", "day"),
    "kind": ("cap", "corpus", "partition", "release", "gap"),
    "composition": ("pure", "approximate", "zcdp"),
}
# What each mechanism takes beside epsilon and beta, in whose selection keys its scales are, and what it certifies.
_PARAMETERS = {
    "frontier": "",
    "geometric": "",
    "staircase": "theta",
    "discrete_gaussian": "delta",
    "hist": "contributions",
    "svt": "theta selected selection_share",
    "topk": "selected selection_share",
}
_SELECTION = {"svt": "threshold_scale query_scale", "topk": "scale"}
_WEIGHTED = ("frontier", "geometric", "staircase")
_COUNTED = {"pure": ("epsilon",), "approximate": ("epsilon", "delta"), "zcdp": ("rho",)}
_AT_LEAST = "at least this many units support it, except with probability beta"
_MEANINGS = dict.fromkeys(_PARAMETERS, _AT_LEAST) | {
    "staircase": "at least the share theta of the units supports it, except with probability beta",
    "discrete_gaussian": "at least this many units support it, except with probability beta",
    "hist": f"{_AT_LEAST}; a unit counts for at most C statements",
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


def written(document: Document) -> bytes:
    """The bytes of a certificate's file, the only ones: no other spelling, order, white space or encoding."""
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=True, allow_nan=False).encode() + b"\n"


def digest(value: object) -> str:
    """SHA-256 of the canonical form, hex."""
    return hashlib.sha256(canonical(value)).hexdigest()


def _parse(content: bytes) -> Document:
    _require(len(content) <= MAX_BYTES, "malformed: too large for a certificate")
    try:
        document = json.loads(
            content.decode("ascii"), object_pairs_hook=_no_duplicates, parse_float=_no_float, parse_constant=_no_float
        )
        _require(isinstance(document, dict), "malformed: not one JSON object")
        _require(written(document) == content, "malformed: not byte by byte as certificates are written")
    except (ValueError, RecursionError):
        raise InvalidError("malformed: not one JSON object in ASCII") from None
    except MemoryError:
        raise InvalidError("malformed: too large for the memory of this machine") from None
    return cast(Document, document)


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


def _at_most(number: Fraction) -> str:
    """Six significant digits, rounded up: what is lost, or may go wrong, is never said to be less, nor nothing."""
    context = Context(prec=6, rounding=ROUND_CEILING, Emin=-(10**17), Emax=10**17)
    return f"{context.divide(Decimal(number.numerator), Decimal(number.denominator)):g}"


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_fraction(text: object) -> bool:
    """Is it an exact number in its one spelling as a fraction: 3, 1/80?"""
    return isinstance(text, str) and re.fullmatch(_NUMBER, text, re.ASCII) is not None and str(Fraction(text)) == text


def _is_spelled(text: object) -> bool:
    """Is this decimal in its one spelling (no exponent up to 60 characters, no idle zeros)?"""
    if not isinstance(text, str) or not re.fullmatch(_NUMBER, text, re.ASCII) or "/" in text or Fraction(text) == 0:
        return text == "0"
    number = Decimal(text)
    shortest = number.normalize(Context(prec=len(number.as_tuple().digits)))
    plain = f"{shortest:f}"
    return text == (plain if len(plain) <= 60 else str(shortest))


def _is_setting(text: str) -> bool:
    """Is it a decimal that can be asked for: in one spelling, at most 60 digits, an exponent within 400?"""
    return _is_spelled(text) and len(Decimal(text).as_tuple().digits) <= 60 and abs(Decimal(text).adjusted()) <= 400


def _digits(number: int) -> Callable[[object], bool]:
    """So many hexadecimal digits."""
    return lambda text: isinstance(text, str) and re.fullmatch(f"[0-9a-f]{{{number}}}", text, re.ASCII) is not None


def _maybe(is_one: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: value is None or is_one(value)


def _named(is_one: Callable[[object], bool]) -> Callable[[object], bool]:
    """An object whose values are such, under any names."""
    return lambda value: isinstance(value, dict) and all(is_one(inner) for inner in value.values())


def _is_earlier_cap(value: object) -> bool:
    return value is None or _has_shape("earlier cap", value)


# A check of one value; the name of an object; or a list of either, with one member.
Shape = Callable[[object], bool] | str | list[Any]


def _object(texts: str = "", **others: Shape) -> dict[str, Shape]:
    """Its values by name: texts, and others."""
    return dict.fromkeys(texts.split(), _is_text) | others


_AMOUNTS: dict[str, Shape] = dict.fromkeys(("epsilon", "delta", "rho"), _is_spelled)
_MAYBE_AMOUNTS: dict[str, Shape] = dict.fromkeys(_AMOUNTS, _maybe(_is_spelled))
_SHAPES: dict[str, dict[str, Shape]] = {
    "certificate": _object(
        "format ledger_id theta",
        release_key=_digits(64),
        sequence=_is_whole,
        payload="payload",
        threshold_units=_is_whole,
        decisions=["decision"],
        disclosures=[_is_text],
        chain=["link"],
        public_key=_digits(64),
        signature=_digits(128),
    ),
    "payload": _object("format product", question="question", described="described", charge="charge", answer="answer"),
    "question": _object(
        "corpus partition partition_version unit unit_rule unit_support model_fingerprint mechanism epsilon beta scope",
        statement_ids=[_is_text],
        parameters=_named(_is_text),
        weights=[_is_text],
        edition=_is_whole,
    ),
    "described": _object(
        "meaning proposer model", partition="partition", statements=[_is_text], model_description=_named(_is_text)
    ),
    "partition": _object(_PARTITION, number=_is_whole, n=_is_whole),
    "charge": _AMOUNTS,
    "answer": _object(
        "sampler",
        groups=["group"],
        selection=_named(_is_fraction),
        certificate_units=[_is_whole],
        reasons=[_maybe(_is_text)],
    ),
    "group": {
        name: _maybe(_is_fraction) if name == "epsilon_per_statement" else _is_fraction
        for name in ("weight", "epsilon_per_statement", "beta_per_statement", "scale", "margin_units", "coin")
    },
    "decision": _object("statement_id decision", reason=_maybe(_is_text)),
    "link": _object(
        "kind day", sequence=_is_whole, account_tag=_maybe(_digits(16)), body_sha256=_digits(64), hash=_digits(64)
    ),
    "cap entry": _object("account composition", **_MAYBE_AMOUNTS, before=_is_earlier_cap, reason=_maybe(_is_text)),
    "earlier cap": _MAYBE_AMOUNTS,
    "corpus entry": _object("corpus account visibility", scheme="scheme"),
    "scheme": _object(
        "unit unit_rule partition_by", unit_namespace=_maybe(_is_text), partition_column=_maybe(_is_text)
    ),
    "partition entry": _object("corpus partition version", number=_is_whole, n=_is_whole),
    "release entry": _object(
        "account corpus partition", release_key=_digits(64), **_AMOUNTS, payload_sha256=_digits(64)
    ),
    "gap entry": _object("reason", lost_sequence=_is_whole, lost_hash=_digits(64), **_MAYBE_AMOUNTS),
}
# What an earlier version did not write.
_LATER: dict[str, dict[str, Shape]] = {"payload": {"code_digest": _digits(64)}}


def _has_shape(shape: Shape, value: object, name: str = "") -> bool:
    """Has the value this type and spelling, with all that it holds? Raises InvalidError for the first that has not."""
    if isinstance(shape, list):
        _require(isinstance(value, list), f"format: {name} is not a list")
        return all(_has_shape(shape[0], inner, name) for inner in cast("list[object]", value))
    if isinstance(shape, str):
        _require(isinstance(value, dict), f"format: the {shape} is not an object")
        part, required = cast(Document, value), _SHAPES[shape]
        missing = sorted(set(required) - set(part))
        _require(not missing, f"format: the {shape} lacks {', '.join(missing)}")
        expected = required | {key: inner for key, inner in _LATER.get(shape, {}).items() if key in part}
        _require(set(part) <= set(expected), f"format: the {shape} has unknown keys")
        return all(_has_shape(inner, part[key], f"{key} of the {shape}") for key, inner in expected.items())
    _require(shape(value), f"format: {name} has another type or spelling")
    return True


def _format(document: Document) -> str:
    """Every container and value has its type, and every exact number its one spelling."""
    _require(document["format"] == "privcert-certificate/1", "format: not a privcert-certificate/1")
    _require(document["payload"]["format"] == "privcert-release/1", "format: not a privcert-release/1")
    bodies = []
    for link in document["chain"]:
        _is_term("kind", link)
        if "body" in link:
            bodies.append((f"{link['kind']} entry", link["body"]))
    without = [{name: link[name] for name in link if name != "body"} for link in document["chain"]]
    _has_shape("certificate", document | {"chain": without})
    for shape, body in bodies:
        _has_shape(shape, body)
    question, described = document["payload"]["question"], document["payload"]["described"]
    for name in ("scope", "mechanism", "unit_support", "unit_rule"):
        _is_term(name, question)
    _is_term("visibility", described["partition"])
    _require(question["edition"] >= 1, "format: the edition is not 1 or more")
    _require(document["disclosures"] == list(DISCLOSURES), "format: the disclosures are not those of the format")
    says = described["meaning"] == _MEANINGS[question["mechanism"]]
    _require(says, "format: the meaning is not that of the mechanism's certificates")
    return "format: privcert-certificate/1"


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
    parameters = question["parameters"]
    decimals = (question["epsilon"], question["beta"], document["theta"], *parameters.values())
    _require(all(_is_spelled(text) for text in decimals), "question: a decimal in another spelling")
    _require(all(_is_setting(text) for text in decimals), "question: a decimal of more than 60 digits, or out of reach")
    takes = set(_PARAMETERS[question["mechanism"]].split())
    _require(set(parameters) == takes, "question: not the parameters of its mechanism")
    exact = {name: _exact(text) for name, text in parameters.items()}
    _require(0 < exact.get("delta", Fraction(1, 2)) < 1, "question: delta is out of range")
    _require(0 <= exact.get("theta", Fraction(0)) <= 1, "question: theta is out of range")
    _require(0 < exact.get("selection_share", Fraction(1, 2)) < 1, "question: selection_share is out of range")
    for name in ("contributions", "selected"):
        number = exact.get(name, Fraction(1))
        _require(number >= 1 and number.denominator == 1, f"question: {name} is not 1 or more")
    _check_weights(question)
    return f"question: release {document['release_key'][:12]} asks {len(question['statement_ids'])} statements"


def _check_weights(question: Document) -> None:
    """Whole numbers in lowest terms, not all equal: one spelling for each split."""
    if not question["weights"]:
        return
    # of any length: what was asked has few digits, but not always its lowest terms
    spelled = (re.fullmatch(r"0|[1-9]\d{0,999}", text, re.ASCII) for text in question["weights"])
    _require(all(spelled), "weights: a number in another spelling")
    whole = [int(text) for text in question["weights"]]
    _require(question["mechanism"] in _WEIGHTED, "weights: its mechanism does not take them")
    _require(min(whole) >= 1 and math.gcd(*whole) == 1, "weights: not in lowest terms")
    _require(len(whole) == len(question["statement_ids"]), "weights: not one per statement")
    _require(len(set(whole)) > 1, "weights: equal ones are not written")


def _statements(document: Document) -> str:
    ids = document["payload"]["question"]["statement_ids"]
    texts = document["payload"]["described"]["statements"]
    _require(len(set(ids)) == len(ids) == len(texts) > 0, "statements: not distinct, or without text")
    _require(sorted(ids) == ids, "statements: not in the order of their ids: another order is the same question")
    for name, text in zip(ids, texts, strict=True):
        expected = hashlib.sha256(unicodedata.normalize("NFC", text).encode()).hexdigest()[:32]
        _require(name == expected, "statements: an id is not the hash of its text")
    return f"statements: {len(ids)} distinct, each id is the hash of its text"


class _Split(NamedTuple):
    """How budget and error are split, from the question alone: m statements of which at most k are certified.

    shares: by weight, of epsilon and beta. times: by weight, how many statements have it. selection: epsilon that
    selecting costs, 0 without a selection.
    """

    mechanism: str
    m: int
    k: int
    epsilon: Fraction
    selection: Fraction
    shares: dict[str, Fraction]
    times: dict[str, int]
    parameters: dict[str, Fraction]

    def epsilon_each(self, weight: str) -> Fraction | None:
        """Loss of one noisy count that becomes a certificate; None where all counts are one query."""
        if self.mechanism == "discrete_gaussian":
            return None
        if self.mechanism == "hist":  # one unit moves the bounded counts by at most D = min(2C, m) in all
            return self.epsilon / min(2 * self.parameters["contributions"], Fraction(self.m))
        if self.selection:
            return (self.epsilon - self.selection) / self.k
        return self.epsilon * self.shares[weight]

    def beta_share(self, weight: str) -> Fraction:
        """Part of beta that one certificate has; the k that are certified at most share it."""
        return Fraction(1, self.k) if self.selection else self.shares[weight]

    def half_squares(self) -> Fraction:
        """Sum of epsilon_i^2 / 2 over the pure parts of the release."""
        if self.mechanism == "hist":
            return self.epsilon**2 / 2
        if self.selection:
            return (self.selection**2 + (self.epsilon - self.selection) ** 2 / self.k) / 2
        return (
            sum(
                (times * (self.epsilon * self.shares[weight]) ** 2 for weight, times in self.times.items()), Fraction(0)
            )
            / 2
        )


def _split(question: Document) -> _Split:
    m, epsilon = len(question["statement_ids"]), _exact(question["epsilon"])
    parameters = {name: _exact(text) for name, text in question["parameters"].items()}
    weights: list[str] = question["weights"] or ["1"] * m
    total = sum(int(weight) for weight in weights)
    times = collections.Counter(weights)
    shares = {weight: Fraction(int(weight), total) for weight in times}
    whole = sum((number * shares[weight] for weight, number in times.items()), Fraction(0))
    _require(times.total() == m and whole == 1, "weights: their shares do not add up to the whole")
    return _Split(
        mechanism=question["mechanism"],
        m=m,
        k=min(int(parameters["selected"]), m) if "selected" in parameters else m,
        epsilon=epsilon,
        selection=epsilon * parameters.get("selection_share", Fraction(0)),
        shares=shares,
        times=dict(times),
        parameters=parameters,
    )


def _mechanism(document: Document) -> str:
    payload = document["payload"]
    question, answer = payload["question"], payload["answer"]
    split = _split(question)
    _require(split.epsilon > 0, "mechanism: epsilon is not above 0")
    expected = sorted(split.shares, key=int)
    _require([group["weight"] for group in answer["groups"]] == expected, "mechanism: not one group per weight")
    for group in answer["groups"]:
        _check_group(question, split, group)
    _check_selection_scales(split, answer["selection"])
    margins = sorted(int(_exact(group["margin_units"])) for group in answer["groups"])
    beta = max(_exact(group["beta_per_statement"]) for group in answer["groups"])
    said = f"{margins[0]}" if margins[0] == margins[-1] else f"{margins[0]} to {margins[-1]}"
    return f"mechanism: {split.mechanism}, margin {said} units, error of one certificate at most {_at_most(beta)}"


def _check_group(question: Document, split: _Split, group: Document) -> None:
    """Budget, error, scale, margin and coin of the statements of one weight are what the question implies."""
    epsilon, said = split.epsilon_each(group["weight"]), group["epsilon_per_statement"]
    same = said is None if epsilon is None else said is not None and _exact(said) == epsilon
    _require(same, "mechanism: epsilon is not split as the question says")
    beta = _exact(group["beta_per_statement"])
    in_scope = _scope_holds(question["scope"], beta, _exact(question["beta"]), split.beta_share(group["weight"]))
    _require(in_scope, "mechanism: beta is not what its scope leaves to one certificate")
    scale, margin, q = _exact(group["scale"]), _exact(group["margin_units"]), _exact(group["coin"])
    k = int(margin)
    _require(scale > 0 and margin == k and 0 <= q <= 1, "mechanism: scale, margin or coin out of range")
    if epsilon is None:
        needed = split.m / (2 * _largest_rho(split.epsilon, split.parameters["delta"]))
        _require(_is_calibrated(scale**2, needed), "mechanism: the noise scale is too small for epsilon, or too large")
    else:
        _require(
            _is_calibrated(scale, 1 / epsilon), "mechanism: the noise scale is too small for epsilon, or too large"
        )
    _check_error(split.mechanism, scale, k, q, beta)


def _check_error(mechanism: str, scale: Fraction, k: int, q: Fraction, beta: Fraction) -> None:
    """Pr[C > N] = Pr[noise > k] (1 - q) + Pr[noise >= k] q is at most beta; k is the smallest, q the largest such."""
    is_gaussian = mechanism == "discrete_gaussian"
    tail, exactly = (_gaussian_tail, Fraction(1, 10**12)) if is_gaussian else (_geometric_tail, Fraction(1, 10**25))
    # Pr[noise >= k] <= e^(-k / scale), or e^(-k^2 / (2 scale^2)): beyond this, beta needs no k, and tails no digits
    reach = (k / scale) ** 2 / 2 if is_gaussian else k / scale
    _require(reach <= _log_of_one_over(beta) + Fraction(1, 10**6), "mechanism: the margin is too large")
    beyond, reached = tail(k + 1, scale), tail(k, scale)
    error = beyond * (1 - q) + reached * q
    _require(error <= beta * (1 + exactly), "mechanism: the margin does not keep the error below beta")
    _require(k == 0 or reached > beta * (1 - exactly), "mechanism: the margin is larger than beta needs")
    if mechanism in ("geometric", "discrete_gaussian"):
        _require(q == 0, f"mechanism: {mechanism} has no coin")
    else:  # rounded down to a multiple of 2^-128
        spent = beta - error <= beta * exactly + (reached - beyond) / 2**127
        _require(spent or q == 1, "mechanism: the coin falls too seldom")


def _check_selection_scales(split: _Split, said: Document) -> None:
    """svt: eps_1 : eps_2 = 1 : (2k)^(2/3), threshold noise 1 / eps_1, query noise 2k / eps_2. topk: 2k / eps_sel."""
    keys = _SELECTION.get(split.mechanism, "").split()
    _require(sorted(said) == sorted(keys), "selection: not the scales of its mechanism")
    if split.mechanism == "svt":
        power = Fraction(_cube_root(4 * split.k**2 * 10**45), 10**15)
        threshold = split.selection / (1 + power)
        needed = {"threshold_scale": 1 / threshold, "query_scale": 2 * split.k / (split.selection - threshold)}
    else:
        needed = {"scale": 2 * split.k / split.selection} if keys else {}
    for name, least in needed.items():
        _require(_is_calibrated(_exact(said[name]), least), f"selection: {name} is not that of epsilon")


def _is_calibrated(value: Fraction, needed: Fraction) -> bool:
    """At least what the budget needs, and no more than rounding up to a double explains."""
    return needed <= value <= needed * (1 + Fraction(1, 2**40))


def _cube_root(value: int) -> int:
    """The largest integer whose cube is at most value."""
    low, high = 0, 1 << (value.bit_length() // 3 + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**3 <= value else (low, middle)
    return low


def _zeros(number: Fraction) -> int:
    """With how many zeros a number in (0, 1) begins, and one or two more."""
    return len(str(number.denominator // number.numerator))


def _scope_holds(scope: str, beta: Fraction, beta_total: Fraction, share: Fraction) -> bool:
    """Is beta what the scope leaves to a certificate with this share: beta, beta * share, or 1 - (1 - beta)^share?"""
    if not 0 < beta_total < Fraction(1, 2) or not 0 < beta < 1:
        return False
    if scope != "report_independent":
        return beta == (beta_total if scope == "candidate" else beta_total * share)
    context = Context(prec=90 + 2 * _zeros(beta_total))
    log = context.ln(_decimal(1 - beta_total, context))
    exact = 1 - Fraction(context.exp(context.multiply(log, _decimal(share, context))))
    least = max(exact - Fraction(2, 10**40), beta_total * share)  # it is rounded down to 40 digits
    return least <= beta <= exact


def _log_of_one_over(beta: Fraction) -> Fraction:
    """ln(1 / beta), to about 30 digits."""
    context = Context(prec=30)
    return Fraction(context.ln(_decimal(1 / beta, context)))


def _decimal(value: Fraction, context: Context) -> Decimal:
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))


def _geometric_tail(j: int, scale: Fraction) -> Fraction:
    """Pr[G >= j], to about 60 digits, for Pr[G = g] proportional to a^|g| with a = e^(-1/scale)."""
    context = Context(prec=120, Emin=-(10**17), Emax=10**17)

    def power(exponent: int) -> Decimal:
        return context.exp(_decimal(-exponent / scale, context))

    below = context.divide(power(j if j >= 1 else 1 - j), context.add(1, power(1)))
    return Fraction(below) if j >= 1 else 1 - Fraction(below)


def _gaussian_tail(j: int, sigma: Fraction) -> Fraction:
    """Pr[Z >= j], to about 15 digits, for Pr[Z = z] proportional to e^(-z^2 / (2 sigma^2))."""
    if j <= 0:
        return 1 - _gaussian_tail(1 - j, sigma)
    if sigma < 5000:
        return _gaussian_sum(j, sigma) / (1 + 2 * _gaussian_sum(1, sigma))
    # Euler-Maclaurin; all the sums over the integers are sigma sqrt(2 pi), but for e^(-2 pi^2 sigma^2)
    x = j / sigma
    context = Context(prec=60 + int(x * x), Emin=-(10**17), Emax=10**17)
    density = context.exp(_decimal(-x * x / 2, context))
    half = context.sqrt(context.divide(_pi(context), 2))
    below, term, odd = Decimal(0), _decimal(x, context), 1  # integral from 0 to x, over the density at x
    while term > below * Decimal(10) ** (-context.prec) or odd < x * x:
        below, odd = context.add(below, term), odd + 2
        term = context.multiply(term, _decimal(x * x / odd, context))
    beyond = Fraction(context.subtract(half, context.multiply(density, below)))
    ends = Fraction(1, 2) + x / (12 * sigma) - (x**3 - 3 * x) / (720 * sigma**3)
    return (sigma * beyond + Fraction(density) * ends) / (sigma * 2 * Fraction(half))


def _gaussian_sum(j: int, sigma: Fraction) -> Fraction:
    """Sum of e^(-z^2 / (2 sigma^2)) over z >= j >= 1, to about 50 digits: each term is the one before times a ratio."""
    context = Context(prec=70, Emin=-(10**17), Emax=10**17)
    term = context.exp(_decimal(-Fraction(j * j) / (2 * sigma**2), context))
    ratio = context.exp(_decimal(-Fraction(2 * j + 1) / (2 * sigma**2), context))
    shrink, total = context.exp(_decimal(-1 / sigma**2, context)), Decimal(0)
    while term > total * Decimal("1e-60"):
        total, term = context.add(total, term), context.multiply(term, ratio)
        ratio = context.multiply(ratio, shrink)
    return Fraction(total)


def _pi(context: Context) -> Decimal:
    """16 atan(1/5) - 4 atan(1/239)."""
    one: int = 10 ** (context.prec + 10)

    def arctan_of_one_over(n: int) -> int:
        total, term, odd = 0, one // n, 1
        while term:
            total, term, odd = total + (term if odd % 4 == 1 else -term) // odd, term // (n * n), odd + 2
        return total

    return context.divide(Decimal(16 * arctan_of_one_over(5) - 4 * arctan_of_one_over(239)), Decimal(one))


def _charge(document: Document) -> str:
    """What the release is charged: epsilon and delta of the question, and rho as its mechanism implies; 0 for n = 0."""
    payload = document["payload"]
    question, charge = payload["question"], payload["charge"]
    if payload["described"]["partition"]["n"] == 0:
        _require(set(charge.values()) == {"0"}, "charge: something is charged though n = 0")
        return "charge: nothing (n = 0)"
    _require(charge["epsilon"] == question["epsilon"], "charge: epsilon is not the question's")
    _require(charge["delta"] == question["parameters"].get("delta", "0"), "charge: delta is not the question's")
    rho, scale = _exact(charge["rho"]), _exact(payload["answer"]["groups"][0]["scale"])
    _check_rho(_split(question), rho, scale)
    delta = "" if charge["delta"] == "0" else f", delta {charge['delta']}"
    return f"charge: epsilon {charge['epsilon']}{delta}; as zCDP, rho {_at_most(rho)}"


def _check_rho(split: _Split, rho: Fraction, scale: Fraction) -> None:
    """Pure parts: the sum of epsilon_i^2 / 2 (Bun and Steinke 2016, Proposition 1.4). Gaussian: the largest.

    It is at least m / (2 sigma^2), what the noise itself loses (Canonne, Kamath and Steinke 2020, Theorem 14).
    """
    little = Fraction(1, 10**15)  # both are rounded to the safe side
    if split.mechanism == "discrete_gaussian":
        largest = _largest_rho(split.epsilon, split.parameters["delta"])
        holds = split.m / (2 * scale**2) <= rho and largest * (1 - little) <= rho <= largest * (1 + little**2)
    else:
        holds = split.half_squares() <= rho <= split.half_squares() * (1 + little)
    _require(holds, "charge: rho is not what the mechanism loses")


@functools.lru_cache(maxsize=8)
def _largest_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest rho that implies (epsilon, delta), to about 40 digits (Canonne, Kamath and Steinke 2020, Cor. 13).

    rho-zCDP is (epsilon, delta)-DP where, for some alpha > 1,
    rho <= (epsilon + ln(delta alpha) / (alpha - 1) - ln(1 - 1/alpha)) / alpha.
    """
    context = Context(prec=120, Emin=-(10**17), Emax=10**17)
    target, log_delta = _decimal(epsilon, context), context.ln(_decimal(delta, context))

    def bound(log_order: Decimal) -> Decimal:
        """At alpha = 1 + e^log_order."""
        t = context.exp(log_order)
        alpha, log = context.add(1, t), context.ln(context.add(1, t))
        slack = context.divide(context.add(log_delta, log), t)
        return context.divide(context.add(context.add(target, slack), context.subtract(log, log_order)), alpha)

    low, high, golden = Decimal(-45), Decimal(90), Decimal("0.6180339887498948482045868343656381177203")
    left, right = high - golden * (high - low), low + golden * (high - low)
    at_left, at_right = bound(left), bound(right)
    for _ in range(150):
        if at_left > at_right:
            high, right, at_right = right, left, at_left
            left = high - golden * (high - low)
            at_left = bound(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + golden * (high - low)
            at_right = bound(right)
    return Fraction(max(at_left, at_right))


def _certificates(document: Document) -> str:
    payload = document["payload"]
    units, n = payload["answer"]["certificate_units"], payload["described"]["partition"]["n"]
    _require(len(units) == len(payload["question"]["statement_ids"]), "certificates: not one per statement")
    _require(all(value <= n for value in units), "certificates: above n")
    if payload["question"]["mechanism"] == "staircase":
        threshold = math.ceil(n * _exact(payload["question"]["parameters"]["theta"]))
        _require(set(units) <= {0, threshold}, "certificates: staircase certifies the threshold or nothing")
    return f"certificates: {len(units)} lower bounds between 0 and n = {n}"


def _selection(document: Document) -> str:
    """Who has a lower bound fits the mechanism, and who has none has certificate 0."""
    payload = document["payload"]
    units, reasons = payload["answer"]["certificate_units"], payload["answer"]["reasons"]
    split, n = _split(payload["question"]), payload["described"]["partition"]["n"]
    bounded = [at for at, reason in enumerate(reasons) if reason is None]
    _require(len(reasons) == split.m, "selection: not one reason per statement")
    if n == 0:
        _require(not bounded, "selection: a certificate though n = 0")
    elif split.mechanism == "topk":
        _require(len(bounded) == split.k, "selection: topk gives k lower bounds")
    elif split.mechanism == "svt":
        _require(len(bounded) <= split.k, "selection: more than k statements have a lower bound")
    else:
        _require(len(bounded) == split.m, "selection: its mechanism gives every statement a lower bound")
    # svt walks the statements in the order of their ids, and reaches none after the k-th that it selects
    stop = bounded[-1] if split.mechanism == "svt" and len(bounded) == split.k else split.m if n else -1
    for at, reason in enumerate(reasons):
        why = "not_selected" if at < stop else "not_reached"
        _require(reason in (None, why), "selection: a reason does not fit the mechanism")
        _require(reason is None or units[at] == 0, "selection: a statement without a certificate has one")
    return f"selection: {len(bounded)} of {split.m} statements have a lower bound"


def _decisions(document: Document) -> str:
    payload = document["payload"]
    question, answer = payload["question"], payload["answer"]
    n, theta = payload["described"]["partition"]["n"], _exact(document["theta"])
    threshold, said = math.ceil(n * theta), document["threshold_units"]
    _require(0 <= theta <= 1 and said == threshold, "decisions: the threshold is not ceil(n theta)")
    asked = question["parameters"].get("theta", document["theta"])
    _require(asked == document["theta"], "decisions: the answer holds for another theta")
    expected = [
        {"statement_id": name, "decision": "emit", "reason": None}
        if n > 0 and units >= threshold
        else {"statement_id": name, "decision": "abstain", "reason": reason or "below_threshold"}
        for name, units, reason in zip(
            question["statement_ids"], answer["certificate_units"], answer["reasons"], strict=True
        )
    ]
    _require(document["decisions"] == expected, "decisions: not what the certificates say at theta")
    emitted = sum(line["decision"] == "emit" for line in expected)
    return f"decisions: {emitted} emitted and {len(expected) - emitted} abstained at theta {document['theta']}"


def _chain(document: Document) -> str:
    previous, day = hashlib.sha256(document["ledger_id"].encode()).hexdigest(), ""
    for at, link in enumerate(document["chain"], 1):
        _require(link["sequence"] == at, "chain: a link is missing")
        _require(_is_day(link["day"]) and link["day"] >= day, "chain: a day is none, or before the one before")
        _require("body" not in link or digest(link["body"]) == link["body_sha256"], "chain: a body was altered")
        fields = {name: link[name] for name in ("sequence", "kind", "day", "account_tag", "body_sha256")}
        _require(digest(fields | {"previous": previous}) == link["hash"], "chain: a link does not fit the one before")
        previous, day = link["hash"], link["day"]
    last = document["chain"][-1]
    _require(
        last["kind"] == "release" and last["sequence"] == document["sequence"],
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
    keys = [body["release_key"] for body in bodies(document, "release")]
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
        **payload["charge"],
        "payload_sha256": digest(payload),
    }
    for name, value in sealed.items():
        _require(body[name] == value, f"seal: the {name} is not the one that was sealed")
    _require(set(body) == set(sealed), "seal: the last entry has unknown keys")
    return "seal: the last entry seals this payload"


def _registration(document: Document) -> str:
    """What the payload says of its corpus and partition is what was registered, before the release."""
    said = document["payload"]["described"]["partition"]
    corpora = [body for body in bodies(document, "corpus") if body["corpus"] == said["corpus"]]
    versions = [body for body in bodies(document, "partition") if body["version"] == said["version"]]
    _require(len(corpora) == len(versions) == 1, "registration: corpus or version is not registered exactly once")
    corpus, version = corpora[0], versions[0]
    registered = {name: corpus[name] for name in ("corpus", "account", "visibility")}
    registered |= {name: corpus["scheme"][name] for name in ("unit", "unit_rule")}
    registered |= {name: version[name] for name in ("corpus", "partition", "version", "number", "n")}
    for name in _PARTITION.split():
        _require(said[name] == registered[name], f"registration: {name} is not what was registered")
    numbers: dict[tuple[str, str], int] = {}
    for body in bodies(document, "partition"):
        lineage = (body["corpus"], body["partition"])
        numbers[lineage] = numbers.get(lineage, 0) + 1
        _require(body["number"] == numbers[lineage], "registration: versions do not count 1, 2, ...")
    for body in bodies(document, "release"):
        _require((body["corpus"], body["partition"]) in numbers, "registration: a release about an unknown partition")
    for body in bodies(document, "corpus"):
        _is_term("partition_by", body["scheme"])
        _require(body["visibility"] == said["visibility"], "registration: private and other corpora on one account")
    return (
        f"registration: {said['corpus']}, {said['partition']}, version {said['number']}, n = {said['n']}, "
        f"{said['visibility']}"
    )


def _budget(document: Document) -> str:
    payload = document["payload"]
    partition, charge = payload["described"]["partition"], payload["charge"]
    if partition["n"] == 0:
        return "budget: nothing was charged (n = 0)"
    caps = list(bodies(document, "cap"))
    if not caps:
        _require(partition["visibility"] != "private", "budget: a private corpus without a cap")
        return (
            f"budget: epsilon {charge['epsilon']} on account {partition['account']}, which has no cap "
            f"({partition['visibility']} data)"
        )
    composition, before = caps[0]["composition"], None
    for cap in caps:
        _is_term("composition", cap)
        _require(cap["before"] == before, "budget: a cap does not name the one before")
        before = {name: cap[name] for name in _AMOUNTS}
        _require(cap["composition"] == composition, "budget: the account's composition changed")
        counted = {name for name in ("epsilon", "delta", "rho") if cap[name] is not None}
        _require(counted == set(_COUNTED[composition]), "budget: a cap does not count what its composition does")
    if composition == "pure":
        _check_pure(document)
    said = []
    for name in _COUNTED[composition]:
        spent, limit = (
            sum((_exact(body[name]) for body in charges_by_then(document)), Fraction(0)),
            _exact(caps[-1][name]),
        )
        _require(spent <= limit, f"budget: the account's charges exceed its cap on {name}")
        said.append(f"{name} {min(_at_most(spent), caps[-1][name], key=Fraction)} of {caps[-1][name]}")
    return f"budget: {', '.join(said)} spent on account {partition['account']} by then"


def _check_pure(document: Document) -> None:
    """A pure account counts no delta, so none of its releases has one, nor a gap from before its first cap."""
    first = next(link["sequence"] for link in document["chain"] if link["kind"] == "cap" and "body" in link)
    for link in document["chain"]:
        if "body" in link and (link["kind"] == "release" or (link["kind"] == "gap" and link["sequence"] < first)):
            _require(link["body"]["delta"] == "0", "budget: a pure account with a delta that is not 0")


def bodies(document: Document, kind: str) -> Iterator[Document]:
    """Bodies of the account's entries of this kind, in their order."""
    return (link["body"] for link in document["chain"] if link["kind"] == kind and "body" in link)


def charges_by_then(document: Document) -> Iterator[Document]:
    """What adds up with this release: its own partition's charges, or the whole account's where units may recur."""
    partition = document["payload"]["described"]["partition"]
    corpora = list(bodies(document, "corpus"))
    pooled = len(corpora) > 1 or any(body["scheme"]["partition_by"] not in ("all", "list") for body in corpora)
    lineage = (partition["corpus"], partition["partition"])
    for body in bodies(document, "release"):
        if pooled or (body["corpus"], body["partition"]) == lineage:
            yield body
    yield from bodies(document, "gap")  # charged to every account


def _stated(document: Document) -> str:
    described, answer = document["payload"]["described"], document["payload"]["answer"]
    description = described["model_description"]
    texts = [described["model"], described["proposer"], answer["sampler"], *description, *description.values()]
    texts += [document["payload"]["product"], document["payload"]["question"]["model_fingerprint"]]
    _require(all(isinstance(text, str) for text in texts), "stated: a description that is no text")
    shown = (*texts[:3], document["payload"]["product"])
    model, proposer, sampler, product = (text if len(text) <= 100 else text[:100] + "..." for text in shown)
    return (
        f"stated, not recomputed: model {model} with its fingerprint and description, sampler {sampler}, "
        f"proposer {proposer}, drawn by {product}, code {document['payload'].get('code_digest', 'not stated')[:12]}"
    )


_CHECKS = (
    _format,
    _question,
    _statements,
    _mechanism,
    _charge,
    _certificates,
    _selection,
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


def read(path: Path) -> bytes:
    """The file's bytes, as far as a certificate can reach. Raises InvalidError for what is none, OSError.

    In pieces: a device without an end, or a file of another kind, takes no memory.
    """
    content = bytearray()
    try:
        with path.open("rb") as file:
            while piece := file.read(_PIECE):
                content += piece
                _require(content.startswith(b"{"), "malformed: not one JSON object in ASCII")
                _require(len(content) <= MAX_BYTES, "malformed: too large for a certificate")
        return bytes(content)
    except MemoryError:
        raise InvalidError("malformed: too large for the memory of this machine") from None


def main() -> int:
    """Print what was shown; exit code 0 when everything holds, 1 when not."""
    if len(sys.argv) not in (2, 3):
        sys.stderr.write("usage: python verifier.py FILE [PUBLIC_KEY_HEX]\n")
        return 2
    try:
        lines = verify(read(Path(sys.argv[1])), *sys.argv[2:])
    except (InvalidError, OSError) as error:
        sys.stderr.write(f"INVALID  {error}\n")
        return 1
    sys.stdout.write("".join(f"{marked(line)}\n" for line in lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
