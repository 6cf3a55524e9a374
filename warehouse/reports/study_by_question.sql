-- One row per study, question, mechanism and delta: its best EmitRate over parameters of its own.
-- Reads: staging.study_cells.
create view study_by_question as
with
ranked as (
    select
        *,
        row_number() over (
            partition by study_key, universe, statements, epsilon, theta, beta, scope, mechanism, delta
            order by emit_rate_share desc, cell
        ) as place,
        max(emit_rate_share) over (
            partition by study_key, universe, statements, epsilon, theta, beta, scope
        ) as highest_emit_rate_share
    from staging.study_cells
)

select
    study,
    study_key,
    universe,
    n,
    statements,
    epsilon,
    epsilon_nats,
    theta,
    beta,
    scope,
    mechanism,
    delta,
    selected,
    selection_share,
    contributions,
    emit_rate_share,
    emit_rate_lower_share,
    emit_rate_upper_share,
    supported_recall_share,
    unsupported_emit_share,
    exact_emit_rate_share,
    exact_emit_rate_of_sample_share,
    emit_rate_share = highest_emit_rate_share as is_highest
from ranked
where place = 1
order by study, study_key, universe, statements, theta, beta, scope, epsilon_nats, mechanism, delta;
