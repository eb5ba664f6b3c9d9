"""The claims of Tantalaki et al. 2020 on pipeline-based scheduling, and our own beside them."""

MODULES = (
    "examples",
    "propositions",
    "refinement",
    "schedule",
    "latency_throughput",
    "memory_balance",
    "own",
)
