-- One row per release (every edition), threshold that was asked, and statement: is it emitted, with which certificate?
-- Reads: staging.certificates, staging.releases, staging.thresholds.
create view statements_at_thresholds as
with
decided as (
    select
        *,
        -- Certificates are clipped already; at theta = 0 the threshold is 0 units, so everything is emitted.
        releases.n > 0 and certificates.certificate_units >= thresholds.threshold_units as is_emitted
    from staging.certificates as certificates
    inner join staging.releases as releases on certificates.release_key = releases.release_key
    inner join staging.thresholds as thresholds on certificates.release_key = thresholds.release_key
)
