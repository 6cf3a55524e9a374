"""Work in chunks on Dask: the user's cluster, or processes on this machine. Imported when there is enough to do."""
