-- One row per sealed release.
-- Reads: staging.releases, staging.certificates, staging.thresholds.
create view releases as
with
certified as (
    select
        release_key,
        count(*) as certificates,
        max(certificate_units) as highest_certificate_units
    from staging.certificates
    group by release_key
),

asked as (
    select
        release_key,
        count(*) as thresholds_asked,
        max(theta) filter (where is_latest) as latest_theta
    from staging.thresholds
    group by release_key
)

select
    releases.release_key,
    releases.sequence,
    releases.day,
    releases.corpus,
    releases.account,
    releases.visibility,
    releases.partition,
    releases.partition_version,
    releases.version_number,
    releases.n,
    releases.unit,
    releases.unit_support,
    releases.proposer,
    releases.candidates,
    coalesce(certified.certificates, 0) as certificates,
    coalesce(certified.highest_certificate_units, 0) as highest_certificate_units,
    releases.model,
    releases.model_fingerprint,
    releases.mechanism,
    releases.epsilon,
    releases.epsilon_nats,
    releases.epsilon_per_statement_nats,
    releases.beta,
    releases.beta_per_statement,
    releases.scope,
    releases.guarantee,
    releases.margin_units,
    releases.margin,
    releases.edition,
    releases.editions,
    releases.question_key,
    coalesce(asked.thresholds_asked, 0) as thresholds_asked,
    asked.latest_theta
from staging.releases as releases
left join certified on releases.release_key = certified.release_key
left join asked on releases.release_key = asked.release_key
order by releases.sequence;
