-- One row per question (its first edition only), its latest asked threshold, and statement.
-- Reads: statements_at_thresholds.
create view statements as
select
    corpus,
    partition,
    version_number,
    is_superseded,
    n,
    unit,
    statement,
    statement_id,
    decision,
    abstain_reason,
    has_certificate,
    certificate,
    certificate_units,
    theta,
    theta_share,
    threshold_units,
    needed_units,
    margin_units,
    margin,
    is_vacuous,
    mechanism,
    meaning,
    parameters,
    model,
    epsilon,
    delta,
    weight,
    epsilon_per_statement_nats,
    beta,
    beta_per_statement,
    scope,
    guarantee,
    edition,
    editions,
    release_key,
    day
from statements_at_thresholds
where is_first_edition and is_latest_threshold
order by corpus, partition, version_number, release_key, certificate_units desc, position;
