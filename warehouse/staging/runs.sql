-- One row per run.
-- Reads: base.runs.
create view staging.runs as
select
    run_id,
    corpus,
    model,
    model_fingerprint,
    started_at,
    seconds
from base.runs;
