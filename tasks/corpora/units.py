"""Unit and record ids: what is refused, how ids are compared, which look alike."""

import unicodedata
from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from schemas.corpora import UnitRule
from tasks.corpora.problems import SourceError

AMBIGUOUS = (
    "unit_rule: ambiguous unit ids, some differ only by case, outer space, Unicode form or leading zeros; "
    "declare as_written or folded"
)
_CHUNK = 100_000  # ids folded at a time
_PLAIN = r"^[!-/1-@\[-~][!-@\[-~]*$"  # ASCII without capitals, spaces and a leading zero


def check_ids(role: str, ids: pa.Array) -> pa.Array:
    """The ids, none of which is null, blank or has control characters. SourceError otherwise."""
    if ids.null_count:
        raise SourceError(f"{role}: an id is null; every record needs one")
    if pc.any(pc.or_(pc.equal(pc.binary_length(ids), 0), pc.utf8_is_space(ids))).as_py():
        raise SourceError(f"{role}: an id is empty; every record needs one")
    if pc.any(pc.match_substring_regex(ids, r"\p{Cc}")).as_py():
        raise SourceError(f"{role}: an id has control characters")
    return ids


def unit_ids(ids: pa.Array, rule: UnitRule) -> pa.Array:
    """Ids as the rule compares them: folded under `folded`, as written otherwise."""
    if rule is not UnitRule.FOLDED:
        return ids
    encoded = ids.dictionary_encode()
    return check_ids("unit", _mapped(encoded.dictionary, fold).take(encoded.indices))


def check_no_look_alikes(distinct: pa.Array) -> None:
    """Rule `exact`: SourceError when two different ids look alike. distinct: ids, each once."""
    if len(pc.unique(_mapped(distinct, look))) != len(distinct):
        raise SourceError(AMBIGUOUS)


def fold(unit_id: str) -> str:
    """NFKC, outer space removed, case folded; folding twice changes nothing."""
    folded = unicodedata.normalize("NFKC", unit_id).casefold()
    return unicodedata.normalize("NFKC", folded).strip()


def look(unit_id: str) -> str:
    """What two ids that look alike have in common: `fold`, and no leading zeros of a number."""
    folded = fold(unit_id)
    return folded.lstrip("0") or "0" if folded.isdecimal() else folded


def _mapped(ids: pa.Array, change: Callable[[str], str]) -> pa.Array:
    """`change` of each id, skipping the ids that neither `fold` nor `look` can change."""
    other = pc.invert(pc.match_substring_regex(ids, _PLAIN))
    ids_to_change = ids.filter(other)
    chunks = [
        pa.array([change(unit_id) for unit_id in ids_to_change.slice(start, _CHUNK).to_pylist()], pa.large_string())
        for start in range(0, len(ids_to_change), _CHUNK)
    ]
    return pc.replace_with_mask(ids, other, pa.chunked_array(chunks, pa.large_string()).combine_chunks())
