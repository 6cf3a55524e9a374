"""Settings from a file and flags: exact, refused by name in one line."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from schemas.errors import UserError
from schemas.exact_yaml import load_yaml

Settings = TypeVar("Settings", bound=BaseModel)


def read_settings_file(path: Path) -> dict[str, Any]:
    """Keys and values of a YAML (or JSON) settings file. Raises UserError where it is no mapping."""
    try:
        content = load_yaml(path.read_text(encoding="utf-8"))
    except OSError:
        raise UserError("settings file: there is none, or it may not be read") from None
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
        raise UserError("; ".join(_says(problem) for problem in error.errors(include_input=False))) from None


def _says(problem: Mapping[str, Any]) -> str:
    place = ".".join(str(part) for part in problem["loc"])
    message = str(problem["msg"]).removeprefix("Value error, ")
    if problem["type"] == "extra_forbidden":
        message = "unknown setting"
    if problem["type"] == "missing":
        message = "is required"
    return f"{place}: {message}" if place else message
