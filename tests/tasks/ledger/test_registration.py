"""A corpus is registered once, keeps its scheme and its account for ever, and shares no one's records unseen."""

import json
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from desk import Desk, ask, fail_at_partition

from schemas.corpora import CorpusSettings
from schemas.errors import UserError
from tasks.audits.registering import register_source
from tasks.ledger.question import RegisteredPartition
from tasks.storage.home import initialise_home

GRID = {"partition_column": "day", "time_grid": "year", "first_period": "2025", "last_period": "2026"}
LIST = {"partition_column": "region", "partitions": ("east", "west")}

SHORT = ("fine", "bad", "so so", "never again")


def read(desk: Desk, rows: Iterable[tuple[str, str, str]], **changes: Any) -> list[RegisteredPartition]:
    """Read and register (author, region or year, text) as a source would be, by default as one private list corpus."""
    records = [
        {"id": f"r{number}", "author": author, "place": place, "text": text}
        for number, (author, place, text) in enumerate(rows)
    ]
    source = desk.home.private / "source.jsonl"
    source.write_text("".join(json.dumps(record) + "\n" for record in records))
    keys = tuple(sorted({str(record["place"]) for record in records}))
    asked = {"source": str(source), "corpus": "reviews", "unit": "author", "partition_column": "place"} | changes
    return register_source(desk.home, CorpusSettings(**({} if "time_grid" in asked else {"partitions": keys}) | asked))


def written(prefix: str, place: str, texts: Iterable[str] = SHORT) -> list[tuple[str, str, str]]:
    """One author a text."""
    return [(f"{prefix}{number}", place, text) for number, text in enumerate(texts)]


GRID_OF_PLACES = {"time_grid": "year", "first_period": "2025", "last_period": "2026"}


@pytest.mark.parametrize("together", [True, False])
def test_the_same_texts_under_other_authors_are_no_second_partition_of_a_list(desk: Desk, together: bool) -> None:
    east = written("a", "east")
    west = [*written("b", "west", SHORT[:2]), *written("c", "west", ["good", "who knows"])]
    if not together:
        read(desk, east)
    with pytest.raises(UserError, match="partition: most of its records are already in another partition"):
        read(desk, [*east, *west] if together else west)
    assert len(desk.log.partitions("reviews")) == (0 if together else 1)


def test_less_than_half_of_common_texts_is_no_copy(desk: Desk) -> None:
    rows = [*written("a", "east", ["yes", *SHORT]), *written("b", "west", [*SHORT[:2], "good", "who knows", "no"])]
    assert len(read(desk, rows)) == 2


def test_a_time_grid_may_say_the_same_again(desk: Desk) -> None:
    assert len(read(desk, [*written("a", "2025"), *written("b", "2026")], **GRID_OF_PLACES)) == 2


def test_texts_of_a_replaced_version_count_as_those_of_its_partition(desk: Desk) -> None:
    read(desk, written("a", "east"))
    read(desk, written("b", "east", ["1", "2"]), replace=True)
    with pytest.raises(UserError, match="partition: most"):
        read(desk, written("c", "west"))


@pytest.mark.parametrize(("places", "changes"), [(("east", "west"), {}), (("2025", "2026"), GRID_OF_PLACES)])
def test_a_unit_that_looks_like_one_of_another_run_is_refused(
    desk: Desk, places: tuple[str, str], changes: dict[str, Any]
) -> None:
    read(desk, [("Ann", places[0], "one")], **changes)
    if "time_grid" in changes:
        changes = changes | {"first_period": places[1], "replace": True}  # the year was registered as empty
    with pytest.raises(UserError, match="unit_rule: ambiguous unit ids"):
        read(desk, [("ann", places[1], "two")], **changes)
    read(desk, [("Ann" if "time_grid" in changes else "bob", places[1], "two")], **changes)


def test_a_unit_that_changes_its_look_in_a_new_version_is_refused_unless_declared(desk: Desk) -> None:
    for rule in ("exact", "as_written"):
        read(desk, [("017", "east", rule)], corpus=rule.replace("_", "-"), unit_rule=rule, unit_namespace=rule)
    new = [("17", "east", "another text")]
    with pytest.raises(UserError, match="unit_rule: ambiguous"):
        read(desk, new, corpus="exact", unit_namespace="exact", replace=True)
    asked = {"unit_rule": "as_written", "unit_namespace": "as_written"}
    assert read(desk, new, corpus="as-written", replace=True, **asked)[0].number == 2


def test_a_unit_is_the_same_under_another_rule_in_another_corpus(desk: Desk) -> None:
    read(desk, [("Ann", "east", "one")])
    with pytest.raises(UserError, match="in another private corpus"):
        read(desk, [(" ANN", "east", "two")], corpus="copy", unit_rule="folded")
    read(desk, [(" ANN", "east", "two")], corpus="copy", unit_rule="folded", unit_namespace="others")


