"""Plans of releases as tables and pictures. Public parameters only; no data is touched."""
