"""How many more audits fit: of one partition each, until the definition ends, and of how many units at least."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from backfills import TWO, backfill, by_quarter, write_dated

from tasks.audits.budget_plan import largest_partition, least_units, one_more_of, plan_facts, schedule_of
from tasks.audits.registering import register_source
from tests.audits import LIKES, capped, settings_for, write_corpus

pytestmark = pytest.mark.usefixtures("autumn")
PLACES = ("east", "north", "west")


@pytest.fixture
def places(tmp_path):
    rows = [
        {"id": f"{place}{guest}", "author": f"{place}{guest}", "place": place, "text": f"{LIKES} In {place}, {guest}."}
        for place in PLACES
        for guest in range(8)
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "places.parquet")
    return settings_for(tmp_path / "places.parquet", partition_column="place", partitions=PLACES)


def planned(definition, home):
    schedule = schedule_of(definition, home, "month", "2026-11")
    return [plan_facts(one, schedule) for one in one_more_of(definition, home)]


def test_partitions_of_a_list_on_lines_of_their_own(places, home):
    facts = planned(places, capped(home, "4"))
    assert [one["partition"] for one in facts] == list(PLACES)
    for one in facts:
        assert (one["charge"], one["audits_that_fit"], one["last"]) == ({"epsilon": "2"}, 2, "2026-12")


def test_partitions_of_a_list_on_one_line_are_counted_one_by_one(places, home, tmp_path):
    shared = places.model_copy(update={"account": "shared"})
    mate = settings_for(write_corpus(tmp_path / "mate.parquet", opening="Once: "), corpus="mate", account="shared")
    register_source(home, mate)  # from now on the charges of the account add up
    (one,) = planned(shared, capped(home, "15", "shared"))
    assert (one["charge"], one["audits_that_fit"], one["left_after"]) == ({"epsilon": "2"}, 7, {"epsilon": "1"})
    assert (one["partitions"], one["last"]) == (3, "2026-12")  # two of each


def test_the_least_units_are_those_from_which_a_period_is_audited(home, corpus):
    definition = by_quarter(write_dated(corpus, {"2025-Q3": 29, "2025-Q4": 30}), last="2025-Q4", allow_vacuous=False)
    assert (least_units(definition, home), largest_partition(definition, home)) == (30, None)
    backfill(capped(home, "2"), definition)
    assert largest_partition(definition, home) == 30


def test_a_schedule_ends_with_the_definition(home, corpus):
    definition = by_quarter(write_dated(corpus, TWO), last="2025-Q4")
    (one,) = one_more_of(definition, capped(home, "20"))
    facts = plan_facts(one, schedule_of(definition, home, None, None))
    assert (facts["audits_that_fit"], facts["last"]) == (10, "2027-Q4")
    assert (facts["declared_audits"], facts["last_period"]) == (2, "2025-Q4")
