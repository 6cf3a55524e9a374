-- One row per study and cell that promises something of a whole report: how often it held an unsupported statement.
-- Reads: staging.study_cells.
create view study_whole_reports as
select
    study,
    study_key,
    cell,
    mechanism,
    universe,
    statements,
    epsilon,
    theta,
    beta,
    scope,
    delta,
    selected,
    selection_share,
    contributions,
    promised_any_unsupported_share,
    reports,
    any_unsupported_share,
    any_unsupported_lower_share,
    any_unsupported_upper_share,
    confidence,
    any_unsupported_lower_share <= promised_any_unsupported_share as is_as_promised,
    any_unsupported_upper_share >= promised_any_unsupported_share as may_be_exact
from staging.study_cells
where promised_any_unsupported_share is not null
order by study, study_key, cell;
