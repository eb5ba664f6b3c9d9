"""What is seen of an object, made plain so that it can be compared and shown.

A state may be bytes, str, numbers, None, NumPy arrays, and lists, tuples and dicts of these, to any
depth. Anything else is compared by its own `==`.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """Return a copy that later changes do not reach, with arrays as lists, to any depth."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    try:
        return copy.deepcopy(value)
    except Exception:  # what cannot be copied is shown as it is
        return value


def same(one: Any, other: Any) -> bool:
    """Return whether two plain values are equal; NaN is equal to NaN here."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(value, other[name]) for name, value in one.items())
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    try:
        return bool(one == other or (one != one and other != other))
    except Exception:  # values of a kind that cannot say whether they are equal
        return False


def short(value: Any) -> str:
    """Return the repr of a value, its middle left out where it is long."""
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:70]} ... {text[-40:]}"


def apart(one: Any, other: Any) -> tuple[str, str]:
    """Return two long values around the place where they first differ."""
    texts = repr(one), repr(other)
    at = next((i for i, (a, b) in enumerate(zip(*texts)) if a != b), min(map(len, texts)))
    first, second = (f"... {text[max(0, at - 20) : at + 40]} ..." for text in texts)
    return first, second
