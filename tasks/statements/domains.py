"""Read a domain file: a shipped one by name, or a user's own by path."""

import hashlib
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path

from pydantic import ValidationError

from schemas.domain_files import DomainFile
from schemas.errors import UserError
from schemas.exact_yaml import load_yaml
from schemas.operator_files import read_at_most

MAX_FILE_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Domain:
    """A checked domain file, its bytes and their SHA-256 (hex); all public."""

    file: DomainFile
    sha256: str
    content: bytes = field(default=b"", repr=False, compare=False)

    @property
    def name(self) -> str:
        """Public name, e.g. restaurant-reviews."""
        return self.file.name


def shipped_domains() -> tuple[str, ...]:
    """Names of the domains that come with the product, sorted."""
    folder = resources.files("schemas") / "domains"
    return tuple(sorted(entry.name.removesuffix(".yaml") for entry in folder.iterdir() if entry.name.endswith(".yaml")))


def shipped_content(name: str) -> bytes:
    """The bytes of a shipped domain's file."""
    return (resources.files("schemas") / "domains" / f"{name}.yaml").read_bytes()


def load_domain(name_or_path: str | Path) -> Domain:
    """The shipped domain with this name, or the domain file at this path (a Path, or text with / or .yaml, .yml).

    Raises UserError with the place of the fault when there is no such domain or the file is wrong.
    """
    text = str(name_or_path)
    if isinstance(name_or_path, Path) or "/" in text or "\\" in text or text.endswith((".yaml", ".yml")):
        return parse_domain(_read(Path(text)), text)
    if text not in shipped_domains():
        names = ", ".join(shipped_domains())
        raise UserError(f"domain: no domain is called {text!r}; there are {names}, or give the path of a .yaml file")
    return parse_domain(shipped_content(text), text)


def parse_domain(content: bytes, label: str) -> Domain:
    """The domain in these bytes; `label` names the file in errors. Raises UserError."""
    where = f"domain file {label}"
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UserError(f"{where}: line {line}: is not UTF-8") from None
    try:
        plain = load_yaml(text)
    except UserError as error:
        raise UserError(f"{where}: {str(error).removeprefix('YAML: ')}") from None
    if not isinstance(plain, dict):
        raise UserError(
            f"{where}: must be a mapping with name, language, unit_words, seed, keyword, dimensions, templates"
        )
    try:
        return Domain(DomainFile.model_validate(plain), hashlib.sha256(content).hexdigest(), content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ": ".join(str(part) for part in first["loc"] if part != "[key]")
        message = first["msg"].removeprefix("Value error, ")
        raise UserError(_one_line(f"{where}: {place + ': ' if place else ''}{message}")) from None


def _read(path: Path) -> bytes:
    try:
        content = read_at_most(path, MAX_FILE_BYTES)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "no such path"
        raise UserError(_one_line(f"domain: cannot read {str(path)!r}: {reason}")) from None
    if len(content) > MAX_FILE_BYTES:
        raise UserError(f"domain file {path}: is larger than {MAX_FILE_BYTES // 1024} KiB")
    return content


def _one_line(text: str) -> str:
    return " ".join(text.split())[:500]
