"""The papers' theory, evaluated with numpy, scipy and sympy: the independent side of every check.

Nothing here imports a kernel. Where a statement is exact it is evaluated in exact arithmetic, and where a printed statement
fails the corrected one stands beside it.
"""

from .choices import (
    all_workers_probability,
    choices_feasible,
    choices_margin,
    coupon_collector_mean,
    coverage_moments,
    expected_workers,
    head_size,
    memory_cost,
    min_choices,
    occupancy_distribution,
    partial_key_imbalance_lower_bound,
    zipf_shares,
)
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
    "all_workers_probability",
    "allocation_period",
    "best_relabelling",
    "birkhoff_bound",
    "birkhoff_steps",
    "busy_fraction_bound",
    "choices_feasible",
    "choices_margin",
    "collision_probability",
    "cost_tail_bound",
    "count_min_failure",
    "count_min_shape",
    "coupon_collector_mean",
    "coverage_moments",
    "expected_cost_estimate",
    "expected_cost_estimate_exact",
    "expected_workers",
    "head_size",
    "inter_node_share_bound",
    "latin_entry",
    "latin_matrix",
    "memory_cost",
    "min_choices",
    "occupancy_distribution",
    "partial_key_imbalance_lower_bound",
    "pipeline_moves",
    "relabelling_shares",
    "theorem_4_3",
    "weighted_schedule",
    "zipf_shares",
]
