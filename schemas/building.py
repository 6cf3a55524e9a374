"""Settings from a file and flags: exact, refused by name in one line."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from schemas.errors import UserError
from schemas.exact_yaml import MAX_BYTES, load_yaml
from schemas.operator_files import read_at_most

Settings = TypeVar("Settings", bound=BaseModel)


def read_settings_file(path: Path) -> dict[str, Any]:
    """Keys and values of a YAML (or JSON) settings file. Raises UserError where it is no mapping."""
    try:
        written = read_at_most(path, MAX_BYTES)
    except (OSError, ValueError):
        raise UserError(
            f"settings file: there is none at {str(path)!r}, or it may not be read, or it is no regular file"
        ) from None
    if len(written) > MAX_BYTES:
        raise UserError(f"settings file: is larger than {MAX_BYTES // 1024**2} MiB")
    try:
        content = load_yaml(written.decode("utf-8"))
    except UnicodeDecodeError:
        raise UserError("settings file: not UTF-8") from None
    if not isinstance(content, dict):
        raise UserError("settings file: needs lines of the form `name: value`")
    return content


def build(model: type[Settings], *layers: Mapping[str, Any]) -> Settings:
    """The settings, later layers over earlier ones. Raises UserError that names every field that is wrong."""
    values = {name: value for layer in layers for name, value in layer.items() if value is not None}
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise UserError("; ".join(_says(problem, values) for problem in error.errors(include_input=False))) from None


# What pydantic finds -> in plain words, with the numbers of its context
_PLAIN = {
    "extra_forbidden": "unknown setting",
    "missing": "is required",
    "greater_than_equal": "must be at least {ge}",
    "greater_than": "must be greater than {gt}",
    "less_than_equal": "must be at most {le}",
    "less_than": "must be less than {lt}",
    "enum": "must be {expected}",
    "literal_error": "must be {expected}",
    "string_type": "must be text",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "tuple_type": "must be a list",
    "string_too_short": "must not be shorter than {min_length} in characters",
    "string_too_long": "must not be longer than {max_length} in characters",
}


def _says(problem: Mapping[str, Any], values: Mapping[str, Any]) -> str:
    message = str(problem["msg"]).removeprefix("Value error, ")
    if problem["type"] in _PLAIN:
        message = _PLAIN[problem["type"]].format(**problem.get("ctx", {}))
    place = _place(problem["loc"], values)
    return f"{place}: {message}" if place else message


def _place(parts: Sequence[str | int], values: Mapping[str, Any]) -> str:
    """The setting; of one that was given as a list of several, the value too, counted from 1."""
    if not parts:
        return ""
    given = values.get(str(parts[0]))
    is_one = not isinstance(given, list | tuple) or len(given) < 2
    inner = [f"value {part + 1}" if isinstance(part, int) else part for part in parts[1:]]
    return ", ".join([str(parts[0]), *([] if is_one else inner)])
