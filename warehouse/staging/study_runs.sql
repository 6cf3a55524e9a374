-- One row per study, cell and seed: what its simulated reports counted.
-- Reads: base.study_runs.
create view staging.study_runs as
select
    study_key,
    study,
    cell,
    cell_key,
    seed,
    runs,
    candidates,
    unsupported_candidates,
    supported_candidates,
    emitted,
    unsupported_emitted,
    supported_emitted,
    emitted_support_units,
    runs_with_unsupported
from base.study_runs;
