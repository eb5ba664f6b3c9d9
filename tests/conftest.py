"""Settings of every test: hypothesis has no deadlines, because the first call compiles."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "streamlb", deadline=None, max_examples=40, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("streamlb")
