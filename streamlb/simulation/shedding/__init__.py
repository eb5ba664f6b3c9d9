"""The simulator of one operator behind a shedder.

`simulate` is what a user calls, `policies` make and run the shedders, `kernels` is what runs,
`phases` is a stream to try them on.
"""

from streamlb.simulation.shedding.kernels import DROPPED
from streamlb.simulation.shedding.phases import SheddingLoad, seven_phases
from streamlb.simulation.shedding.policies import POLICIES
from streamlb.simulation.shedding.result import SheddingResult
from streamlb.simulation.shedding.simulate import simulate_shedding

__all__ = ["DROPPED", "POLICIES", "SheddingLoad", "SheddingResult", "seven_phases", "simulate_shedding"]
