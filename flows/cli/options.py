"""Flags made from settings: a flag, a YAML key and a Python field have one name."""

import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

import click
from pydantic import BaseModel
from pydantic.fields import FieldInfo

Command = TypeVar("Command", bound=Callable[..., Any])

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")


class _Exact(click.ParamType[Any]):
    """A number as it was written; what is no number is left as text and refused by the settings, by name."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return int(value) if re.fullmatch(r"[+-]?[0-9]{1,100}", value.strip()) else Decimal(value)
        except (InvalidOperation, ValueError):
            return value


EXACT = _Exact()


def settings_options(model: type[BaseModel], *, without: tuple[str, ...] = ()) -> Callable[[Command], Command]:
    """One option for each field of the settings; unset options are None, so that a file or a default decides."""

    def decorate(command: Command) -> Command:
        for name, field in reversed(model.model_fields.items()):
            if name not in without:
                command = _option(field.alias or name, field)(command)  # `from` is no name in Python
        return command

    return decorate


def _option(name: str, field: FieldInfo) -> Callable[[Command], Command]:
    flag, kind = f"--{name.replace('_', '-')}", _kind(field)
    text = (field.description or "") + _default_text(field)
    if kind is bool:
        return click.option(f"{flag}/--no-{name.replace('_', '-')}", name, default=None, help=text)
    if kind is tuple:
        split = _split_numbers if _plain_type(get_args(field.annotation)[0]) in (int, Decimal) else _split
        return click.option(flag, name, default=None, callback=split, metavar="A,B,…", help=text)
    if kind in (int, Decimal):
        return click.option(flag, name, type=EXACT, default=None, help=text)
    if issubclass(kind, StrEnum):
        return click.option(flag, name, type=str, default=None, metavar="|".join(kind), help=text)
    return click.option(flag, name, type=str, default=None, help=text)


def _kind(field: FieldInfo) -> type:
    return _plain_type(field.annotation)


def _plain_type(annotation: Any) -> type:
    """The plain type behind `X | None` and `Annotated[X, ...]`."""
    while get_origin(annotation) in (Union, UnionType, Annotated):
        annotation = next(inner for inner in get_args(annotation) if inner is not type(None))
    kind: type = get_origin(annotation) or annotation
    return kind


def _default_text(field: FieldInfo) -> str:
    if field.is_required() or field.default in (None, "", (), False):
        return ""
    values = field.default if isinstance(field.default, tuple) else (field.default,)
    return f" [{','.join(map(str, values))}]"


def _split(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    return None if value is None else tuple(part.strip() for part in value.split(","))


def _split_numbers(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[Any, ...] | None:
    parts = _split(context, parameter, value)
    return None if parts is None else tuple(EXACT.convert(part, parameter, context) for part in parts)
