"""Figures for the operator's monitoring, in Prometheus's text format: views of operator.duckdb and folders of runs.

By default what is no function of private content: budgets, and how many runs and releases there were. Counts of records
and pairs, durations, what failed and what changed are private: whoever asks for them keeps what comes out in the
private zone.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily

from tasks.reporting.database import reading
from tasks.reporting.places import operator_database
from tasks.storage.home import Home


@dataclass(frozen=True, slots=True)
class Metric:
    """One gauge. query: its labels in their order, then the value; rows without a value are left out."""

    name: str
    meaning: str
    labels: tuple[str, ...]
    query: str
    is_private: bool = False


_KINDS = ("epsilon", "delta", "rho")


def _per_kind(column: str) -> str:
    return " union all ".join(
        f"select account, ledger_line, '{kind}', {column}_{kind}::double from staging.budgets"  # noqa: S608 (constants)
        for kind in _KINDS
    )


_BUDGET = ("account", "ledger_line", "kind")
_LAST_RUN = "from run_history qualify row_number() over (partition by corpus, model order by started_at desc) = 1"
METRICS = (
    Metric("budget_cap", "Cap of a ledger line; exact decimals: privcert budget show.", _BUDGET, _per_kind("cap")),
    Metric("budget_spent", "Charged to a ledger line.", _BUDGET, _per_kind("spent")),
    Metric("budget_left", "What a ledger line may still be charged.", _BUDGET, _per_kind("left")),
    Metric(
        "budget_overspent", "1 where an accepted gap passed the cap: every charge is refused.",
        _BUDGET[:2], "select account, ledger_line, is_overspent::int from staging.budgets",
    ),
    Metric(
        "runs_finished", "Audits that ended.",
        ("corpus", "model"), "select corpus, model, count(*) from run_history group by all",
    ),
    Metric(
        "last_run_start_timestamp_seconds", "When the last audit that ended began, to the day.",
        ("corpus", "model"),
        "select corpus, model, epoch(date_trunc('day', max(started_at))) from run_history group by all",
    ),
    Metric(
        "releases_drawn", "Answers that were sealed, each charged once.",
        ("corpus",), "select corpus, sum(releases_drawn) from run_history group by all",
    ),
    Metric(
        "releases_found_sealed", "Answers that were sealed before and given again, uncharged.",
        ("corpus",), "select corpus, sum(releases_found_sealed) from run_history group by all",
    ),
    Metric(
        "pairs_scored", "Pairs that a model answered.",
        ("corpus", "model"), "select corpus, model, sum(pairs_scored) from run_history group by all", is_private=True,
    ),
    Metric(
        "pairs_reused", "Pairs that the score cache answered.",
        ("corpus", "model"), "select corpus, model, sum(pairs_reused) from run_history group by all", is_private=True,
    ),
    Metric(
        "last_run_seconds", "Duration of the last audit.",
        ("corpus", "model"), f"select corpus, model, seconds {_LAST_RUN}", is_private=True,
    ),
    Metric(
        "last_run_pairs_per_second", "Pairs scored in the last audit, by its whole duration.",
        ("corpus", "model"),
        f"select corpus, model, pairs_scored / nullif(seconds, 0) {_LAST_RUN}",
        is_private=True,
    ),
    Metric(
        "quarantined_records", "Records kept aside: they stay in n and support nothing.",
        ("corpus", "status"),
        "select corpus, status, count(*) from staging.quarantined_records group by all", is_private=True,
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class RunFigures:
    """What folders and logs of runs say, not the database.

    unfinished: audits and backfills without an end, but for backfills that an earlier version began. stopped_stages: by
    stage and event (`failed`, `refused`). changed_partitions: by corpus. The last two are private.
    """

    unfinished: int
    stopped_stages: Mapping[tuple[str, str], int]
    changed_partitions: Mapping[str, int]

    def families(self, *, with_private: bool) -> Iterator[GaugeMetricFamily]:
        """As gauges."""
        meaning = "Audits and backfills that began and did not end: running, failed or killed."
        yield GaugeMetricFamily("privcert_runs_unfinished", meaning, value=self.unfinished)
        if not with_private:
            return
        meaning = "Stages that ended with an error; refused: the user can mend it."
        stages = GaugeMetricFamily("privcert_stages_stopped", meaning, labels=("stage", "event"))
        for stopped, number in sorted(self.stopped_stages.items()):
            stages.add_metric(stopped, number)
        yield stages
        meaning = (
            "Partitions whose records changed after their release, when a backfill last looked; until they are sealed."
        )
        changed = GaugeMetricFamily("privcert_partitions_changed", meaning, labels=("corpus",))
        for corpus, number in sorted(self.changed_partitions.items()):
            changed.add_metric((corpus,), number)
        yield changed


@dataclass(frozen=True, slots=True)
class OperatorCollector:
    """The gauges as they are when somebody asks; a `Collector` of prometheus_client.

    refresh: brings the operator's database of `home` up to date. figures: reads the folders of its runs. with_private:
    also gauges whose values are private. Where that cannot be done, privcert_up is 0 and nothing else is said: an
    error's text might hold what is private.
    """

    home: Home
    refresh: Callable[[], object]
    figures: Callable[[], RunFigures]
    with_private: bool

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """privcert_up, then every gauge that may be shown."""
        try:
            self.refresh()
            families = list(self._families())
        except Exception:  # of the log, the disk or the database: `privcert warehouse check` tells the operator
            families = []
        yield GaugeMetricFamily("privcert_up", "1 where the figures could be read.", value=int(bool(families)))
        yield from families

    def describe(self) -> list[GaugeMetricFamily]:
        """Nothing is read before somebody asks."""
        return []

    def _families(self) -> Iterator[GaugeMetricFamily]:
        with reading(operator_database(self.home)) as connection:
            for metric in METRICS:
                if metric.is_private and not self.with_private:
                    continue
                family = GaugeMetricFamily(f"privcert_{metric.name}", metric.meaning, labels=metric.labels)
                for *labels, value in connection.execute(metric.query).fetchall():
                    if value is not None:
                        family.add_metric(list(map(str, labels)), float(value))
                yield family
        yield from self.figures().families(with_private=self.with_private)


def registry_of(collector: OperatorCollector) -> CollectorRegistry:
    """A registry with these gauges alone: none about this process."""
    registry = CollectorRegistry()
    registry.register(collector)
    return registry


def metrics_text(collector: OperatorCollector) -> bytes:
    """All gauges in the text format."""
    return generate_latest(registry_of(collector))
