"""The papers' theory, evaluated with numpy, scipy and sympy: the independent side of every check.

Nothing here imports a kernel. Where a statement is exact it is evaluated in exact arithmetic, and where a printed statement
fails the corrected one stands beside it.
"""

from .scheduling import (
    completion_times,
    greedy_makespan,
    greedy_makespan_bound,
    greedy_ratio,
    makespan_lower_bound,
    optimal_makespan,
    posg_message_bounds,
    tight_costs,
)
from .sketches import (
    collision_probability,
    cost_tail_bound,
    count_min_failure,
    count_min_shape,
    expected_cost_estimate,
    expected_cost_estimate_exact,
    theorem_4_3,
)

__all__ = [
    "collision_probability",
    "completion_times",
    "cost_tail_bound",
    "count_min_failure",
    "count_min_shape",
    "expected_cost_estimate",
    "expected_cost_estimate_exact",
    "greedy_makespan",
    "greedy_makespan_bound",
    "greedy_ratio",
    "makespan_lower_bound",
    "optimal_makespan",
    "posg_message_bounds",
    "theorem_4_3",
    "tight_costs",
]
