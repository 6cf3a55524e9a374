"""Parts of benchmarks/scale_plan.py."""
