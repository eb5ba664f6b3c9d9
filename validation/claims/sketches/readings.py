"""What the claims about sketches share: the streams of Rivetti et al. 2015, section V-A."""

from __future__ import annotations

import numpy as np

MESSAGES, ITEMS, EPSILON, DELTA = 32_768, 4_096, 0.05, 0.1
EXPONENTS = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0)
SETUP = "Streams of 32,768 messages over 4,096 items, uniform and Zipf .5 to 3; ε = .05, δ = .1."


def draw(exponent: float, seed: int) -> np.ndarray:
    """Return the keys of a stream with this skew."""
    from streamlb import Uniform, Zipf

    stream = Uniform(ITEMS) if exponent == 0 else Zipf(ITEMS, exponent)
    return stream.draw(MESSAGES, seed)


def seeds(profile: str, quick: int, paper: int) -> range:
    """Return the seeds of a profile: as many as are given for it."""
    return range(quick if profile == "quick" else paper)
