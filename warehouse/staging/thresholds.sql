-- One row per release and threshold that somebody asked for.
-- Reads: base.thresholds.
create view staging.thresholds as
select
    release_key,
    asked,
    theta,
    theta_share,
    threshold_units,
    day,
    asked = max(asked) over (partition by release_key) as is_latest
from base.thresholds;
