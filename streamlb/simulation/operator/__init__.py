"""The simulator of k operator instances.

`simulate` is what a user calls, `policies` choose the instance of each tuple, `kernels` is what
runs.
"""

from streamlb.simulation.operator.policies import POLICIES
from streamlb.simulation.operator.simulate import ARRIVALS, OperatorResult, simulate_operator

__all__ = ["ARRIVALS", "POLICIES", "OperatorResult", "simulate_operator"]
