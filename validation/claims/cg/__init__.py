"""The claims of Nasir et al. 2017 on consistent grouping, and our own beside them."""

MODULES = (
    "definitions",
    "bound",
    "virtual_workers",
    "memory",
    "schemes",
    "equal_workers",
    "capacity",
    "adapting",
    "cluster",
    "own",
)
