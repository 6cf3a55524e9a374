"""YAML whose numbers stay the decimals that were written, and that cannot surprise: no tags, no aliases, no twins."""

import re
from decimal import Decimal
from typing import Any

import yaml

from schemas.errors import UserError
from schemas.values import SPELLING, number_written

# what could be meant as a number: refused where it is written in another way than `number_written` reads
_NUMBER = re.compile(r"[-+]?(\d[\d_]*\.?\d*|\.\d+)([eE][-+]?\d+)?\Z|[-+]?\.(inf|Inf|INF)\Z|\.(nan|NaN|NAN)\Z")
MAX_BYTES = 4 * 1024 * 1024
MAX_DEPTH = 12  # a domain file needs 7; deeper nesting exhausts the stack of the YAML composer


class _Loader(yaml.SafeLoader):
    """Safe loader with exact numbers."""


def _number(loader: _Loader, node: yaml.ScalarNode) -> Decimal | int:
    text = str(loader.construct_scalar(node))
    if re.match(r"[-+]?0\d", text):  # an id, a date, octal? quoting it says that it is text
        raise yaml.constructor.ConstructorError(None, None, "a number starts with 0: quote it", node.start_mark)
    number = number_written(re.sub(r"\.(inf|nan)\Z", r"\1", text, flags=re.IGNORECASE))
    if number is None:
        says = f"this is no number as numbers are written here: {SPELLING}, or quote it where it is text"
        raise yaml.constructor.ConstructorError(None, None, says, node.start_mark)
    return number


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[Any, Any]:
    seen: set[str] = set()
    for key_node, _ in node.value:
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, str):
            raise yaml.constructor.ConstructorError(None, None, "a key is not text", key_node.start_mark)
        if key == "<<":
            raise yaml.constructor.ConstructorError(None, None, "merge keys (<<) are not allowed", key_node.start_mark)
        if key in seen:
            raise yaml.constructor.ConstructorError(None, None, f"key {key[:60]!r} is given twice", key_node.start_mark)
        seen.add(key)
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
        _refuse_tricks(text)
        return yaml.load(text, _Loader)  # noqa: S506 - a subclass of SafeLoader
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise UserError(_one_line(f"YAML: line {line}: {error.problem or error.context}")) from None
    except yaml.reader.ReaderError:
        raise UserError("YAML: special characters are not allowed") from None
    except (yaml.YAMLError, ValueError, ArithmeticError, RecursionError):  # e.g. a number of 5,000 digits
        raise UserError("YAML: the file cannot be read") from None


def _refuse_tricks(text: str) -> None:
    """Anchors, aliases, tags, several documents and deep nesting have no use here, and known abuses."""
    depth, documents = 0, 0
    for event in yaml.parse(text, Loader=_Loader):
        line = event.start_mark.line + 1 if event.start_mark else 1
        if getattr(event, "anchor", None) is not None:  # an alias has one too
            raise UserError(f"YAML: line {line}: anchors and aliases (& and *) are not allowed")
        if getattr(event, "tag", None) is not None:
            raise UserError(f"YAML: line {line}: tags (!) are not allowed")
        documents += isinstance(event, yaml.DocumentStartEvent)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if documents > 1:
            raise UserError(f"YAML: line {line}: one document only")
        if depth > MAX_DEPTH:
            raise UserError(f"YAML: line {line}: nested deeper than {MAX_DEPTH}")


def _one_line(text: str) -> str:
    return " ".join(text.split())[:500]
