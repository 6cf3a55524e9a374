-- One row per support model: how many pairs it judged, and how many verdicts were reused. Private.
-- Reads: run_history, staging.runs.
create view model_usage as
select
    details.model,
    details.model_fingerprint,
    count(*) as runs,
    sum(runs.pairs_scored)::bigint as pairs_scored,
    sum(runs.pairs_reused)::bigint as pairs_reused,
    sum(runs.pairs_reused) / nullif(sum(runs.pairs_scored) + sum(runs.pairs_reused), 0) as share_reused,
    sum(runs.seconds) as seconds,
    max(runs.started_at) as last_used_at
from staging.runs as details
inner join run_history as runs on details.run_id = runs.run_id
group by details.model, details.model_fingerprint
order by details.model, details.model_fingerprint;
