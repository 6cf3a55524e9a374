-- One row per sealed release, with the question it answers: everything that was asked, whatever the edition.
-- Reads: base.releases, base.certificates.
-- A table: every report reads it, and telling questions apart walks over all certificates.
create table staging.releases as
with
statements as (
    select
        release_key,
        string_agg(statement_id || ' ' || weight, ',' order by statement_id) as statement_ids
    from base.certificates
    group by release_key
)

select
    releases.*,
    first_value(releases.release_key) over question as question_key,  -- the release key of its first edition
    row_number() over question = 1 as is_first_edition,
    count(*) over (question rows between unbounded preceding and unbounded following) as editions,
    releases.version_number < max(releases.version_number) over asked_of_all_versions as is_superseded,
    case
        when releases.scope = 'candidate'
            then 'each certificate alone errs with probability at most ' || releases.beta
        else 'all certificates of this report hold together except with probability at most ' || releases.beta
    end as guarantee
from base.releases as releases
left join statements on releases.release_key = statements.release_key
window question as (
    partition by
        releases.corpus,
        releases.partition,
        releases.partition_version,
        releases.unit,
        releases.unit_support,
        releases.model_fingerprint,
        releases.mechanism,
        releases.parameters,
        releases.epsilon,
        releases.beta,
        releases.scope,
        statements.statement_ids
    order by releases.edition, releases.sequence
),

-- the same question, whatever version of the partition and however often
asked_of_all_versions as (
    partition by
        releases.corpus,
        releases.partition,
        releases.unit,
        releases.unit_support,
        releases.model_fingerprint,
        releases.mechanism,
        releases.parameters,
        releases.epsilon,
        releases.beta,
        releases.scope,
        statements.statement_ids
)
order by releases.sequence;
