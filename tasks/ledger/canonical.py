"""One byte string for each value: what is hashed, chained and signed."""

import hashlib
import json
from collections.abc import Mapping


def canonical(value: object) -> bytes:
    """JSON with sorted keys, no white space and ASCII escapes. Floats are refused: they have several spellings."""
    _refuse_floats(value)
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()


def digest(value: object) -> str:
    """SHA-256 of the canonical form, hex."""
    return hashlib.sha256(canonical(value)).hexdigest()


def _refuse_floats(value: object) -> None:
    if isinstance(value, float):
        raise TypeError("a sealed value holds no floating-point numbers")
    children = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    for child in children:
        _refuse_floats(child)
