"""Operator instances behind a scheduler (Rivetti et al. 2015, section V-B).

Each instance serves its tuples first come, first served. `simulate_operator` feeds a policy with
chunks of the stream and gathers what it measures.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from streamlb import _check
from streamlb.keys import key_array
from streamlb.rng import uniforms
from streamlb.simulation.operator.kernels import Stretch
from streamlb.simulation.operator.policies import POLICIES

ARRIVALS = ("constant", "poisson", "bursty")
_CHUNK = 1 << 16


@dataclass(frozen=True)
class OperatorResult:
    """What became of the tuples of `simulate_operator`.

    Times are in the unit of the costs. `mean`, `std`, `minimum` and `maximum` are of the completion
    times; `phases` lists the tuple at which POSG's scheduler was first seen in each successive
    phase; `first_run` is the tuple at which it first ran, None if never; `received` lists the tuple
    before which each instance's matrices came. `completion` and `assignment` are kept with
    ``keep=True``, `blocks` (least, mean and greatest of each block) with `block`.
    """

    policy: str
    instances: int
    tuples: int
    interval: float
    mean: float
    std: float
    minimum: float
    maximum: float
    late: int = 0
    first_run: int | None = None
    phases: list[tuple[int, str]] = field(default_factory=list)
    received: list[tuple[int, int]] = field(default_factory=list, repr=False)
    messages: dict[str, int] = field(default_factory=dict)
    blocks: Any = field(default=None, repr=False)
    completion: Any = field(default=None, repr=False)
    assignment: Any = field(default=None, repr=False)


def _arrival_chunks(arrivals: Any, m: int, interval: float, burst: int, seed: int, chunk: int) -> Iterator[np.ndarray]:
    """Yield the arrival times chunk by chunk; the same times whatever the chunk."""
    if not isinstance(arrivals, str):
        for start in range(0, m, chunk):
            yield arrivals[start : start + chunk]
        return
    last = 0.0
    ramp = np.arange(min(chunk, m), dtype=np.float64)
    for start in range(0, m, chunk):
        steps = ramp[: min(chunk, m - start)]
        if arrivals == "constant":
            yield (steps + start) * interval
        elif arrivals == "bursty":
            yield np.floor((steps + start) / burst) * (burst * interval)
        else:
            gaps = -np.log1p(-uniforms(seed, steps.size, start)) * interval
            gaps[0] += last
            times = np.cumsum(gaps)
            last = float(times[-1])
            yield times


def _speed_segments(speeds: Any, changes: Any, k: int, m: int) -> list[tuple[int, int, np.ndarray]]:
    """Return (first tuple, last tuple + 1, multipliers) of each stretch of constant speeds."""
    points = [(0, np.ones(k) if speeds is None else speeds), *(changes or ())]
    starts = [_check.integer("changes", start, 0, None) for start, _ in points]
    if starts != sorted(set(starts)):
        raise ValueError(f"changes must be at increasing tuples above 0, got {starts[1:]}")
    segments = []
    for (start, multipliers), end in zip(points, [*starts[1:], m]):
        factors = _check.real_array("speeds", multipliers)
        if factors.size != k or not (factors > 0).all():
            raise ValueError(f"speeds must be {k} multipliers above 0, got {multipliers!r}")
        if start < m:
            segments.append((start, min(end, m), factors))
    return segments


def simulate_operator(
    keys: Any,
    costs: Any,
    instances: Any,
    policy: str = "posg",
    overprovisioning: Any = 1.0,
    seed: Any = 0,
    *,
    arrivals: Any = "constant",
    burst: Any = 50,
    speeds: Any = None,
    changes: Sequence[tuple[int, Any]] | None = None,
    latency: Any = 0.0,
    control_latency: Any = 0.0,
    warmup: bool = True,
    every: Any = 10,
    deadline: Any = None,
    block: Any = None,
    keep: bool = False,
    **options: Any,
) -> OperatorResult:
    """Run a stream through k instances behind a policy and measure how long tuples stay.

    Parameters
    ----------
    keys : array-like
        The attribute of each tuple that drives its cost.
    costs : array-like of float
        The execution time of each tuple on an instance of speed 1.
    instances : int
        How many instances (k).
    policy : {"posg", "round_robin", "full_knowledge", "least_work", "one_column", "feedback"}
        Full knowledge is the ideal of the paper, greedy on cumulated true times; least work looks
        at true backlogs instead. One column is POSG that knows no content. Feedback has no sketch:
        instances report their clock every `every` completions.
    overprovisioning : float
        Capacity over load: the mean time between arrivals is mean(costs) / instances times this.
    seed : int, SeedSequence or None
        Of POSG's hash functions and of Poisson arrivals.
    arrivals : {"constant", "poisson", "bursty"} or array-like of float
        Evenly spaced, exponential gaps, `burst` tuples at once; or the times themselves, not
        decreasing.
    burst : int
        How many tuples come at once in a burst.
    speeds : array-like of float, optional
        By what each instance multiplies a cost; 1 by default.
    changes : sequence of (int, array-like), optional
        From which tuple on other multipliers hold.
    latency, control_latency : float
        Network time of a tuple to its instance, and of a message back to the scheduler.
    warmup : bool
        False starts POSG with matrices learnt beforehand from the same stream, so that no
        round-robin phase is measured.
    every : int
        Completions between two reports of the feedback policy.
    deadline : float, optional
        Count the tuples that stay longer (`late`).
    block : int, optional
        Give the least, mean and greatest completion time of each block of so many tuples.
    keep : bool
        Keep every tuple's completion time and instance.
    **options
        Of the policies "posg" and "one_column": those of `streamlb.POSG`. The others have none.

    Returns
    -------
    OperatorResult

    Examples
    --------
    >>> from streamlb import simulate_operator
    >>> tuples = {"keys": [0, 1, 0], "costs": [10.0, 1.0, 10.0], "arrivals": [0.0, 1.0, 2.0]}
    >>> result = simulate_operator(**tuples, instances=2, policy="round_robin", keep=True)
    >>> result.completion.tolist()
    [10.0, 1.0, 18.0]
    """
    keys = key_array(keys)
    costs = _check.real_array("costs", costs, keys.size)
    m, k = costs.size, _check.integer("instances", instances, 1, 2**31 - 1)
    if m == 0:
        raise ValueError("keys must hold at least one tuple, got none")
    kind = POLICIES[_check.choice("policy", policy, tuple(POLICIES))]
    _check_options(policy, kind.OPTIONS, options)
    over = _check.real("overprovisioning", overprovisioning, 0.0, low_open=True)
    seed = _check.seed_value(seed)
    network = _check.real("latency", latency, 0.0), _check.real("control_latency", control_latency, 0.0)
    deadline = np.inf if deadline is None else _check.real("deadline", deadline, 0.0)
    with np.errstate(over="ignore"):
        interval = float(costs.mean()) / k * over
    if not interval * m < np.inf:  # times that are not numbers would never come
        raise ValueError("costs must add up to a finite time, with overprovisioning, got a sum beyond the floats")
    if not isinstance(arrivals, str):
        arrivals = _check.real_array("arrivals", arrivals, m, None)
        if (np.diff(arrivals) < 0).any():
            raise ValueError(
                f"arrivals must not decrease, got a step back at {int(np.argmax(np.diff(arrivals) < 0)) + 1}"
            )
    else:
        _check.choice("arrivals", arrivals, ARRIVALS)
    burst = _check.integer("burst", burst, 1)
    block = None if block is None else _check.integer("block", block, 1)
    segments = _speed_segments(speeds, changes, k, m)
    state = kind(k, seed, _check.integer("every", every, 1), options)
    if not warmup:
        state.train(keys, costs, segments[0][2])

    chunk = _CHUNK if block is None else block * max(1, _CHUNK // block)
    out, chosen = np.empty(min(chunk, m)), np.empty(min(chunk, m) if keep else 0, np.int32)
    kept = (np.empty(m), np.empty(m, np.int32)) if keep else None
    blocks: list[np.ndarray] = []
    total = squares = 0.0
    low, high, late = np.inf, -np.inf, 0
    for start, times in zip(range(0, m, chunk), _arrival_chunks(arrivals, m, interval, burst, seed, chunk)):
        stop = start + times.size
        for begin, end, factors in segments:
            at, end = max(begin, start), min(end, stop)
            while at < end:
                part = slice(at - start, end - start)
                into = out[part], chosen[part] if keep else chosen
                at += state.run(Stretch(at, keys[at:end], times[part], costs[at:end], factors, *network, *into))
        stays = out[: times.size]
        total += float(stays.sum())
        squares += float(np.einsum("i,i->", stays, stays))  # np.dot would start threads
        low, high = min(low, float(stays.min())), max(high, float(stays.max()))
        if deadline < np.inf:
            late += int((stays > deadline).sum())
        if kept is not None:
            kept[0][start:stop], kept[1][start:stop] = stays, chosen[: times.size]
        if block is not None:
            blocks.append(_block_statistics(stays, block))
    mean = total / m
    return OperatorResult(
        policy, k, m, interval, mean, max(0.0, squares / m - mean * mean) ** 0.5, low, high, late,
        **state.report(),
        blocks=np.concatenate(blocks) if blocks else None,
        completion=None if kept is None else kept[0],
        assignment=None if kept is None else kept[1],
    )  # fmt: skip


def _check_options(policy: str, taken: tuple[str, ...], options: dict[str, Any]) -> None:
    """Refuse an option that this policy does not take, and say what can be given."""
    unknown = [name for name in options if name not in taken]
    if unknown:
        own = ", ".join(name for name in inspect.signature(simulate_operator).parameters if name != "options")
        more = f"policy {policy!r} takes {', '.join(taken)}" if taken else f"policy {policy!r} takes no options"
        raise TypeError(f"simulate_operator got an unexpected keyword argument {unknown[0]!r}; it takes {own}; {more}")


def _block_statistics(stays: np.ndarray, block: int) -> np.ndarray:
    """Return float64[blocks, 3]: least, mean and greatest of each block, the last maybe short."""
    cuts = np.arange(0, stays.size, block)
    sizes = np.diff(np.r_[cuts, stays.size])
    return np.stack(
        [np.minimum.reduceat(stays, cuts), np.add.reduceat(stays, cuts) / sizes, np.maximum.reduceat(stays, cuts)],
        axis=1,
    )
