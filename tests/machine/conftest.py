"""Hypothesis for the model tests: no deadline on a shared machine, and a blob to replay what failed."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "engine", deadline=None, print_blob=True, max_examples=100, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("engine")
