-- One row per sealed release.
-- Reads: staging.releases, staging.certificates, staging.thresholds.
create view releases as
with
counted as (
    select
        release_key,
        count(*) as certificates,
        count(*) filter (where reason is null) as with_certificate,
        max(certificate_units) as highest_certificate_units,
        max(margin_units) as largest_margin_units
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
    releases.is_superseded,
    releases.n,
    releases.unit,
    releases.unit_support,
    releases.proposer,
    releases.candidates,
    coalesce(counted.certificates, 0) as certificates,
    coalesce(counted.with_certificate, 0) as with_certificate,
    coalesce(counted.highest_certificate_units, 0) as highest_certificate_units,
    releases.model,
    releases.model_fingerprint,
    releases.mechanism,
    releases.meaning,
    releases.parameters,
    releases.epsilon,
    releases.epsilon_nats,
    releases.delta,
    releases.rho,
    releases.rho_nats,
    releases.beta,
    releases.scope,
    releases.guarantee,
    coalesce(counted.largest_margin_units, 0) as largest_margin_units,
    case when releases.n > 0 then coalesce(counted.largest_margin_units, 0) / releases.n else 0 end as largest_margin,
    releases.edition,
    releases.editions,
    releases.question_key,
    coalesce(asked.thresholds_asked, 0) as thresholds_asked,
    asked.latest_theta
from staging.releases as releases
left join counted on releases.release_key = counted.release_key
left join asked on releases.release_key = asked.release_key
order by releases.sequence;
