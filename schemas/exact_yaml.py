"""YAML whose numbers stay the decimals that were written, and that cannot surprise: no tags, no aliases, no twins."""

import re
from decimal import Decimal
from typing import Any

import yaml

from schemas.errors import UserError

_NUMBER = re.compile(r"[-+]?(\d[\d_]*\.?\d*|\.\d+)([eE][-+]?\d+)?\Z|[-+]?\.(inf|Inf|INF)\Z|\.(nan|NaN|NAN)\Z")
MAX_BYTES = 4 * 1024 * 1024


class _Loader(yaml.SafeLoader):
    """Safe loader with exact numbers."""


def _number(loader: _Loader, node: yaml.ScalarNode) -> Decimal | int:
    text = str(loader.construct_scalar(node)).replace("_", "")
    if re.match(r"[-+]?0\d", text):  # an id, a date, octal? quoting it says that it is text
        raise yaml.constructor.ConstructorError(None, None, "a number starts with 0: quote it", node.start_mark)
    if re.fullmatch(r"[-+]?\d{1,100}", text):
        return int(text)
    return Decimal(text.lower().replace(".inf", "Infinity").replace(".nan", "NaN"))


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[Any, Any]:
    keys = [loader.construct_object(key, deep=True) for key, _ in node.value]
    if not all(isinstance(key, str) for key in keys):
        raise yaml.constructor.ConstructorError(None, None, "a key is not text", node.start_mark)
    if len(set(keys)) != len(keys):
        raise yaml.constructor.ConstructorError(None, None, "a key occurs twice", node.start_mark)
    return loader.construct_mapping(node, deep=True)


_Loader.yaml_implicit_resolvers = {
    first: [
        (tag, pattern) for tag, pattern in resolvers if not tag.endswith((":int", ":float", ":timestamp", ":merge"))
    ]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("!number", _NUMBER, list("-+.0123456789"))
for _tag in ("!number", "tag:yaml.org,2002:float", "tag:yaml.org,2002:int"):
    _Loader.add_constructor(_tag, _number)
_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)


class _Dumper(yaml.SafeDumper):
    """Safe dumper that writes decimals as the numbers they are."""


def _write_number(dumper: _Dumper, value: Decimal | int) -> yaml.ScalarNode:
    return dumper.represent_scalar("!number", str(value))


_Dumper.yaml_implicit_resolvers = _Loader.yaml_implicit_resolvers  # text that looks like a number is quoted
_Dumper.add_representer(Decimal, _write_number)
_Dumper.add_representer(int, _write_number)


def dump_yaml(value: object) -> str:
    """YAML text that `load_yaml` reads back to an equal value; decimals stay exact."""
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=True, allow_unicode=True)
    return text


def load_yaml(text: str) -> Any:
    """The value of one YAML document; numbers are int or Decimal. Raises UserError with line and reason."""
    if len(text) > MAX_BYTES:
        raise UserError("YAML: the file is larger than 4 MiB")
    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, _Loader)):
            raise UserError("YAML: aliases (*name) are not allowed")
        return yaml.load(text, _Loader)  # noqa: S506 - a subclass of SafeLoader
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise UserError(f"YAML: line {line}: {error.problem}") from None
    except (yaml.YAMLError, ValueError, ArithmeticError, RecursionError):
        raise UserError("YAML: the file cannot be read") from None
