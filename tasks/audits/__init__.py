"""One audit in plain Python: its run folder, its stages, what the operator may see. Prefect only calls it."""
