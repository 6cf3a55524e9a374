-- One row per study and cell: what was asked, the metrics with their intervals, exact rates, and Theorem 4.
-- Reads: staging.study_cells.
create view study_cells as
select *
from staging.study_cells
order by study, study_key, cell;
