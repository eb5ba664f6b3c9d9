"""The claims of Nasir et al. 2016 on D-Choices and W-Choices, and our own beside them."""

MODULES = (
    "definitions",
    "distribution",
    "hashing",
    "balance",
    "thresholds",
    "memory",
    "traces",
    "cluster",
    "own",
)
