"""The papers' theory, evaluated with numpy, scipy and sympy: the independent side of every check.

Nothing here imports a kernel. Where a statement is exact it is evaluated in exact arithmetic, and where a printed statement
fails the corrected one stands beside it.
"""

# consistent grouping
from .consistent import Granularity as Granularity
from .consistent import LemmaHypotheses as LemmaHypotheses
from .consistent import granularity as granularity
from .consistent import least_share_of_overloaded as least_share_of_overloaded
from .consistent import least_share_printed as least_share_printed
from .consistent import lemma_hypotheses as lemma_hypotheses
from .consistent import optimal_share as optimal_share
from .consistent import random_choices_imbalance_bound as random_choices_imbalance_bound
from .consistent import random_choices_imbalance_printed as random_choices_imbalance_printed
from .consistent import random_choices_memory_bound as random_choices_memory_bound
from .consistent import random_choices_memory_printed as random_choices_memory_printed
from .consistent import replicated_everywhere_possible as replicated_everywhere_possible
from .consistent import saturated_throughput as saturated_throughput
from .consistent import shuffle_memory_bound as shuffle_memory_bound
from .consistent import virtual_workers_needed as virtual_workers_needed
