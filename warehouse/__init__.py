"""SQL of the release and operator databases: one view a file."""
