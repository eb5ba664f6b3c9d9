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

__all__ = [
    "completion_times",
    "greedy_makespan",
    "greedy_makespan_bound",
    "greedy_ratio",
    "makespan_lower_bound",
    "optimal_makespan",
    "posg_message_bounds",
    "tight_costs",
]
from .shedding import SheddingInstance as SheddingInstance
from .shedding import counterexamples as counterexamples
from .shedding import greedy_gap as greedy_gap
from .shedding import greedy_shedding as greedy_shedding
from .shedding import needless_drops as needless_drops
from .shedding import online_dilemma as online_dilemma
from .shedding import optimal_shedding as optimal_shedding
from .shedding import running_averages as running_averages
from .shedding import waits as waits
