"""The release log: the only door out of the private zone."""
