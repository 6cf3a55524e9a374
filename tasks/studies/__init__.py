"""Studies: releases simulated over grids and seeds, on public or synthetic data. Nothing that releases imports this."""
