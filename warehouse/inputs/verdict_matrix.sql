-- One row per statement that is asked: over the distinct texts, how many verdicts are known, and how many support. Private.
-- Reads: base.verdicts.
create view verdict_matrix as
select
    position,
    texts,
    known,
    supporting,
    texts - known as missing
from base.verdicts;
