-- One row per study and cell, with what its report promised and whether the exact rate keeps Theorem 4.
-- Reads: base.study_cells.
create view staging.study_cells as
select
    study_cells.*,
    seeds * runs as reports,
    -- the share of reports that may hold an unsupported statement; per candidate, nothing is promised of a report
    case when scope = 'candidate' then null else beta_share end as promised_any_unsupported_share,
    exact_emit_rate_share between theorem4_lower_share - 1e-12 and theorem4_upper_share + 1e-12 as is_exact_in_theorem4,
    emit_rate_share between theorem4_lower_share - slack_hoeffding_999_share
    and theorem4_upper_share + slack_hoeffding_999_share as is_observed_in_theorem4_with_slack
from base.study_cells as study_cells;
