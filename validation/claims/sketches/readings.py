"""What the claims about sketches share: the streams of Rivetti et al. 2015, and the precision."""

from __future__ import annotations

import numpy as np

from ...claim import Reading
from ..posg.readings import MESSAGES, stream_of

# The paper of POSG rounds e/ε in two ways. Their names are those that its other readings have, of
# which these are the two that matter for the size of a sketch.
_READINGS = (
    Reading(
        "default",
        "our reading",
        "Figure 1 has 4 columns for ε = .70 and section IV-B has 55 for ε = .05: e/ε rounded up.",
        {"rounding": "ceil"},
    ),
    Reading(
        "printed", "to the letter", "Section V-A has 54 columns for ε = .05: e/ε rounded down.", {"rounding": "floor"}
    ),
)
READINGS = {reading.name: reading for reading in _READINGS}
NAMES = tuple(READINGS)

EPSILON, DELTA = 0.05, 0.1
EXPONENTS = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0)
SETUP = "Streams of 32,768 messages over 4,096 items, uniform and Zipf .5 to 3; ε = .05, δ = .1."


def draw(exponent: float, seed: int) -> np.ndarray:
    """Return the keys of a stream with this skew."""
    return stream_of(exponent).draw(MESSAGES, seed)
