-- One row per question: how often it was asked, and what that does to the error of whoever reports the best answer.
-- Reads: staging.releases.
create view editions as
select
    question_key,
    corpus,
    partition,
    version_number,
    model,
    mechanism,
    parameters,
    epsilon,
    beta,
    scope,
    count(*) as editions,
    min(edition) as first_edition,
    max(edition) as last_edition,
    sum(epsilon_nats) as epsilon_of_all_nats,
    least(1, count(*) * beta::double) as beta_of_the_best_edition
from staging.releases
group by question_key, corpus, partition, version_number, model, mechanism, parameters, epsilon, beta, scope
order by corpus, partition, version_number, question_key;
