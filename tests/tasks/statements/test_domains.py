"""Domain files: the shipped ones are sound, and every trick a YAML file can play is refused by name."""

import re
from pathlib import Path

import pytest

from schemas.errors import UserError
from tasks.statements.domains import MAX_FILE_BYTES, load_domain, parse_domain, shipped_domains
from tasks.statements.tag_template import all_statements

TINY = """\
name: tiny
language: en
unit_words: {singular: author, plural: authors}
seed: 0
keyword: {window: 3, negation_window: 2, negations: [not]}
dimensions:
  topic:
    values:
      tea: {phrase: tea, words: [tea]}
templates:
  - text: It is about {topic}.
"""


def test_five_domains_are_shipped() -> None:
    expected = ("airline-reviews", "chat-prompts", "court-cases", "restaurant-reviews", "support-tickets")
    assert shipped_domains() == expected


@pytest.mark.parametrize("name", shipped_domains())
def test_a_shipped_domain_is_named_like_its_file_and_has_at_least_200_statements(name: str) -> None:
    domain = load_domain(name)
    assert domain.name == name
    assert len(all_statements(domain)) >= 200


@pytest.mark.parametrize("name", shipped_domains())
def test_shipped_statements_are_well_formed_english_sentences(name: str) -> None:
    for statement in all_statements(load_domain(name)):
        text = statement.text
        assert re.fullmatch(r"(The|A|An) [A-Za-z0-9 ,'-]+\.", text), text
        assert not re.search(r"\b(a) [aeio]|\ban [^aeiouhAEIOU]|\b(\w+) \2\b", text), text


@pytest.mark.parametrize("name", shipped_domains())
def test_every_value_of_a_shipped_domain_is_in_some_statement(name: str) -> None:
    file = load_domain(name).file
    used = {value for combination in file.combinations() for value in combination.values}
    assert used == {(d, key) for d, dimension in file.dimensions.items() for key in dimension.values}


def test_a_domain_is_found_by_path_and_its_hash_is_that_of_the_bytes(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(TINY)
    by_text, by_path = load_domain(str(path)), load_domain(path)
    assert by_text == by_path
    assert by_text.name == "tiny"
    path.write_text(TINY + "# a remark\n")
    assert load_domain(path).sha256 != by_text.sha256


def test_an_unknown_name_is_answered_with_the_names_there_are() -> None:
    with pytest.raises(UserError, match=r"no domain is called 'restaurants'; there are airline-reviews, .*path"):
        load_domain("restaurants")


def test_a_name_never_leaves_the_folder_of_shipped_domains() -> None:
    with pytest.raises(UserError, match="cannot read"):
        load_domain("../audit.py")


REFUSED = {
    "alias": (TINY.replace("tea: {", "tea: &t {").replace("templates:", "x: *t\ntemplates:"), "anchors and aliases"),
    "anchor alone": (TINY.replace("[tea]", "&a [tea]"), "line 9: anchors and aliases"),
    "alias without an anchor": (TINY + "x: *t\n", "line 12: anchors and aliases"),
    "bomb of aliases": ("a: &a [x]\nb: &b [*a,*a]\nc: [*b,*b]\n", "anchors and aliases"),
    "tag": (TINY.replace("seed: 0", "seed: !!int 0"), "line 4: tags"),
    "python object": ("x: !!python/object/apply:os.system [true]\n", "tags"),
    "two documents": (TINY + "---\n" + TINY, "one document only"),
    "deep nesting": ("x: " + "[" * 5000 + "]" * 5000, "nested deeper"),
    "key given twice": (TINY + "seed: 1\n", "line 12: key 'seed' is given twice"),
    "merge key": (TINY + "<<: {a: b}\n", "merge keys"),
    "syntax error": (TINY + "x: [1,\n", "line 13"),
    "tab as indentation": (TINY.replace("  topic:", "\ttopic:"), "line 7"),
    "NUL": (TINY + "\0", "special characters are not allowed"),
    "impossible date": (TINY.replace("seed: 0", "seed: 2026-13-45"), "seed: must be a whole number"),
    "number of 5,000 digits": (TINY.replace("seed: 0", "seed: " + "9" * 5000), "seed: must be a whole number"),
    "list as a key": (TINY + "? [a]\n: b\n", "a key is not text"),
    "no mapping": ("- a\n- b\n", "must be a mapping"),
    "empty file": ("", "must be a mapping"),
    "unquoted no": (TINY.replace("[not]", "[no]"), r"keyword: negations: 0: must be text, not bool: put it in quotes"),
    "unquoted number": (TINY.replace("[tea]", "[404]"), "dimensions: topic: values: tea: words: 0: must be text"),
    "NaN": (TINY.replace("seed: 0", "seed: .nan"), "seed: must be a whole number, written in digits only"),
    "unknown key": (TINY + "colour: red\n", "colour: Extra inputs"),
    "unknown dimension": (TINY.replace("{topic}.", "{theme}."), "unknown dimension 'theme'"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_wrong_file_is_refused_in_one_line_that_names_the_fault(kind: str) -> None:
    text, says = REFUSED[kind]
    with pytest.raises(UserError, match=says) as refusal:
        parse_domain(text.encode(), "mine.yaml")
    assert str(refusal.value).startswith("domain file mine.yaml: ")
    assert len(str(refusal.value).splitlines()) == 1


def test_bytes_that_are_not_utf8_are_refused_with_their_line() -> None:
    with pytest.raises(UserError, match="line 3: is not UTF-8"):
        parse_domain(b"name: x\nlanguage: en\n# caf\xe9\n", "mine.yaml")


def test_a_huge_file_is_refused_before_it_is_parsed(tmp_path: Path) -> None:
    path = tmp_path / "big.yaml"
    path.write_bytes(b"#" * (MAX_FILE_BYTES + 1))
    with pytest.raises(UserError, match="larger than 256 KiB"):
        load_domain(path)


@pytest.mark.parametrize("name", ["missing.yaml", "nul\0.yaml", "folder/"])
def test_a_path_that_cannot_be_read_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(UserError, match="cannot read"):
        load_domain(f"{tmp_path}/{name}")
