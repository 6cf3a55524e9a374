-- One row per release (every edition), threshold that was asked, and statement: emitted or not, with its certificate.
-- Reads: staging.certificates, staging.releases, staging.thresholds.
-- A table: four reports read it, and one of them compares every row with an earlier one.
create table statements_at_thresholds as
select
    releases.corpus,
    releases.partition,
    releases.version_number,
    releases.is_superseded,
    releases.n,
    releases.unit,
    certificates.statement,
    certificates.statement_id,
    -- Certificates are clipped already; at theta = 0 the threshold is 0 units, so everything is emitted.
    case
        when releases.n > 0 and certificates.certificate_units >= thresholds.threshold_units then 'emit'
        else 'abstain'
    end as decision,
    case
        when releases.n = 0 then 'not_reached'
        when certificates.certificate_units < thresholds.threshold_units
            then coalesce(certificates.reason, 'below_threshold')
    end as abstain_reason,
    -- What a selection left out has no certificate, though a threshold of 0 emits it.
    releases.n > 0 and certificates.reason is null as has_certificate,
    case when releases.n > 0 then certificates.certificate_units / releases.n else 0 end as certificate,
    certificates.certificate_units,
    thresholds.theta,
    thresholds.theta_share,
    thresholds.threshold_units,
    -- The smallest count with at least an even chance of being emitted; null where not even n has it.
    case
        when releases.n = 0 then null
        when thresholds.threshold_units = 0 then 0
        when thresholds.threshold_units + certificates.margin_units <= releases.n
            then thresholds.threshold_units + certificates.margin_units
    end as needed_units,
    certificates.margin_units,
    case when releases.n > 0 then certificates.margin_units / releases.n else 0 end as margin,
    -- No count is assured an even chance of being emitted.
    releases.n = 0
    or (thresholds.threshold_units > 0 and thresholds.threshold_units + certificates.margin_units > releases.n)
        as is_vacuous,
    releases.mechanism,
    releases.meaning,
    releases.parameters,
    releases.model,
    releases.epsilon,
    releases.delta,
    certificates.weight,
    certificates.epsilon_per_statement_nats,
    releases.beta,
    certificates.beta_per_statement,
    releases.scope,
    releases.guarantee,
    releases.edition,
    releases.editions,
    releases.release_key,
    releases.question_key,
    releases.day,
    certificates.position,
    thresholds.asked,
    releases.is_first_edition,
    thresholds.is_latest as is_latest_threshold
from staging.certificates as certificates
inner join staging.releases as releases on certificates.release_key = releases.release_key
inner join staging.thresholds as thresholds on certificates.release_key = thresholds.release_key
order by releases.sequence, thresholds.asked, certificates.certificate_units desc, certificates.position;
