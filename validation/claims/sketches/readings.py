"""What the claims about sketches share: the streams of Rivetti et al. 2015, and the precision."""

from __future__ import annotations

import numpy as np

from ..posg.readings import MESSAGES, stream_of

EPSILON, DELTA = 0.05, 0.1
EXPONENTS = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0)
SETUP = "Streams of 32,768 messages over 4,096 items, uniform and Zipf .5 to 3; ε = .05, δ = .1."


def draw(exponent: float, seed: int) -> np.ndarray:
    """Return the keys of a stream with this skew."""
    return stream_of(exponent).draw(MESSAGES, seed)
