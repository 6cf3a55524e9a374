-- One row per study and mechanism: worst and mean over all cells, good parameters and bad; who keeps Theorem 4.
-- Reads: staging.study_cells.
create view study_by_mechanism as
select
    study,
    study_key,
    mechanism,
    count(*) as cells,
    sum(reports)::bigint as reports,
    max(unsupported_emit_share) as worst_unsupported_emit_share,
    avg(unsupported_emit_share) as mean_unsupported_emit_share,
    max(false_emission_share) as worst_false_emission_share,
    avg(emit_rate_share) as mean_emit_rate_share,
    avg(supported_recall_share) as mean_supported_recall_share,
    avg(mean_support_share) as mean_support_share,
    count(*) filter (where is_exact_in_theorem4) as exact_rates_in_theorem4,
    count(*) filter (where not is_exact_in_theorem4) as exact_rates_outside_theorem4,
    count(*) filter (where not is_observed_in_theorem4_with_slack) as observed_rates_outside_theorem4_with_slack
from staging.study_cells
group by study, study_key, mechanism
order by study, study_key, mechanism;
