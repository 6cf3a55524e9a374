"""Flags made from settings: a flag, a YAML key and a Python field have one name."""

from collections.abc import Callable
from decimal import Decimal
from enum import StrEnum
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

import click
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from schemas.values import number_written

Command = TypeVar("Command", bound=Callable[..., Any])

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")


class _Exact(click.ParamType[Any]):
    """A number as it was written; what is no number is left as text and refused by the settings, by name."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        number = number_written(value)
        return value if number is None else number


EXACT = _Exact()


class WholeRange(click.IntRange):
    """Whole numbers in one spelling: `int` also takes 1_0, +1, blanks and digits of other scripts."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, str) and not isinstance(number_written(value), int):
            self.fail("must be a whole number, written in digits only", param, ctx)
        return super().convert(value, param, ctx)


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
        return click.option(flag, name, multiple=True, callback=split, metavar="A,B,…", help=text)
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


def _split(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...] | None:
    """A flag that is given again adds to what it said before."""
    return tuple(part.strip() for value in values for part in value.split(",")) if values else None


def _split_numbers(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[Any, ...] | None:
    parts = _split(context, parameter, values)
    return None if parts is None else tuple(EXACT.convert(part, parameter, context) for part in parts)
