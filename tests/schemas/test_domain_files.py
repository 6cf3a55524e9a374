"""A wrong domain file is refused, and the refusal names the fault; a right one makes the statements it says."""

import copy
from typing import Any

import pytest
from pydantic import ValidationError

from schemas.domain_files import MAX_COMBINATIONS, DomainFile

SMALL: dict[str, Any] = {
    "name": "tea-reviews",
    "language": "en",
    "unit_words": {"singular": "author", "plural": "authors"},
    "seed": 3,
    "keyword": {"window": 5, "negation_window": 2, "negations": ["not"]},
    "dimensions": {
        "aspect": {
            "values": {
                "tea": {"phrase": "the tea", "words": ["tea"], "says": {"opinion": {"bad": ["bitter"]}}},
                "cup": {"phrase": "the cup", "words": ["cup", "cups"]},
            }
        },
        "opinion": {
            "near": ["aspect"],
            "negatable": True,
            "values": {
                "good": {"phrase": "praises", "words": ["good"], "opposite": "bad"},
                "bad": {"phrase": "criticises", "words": ["bad"], "opposite": "good"},
            },
        },
    },
    "templates": [
        {"text": "The review {opinion} {aspect}."},
        {"text": "The review mentions {aspect}.", "only": {"aspect": ["cup"]}},
    ],
}


def changed(path: str, value: object) -> dict[str, Any]:
    """SMALL with one value replaced; a number in the path is a position in a list; the value DELETE removes it."""
    plain = copy.deepcopy(SMALL)
    *inner, last = path.split("/")
    here: Any = plain
    for step in inner:
        here = here[int(step)] if isinstance(here, list) else here[step]
    if value == "DELETE":
        del here[last]
    else:
        here[int(last) if isinstance(here, list) else last] = value
    return plain


def test_templates_are_filled_in_file_order_with_the_last_slot_fastest() -> None:
    assert [combination.text for combination in DomainFile.model_validate(SMALL).combinations()] == [
        "The review praises the tea.",
        "The review praises the cup.",
        "The review criticises the tea.",
        "The review criticises the cup.",
        "The review mentions the cup.",
    ]


def test_a_statement_asserts_pairs_for_what_is_said_of_something_and_single_values_else() -> None:
    file = DomainFile.model_validate(SMALL)
    combinations = {combination.text: combination for combination in file.combinations()}
    said = file.facts(combinations["The review praises the cup."])
    assert said == ((("aspect", "cup"), ("opinion", "good")),)
    assert file.facts(combinations["The review mentions the cup."]) == ((("aspect", "cup"),),)


