"""docs/dictionary.md is what the databases say of themselves."""

import runpy

from pages import DOCS

from tasks.reporting.dictionary import data_dictionary


def test_the_page_is_up_to_date() -> None:
    written = runpy.run_path(str(DOCS / "make_dictionary.py"))["dictionary_page"]()
    assert (DOCS / "dictionary.md").read_text(encoding="utf-8") == written, "run `make docs`"


def test_it_has_every_column_that_is_there_to_be_read() -> None:
    page = (DOCS / "dictionary.md").read_text(encoding="utf-8")
    read = [row for row in data_dictionary().to_pylist() if row["table_schema"] == "main"]
    assert [row["column_name"] for row in read if f"| `{row['column_name']}` | {row['type']} |" not in page] == []
    assert {row["table_name"] for row in read if f"### `{row['table_name']}`" not in page} == set()
