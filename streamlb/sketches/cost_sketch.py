"""The F and W pair: what a key costs on average, learnt from a stream.

From Rivetti et al. 2015, section III-A, and Rivetti et al. 2016, section 3. A key's cost is W/F of
the row where F is least.

State: frequency int64[rows, columns] (F, how many messages fell into a cell), cost float64[rows,
columns] (W, what they cost together), family uint64[rows, 3], the hash functions that both share.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from streamlb import _check, _state
from streamlb._jit import njit
from streamlb.hashing import BLOCK, mix, sketch_column, sketch_columns, sketch_family, sketch_work
from streamlb.keys import key_batch
from streamlb.sketches.count_min import check_mergeable, sketch_shape


@njit(cache=True, nogil=True, forceinline=True)
def estimate_one(key, unseen, family, frequency, total):
    """Return W/F of the row where F is least (the first of equals), `unseen` where that F is 0."""
    columns = np.uint64(frequency.shape[1])
    mixed = mix(key)
    column = sketch_column(mixed, family[0, 0], family[0, 1], family[0, 2], columns)
    least, cost = frequency[0, column], total[0, column]
    for row in range(np.uint64(1), np.uint64(frequency.shape[0])):
        column = sketch_column(mixed, family[row, 0], family[row, 1], family[row, 2], columns)
        count, paid = frequency[row, column], total[row, column]
        # Both are read before the test, so that it becomes a select: which row is least is a coin
        # toss to a predictor.
        if count < least:
            least, cost = count, paid
    return cost / least if least > 0 else unseen


@njit(cache=True, nogil=True)
def _update_many(keys, costs, family, frequency, total, work):
    """Add every message to F and W; `work` is from `sketch_work`."""
    columns = np.uint64(frequency.shape[1])
    for at in range(0, keys.size, BLOCK):
        part, paid = keys[at : at + BLOCK], costs[at : at + BLOCK]
        sketch_columns(part, family, columns, work)
        for i in range(np.uint64(part.size)):
            for row in range(np.uint64(frequency.shape[0])):
                frequency[row, work[row, i]] += 1
                total[row, work[row, i]] += paid[i]


@njit(cache=True, nogil=True)
def _estimate_many(keys, unseen, family, frequency, total, out):
    for i in range(keys.size):
        out[i] = estimate_one(keys[i], unseen, family, frequency, total)


class CostSketch:
    """Learn what each key costs from (key, cost) pairs, in a small table.

    Parameters
    ----------
    epsilon, delta : float
        As for `CountMin`: the table has ceil(log2(1/delta)) rows and e/epsilon columns.
    seed : int, SeedSequence or None
        Draws the hash functions; sketches merge only under the same seed.
    rounding : {"ceil", "floor"}
        How e/epsilon becomes the number of columns (Rivetti et al. 2015 print both 54 and 55 for
        epsilon = .05).

    Examples
    --------
    >>> from streamlb import CostSketch
    >>> sketch = CostSketch(epsilon=0.05, delta=0.1, seed=1)
    >>> sketch.update(["map", "reduce", "map"], [1.0, 8.0, 3.0])
    >>> sketch.estimate("map"), sketch.estimate(["reduce", "never seen"]).tolist()
    (2.0, [8.0, 4.0])

    Notes
    -----
    An estimate lies between the least and the greatest cost seen. Its expectation over the hash
    functions is in `streamlb.analysis.expected_cost_estimate`.

    References
    ----------
    N. Rivetti et al., "Proactive online scheduling for shuffle grouping in distributed stream
    processing systems", 2015.
    """

    __slots__ = ("_family", "cost", "delta", "epsilon", "frequency", "rounding", "seed")
    _VERSION = 1

    def __init__(self, epsilon: float = 0.05, delta: float = 0.1, seed: Any = 0, rounding: str = "ceil"):
        shape = sketch_shape(epsilon, delta, rounding)
        self.epsilon, self.delta, self.rounding = float(epsilon), float(delta), rounding
        self.seed = _check.seed_value(seed)
        self._family = sketch_family(shape[0], self.seed)
        self.frequency = np.zeros(shape, np.int64)
        self.cost = np.zeros(shape, np.float64)

    @property
    def rows(self) -> int:
        """The number of hash functions."""
        return self.frequency.shape[0]

    @property
    def columns(self) -> int:
        """The number of cells of each hash function."""
        return self.frequency.shape[1]

    @property
    def messages(self) -> int:
        """How many messages were seen."""
        return int(self.frequency[0].sum())

    @property
    def mean(self) -> float:
        """The mean cost of a message, 0 before the first."""
        messages = self.messages
        return float(self.cost[0].sum()) / messages if messages else 0.0

    def update(self, keys: Any, costs: Any) -> None:
        """Learn from executed messages.

        Parameters
        ----------
        keys : a key or many
            See `streamlb.key_array`.
        costs : float or array
            As many as keys, finite, zero or more.
        """
        batch, single = key_batch(keys)
        paid = _check.real_array("costs", [costs] if single else costs, batch.size)
        _update_many(batch, paid, self._family, self.frequency, self.cost, sketch_work(self.rows))

    def estimate(self, keys: Any, unseen: str = "mean") -> Any:
        """Return the estimated cost of one key (a float) or of many (float64[m]).

        Parameters
        ----------
        keys : a key or many
            See `streamlb.key_array`.
        unseen : {"mean", "zero"}
            What a key gets that no cell knows: the mean cost of all messages, or 0 as printed.
        """
        _check.choice("unseen", unseen, ("mean", "zero"))
        batch, single = key_batch(keys)
        out = np.empty(batch.size, np.float64)
        default = self.mean if unseen == "mean" else 0.0
        _estimate_many(batch, default, self._family, self.frequency, self.cost, out)
        return float(out[0]) if single else out

    def merge(self, other: CostSketch) -> None:
        """Add another sketch of the same shape and seed."""
        check_mergeable(self, other, ("epsilon", "delta", "seed", "rounding"))
        self.frequency += other.frequency
        self.cost += other.cost

    def reset(self) -> None:
        """Forget every message; the hash functions stay."""
        self.frequency[:] = 0
        self.cost[:] = 0

    def state(self) -> bytes:
        """Return parameters and tables as bytes, with a version and a checksum."""
        return _state.pack(
            "CostSketch", self._VERSION, self._parameters(), {"frequency": self.frequency, "cost": self.cost}
        )

    @classmethod
    def from_state(cls, data: bytes) -> CostSketch:
        """Return the sketch that `state` wrote."""
        parameters, arrays = _state.unpack(data, "CostSketch", cls._VERSION)
        sketch = cls(**parameters)
        _state.fill(sketch.frequency, arrays, "frequency")
        _state.fill(sketch.cost, arrays, "cost")
        return sketch

    def _parameters(self) -> dict[str, Any]:
        return {"epsilon": self.epsilon, "delta": self.delta, "seed": self.seed, "rounding": self.rounding}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CostSketch) and self.state() == other.state()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return (
            f"CostSketch(epsilon={self.epsilon:g}, delta={self.delta:g}, seed={self.seed}): "
            f"{self.rows} x {self.columns}, messages {self.messages}, mean cost {self.mean:g}"
        )
