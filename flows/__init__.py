"""What runs, in which order."""
