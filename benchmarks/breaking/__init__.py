"""Faults for chaos.py, and what is measured of a run that met one."""
