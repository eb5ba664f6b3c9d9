"""The papers' theory, evaluated with numpy, scipy and sympy: the independent side of every check.

Nothing here imports a kernel. Where a statement is exact it is evaluated in exact arithmetic, and where a printed statement
fails the corrected one stands beside it.
"""

from .pipeline import (
    allocation_period,
    best_relabelling,
    birkhoff_bound,
    birkhoff_steps,
    busy_fraction_bound,
    inter_node_share_bound,
    latin_entry,
    latin_matrix,
    pipeline_moves,
    relabelling_shares,
    weighted_schedule,
)
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

# shedding
from .shedding import (
    SheddingInstance,
    cost_error_share,
    counterexamples,
    greedy_gap,
    greedy_shedding,
    needless_drops,
    online_dilemma,
    optimal_shedding,
    running_averages,
    waits,
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
    "SheddingInstance",
    "allocation_period",
    "best_relabelling",
    "birkhoff_bound",
    "birkhoff_steps",
    "busy_fraction_bound",
    "collision_probability",
    "completion_times",
    "cost_error_share",
    "cost_tail_bound",
    "count_min_failure",
    "count_min_shape",
    "counterexamples",
    "expected_cost_estimate",
    "expected_cost_estimate_exact",
    "greedy_gap",
    "greedy_makespan",
    "greedy_makespan_bound",
    "greedy_ratio",
    "greedy_shedding",
    "inter_node_share_bound",
    "latin_entry",
    "latin_matrix",
    "makespan_lower_bound",
    "needless_drops",
    "online_dilemma",
    "optimal_makespan",
    "optimal_shedding",
    "pipeline_moves",
    "posg_message_bounds",
    "relabelling_shares",
    "running_averages",
    "theorem_4_3",
    "tight_costs",
    "waits",
    "weighted_schedule",
]