REFUSED = {
    "unknown key": ("colour", "red", "Extra inputs"),
    "unknown key of a value": ("dimensions/aspect/values/tea/colour", "red", "Extra inputs"),
    "no dimensions": ("dimensions", "DELETE", "Field required"),
    "empty dimensions": ("dimensions", {}, "at least 1"),
    "dimension without values": ("dimensions/aspect/values", {}, "at least 1"),
    "no templates": ("templates", [], "at least 1"),
    "template with an unknown dimension": ("templates/0/text", "The review {mood}.", "unknown dimension 'mood'"),
    "template with a dimension twice": ("templates/0/text", "{aspect} and {aspect}.", "'aspect' twice"),
    "template without a dimension": ("templates/0/text", "The review is short.", "names no dimension"),
    "template with a stray brace": ("templates/0/text", "The {opinion} {aspect} }.", "stray brace"),
    "template with a format specification": ("templates/0/text", "The {opinion} {aspect!r}.", "unknown dimension"),
    "template with an attribute": ("templates/0/text", "The {opinion} {aspect.__class__}.", "unknown dimension"),
    "dimension in no template": ("templates/0/text", "The review is about {aspect}.", "'opinion' is in no template"),
    "only with an unknown value": ("templates/1/only/aspect", ["milk"], "'milk' is no value"),
    "only with a dimension outside the sentence": ("templates/1/only", {"opinion": ["good"]}, "not in the sentence"),
    "statement made twice": ("templates/1/text", "The review praises {aspect}.", "made twice"),
    "phrase used twice": ("dimensions/aspect/values/cup/phrase", "the tea", "two values have the phrase"),
    "empty phrase": ("dimensions/aspect/values/cup/phrase", "", "must not be empty"),
    "blank phrase": ("dimensions/aspect/values/cup/phrase", "  ", "must not be empty"),
    "padded phrase": ("dimensions/aspect/values/cup/phrase", " the cup", "outer"),
    "phrase with a line end": ("dimensions/aspect/values/cup/phrase", "the\ncup", r"control character U\+000A"),
    "phrase with a lone surrogate": ("dimensions/aspect/values/cup/phrase", "the \ud800", "lone surrogate"),
    "phrase with a direction override": ("dimensions/aspect/values/cup/phrase", "the \u202ecup", r"U\+202E"),
    "phrase that is a boolean": ("dimensions/aspect/values/cup/phrase", False, "must be text, not bool"),
    "word that is a boolean": ("dimensions/aspect/values/cup/words", [False], "must be text, not bool"),
    "word that is a number": ("dimensions/aspect/values/cup/words", [12], "must be text, not int"),
    "value key that is a boolean": ("dimensions/aspect/values", {False: {"phrase": "a", "words": ["b"]}}, "not bool"),
    "no keyword rule for a value": ("dimensions/aspect/values/cup/words", "DELETE", "Field required"),
    "empty keyword rule": ("dimensions/aspect/values/cup/words", [], "at least 1"),
    "word given twice": ("dimensions/aspect/values/cup/words", ["cup", "cup"], "given twice"),
    "word with punctuation": ("dimensions/aspect/values/cup/words", ["cup, saucer"], "must consist of words"),
    "word of a star only": ("dimensions/aspect/values/cup/words", ["*"], "empty word"),
    "word with a short stem": ("dimensions/aspect/values/cup/words", ["cu*"], "fewer than 3 letters"),
    "no keyword settings": ("keyword", "DELETE", "Field required"),
    "window of zero": ("keyword/window", 0, "greater than or equal to 1"),
    "window that is text": ("keyword/window", "5", "must be a whole number, not text"),
    "negation of two words": ("keyword/negations", ["not at"], "single word"),
    "near an unknown dimension": ("dimensions/opinion/near", ["mood"], "another dimension"),
    "near itself": ("dimensions/opinion/near", ["opinion"], "another dimension"),
    "opposite that does not exist": ("dimensions/opinion/values/good/opposite", "ugly", "another value"),
    "opposite of itself": ("dimensions/opinion/values/good/opposite", "good", "another value"),
    "opposite without negation": ("dimensions/opinion/negatable", False, "needs `negatable: true`"),
    "negatable that is text": ("dimensions/opinion/negatable", "true", "valid boolean"),
    "says with an unknown value": ("dimensions/aspect/values/tea/says", {"opinion": {"ugly": ["bitter"]}}, "no value"),
    "says of an unknown dimension": ("dimensions/aspect/values/tea/says", {"mood": {"bad": ["bitter"]}}, "is near"),
    "name with a capital": ("name", "Tea", "must be 1 to 63 of"),
    "name with a slash": ("name", "../tea", "must be 1 to 63 of"),
    "language that is a boolean": ("language", False, "must be text, not bool"),
    "language that is a word": ("language", "english!", "pattern"),
    "seed that is negative": ("seed", -1, "greater than or equal to 0"),
    "seed that is a boolean": ("seed", True, "not a boolean"),
    "seed that is a fraction": ("seed", 0.5, "digits only"),
    "no unit words": ("unit_words", {"singular": "author"}, "Field required"),
}


@pytest.mark.parametrize("kind", list(REFUSED))
def test_a_wrong_domain_file_is_refused_by_name(kind: str) -> None:
    path, value, says = REFUSED[kind]
    with pytest.raises(ValidationError, match=says):
        DomainFile.model_validate(changed(path, value))


def test_a_statement_of_more_than_500_characters_is_refused() -> None:
    wrong = changed("dimensions/aspect/values/cup/phrase", "x" * 490)
    with pytest.raises(ValidationError, match="must have 3 to 500 characters"):
        DomainFile.model_validate(wrong)


def test_more_combinations_than_an_audit_may_ask_are_refused_before_they_are_made() -> None:
    many = {f"v{i}": {"phrase": f"v{i}", "words": [f"v{i}"]} for i in range(400)}
    wrong = changed("dimensions/aspect/values", many | SMALL["dimensions"]["aspect"]["values"])
    wrong["dimensions"]["other"] = {"values": many}
    wrong["templates"].append({"text": "About {aspect} and {other}."})
    with pytest.raises(ValidationError, match=f"more than {MAX_COMBINATIONS}"):
        DomainFile.model_validate(wrong)
