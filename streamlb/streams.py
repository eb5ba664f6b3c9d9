"""Streams of keys, drawn by (seed, index): the same in any chunks, whoever draws which part.

A stream over `keys` distinct keys gives them as uint64 0, 1, ..., key 0 the most frequent at the
start. `draw` gives an array, `chunks` an iterator of arrays in constant memory; `start` moves to
any message at no cost. Drawing takes one look-up in an alias table (see `streamlb.rng`), whatever
the distribution.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from streamlb import _check
from streamlb._jit import njit
from streamlb.hashing import derive
from streamlb.rng import alias_column, alias_entry, alias_table, permutation, random_bits

CHUNK = 32_768
# How many messages are drawn at a time: they take half of the nearest cache, the table the rest.
_BLOCK = 1024

_S32 = np.uint64(32)
_LOW32 = np.uint64(0xFFFFFFFF)


@njit(cache=True, nogil=True)
def _draw_alias(seed, start, table, out):
    # Arithmetic first and look-ups after it: the first loop then runs on the vector units.
    n = np.uint64(table.size)
    for at in range(0, out.size, _BLOCK):
        part, first = out[at : at + _BLOCK], np.uint64(start + at)
        for i in range(np.uint64(part.size)):
            part[i] = alias_column(random_bits(seed, first + i), n)
        for i in range(np.uint64(part.size)):
            part[i] = alias_entry(part[i], table)


@njit(cache=True, nogil=True)
def _draw_uniform(seed, start, keys, out):
    n, first = np.uint64(keys), np.uint64(start)
    for i in range(np.uint64(out.size)):
        bits = random_bits(seed, first + i)
        out[i] = ((bits >> _S32) * n + (((bits & _LOW32) * n) >> _S32)) >> _S32


class Stream:
    """Base of all streams, with what every one of them offers.

    Attributes
    ----------
    keys : int
        How many distinct keys there can be.
    messages : int or None
        The stream's own length, where it has one: what `draw` and `chunks` give when not told how
        many.
    """

    keys: int
    messages: int | None = None

    def draw(self, m: int | None = None, seed: Any = 0, start: int = 0) -> np.ndarray:
        """Return messages start .. start+m-1 as uint64[m].

        Parameters
        ----------
        m : int, optional
            How many; the rest of a stream that has a length of its own.
        seed : int, SeedSequence or None
            Another seed is another stream.
        start : int
            The index of the first message.
        """
        m, start = self._span(m, start)
        out = np.empty(m, np.uint64)
        self._fill(_check.seed_value(seed), start, out)
        return out

    def chunks(self, m: int | None = None, seed: Any = 0, size: int = CHUNK, start: int = 0) -> Iterator[np.ndarray]:
        """Yield what `draw` gives in arrays of `size` messages, in constant memory."""
        m, start = self._span(m, start)
        size = _check.integer("size", size, 1)
        value = _check.seed_value(seed)

        def generate() -> Iterator[np.ndarray]:
            for first in range(start, start + m, size):
                out = np.empty(min(size, start + m - first), np.uint64)
                self._fill(value, first, out)
                yield out

        return generate()

    @property
    def pmf(self) -> np.ndarray:
        """The probability of each key, float64[keys]."""
        raise NotImplementedError

    def pmf_at(self, index: int) -> np.ndarray:
        """Return the probability of each key for message `index`; it may change on the way."""
        _check.integer("index", index, 0)
        return self.pmf

    def _fill(self, seed: int, start: int, out: np.ndarray) -> None:
        raise NotImplementedError

    def _span(self, m: int | None, start: int) -> tuple[int, int]:
        start = _check.integer("start", start, 0)
        if m is not None:
            return _check.integer("m", m, 0), start
        if self.messages is None:
            raise TypeError("m must be given: this stream has no length of its own")
        return max(0, self.messages - start), start


class Zipf(Stream):
    """Keys whose frequency falls as a power of their rank: p(k) goes with (k + 1) ** -exponent.

    Parameters
    ----------
    keys : int
        How many distinct keys.
    exponent : float
        The skew, zero (uniform) or more.
    messages : int, optional
        The stream's own length.

    Examples
    --------
    >>> from streamlb import Zipf
    >>> stream = Zipf(keys=1000, exponent=1.4)
    >>> stream.draw(5, seed=1).dtype, round(float(stream.pmf[0]), 3)
    (dtype('uint64'), 0.339)
    >>> sum(chunk.size for chunk in stream.chunks(100_000, seed=1))
    100000
    """

    def __init__(self, keys: int, exponent: float, messages: int | None = None):
        self.keys = _check.integer("keys", keys, 1, 2**32 - 1)
        self.exponent = _check.real("exponent", exponent, 0)
        self.messages = None if messages is None else _check.integer("messages", messages, 0)
        self._table: np.ndarray | None = None

    @classmethod
    def from_top_share(cls, keys: int, share: float, messages: int | None = None) -> Zipf:
        """Return the Zipf stream whose most frequent key has the given share.

        Parameters
        ----------
        keys : int
            How many distinct keys.
        share : float
            The probability of key 0, in [1/keys, 1).
        messages : int, optional
            The stream's own length.

        Examples
        --------
        >>> from streamlb import Zipf
        >>> round(float(Zipf.from_top_share(2_900, 0.0329).pmf[0]), 4)
        0.0329
        """
        keys = _check.integer("keys", keys, 2, 2**32 - 1)
        share = _check.real("share", share, 1 / keys, 1, high_open=True)
        low, high = 0.0, 64.0
        for _ in range(60):  # the interval is below a double's resolution by then
            middle = (low + high) / 2
            low, high = (middle, high) if share * _zipf_sum(keys, middle) > 1 else (low, middle)
        return cls(keys, (low + high) / 2, messages)

    @property
    def pmf(self) -> np.ndarray:
        """The probability of each key, float64[keys], most frequent first."""
        weights = np.arange(1, self.keys + 1, dtype=np.float64) ** -self.exponent
        weights /= weights.sum()
        return weights

    def distinct(self, m: int | None = None) -> float:
        """Return how many different keys m messages have on average.

        Parameters
        ----------
        m : int, optional
            How many messages; the stream's own length.

        Examples
        --------
        >>> from streamlb import Zipf
        >>> round(Zipf(1000, 1.0).distinct(1000))
        334
        """
        m, _ = self._span(m, 0)
        scale = m / _zipf_sum(self.keys, self.exponent)
        split = min(self.keys, 1000)
        head = float(-np.expm1(-scale * np.arange(1, split + 1, dtype=np.float64) ** -self.exponent).sum())
        if split == self.keys:
            return head
        # The tail by trapezoids between ranks of a constant ratio, and half a step at both ends.
        ranks = np.geomspace(split, self.keys, 20_001)
        chances = -np.expm1(-scale * ranks**-self.exponent)
        area = float(((chances[1:] + chances[:-1]) * np.diff(ranks)).sum()) / 2
        return head + area + float(chances[-1] - chances[0]) / 2

    def _fill(self, seed: int, start: int, out: np.ndarray) -> None:
        if self._table is None:
            self._table = alias_table(self.pmf)
        _draw_alias(derive(seed, 1)[0], start, self._table, out)

    def __repr__(self) -> str:
        return f"Zipf(keys={self.keys}, exponent={self.exponent:g})"

    def __getstate__(self) -> dict[str, Any]:
        # Tables do not travel: they follow from the parameters.
        return {**self.__dict__, "_table": None}


class Uniform(Stream):
    """Keys that are all equally frequent.

    Parameters
    ----------
    keys : int
        How many distinct keys.
    messages : int, optional
        The stream's own length.

    Examples
    --------
    >>> from streamlb import Uniform
    >>> bool(Uniform(10).draw(1000, seed=3).max() < 10)
    True
    """

    def __init__(self, keys: int, messages: int | None = None):
        self.keys = _check.integer("keys", keys, 1, 2**32 - 1)
        self.messages = None if messages is None else _check.integer("messages", messages, 0)

    @property
    def pmf(self) -> np.ndarray:
        """The probability of each key, float64[keys]."""
        return np.full(self.keys, 1 / self.keys)

    def _fill(self, seed: int, start: int, out: np.ndarray) -> None:
        _draw_uniform(derive(seed, 1)[0], start, self.keys, out)

    def __repr__(self) -> str:
        return f"Uniform(keys={self.keys})"


class Drifting(Stream):
    """A stream whose ranks are dealt out anew at given points, from which other keys are hot.

    Parameters
    ----------
    base : Stream
        The distribution of ranks.
    points : sequence of int
        The message indices, ascending and above 0, from which another permutation of the keys
        holds. Before the first, keys are ranks.
    seed : int, SeedSequence or None
        Draws the permutations.
    returning : int, optional
        After every so many points keys are ranks again, as at the start: 2 means every second
        part. They never are by default.

    Examples
    --------
    >>> from streamlb import Drifting, Zipf
    >>> stream = Drifting(Zipf(100, 2.0), points=[1000], seed=4)
    >>> keys = stream.draw(2000, seed=1)
    >>> int((keys[:1000] == 0).sum()) > 500 > int((keys[1000:] == 0).sum())
    True
    """

    def __init__(self, base: Stream, points: Sequence[int], seed: Any = 0, returning: int | None = None):
        if not isinstance(base, Stream):
            raise TypeError(f"base must be a Stream, got {base!r} of type {type(base).__name__}")
        self.base = base
        self.keys = base.keys
        self.messages = base.messages
        if not isinstance(points, Iterable):
            raise TypeError(f"points must be a sequence of whole numbers, got {points!r}")
        self.points = [_check.integer("points", point, 1) for point in points]
        if any(a >= b for a, b in zip(self.points, self.points[1:])):
            raise ValueError(f"points must ascend, got {list(points)}")
        self.seed = _check.seed_value(seed)
        self.returning = None if returning is None else _check.integer("returning", returning, 1)
        self._permutation: tuple[int, np.ndarray] = (-1, np.empty(0, np.int64))

    @property
    def pmf(self) -> np.ndarray:
        """The probability of each key before the first point."""
        return self.base.pmf

    def pmf_at(self, index: int) -> np.ndarray:
        """Return the probability of each key for message `index`."""
        segment = self._segment(_check.integer("index", index, 0))
        pmf = np.empty(self.keys)
        pmf[self._dealt(segment)] = self.base.pmf_at(index)
        return pmf

    def _segment(self, index: int) -> int:
        """Return the number of the part that a message belongs to; 0 where keys are ranks."""
        segment = self._part(index)
        return 0 if self.returning is not None and segment % self.returning == 0 else segment

    def _part(self, index: int) -> int:
        return int(np.searchsorted(self.points, index, side="right"))

    def _dealt(self, segment: int) -> np.ndarray:
        """Return the key of each rank in a segment."""
        if segment == 0:
            return np.arange(self.keys)
        if self._permutation[0] != segment:
            self._permutation = (segment, permutation(int(derive(self.seed, segment)[-1]), self.keys))
        return self._permutation[1]

    def _fill(self, seed: int, start: int, out: np.ndarray) -> None:
        self.base._fill(seed, start, out)
        at = 0
        while at < out.size:
            part, segment = self._part(start + at), self._segment(start + at)
            end = out.size if part == len(self.points) else min(out.size, self.points[part] - start)
            if segment:
                out[at:end] = self._dealt(segment)[out[at:end].astype(np.int64)]
            at = end

    def __repr__(self) -> str:
        return f"Drifting({self.base!r}, {len(self.points)} points)"


@dataclass(frozen=True)
class Phase:
    """A part of a `Phased` stream: distribution, messages, and how many come per unit of time."""

    stream: Stream
    messages: int
    rate: float = 1.0


def _phase(value: Any) -> Phase:
    if isinstance(value, Phase):
        return value
    if not isinstance(value, (tuple, list)) or len(value) not in (2, 3):
        raise TypeError(f"phases must be Phase or (stream, messages, rate) tuples, got {value!r}")
    return Phase(*value)


class Phased(Stream):
    """Phases one after the other, each with its distribution and rate; the last goes on for ever.

    Parameters
    ----------
    phases : sequence of Phase or of (stream, messages, rate) tuples
        At least one.

    Examples
    --------
    >>> from streamlb import Phased, Uniform, Zipf
    >>> stream = Phased([(Uniform(10), 1000, 1.0), (Zipf(10, 3.0), 1000, 2.0)])
    >>> stream.messages, stream.arrivals(3, start=999).tolist()
    (2000, [999.0, 1000.0, 1000.5])
    """

    def __init__(self, phases: Sequence[Any]):
        self.phases = [_phase(phase) for phase in phases]
        if not self.phases:
            raise ValueError("phases must hold at least one phase, got none")
        for phase in self.phases:
            if not isinstance(phase.stream, Stream):
                raise TypeError(f"phases must hold streams, got {phase.stream!r} of type {type(phase.stream).__name__}")
            _check.integer("messages", phase.messages, 1)
            _check.real("rate", phase.rate, 0, low_open=True)
        self.keys = max(phase.stream.keys for phase in self.phases)
        self._starts = np.cumsum([0, *(phase.messages for phase in self.phases)])
        self.messages = int(self._starts[-1])

    @property
    def pmf(self) -> np.ndarray:
        """The probability of each key over all phases, each weighted by its length."""
        pmf = np.zeros(self.keys)
        for phase in self.phases:
            pmf[: phase.stream.keys] += phase.stream.pmf * (phase.messages / self._starts[-1])
        return pmf

    def pmf_at(self, index: int) -> np.ndarray:
        """Return the probability of each key for message `index`."""
        phase = self.phases[self.phase_at(index)].stream
        return np.pad(phase.pmf, (0, self.keys - phase.keys))

    def phase_at(self, index: int) -> int:
        """Return the number of the phase that message `index` belongs to."""
        index = _check.integer("index", index, 0)
        return min(int(np.searchsorted(self._starts, index, side="right")) - 1, len(self.phases) - 1)

    def arrivals(self, m: int, start: int = 0) -> np.ndarray:
        """Return when messages start .. start+m-1 arrive: message 0 at 0, then 1/rate apart."""
        gaps = np.array([1 / phase.rate for phase in self.phases])
        begin = np.concatenate([[0.0], np.cumsum(gaps * [phase.messages for phase in self.phases])])
        index = np.arange(start, start + m)
        phase = np.minimum(np.searchsorted(self._starts, index, side="right") - 1, gaps.size - 1)
        return begin[phase] + (index - self._starts[phase]) * gaps[phase]

    def _fill(self, seed: int, start: int, out: np.ndarray) -> None:
        at = 0
        while at < out.size:
            number = self.phase_at(start + at)
            last = number == len(self.phases) - 1
            end = out.size if last else min(out.size, int(self._starts[number + 1]) - start)
            # Each phase draws from a stream of its own, at its own index.
            own = int(derive(seed, number + 2)[-1])
            self.phases[number].stream._fill(own, start + at - int(self._starts[number]), out[at:end])
            at = end

    def __repr__(self) -> str:
        return f"Phased({len(self.phases)} phases, {self.messages} messages)"


def execution_times(
    keys: int, values: int = 64, low: float = 1.0, high: float = 64.0, spacing: str = "linear", seed: Any = 0
) -> np.ndarray:
    """Return an execution time for each key: `values` times, each given to as many keys at random.

    Parameters
    ----------
    keys : int
        How many keys.
    values : int
        How many distinct times.
    low, high : float
        The least and the greatest time, above zero.
    spacing : {"linear", "geometric"}
        Times at constant distance, or at a constant ratio.
    seed : int, SeedSequence or None
        Draws which key gets which time.

    Returns
    -------
    float64[keys]

    Examples
    --------
    >>> from streamlb import execution_times
    >>> times = execution_times(4096, values=64, low=1, high=64, seed=1)
    >>> float(times.mean()), len(set(times.tolist()))
    (32.5, 64)
    """
    keys = _check.integer("keys", keys, 1, _check.LENGTH)
    values = _check.integer("values", values, 1, _check.LENGTH)
    low = _check.real("low", low, 0, low_open=True)
    high = _check.real("high", high, low)
    _check.choice("spacing", spacing, ("linear", "geometric"))
    times = np.linspace(low, high, values) if spacing == "linear" else np.geomspace(low, high, values)
    out = np.empty(keys)
    out[permutation(_check.seed_value(seed), keys)] = times[np.arange(keys) % values]
    return out


def _zipf_sum(keys: int, exponent: float) -> float:
    """Return the sum of k ** -exponent for k = 1..keys, its tail by Euler and Maclaurin."""
    split = min(keys, 1000)
    head = float((np.arange(1, split + 1, dtype=np.float64) ** -exponent).sum())
    if split == keys:
        return head
    a, b = float(split), float(keys)
    area = np.log(b / a) if exponent == 1 else (b ** (1 - exponent) - a ** (1 - exponent)) / (1 - exponent)
    ends = (b**-exponent - a**-exponent) / 2
    slope = -exponent * (b ** (-exponent - 1) - a ** (-exponent - 1)) / 12
    return head + float(area + ends + slope)
