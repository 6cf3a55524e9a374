"""The example of docs/domains.md is a domain file, and makes as many statements as the page says."""

import re
from pathlib import Path

from schemas.domain_files import (
    MAX_COMBINATIONS,
    MAX_STATEMENT_CHARACTERS,
    Dimension,
    DomainFile,
    KeywordRule,
    TagValue,
)
from tasks.statements.domains import MAX_FILE_BYTES, parse_domain
from tasks.statements.tag_template import all_statements

PAGE = (Path(__file__).parents[3] / "docs" / "domains.md").read_text(encoding="utf-8")


def test_the_example_works() -> None:
    example = re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert example is not None
    assert len(all_statements(parse_domain(example[1].encode(), "example"))) == 5


def test_every_key_is_explained() -> None:
    for model in (DomainFile, Dimension, TagValue, KeywordRule):
        for key in model.model_fields:
            assert f"`{key}`" in PAGE, key


def test_the_limits_are_the_real_ones() -> None:
    for limit in (
        f"{MAX_COMBINATIONS:,} statements",
        f"{MAX_STATEMENT_CHARACTERS} characters",
        f"{MAX_FILE_BYTES // 1024} KiB",
    ):
        assert limit in PAGE
