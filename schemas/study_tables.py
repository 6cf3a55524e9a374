"""Tables of a study, in the release zone: functions of public settings and of public or synthetic data.

Written by tasks/studies to release/studies/NAME-KEY, loaded by tasks/reporting into release.duckdb. Numbers that were
asked for are decimal text (exact); columns that end in `_nats` or `_share` hold their nearest doubles, for reading.
"""

import pyarrow as pa


def _required(name: str, kind: pa.DataType) -> pa.Field:
    return pa.field(name, kind, nullable=False)


def _optional(name: str, kind: pa.DataType) -> pa.Field:
    return pa.field(name, kind, nullable=True)


# What one seed of one cell counted, summed over its runs (simulated reports).
SEED_COUNTS = pa.schema(
    [
        _required("cell_key", pa.string()),  # SHA-256 of what defines the cell's draws, hex
        _required("seed", pa.int64()),
        _required("runs", pa.int64()),
        _required("candidates", pa.int64()),  # statements times runs
        _required("unsupported_candidates", pa.int64()),  # support below theta
        _required("supported_candidates", pa.int64()),
        _required("emitted", pa.int64()),
        _required("unsupported_emitted", pa.int64()),
        _required("supported_emitted", pa.int64()),
        _required("emitted_support_units", pa.int64()),  # sum of the true counts of what was emitted
        _required("runs_with_unsupported", pa.int64()),  # reports with an unsupported statement
    ]
)

# One row per study, cell and seed.
STUDY_RUNS = pa.schema(
    [_required("study_key", pa.string()), _required("study", pa.string()), _required("cell", pa.int64()), *SEED_COUNTS]
)

METRICS = ("unsupported_emit", "emit_rate", "false_emission", "supported_recall", "any_unsupported")
"""Metrics that are proportions, each with an interval of Clopper and Pearson; null where nothing was counted."""

_INTERVALS = [_optional(f"{metric}{end}_share", pa.float64()) for metric in METRICS for end in ("", "_lower", "_upper")]

# One row per study and cell: what was asked, what came of it over all seeds and runs, and what the mathematics says.
STUDY_CELLS = pa.schema(
    [
        _required("study_key", pa.string()),  # SHA-256 of what defines the study, hex
        _required("study", pa.string()),
        _required("cell", pa.int64()),  # position in the grid, from 0
        _required("cell_key", pa.string()),
        _required("mechanism", pa.string()),
        _required("universe", pa.string()),  # synthetic, worst_case, corpus:NAME[/PARTITION]
        _required("n", pa.int64()),  # units
        _required("universe_statements", pa.int64()),
        _required("statements", pa.int64()),  # of one report, and charged
        _required("distinct", pa.bool_()),
        _required("seeds", pa.int64()),
        _required("runs", pa.int64()),  # noise repetitions a seed
        _required("epsilon", pa.string()),
        _required("epsilon_nats", pa.float64()),
        _optional("delta", pa.string()),
        _required("theta", pa.string()),
        _required("theta_share", pa.float64()),
        _required("threshold_units", pa.int64()),
        _required("beta", pa.string()),
        _required("beta_share", pa.float64()),
        _required("scope", pa.string()),
        _optional("selected", pa.int64()),
        _optional("selection_share", pa.float64()),
        _optional("contributions", pa.int64()),
        _required("charged_epsilon_nats", pa.float64()),  # of one report
        _required("charged_delta", pa.float64()),
        _required("beta_per_statement", pa.float64()),
        _required("margin_units", pa.float64()),
        _required("margin_share", pa.float64()),
        # of each interval; it speaks of the statements that the seeds sampled
        _required("confidence", pa.float64()),
        *_INTERVALS,
        _optional("mean_support_share", pa.float64()),  # of what was emitted
        _optional("exact_emit_rate_share", pa.float64()),  # expectation over the universe; null where none is exact
        _optional("exact_emit_rate_of_sample_share", pa.float64()),  # over the statements that the seeds sampled
        _optional("theorem4_lower_share", pa.float64()),
        _optional("theorem4_upper_share", pa.float64()),
        _required("slack_hoeffding_999_share", pa.float64()),  # of a mean over one report's candidates, error 0.001
    ]
)
