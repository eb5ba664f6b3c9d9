"""Operator instances behind a scheduler (Rivetti et al. 2015, section V-B).

Each instance serves its tuples first come, first served. `simulate_operator` feeds a policy with
chunks of the stream and gathers what it measures.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from streamlb import _check
from streamlb._options import bind_policy, checked, joined, shows, signature_of
from streamlb.rng import uniforms
from streamlb.simulation.operator.kernels import Stretch
from streamlb.simulation.operator.policies import POLICIES, Policy
from streamlb.simulation.tuples import TupleOptions

ARRIVALS = ("constant", "poisson", "bursty")
_CHUNK = 1 << 16


@dataclass(frozen=True)
class OperatorResult:
    """What became of the tuples of `simulate_operator`; times are in the unit of the costs.

    Parameters
    ----------
    policy : str
        Who chose the instances.
    instances, tuples : int
        How many there were.
    interval : float
        The mean time between arrivals.
    mean, std, minimum, maximum : float
        Of the completion times.
    late : int
        The tuples that stayed longer than `deadline`.
    first_run : int or None
        The tuple at which POSG's scheduler first ran, None if never.
    phases : list of (int, str)
        The tuple at which POSG's scheduler was first seen in each successive phase.
    received : list of (int, int)
        The tuple before which an instance's matrices came, and the instance.
    messages : dict
        Those that arrived, by kind as the live scheduler counts them, and apart from them what is
        still under way when the last tuple arrives; the bytes are of all that was sent.
    blocks : float64[blocks, 3] or None
        Least, mean and greatest completion time of each block, with `block`.
    completion, assignment : array or None
        Every tuple's completion time and instance, with ``keep=True``.
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


@dataclass(frozen=True, eq=False, kw_only=True)
class OperatorRunOptions(TupleOptions):
    """Hold what `simulate_operator` takes with every policy, and check it."""

    instances: Any
    policy: Any = "posg"
    overprovisioning: Any = 1.0
    seed: Any = 0
    arrivals: Any = "constant"
    burst: Any = 50
    speeds: Any = None
    changes: Any = None
    latency: Any = 0.0
    control_latency: Any = 0.0
    deadline: Any = None
    block: Any = None
    keep: Any = False

    def __post_init__(self):
        super().__post_init__()
        checked(
            self,
            instances=_check.integer("instances", self.instances, 1, 2**31 - 1),
            overprovisioning=_check.real("overprovisioning", self.overprovisioning, 0.0, low_open=True),
            seed=_check.seed_value(self.seed),
            burst=_check.integer("burst", self.burst, 1, _check.MOST),
            latency=_check.real("latency", self.latency, 0.0),
            control_latency=_check.real("control_latency", self.control_latency, 0.0),
            deadline=np.inf if self.deadline is None else _check.real("deadline", self.deadline, 0.0),
            block=None if self.block is None else _check.integer("block", self.block, 1, _check.MOST),
            keep=_check.flag("keep", self.keep),
        )
        if self.keys.size == 0:
            raise ValueError("keys must hold at least one tuple, got none")
        # Times that are not numbers would never come.
        if not self.interval * self.keys.size < np.inf:
            raise ValueError("costs must add up to a finite time, with overprovisioning, got a sum beyond the floats")
        if isinstance(self.arrivals, str):
            _check.choice("arrivals", self.arrivals, ARRIVALS)
        else:
            checked(self, arrivals=_check.rising("arrivals", self.arrivals, self.keys.size, None))
        speeds = np.ones(self.instances) if self.speeds is None else self.speeds
        checked(self, speeds=self._multipliers("speeds", speeds), changes=self._checked_changes())

    @property
    def interval(self) -> float:
        """The mean time between two arrivals."""
        with np.errstate(over="ignore"):
            return float(self.costs.mean()) / self.instances * self.overprovisioning

    def _checked_changes(self) -> list[tuple[int, np.ndarray]]:
        """Return from which tuple on other multipliers hold, and these."""
        changes = [
            (_check.integer("changes", start, 1), self._multipliers("changes", speeds))
            for start, speeds in _check.pairs("changes", self.changes, "a tuple's number and the speeds from there on")
        ]
        starts = [start for start, _ in changes]
        if starts != sorted(set(starts)):
            raise ValueError(f"changes must be at increasing tuples above 0, got {starts}")
        return changes

    def _multipliers(self, name: str, speeds: Any) -> np.ndarray:
        factors = _check.real_array(name, speeds)
        if factors.size != self.instances or not (factors > 0).all():
            raise ValueError(f"{name} must have {self.instances} multipliers above 0, got {speeds!r}")
        return factors

    def segments(self) -> list[tuple[int, int, np.ndarray]]:
        """Return (first tuple, last tuple + 1, multipliers) of each stretch of constant speeds."""
        m, points = self.keys.size, [(0, self.speeds), *self.changes]
        ends = [*(start for start, _ in self.changes), m]
        return [(start, min(end, m), speeds) for (start, speeds), end in zip(points, ends) if start < m]


