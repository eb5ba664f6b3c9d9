"""Count-Min: how often each key was seen, never too low, seldom much too high.

From Cormode and Muthukrishnan 2005; as used by Rivetti et al. 2015, section III-A.

State: counts int64[rows, columns]; family uint64[rows, 3], a 2-universal function for each row (see
`streamlb.hashing`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from streamlb import _check, _state
from streamlb._jit import njit
from streamlb.hashing import BLOCK, mix, sketch_column, sketch_columns, sketch_family, sketch_work
from streamlb.keys import key_batch

_LEAST = 1e-9  # the least epsilon: a row then has 2.7 thousand million columns and takes 22 GB


@njit(cache=True, nogil=True)
def _update_many(keys, weights, family, counts, work):
    """Add each key's weight; an empty `weights` means one each. `work` is from `sketch_work`."""
    weighted = weights.size > 0
    for at in range(0, keys.size, BLOCK):
        part = keys[at : at + BLOCK]
        sketch_columns(part, family, np.uint64(counts.shape[1]), work)
        for i in range(np.uint64(part.size)):
            weight = weights[at + i] if weighted else 1
            for row in range(np.uint64(counts.shape[0])):
                counts[row, work[row, i]] += weight


@njit(cache=True, nogil=True)
def _estimate_many(keys, family, counts, out):
    rows, columns = np.uint64(counts.shape[0]), np.uint64(counts.shape[1])
    for i in range(keys.size):
        mixed = mix(keys[i])
        least = counts[0, sketch_column(mixed, family[0, 0], family[0, 1], family[0, 2], columns)]
        for row in range(np.uint64(1), rows):
            count = counts[row, sketch_column(mixed, family[row, 0], family[row, 1], family[row, 2], columns)]
            least = min(least, count)
        out[i] = least


def sketch_shape(epsilon: float, delta: float, rounding: str) -> tuple[int, int]:
    """Return (rows, columns): ceil(log2(1/delta)), and e/epsilon rounded as told.

    Rivetti et al. 2015 round up in one place and down in another.
    """
    epsilon = _check.real("epsilon", epsilon, 0, 1, low_open=True)
    delta = _check.real("delta", delta, 0, 1, low_open=True, high_open=True)
    _check.choice("rounding", rounding, ("ceil", "floor"))
    if epsilon < _LEAST:
        raise ValueError(f"epsilon must be at least {_LEAST:g} for a table that fits into memory, got {epsilon!r}")
    columns = math.ceil(math.e / epsilon) if rounding == "ceil" else math.floor(math.e / epsilon)
    return max(1, math.ceil(-math.log2(delta))), columns


class CountMin:
    """Count keys in a small table: an estimate is never below the true count.

    Parameters
    ----------
    epsilon : float
        The error allowed, as a share of all messages, in (0, 1].
    delta : float
        The chance of a larger error, for one key, in (0, 1).
    seed : int, SeedSequence or None
        Draws the hash functions; sketches merge only under the same seed.
    rounding : {"ceil", "floor"}
        How e/epsilon becomes the number of columns. "ceil" keeps the guarantee.

    Examples
    --------
    >>> from streamlb import CountMin
    >>> sketch = CountMin(epsilon=0.01, delta=0.01, seed=1)
    >>> sketch.update(["a", "b", "a"])
    >>> sketch.estimate("a"), sketch.total, (sketch.rows, sketch.columns)
    (2, 3, (7, 272))

    Notes
    -----
    For each key, estimate - true <= epsilon * (total - true) with probability at least 1 - delta
    over the draw of the hash functions.

    References
    ----------
    G. Cormode, S. Muthukrishnan, "An improved data stream summary: the Count-Min sketch and its
    applications", 2005.
    """

    __slots__ = ("_family", "counts", "delta", "epsilon", "rounding", "seed")
    _VERSION = 1

    def __init__(self, epsilon: float = 0.05, delta: float = 0.1, seed: Any = 0, rounding: str = "ceil"):
        rows, columns = sketch_shape(epsilon, delta, rounding)
        self.epsilon, self.delta, self.rounding = float(epsilon), float(delta), rounding
        self.seed = _check.seed_value(seed)
        self._family = sketch_family(rows, self.seed)
        self.counts = np.zeros((rows, columns), np.int64)

    @property
    def rows(self) -> int:
        """The number of hash functions."""
        return self.counts.shape[0]

    @property
    def columns(self) -> int:
        """The number of counters of each hash function."""
        return self.counts.shape[1]

    @property
    def total(self) -> int:
        """The weight of all messages seen."""
        return int(self.counts[0].sum())

    def update(self, keys: Any, weights: Any = None) -> None:
        """Count keys, each once or by its weight.

        Parameters
        ----------
        keys : a key or many
            See `streamlb.key_array`.
        weights : array of whole numbers, optional
            As many as keys, zero or more.
        """
        batch, scale = weighted_batch(keys, weights)
        _update_many(batch, scale, self._family, self.counts, sketch_work(self.rows))

    def estimate(self, keys: Any) -> Any:
        """Return the estimated count of one key (an int) or of many (int64[m])."""
        batch, single = key_batch(keys)
        out = np.empty(batch.size, np.int64)
        _estimate_many(batch, self._family, self.counts, out)
        return int(out[0]) if single else out

    def error_bound(self) -> float:
        """Return the greatest error of an estimate, with probability 1 - delta: epsilon * total."""
        return self.epsilon * self.total

    def merge(self, other: CountMin) -> None:
        """Add another sketch's counts: exactly what one sketch of both streams holds."""
        check_mergeable(self, other, ("epsilon", "delta", "seed", "rounding"))
        self.counts += other.counts

    def reset(self) -> None:
        """Forget every message; the hash functions stay."""
        self.counts[:] = 0

    def state(self) -> bytes:
        """Return parameters and counts as bytes, with a version and a checksum."""
        return _state.pack("CountMin", self._VERSION, self._parameters(), {"counts": self.counts})

    @classmethod
    def from_state(cls, data: bytes) -> CountMin:
        """Return the sketch that `state` wrote."""
        parameters, arrays = _state.unpack(data, "CountMin", cls._VERSION)
        sketch = cls(**parameters)
        _state.fill(sketch.counts, arrays, "counts")
        return sketch

    def _parameters(self) -> dict[str, Any]:
        return {"epsilon": self.epsilon, "delta": self.delta, "seed": self.seed, "rounding": self.rounding}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CountMin) and self.state() == other.state()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return (
            f"CountMin(epsilon={self.epsilon:g}, delta={self.delta:g}, seed={self.seed}): "
            f"{self.rows} x {self.columns}, total {self.total}"
        )


def weighted_batch(keys: Any, weights: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return keys as uint64[m] and their weights as int64[m], empty where none are given."""
    batch, single = key_batch(keys)
    if weights is None:
        return batch, np.empty(0, np.int64)
    return batch, _check.weight_array("weights", [weights] if single else weights, batch.size)


def check_mergeable(one: Any, other: Any, parameters: tuple[str, ...]) -> None:
    """Raise unless `other` is of the same class with the same parameters."""
    if type(other) is not type(one):
        raise TypeError(f"other must be a {type(one).__name__}, got {type(other).__name__}")
    for name in parameters:
        if getattr(one, name) != getattr(other, name):
            raise ValueError(
                f"other must have the same {name} to be merged: {getattr(one, name)!r} here, {getattr(other, name)!r} there"
            )
