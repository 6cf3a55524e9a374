"""Which columns of the source play which role, and how ids of any type become text."""

from dataclasses import dataclass

import pyarrow as pa

from schemas.corpora import CorpusSettings, SourceFormat
from tasks.corpora.problems import SourceError

_ID_ADVICE = ": name the one that tells records apart with --id, or add a column that numbers the rows"
PATH, FOLDER, TEXT = "path", "folder", "text"  # columns that a folder of text files has


@dataclass(frozen=True, slots=True)
class Columns:
    """Declared columns. roles: setting (`text`, `id`, `unit`, `partition_column`) -> name of the column."""

    roles: dict[str, str]

    @property
    def names(self) -> list[str]:
        """The columns to read, each once; no other column is looked at."""
        return list(dict.fromkeys(self.roles.values()))

    def positions(self, header: list[str]) -> dict[str, int]:
        """Role -> position in the header. SourceError when a declared column is missing or there twice."""
        return {role: self._position(role, name, header) for role, name in self.roles.items()}

    @staticmethod
    def _position(role: str, name: str, header: list[str]) -> int:
        count = header.count(name)
        if count == 0:
            raise SourceError(f"{role}: the source has no column {name!r}{_ID_ADVICE if role == 'id' else ''}")
        if count > 1:
            raise SourceError(f"{role}: the source has several columns {name!r}")
        return header.index(name)


def declared_columns(settings: CorpusSettings, source_format: SourceFormat) -> Columns:
    """The declared columns, with the default of `id` for this format."""
    default_id = PATH if source_format is SourceFormat.TEXT else "id"
    roles = {"text": settings.text, "id": settings.id or default_id}
    if settings.unit is not None:
        roles["unit"] = settings.unit
    if settings.partition_column is not None:
        roles["partition_column"] = settings.partition_column
    return Columns(roles)


class IdKinds:
    """Text or integers, one of them per role in the whole source: '17' in one file and 17 in another is drift."""

    def __init__(self) -> None:
        self._kinds: dict[str, str] = {}

    def saw(self, role: str, kind: str) -> None:
        """Note a kind. SourceError when the role had another one before."""
        if self._kinds.setdefault(role, kind) != kind:
            raise SourceError(f"{role}: the column drifts between text and integers; write all values one way")


def values_as_text(role: str, values: list[object], kinds: IdKinds) -> pa.Array:
    """Python values of one role as text; integers become their decimals; None stays null.

    Raises SourceError for any other type, for a mixture and for text that is not valid Unicode.
    """
    for kind in {type(value) for value in values} - {type(None)}:
        if kind not in (str, int):
            raise SourceError(f"{role}: the column must hold text or integers")
        kinds.saw(role, "text" if kind is str else "integers")
    written = [value if value is None or isinstance(value, str) else str(value) for value in values]
    try:
        return pa.array(written, pa.large_string())
    except UnicodeEncodeError:
        raise broken_id(role) from None


def array_as_text(role: str, array: pa.Array, kinds: IdKinds) -> pa.Array:
    """An Arrow column of one role as text; the same rules as `values_as_text`."""
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    if pa.types.is_null(array.type):
        return array.cast(pa.large_string())
    if not (is_text(array.type) or pa.types.is_integer(array.type)):
        raise SourceError(f"{role}: the column must hold text or integers")
    kinds.saw(role, "text" if is_text(array.type) else "integers")
    text = array.cast(pa.large_string())
    try:
        text.validate(full=True)
    except pa.ArrowInvalid:
        raise broken_id(role) from None
    return text


def is_text(kind: pa.DataType) -> bool:
    """Whether this Arrow type is text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def broken_id(role: str) -> SourceError:
    """The problem of an id whose bytes or escapes are not text."""
    return SourceError(f"{role}: a value is not valid Unicode text")