@pytest.mark.parametrize("changes", [{"unit": None}, {"unit_namespace": "others"}])
def test_short_texts_make_a_copy_too(desk: Desk, changes: dict[str, Any]) -> None:
    read(desk, written("a", "east"))
    with pytest.raises(UserError, match="give both the same --account"):
        read(desk, written("b", "north", [*SHORT, *"1234"]), corpus="copy", **changes)
    read(desk, written("b", "north", [*SHORT, *"12345"]), corpus="other", **changes)


def test_one_copied_partition_of_a_list_is_not_hidden_by_others(desk: Desk) -> None:
    read(desk, written("a", "east"))
    rows = [*written("b", "north"), *written("c", "south", map(str, range(50)))]
    with pytest.raises(UserError, match="give both the same --account"):
        read(desk, rows, corpus="copy", unit_namespace="others")


@pytest.mark.parametrize("visibility", ["public", "synthetic"])
def test_what_was_registered_as_public_is_not_private_afterwards(desk: Desk, visibility: str) -> None:
    long = "a text that is long enough to be known again, alone"
    read(desk, written("a", "east", [long, *SHORT]), visibility=visibility)
    for rows in (written("b", "east"), [*written("b", "east", [long]), *written("c", "east", "0123456789")]):
        with pytest.raises(UserError, match="registered as public or synthetic in another corpus"):
            read(desk, rows, corpus="copy", unit_namespace="others")
    read(desk, written("a", "east", "0123"), corpus="other")
    read(desk, written("a", "east", SHORT), corpus="again", unit_namespace="more", visibility=visibility)


def test_a_unit_column_with_the_name_of_the_sentinel_hides_no_unit(desk: Desk) -> None:
    with pytest.raises(ValueError, match="the name `record` means that every record is a unit"):
        desk.register(unit="record")
    read(desk, [("ann", "east", "one")], unit_namespace='"unit":"record"')
    with pytest.raises(UserError, match="in another private corpus"):
        read(desk, [("ann", "east", "two")], corpus="copy", unit_namespace='"unit":"record"')


def test_joining_an_account_that_would_be_over_its_cap_is_refused_before_data_is_read(desk: Desk) -> None:
    desk.log.set_cap("people", Decimal(2))
    two = desk.register(desk.stage("east"), desk.stage("west"), account="people", **LIST)
    for partition in two:
        desk.seal(ask(partition, "2"))
    joining = CorpusSettings(source="nowhere", corpus="mails", unit="author", account="people")
    for refused in (
        lambda: desk.log.check_corpus(joining),
        lambda: desk.register(desk.stage(content="b"), corpus="mails", account="people"),
    ):
        with pytest.raises(UserError, match="privcert budget set people --epsilon E --reason TEXT"):
            refused()
    assert desk.log.partitions("mails") == []
    desk.log.check_corpus(CorpusSettings(source="nowhere", corpus="reviews", unit="author", account="people", **LIST))
    desk.log.set_cap("people", Decimal(4), "two corpora")
    desk.register(desk.stage(content="b"), corpus="mails", account="people")
    assert [(line.line, line.epsilon.left) for line in desk.log.budget_lines()] == [("*", "0")]


def test_a_refused_partition_leaves_no_folder_of_those_before_it(desk: Desk) -> None:
    desk.register(desk.stage("west"), **LIST)
    before = sorted((desk.home.corpora / "reviews").iterdir())
    east = desk.stage("east")
    with pytest.raises(UserError, match="replace"):
        desk.register(east, desk.stage("west", content="b"), **LIST)
    assert sorted((desk.home.corpora / "reviews").iterdir()) == before and east.path.exists()


