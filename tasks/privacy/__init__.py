"""Differential privacy: mechanisms, error scopes, limits, planning. Pure; one module (noise) draws for releases."""
