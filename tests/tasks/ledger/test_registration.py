"""A corpus is registered once, keeps its scheme and its account for ever, and shares no one's records unseen."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from desk import Desk, ask

from schemas.errors import UserError
from tasks.storage.home import initialise_home

GRID = {"partition_column": "day", "time_grid": "year", "first_period": "2025", "last_period": "2026"}
LIST = {"partition_column": "region", "partitions": ("east", "west")}


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
        ({"unit": "user"}, "hold for ever"),
        ({"unit": None}, "hold for ever"),
        ({"unit_rule": "folded"}, "hold for ever"),
        ({"unit_namespace": "people"}, "hold for ever"),
        (LIST, "hold for ever"),
        (GRID, "hold for ever"),
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
