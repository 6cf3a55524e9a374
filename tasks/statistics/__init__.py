"""Statistics that know nothing of privacy. Pure."""
