-- One row per pair of support models that answered one question, and threshold asked of both: how far they emit the same.
-- Reads: statements_at_thresholds, staging.releases.
create view agreement_between_models as
with
asked as (
    select
        statements.*,
        releases.model_fingerprint,
        releases.unit_support,
        releases.candidates,
        statements.decision = 'emit' as is_emitted
    from statements_at_thresholds as statements
    inner join staging.releases as releases on statements.release_key = releases.release_key
    where statements.is_first_edition
),

paired as (
    select
        a.corpus,
        a.partition,
        a.version_number,
        a.n,
        a.unit,
        a.mechanism,
        a.epsilon,
        a.beta,
        a.scope,
        a.theta,
        a.candidates,
        a.model as model_a,
        b.model as model_b,
        count(*) as shared,
        count(*) filter (a.is_emitted) as emitted_by_a,
        count(*) filter (b.is_emitted) as emitted_by_b,
        count(*) filter (a.is_emitted and b.is_emitted) as emitted_by_both,
        count(*) filter (a.is_emitted or b.is_emitted) as emitted_by_either,
        a.release_key as release_key_a,
        b.release_key as release_key_b
    from asked as a
    inner join asked as b
        on
            a.corpus = b.corpus
            and a.partition = b.partition
            and a.version_number = b.version_number
            and a.unit = b.unit
            and a.unit_support = b.unit_support
            and a.mechanism = b.mechanism
            and a.parameters = b.parameters
            and a.epsilon = b.epsilon
            and a.beta = b.beta
            and a.scope = b.scope
            and a.theta = b.theta
            and a.candidates = b.candidates
            and a.statement_id = b.statement_id
            and a.weight = b.weight
            and a.model_fingerprint != b.model_fingerprint
            and (a.model, a.model_fingerprint) < (b.model, b.model_fingerprint)
    group by all
)

select
    corpus,
    partition,
    version_number,
    n,
    unit,
    theta,
    model_a,
    model_b,
    candidates,
    emitted_by_a,
    emitted_by_b,
    emitted_by_both,
    emitted_by_either,
    -- Jaccard index of the emitted sets; null where neither emits anything.
    emitted_by_both / nullif(emitted_by_either, 0) as jaccard,
    mechanism,
    epsilon,
    beta,
    scope,
    release_key_a,
    release_key_b
from paired
where shared = candidates
order by corpus, partition, version_number, theta, model_a, model_b, release_key_a, release_key_b;
