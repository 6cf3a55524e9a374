"""How each stage works: files here are thin Prefect, folders here are plain Python."""
