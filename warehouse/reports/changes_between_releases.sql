-- One row per release, threshold and statement that an earlier release asked there too: what changed since the last one.
-- Reads: statements_at_thresholds, staging.releases.
create view changes_between_releases as
with
asked as (
    select
        statements.*,
        releases.sequence,
        releases.unit_support,
        releases.model_fingerprint,
        releases.partition_version,
        statements.decision = 'emit' as is_emitted
    from statements_at_thresholds as statements
    inner join staging.releases as releases on statements.release_key = releases.release_key
),

-- A lineage: releases about one partition, whatever its version, that mean the same by support.
paired as (
    select
        *,
        lag(release_key) over lineage as release_key_before,
        lag(question_key) over lineage as question_key_before,
        lag(partition_version) over lineage as partition_version_before,
        lag(version_number) over lineage as version_number_before,
        lag(n) over lineage as n_before,
        lag(mechanism) over lineage as mechanism_before,
        lag(epsilon) over lineage as epsilon_before,
        lag(is_emitted) over lineage as is_emitted_before,
        lag(is_certified) over lineage as is_certified_before,
        lag(certificate_units) over lineage as certificate_units_before,
        lag(certificate) over lineage as certificate_before,
        lag(margin_units) over lineage as margin_units_before,
        lag(day) over lineage as day_before
    from asked
    window lineage as (
        partition by corpus, partition, unit, unit_support, model_fingerprint, statement_id, theta
        order by sequence
    )
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
        when not (is_certified and is_certified_before) then 'not_comparable'
        when certificate_units > certificate_units_before then 'moved_up'
        when certificate_units < certificate_units_before then 'moved_down'
        else 'unchanged'
    end as change,
    -- Null where one of the two has no certificate.
    case when is_certified and is_certified_before then certificate_units - certificate_units_before end as moved_units,
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
        when is_certified and is_certified_before
            then abs(certificate_units - certificate_units_before) <= margin_units + margin_units_before
    end as is_within_margins,
    question_key = question_key_before as is_noise_alone,
    case
        when question_key = question_key_before then 'the same question, asked again: noise alone'
        when partition_version = partition_version_before
            then 'the same records, asked otherwise: noise and margins alone'
        else 'other records, and fresh noise: noise alone moves certificates, too'
    end as note,
    release_key_before,
    release_key,
    day_before,
    day
from paired
where release_key_before is not null
order by corpus, partition, release_key, theta, change, certificate_units desc, statement_id;
