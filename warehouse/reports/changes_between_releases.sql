-- One row per release, threshold and statement that an earlier release asked there too: what changed since the last one.
-- Reads: statements_at_thresholds, staging.releases.
create view changes_between_releases as
with
-- A lineage: releases about one partition, whatever its version, that mean the same by support.
lineages as (
    select
        release_key,
        sequence,
        dense_rank() over (order by corpus, partition, unit, unit_support, model_fingerprint) as lineage
    from staging.releases
),

-- Which two rows of that table are compared: by their numbers in it, since a window of whole rows is slow.
pairs as (
    select
        statements.rowid as row_now,
        lag(statements.rowid) over (
            partition by lineages.lineage, statements.statement_id, statements.theta
            order by lineages.sequence
        ) as row_before
    from statements_at_thresholds as statements
    inner join lineages on statements.release_key = lineages.release_key
),

paired as (
    select
        now.*,
        before.release_key as release_key_before,
        before.question_key as question_key_before,
        before.version_number as version_number_before,
        before.n as n_before,
        before.mechanism as mechanism_before,
        before.epsilon as epsilon_before,
        before.has_certificate as has_certificate_before,
        before.certificate_units as certificate_units_before,
        before.certificate as certificate_before,
        before.margin_units as margin_units_before,
        before.day as day_before,
        now.decision = 'emit' as is_emitted,
        before.decision = 'emit' as is_emitted_before
    from pairs
    inner join statements_at_thresholds as now on pairs.row_now = now.rowid
    inner join statements_at_thresholds as before on pairs.row_before = before.rowid
)

select
    corpus,
    partition,
    unit,
    model,
    statement,
    statement_id,
    theta,
    case
        when is_emitted and not is_emitted_before then 'newly_certified'
        when is_emitted_before and not is_emitted then 'not_certified_this_time'
        when not (has_certificate and has_certificate_before) then 'not_comparable'
        when certificate_units > certificate_units_before then 'moved_up'
        when certificate_units < certificate_units_before then 'moved_down'
        else 'unchanged'
    end as change,
    -- Null where one of the two has no certificate.
    case when has_certificate and has_certificate_before then certificate_units - certificate_units_before end as moved_units,
    certificate_units_before,
    certificate_units,
    certificate_before,
    certificate,
    n_before,
    n,
    version_number_before,
    version_number,
    mechanism_before,
    mechanism,
    epsilon_before,
    epsilon,
    edition,
    -- The margin of a certificate is about as far as noise takes it, so a move within both tells nothing.
    case
        when has_certificate and has_certificate_before
            then abs(certificate_units - certificate_units_before) <= margin_units + margin_units_before
    end as is_within_margins,
    question_key = question_key_before as is_noise_alone,
    case
        when question_key = question_key_before then 'the same question, asked again: noise alone'
        when version_number = version_number_before
            then 'the same records, asked otherwise: noise and margins alone'
        else 'other records, and fresh noise: noise alone moves certificates, too'
    end as note,
    release_key_before,
    release_key,
    day_before,
    day
from paired
order by corpus, partition, release_key, theta, change, certificate_units desc, statement_id;
