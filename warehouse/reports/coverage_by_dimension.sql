-- One row per question (first edition, latest threshold), dimension of its domain, and value: how much is emitted.
-- Reads: statements, staging.statement_dimensions.
create view coverage_by_dimension as
with
declared as (
    -- A statement counts under each of its dimensions; one from a file or a report has none, and counts as such.
    select
        statements.*,
        coalesce(dimensions.dimension, '(none declared)') as dimension,
        coalesce(dimensions.dimension_value, '(none declared)') as dimension_value
    from statements
    left join staging.statement_dimensions as dimensions
        on statements.release_key = dimensions.release_key and statements.statement_id = dimensions.statement_id
)

select
    corpus,
    partition,
    version_number,
    is_superseded,
    n,
    unit,
    model,
    theta,
    dimension,
    dimension_value,
    count(*) as candidates,
    count(*) filter (where decision = 'emit') as emitted,
    count(*) filter (where abstain_reason = 'below_threshold') as below_threshold,
    count(*) filter (where abstain_reason = 'not_selected') as not_selected,
    count(*) filter (where abstain_reason = 'not_reached') as not_reached,
    count(*) filter (where is_vacuous) as vacuous,
    -- Of the statements that were asked, not of what the records say: coverage is not completeness.
    count(*) filter (where decision = 'emit') / count(*) as emitted_share,
    max(certificate) as highest_certificate,
    mechanism,
    epsilon,
    beta,
    scope,
    release_key,
    day
from declared
group by all
order by corpus, partition, version_number, release_key, dimension, dimension_value;
