-- One row per study, cell and seed: numerators and denominators of the metrics, summed over its simulated reports.
-- Reads: staging.study_runs.
create view study_runs as
select *
from staging.study_runs
order by study, study_key, cell, seed;
