"""HTML pages that ask nobody for anything: every value escaped, style and script inline and named by their hashes."""

import base64
import hashlib
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tasks.reporting.wording import FILTERS


def render(template: str, *, script: str | None = None, **values: object) -> str:
    """A page of templates/ as text; a function of its values (no clock).

    script: file of templates/ that it runs. Everything else is refused by the browser: the policy names the hashes of
    the one style and the one script.
    """
    style, code = _file("page.css"), _file(script) if script else ""
    policy = "; ".join(
        [
            "default-src 'none'",
            f"style-src '{_hash(style)}'",
            f"script-src '{_hash(code)}'" if code else "script-src 'none'",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    page = _environment().get_template(template)
    return page.render(policy=Markup(policy), style=Markup(style), script=Markup(code), **values)  # noqa: S704


@cache
def _environment() -> Environment:
    """One that escapes every value, and takes one that a template names but does not get for an error."""
    environment = Environment(
        loader=PackageLoader("tasks.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= FILTERS
    return environment


@cache
def _file(name: str) -> str:
    return (files("tasks.reporting") / "templates" / name).read_text()


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