def test_an_error_while_partitions_move_puts_them_back(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    two = [desk.stage("east"), desk.stage("west")]
    fail_at_partition("west", monkeypatch)
    with pytest.raises(OSError, match="disk full"):
        desk.register(*two, **LIST)
    assert list((desk.home.corpora / "reviews").iterdir()) == []
    assert all((part.path / "units.parquet").exists() for part in two)


def test_the_same_content_again_is_no_act(desk: Desk) -> None:
    [first] = desk.register()
    before = desk.log.project().chain_head
    staged = desk.stage()
    [again] = desk.register(staged)
    assert again == first and desk.log.project().chain_head == before
    assert staged.path.exists(), "what is not registered is left to the caller"


def test_changed_content_needs_replace_and_keeps_the_account(desk: Desk) -> None:
    desk.log.set_cap("reviews", Decimal(1))
    [first] = desk.register()
    asked = ask(first, "0.6")
    desk.seal(asked)
    with pytest.raises(UserError, match="replace: the content of partition all of reviews has changed"):
        desk.register(desk.stage(content="b"))
    [second] = desk.register(desk.stage(content="b", n=90), replace=True)
    assert (second.number, second.account, second.n) == (2, "reviews", 90) and second.version != first.version
    with pytest.raises(UserError, match=r"0\.4 left"):
        desk.seal(ask(second, "0.6"))
    assert not desk.seal(ask(second, "0.4")).was_sealed
    assert desk.seal(asked).was_sealed
    assert desk.log.partitions("reviews") == [second]
    desk.log.check()


def test_going_back_to_old_content_is_a_new_version_and_a_new_charge(desk: Desk) -> None:
    desk.log.set_cap("reviews", Decimal(1))
    [first] = desk.register()
    desk.register(desk.stage(content="b"), replace=True)
    [third] = desk.register(desk.stage(content="a"), replace=True)
    assert third.number == 3 and third.version != first.version


def test_records_move_into_the_private_zone_of_their_version(desk: Desk) -> None:
    staged = desk.stage()
    [partition] = desk.register(staged)
    folder = desk.home.corpora / "reviews" / partition.version
    assert not staged.path.exists() and pq.read_table(folder / "units.parquet").num_rows == 3
    assert folder.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"visibility": "public"}, "visibility: corpus reviews is private, for ever"),
        ({"account": "other"}, "account: corpus reviews is charged to reviews, for ever"),
        ({"unit": "user"}, "registered with"),
        ({"unit": None}, "registered with"),
        ({"unit_rule": "folded"}, "registered with"),
        ({"unit_namespace": "people"}, "registered with"),
        (LIST, "registered with"),
        (GRID, "registered with"),
    ],
)
def test_a_corpus_keeps_its_scheme_for_ever(desk: Desk, changed: dict[str, Any], says: str) -> None:
    desk.register()
    with pytest.raises(UserError, match=says):
        desk.register(desk.stage("east" if "partitions" in changed else "all", content="b"), replace=True, **changed)
    assert desk.log.project().releases.num_rows == 0 and len(desk.log.partitions("reviews")) == 1


def test_the_same_records_under_another_name_are_refused(desk: Desk) -> None:
    desk.register()
    with pytest.raises(UserError, match="in another private corpus"):
        desk.register(desk.stage(), corpus="copy")
    with pytest.raises(UserError, match="in another private corpus"):
        desk.register(desk.stage(), corpus="copy", unit=None)
    assert desk.log.partitions("copy") == []


def test_the_same_records_as_public_data_are_refused(desk: Desk) -> None:
    desk.register()
    with pytest.raises(UserError, match="in another private corpus"):
        desk.register(desk.stage(), corpus="copy", visibility="public")


def test_one_common_unit_is_enough_to_refuse(desk: Desk) -> None:
    desk.register(desk.stage(units=["ann", "bob"]))
    with pytest.raises(UserError, match="give both the same --account"):
        desk.register(desk.stage(content="b", units=["bob", "eve"]), corpus="mails")
    desk.register(desk.stage(content="b", units=["eve", "kim"]), corpus="mails")


def test_content_that_was_replaced_is_remembered(desk: Desk) -> None:
    desk.register(desk.stage(units=["ann"]))
    desk.register(desk.stage(content="b", units=["bob"]), replace=True)
    with pytest.raises(UserError, match="in another private corpus"):
        desk.register(desk.stage(content="c", units=["ann"]), corpus="mails")


def test_a_shared_account_allows_common_units(desk: Desk) -> None:
    desk.register(desk.stage(units=["ann"]), corpus="mails", account="people")
    desk.register(desk.stage(units=["ann"]), corpus="notes", account="people")
    assert len(desk.log.partitions("notes")) == 1


def test_a_unit_in_two_partitions_of_a_list_is_refused(desk: Desk) -> None:
    with pytest.raises(UserError, match="a unit lies in two partitions of a list"):
        desk.register(desk.stage("east", units=["ann"]), desk.stage("west", units=["ann"]), **LIST)
    assert desk.log.partitions("reviews") == [], "all partitions or none"


def test_a_unit_that_moved_since_an_older_version_is_refused(desk: Desk) -> None:
    desk.register(desk.stage("east", units=["ann"]), desk.stage("west", units=["bob"]), **LIST)
    desk.register(desk.stage("east", content="b", units=["eve"]), replace=True, **LIST)
    with pytest.raises(UserError, match="two partitions"):
        desk.register(desk.stage("west", content="b", units=["ann"]), replace=True, **LIST)


def test_a_unit_may_recur_on_a_time_grid(desk: Desk) -> None:
    two = desk.register(desk.stage("2025", units=["ann"]), desk.stage("2026", units=["ann"]), **GRID)
    assert [partition.partition for partition in two] == ["2025", "2026"]


def test_a_private_corpus_needs_a_home_made_on_purpose(tmp_path: Path) -> None:
    casual = Desk(initialise_home(tmp_path / "casual", on_purpose=False))
    with pytest.raises(UserError, match="privcert init"):
        casual.register()
    assert len(casual.register(visibility="synthetic")) == 1


def test_an_unknown_corpus_has_no_partitions(desk: Desk) -> None:
    assert desk.log.partitions("reviews") == []


def test_a_time_grid_stays_a_time_grid_but_may_get_longer(desk: Desk) -> None:
    desk.register(desk.stage("2025"), **GRID)
    desk.register(desk.stage("2027"), **(GRID | {"last_period": "2027"}))
    assert len(desk.log.partitions("reviews")) == 2
