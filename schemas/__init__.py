"""What each table holds and what each stage is asked: Arrow schemas and frozen settings."""