def _policy_of(policy: Any) -> type[Policy]:
    return POLICIES[_check.choice("policy", policy, tuple(POLICIES))]


_SIGNATURE = joined(
    "keys costs instances policy overprovisioning seed",
    signature_of(OperatorRunOptions),
    *(policy.takes for policy in POLICIES.values()),
)


@shows(_SIGNATURE)
def simulate_operator(*args: Any, **kwargs: Any) -> OperatorResult:
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
    deadline : float, optional
        Count the tuples that stay longer (`late`).
    block : int, optional
        Give the least, mean and greatest completion time of each block of so many tuples.
    keep : bool
        Keep every tuple's completion time and instance.
    warmup : bool
        Of "posg" and "one_column": False starts with matrices learnt beforehand from the same
        stream, so that no round-robin phase is measured.
    window, tolerance, epsilon, delta, stability, rounding, columns, clock, resend, idle
        Of "posg": as for `streamlb.POSG`. "one_column" takes all but `epsilon`, `rounding` and
        `columns`, and its `delta` is 0.5 by default.
    ties, unseen, synchronise, resync, timeout
        Of "posg" and "one_column": as for `streamlb.POSG`.
    every : int
        Of "feedback": completions between two reports.

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
    name = "simulate_operator"
    options, policy, given = bind_policy(name, _SIGNATURE, OperatorRunOptions, _policy_of, args, kwargs)
    return _run(options, policy(options.instances, options.seed, given))


def _run(options: OperatorRunOptions, state: Policy) -> OperatorResult:
    keys, costs, arrivals, interval = options.keys, options.costs, options.arrivals, options.interval
    m, keep, block, segments = costs.size, options.keep, options.block, options.segments()
    network = options.latency, options.control_latency
    state.train(keys, costs, options.speeds)

    chunk = _CHUNK if block is None else block * max(1, _CHUNK // block)
    out, chosen = np.empty(min(chunk, m)), np.empty(min(chunk, m) if keep else 0, np.int32)
    kept = (np.empty(m), np.empty(m, np.int32)) if keep else None
    blocks: list[np.ndarray] = []
    total = squares = 0.0
    low, high, late = np.inf, -np.inf, 0
    arriving = _arrival_chunks(arrivals, m, interval, options.burst, options.seed, chunk)
    for start, times in zip(range(0, m, chunk), arriving):
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
        if options.deadline < np.inf:
            late += int((stays > options.deadline).sum())
        if kept is not None:
            kept[0][start:stop], kept[1][start:stop] = stays, chosen[: times.size]
        if block is not None:
            blocks.append(_block_statistics(stays, block))
    mean = total / m
    return OperatorResult(
        options.policy, options.instances, m, interval, mean, max(0.0, squares / m - mean * mean) ** 0.5, low, high, late,
        **state.report(),
        blocks=np.concatenate(blocks) if blocks else None,
        completion=None if kept is None else kept[0],
        assignment=None if kept is None else kept[1],
    )  # fmt: skip


def _block_statistics(stays: np.ndarray, block: int) -> np.ndarray:
    """Return float64[blocks, 3]: least, mean and greatest of each block, the last maybe short."""
    cuts = np.arange(0, stays.size, block)
    sizes = np.diff(np.r_[cuts, stays.size])
    return np.stack(
        [np.minimum.reduceat(stays, cuts), np.add.reduceat(stays, cuts) / sizes, np.maximum.reduceat(stays, cuts)],
        axis=1,
    )
