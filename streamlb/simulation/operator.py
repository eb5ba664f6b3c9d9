"""k operator instances behind a scheduler, each with a first-come-first-served queue (paper 000, section V-B).

An instance's future depends on nothing but the tuples it was given, in order, so all that a tuple will cause there
(when it completes, what the instance learns, what it replies) is computed when the tuple is assigned, and messages
wait for their due time in a small post box: no event queue. State: free float64[k], when each instance has done all
it was given; the arrays of `learner` and `protocol`; for the box, due float64[slots] (infinite: free), notes
float64[slots, 3], tags int64[slots, 4], and one pair of matrices a slot.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from streamlb import _check
from streamlb._jit import njit
from streamlb.hashing import sketch_family
from streamlb.keys import key_array
from streamlb.rng import uniforms
from streamlb.scheduling.learner import (
    BUSY,
    add_execution,
    copy_pair,
    end_of_window,
    find_columns,
    learn_execution,
    start_anew,
    take_snapshot,
    worth_sending,
)
from streamlb.scheduling.posg import count_messages
from streamlb.scheduling.protocol import (
    ASKED,
    ASSIGNED,
    BUSY_CLOCK,
    CARRIES,
    CLOCK,
    EVENT,
    FIRST_RUN,
    LAST,
    MATRICES,
    ON_CHANGE,
    PHASE,
    PHASES,
    PRINTED,
    ROUND_ROBIN,
    SENT_TO,
    WINDOW,
    Rules,
    accept_matrices,
    accept_reply,
    charge,
    choose_instance,
)

_REPLY, _MATRICES = 0, 1
_RECEIVED = 10


@njit(cache=True, nogil=True)
def _run_round_robin(arrivals, costs, speeds, delay, turn, free, out, chosen):
    """Send the tuples in turn; return whose turn is next."""
    k = free.size
    i = turn
    for t in range(costs.size):
        start = arrivals[t] + delay
        if free[i] > start:
            start = free[i]
        finish = start + costs[t] * speeds[i]
        free[i] = finish
        out[t] = finish - arrivals[t]
        if chosen.size > 0:
            chosen[t] = i
        i += 1
        if i == k:
            i = 0
    return i


@njit(cache=True, nogil=True)
def _run_full_knowledge(arrivals, costs, speeds, delay, backlog, free, load, out, chosen):
    """Send each tuple to the least cumulated time (or, with `backlog`, to who is free first), all times being known."""
    k = free.size
    for t in range(costs.size):
        best = 0
        if backlog:
            least = max(free[0], arrivals[t] + delay)
            for i in range(1, k):
                level = max(free[i], arrivals[t] + delay)
                if level < least:
                    least = level
                    best = i
        else:
            least = load[0]
            for i in range(1, k):
                if load[i] < least:
                    least = load[i]
                    best = i
        cost = costs[t] * speeds[best]
        load[best] += cost
        free[best] = max(free[best], arrivals[t] + delay) + cost
        out[t] = free[best] - arrivals[t]
        if chosen.size > 0:
            chosen[t] = best


@njit(cache=True, nogil=True)
def _run_feedback(arrivals, costs, speeds, delay, control, every, first, free, known, done, queue, out, chosen):
    """Send each tuple to the least clock known, where instances report theirs every `every` completions.

    Round robin until each has reported; then the clock last reported plus the mean cost for every tuple it does not
    cover. known float64[4, k]: last reported clock, tuples it covers, mean cost, tuples sent; done float64[2, k]:
    tuples executed, busy time; queue float64[k, capacity, 4]: reports on their way (due, clock, tuples covered,
    busy), first int64[2, k]: the oldest and their number. Returns the tuples handled: fewer than all when a queue is
    full.
    """
    k = free.size
    capacity = queue.shape[1]
    for t in range(costs.size):
        now = arrivals[t]
        best, fewest = 0, 0
        least = np.inf
        silent = 0
        for i in range(k):
            while first[1, i] > 0 and queue[i, first[0, i], 0] <= now:
                at = first[0, i]
                known[0, i] = queue[i, at, 1]
                known[1, i] = queue[i, at, 2]
                known[2, i] = queue[i, at, 3] / queue[i, at, 2]
                first[0, i] = (first[0, i] + 1) % capacity
                first[1, i] -= 1
            silent += known[1, i] == 0.0
            if known[3, i] < known[3, fewest]:
                fewest = i
            level = known[0, i] + (known[3, i] - known[1, i]) * known[2, i]
            if level < least:
                least = level
                best = i
        if silent > 0:
            best = fewest
        if first[1, best] == capacity:
            return t
        cost = costs[t] * speeds[best]
        free[best] = max(free[best], now + delay) + cost
        known[3, best] += 1.0
        done[0, best] += 1.0
        done[1, best] += cost
        out[t] = free[best] - now
        if chosen.size > 0:
            chosen[t] = best
        if done[0, best] % every == 0.0:
            at = (first[0, best] + first[1, best]) % capacity
            queue[best, at, 0] = free[best] + control
            queue[best, at, 1] = free[best]
            queue[best, at, 2] = done[0, best]
            queue[best, at, 3] = done[1, best]
            first[1, best] += 1
    return costs.size


@njit(cache=True, nogil=True)
def _free_slot(due):
    for slot in range(due.size):
        if due[slot] == np.inf:
            return slot
    return -1


@njit(cache=True, nogil=True)
def _free_slots(due):
    count = 0
    for slot in range(due.size):
        count += due[slot] == np.inf
    return count


@njit(cache=True, nogil=True)
def _next_slot(due, tags):
    """Return the message that is due first; of equals the one posted first. -1 when there is none."""
    best = -1
    for slot in range(due.size):
        if due[slot] == np.inf:
            continue
        if best < 0 or due[slot] < due[best] or (due[slot] == due[best] and tags[slot, 3] < tags[best, 3]):
            best = slot
    return best


@njit(cache=True, nogil=True)
def _deliver(slot, due, notes, tags, boxF, boxW, F, W, clocks, marks, regs):
    due[slot] = np.inf
    i = tags[slot, 1]
    if tags[slot, 0] == _MATRICES:
        accept_matrices(i, slot, boxF, boxW, F, W, clocks, marks, regs)
    else:
        accept_reply(i, tags[slot, 2], notes[slot, 0], notes[slot, 1], notes[slot, 2], clocks, marks, regs)


@njit(cache=True, nogil=True)
def _run_quietly(
    first, coming, keys, arrivals, costs, speeds, delay, family, at, free, lF, lW, counts, values, F, W, clocks, marks, regs,
    out, chosen,
):  # fmt: skip
    """Handle tuples until a message is due or one is to be posted (EVENT: by instance LAST); return the next tuple's number.

    What is rare stays outside: inlined here it would slow every tuple threefold.
    """
    columns, window = F.shape[2], regs[WINDOW]
    phase = regs[PHASE]
    regs[EVENT] = 0
    for t in range(first, costs.size):
        now = arrivals[t]
        if coming <= now:
            return t
        find_columns(np.int64(keys[t]), family, columns, at)
        i = choose_instance(now, clocks, marks, regs)
        marks[SENT_TO, i] += 1
        if regs[PHASE] != ROUND_ROBIN:
            charge(at, i, now, F, W, clocks, regs)
        cost = costs[t] * speeds[i]
        finish = max(free[i], now + delay) + cost
        free[i] = finish
        out[t] = finish - now
        if chosen.size > 0:
            chosen[t] = i
        ends = add_execution(at, cost, i, lF, lW, counts, values, window)
        if ends or regs[CARRIES] == 1 or regs[PHASE] != phase:
            regs[LAST] = i
            regs[EVENT] = 2 if ends else 1
            return t + 1
    return costs.size


@njit(cache=True, nogil=True)
def _post(kind, i, number, when, due, tags):
    """Put a message into the box and return its slot."""
    slot = _free_slot(due)
    due[slot] = when
    tags[slot, 0] = kind
    tags[slot, 1] = i
    tags[slot, 3] = number
    return slot


@njit(cache=True, nogil=True)
def _note(t, what, log):
    log[0, 0] += 1
    log[log[0, 0], 0] = t
    log[log[0, 0], 1] = what


@njit(cache=True, nogil=True)
def _note_phase(t, log, regs):
    if regs[PHASE] != log[0, 1]:
        log[0, 1] = regs[PHASE]
        _note(t, regs[PHASE], log)


@njit(cache=True, nogil=True)
def _run_posg(
    keys, arrivals, costs, speeds, delay, control, tolerance, offset, family, at, free,
    lF, lW, snapshot, counts, values, sent, F, W, clocks, marks, regs,
    due, notes, tags, boxF, boxW, log, out, chosen,
):  # fmt: skip
    """Run the protocol over the tuples. Returns the tuples handled: fewer than all when the box or the log is full.

    log int64[entries, 2]: the tuple, and the scheduler's new phase or _RECEIVED + the instance whose matrices came;
    entry 0 holds their number and the last phase.
    """
    t = np.int64(0)
    while t < costs.size:
        slot = _next_slot(due, tags)
        while slot >= 0 and due[slot] <= arrivals[t]:
            _deliver(slot, due, notes, tags, boxF, boxW, F, W, clocks, marks, regs)
            if tags[slot, 0] == _MATRICES:
                _note(offset + t, _RECEIVED + tags[slot, 1], log)
            slot = _next_slot(due, tags)
        if _free_slots(due) < 2 or log[0, 0] + due.size + 3 > log.shape[0]:
            return t
        _note_phase(offset + t, log, regs)
        coming = due[slot] if slot >= 0 else np.inf
        t = _run_quietly(
            t, coming, keys, arrivals, costs, speeds, delay, family, at, free, lF, lW, counts, values, F, W, clocks, marks, regs,
            out, chosen,
        )  # fmt: skip
        if regs[EVENT] == 0:
            continue
        i = regs[LAST]
        _note_phase(offset + t - 1, log, regs)
        if regs[CARRIES] == 1:
            slot = _post(np.int64(_REPLY), i, 2 * (offset + t), free[i] + control, due, tags)
            tags[slot, 2] = marks[ASKED, i]
            notes[slot, 0] = values[i, BUSY] if regs[BUSY_CLOCK] == 1 else free[i]
            notes[slot, 1] = clocks[CLOCK, i]
            notes[slot, 2] = clocks[ASSIGNED, i]
        if regs[EVENT] == 2 and end_of_window(i, lF, lW, snapshot, counts, values, tolerance, regs[PRINTED] == 1):
            if regs[ON_CHANGE] == 0 or worth_sending(i, lF, lW, sent, tolerance):
                slot = _post(np.int64(_MATRICES), i, 2 * (offset + t) + 1, free[i] + control, due, tags)
                copy_pair(i, lF, lW, slot, boxF, boxW)
            start_anew(i, lF, lW, counts)
    return costs.size


@njit(cache=True, nogil=True)
def _train(
    keys, costs, speeds, tolerance, family, at, lF, lW, snapshot, counts, values, sent, F, W, clocks, marks, regs
):
    """Let the instances learn from the tuples round robin, outside of time, until each has sent its matrices once.

    The scheduler gets what was sent or, from an instance that never was stable, what it has in the end; the learners
    start anew.
    """
    k = counts.shape[0]
    window, printed = regs[WINDOW], regs[PRINTED] == 1
    missing = k
    for t in range(keys.size):
        i = t % k
        if counts[i, 3] > 0:
            continue
        find_columns(np.int64(keys[t]), family, F.shape[2], at)
        if learn_execution(at, costs[t] * speeds[i], i, lF, lW, snapshot, counts, values, window, tolerance, printed):
            take_snapshot(i, lF, lW, sent)
            accept_matrices(i, i, lF, lW, F, W, clocks, marks, regs)
            start_anew(i, lF, lW, counts)
            missing -= 1
            if missing == 0:
                break
    for i in range(k):
        if counts[i, 3] == 0:
            take_snapshot(i, lF, lW, sent)
            accept_matrices(i, i, lF, lW, F, W, clocks, marks, regs)
            start_anew(i, lF, lW, counts)
        values[i, BUSY] = 0.0
        counts[i, 3] = 0


POLICIES = ("posg", "round_robin", "full_knowledge", "least_work", "one_column", "feedback")
ARRIVALS = ("constant", "poisson", "bursty")
_CHUNK = 1 << 16


@dataclass(frozen=True)
class OperatorResult:
    """What became of the tuples of `simulate_operator`.

    Times are in the unit of the costs. `mean`, `std`, `minimum` and `maximum` are of the completion times; `phases`
    lists the tuple at which POSG's scheduler was first seen in each successive phase; `first_run` is the tuple at
    which it first ran, None if never; `received` lists the tuple before which each instance's matrices came.
    `completion` and `assignment` are kept with ``keep=True``, `blocks` (least,
    mean and greatest of each block) with `block`.
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


class _Policy:
    """The state of one policy between two calls of its kernel."""

    def __init__(self, name: str, k: int, every: int, options: dict[str, Any], seed: int):
        self.name, self.k, self.every = name, k, every
        self.free = np.zeros(k)
        self.messages = 0
        if name in ("posg", "one_column"):
            if name == "one_column":
                options = {"delta": 0.5, **options, "columns": 1}
            self.rules = Rules(k, seed=seed, **options)
            self.family = sketch_family(self.rules.rows, self.rules.seed)
            self.at = np.zeros(self.rules.rows, np.int64)
            self.learners = tuple(self.rules.learners().values())
            self.scheduler = tuple(self.rules.scheduler().values())
            self.log = np.zeros((64 + 8 * k, 2), np.int64)
            self._make_box(16 + 4 * k)
        elif options:
            raise TypeError(f"policy {name!r} takes no option {next(iter(options))!r}")
        if name == "round_robin":
            self.turn = 0
        if name in ("full_knowledge", "least_work"):
            self.load = np.zeros(k)
        if name == "feedback":
            self.known, self.done = np.zeros((4, k)), np.zeros((2, k))
            self.first, self.queue = np.zeros((2, k), np.int64), np.zeros((k, 64, 4))

    def _make_box(self, slots: int) -> None:
        shape = (slots, self.rules.rows, self.rules.columns)
        self.box = (
            np.full(slots, np.inf), np.zeros((slots, 3)), np.zeros((slots, 4), np.int64), np.zeros(shape, np.int64), np.zeros(shape)
        )  # fmt: skip

    def train(self, keys: np.ndarray, costs: np.ndarray, speeds: np.ndarray) -> None:
        if self.name in ("posg", "one_column"):
            _train(keys, costs, speeds, self.rules.tolerance, self.family, self.at, *self.learners, *self.scheduler)
            self.scheduler[4][MATRICES] = 0

    def run(
        self, offset: int, keys: Any, arrivals: Any, costs: Any, speeds: Any, network: Any, out: Any, chosen: Any
    ) -> int:
        """Handle tuples and return how many; fewer than given only after making room for the rest."""
        delay, control = network
        if self.name == "round_robin":
            self.turn = _run_round_robin(arrivals, costs, speeds, delay, self.turn, self.free, out, chosen)
        elif self.name in ("full_knowledge", "least_work"):
            backlog = self.name == "least_work"
            _run_full_knowledge(arrivals, costs, speeds, delay, backlog, self.free, self.load, out, chosen)
        elif self.name == "feedback":
            state = self.first, self.free, self.known, self.done, self.queue
            done = _run_feedback(arrivals, costs, speeds, delay, control, self.every, *state, out, chosen)
            if done < costs.size:
                self._widen_queue()
            return done
        else:
            done = _run_posg(
                keys, arrivals, costs, speeds, delay, control, self.rules.tolerance, offset, self.family, self.at, self.free,
                *self.learners, *self.scheduler, *self.box, self.log, out, chosen,
            )  # fmt: skip
            if done < costs.size:
                self._make_room()
            return done
        return costs.size

    def _widen_queue(self) -> None:
        k, capacity, width = self.queue.shape
        wider = np.zeros((k, 2 * capacity, width))
        for i in range(k):
            wider[i, :capacity] = np.roll(self.queue[i], -self.first[0, i], axis=0)
        self.first[0] = 0
        self.queue = wider

    def _make_room(self) -> None:
        old, slots = self.box, self.box[0].size
        self._make_box(2 * slots)
        for wide, narrow in zip(self.box, old):
            wide[:slots] = narrow
        self.log = np.concatenate([self.log, np.zeros_like(self.log)])

    def report(self) -> dict[str, Any]:
        """Return the fields of `OperatorResult` that only this policy can fill."""
        if self.name == "feedback":
            return {"messages": {"reports": int((self.done[0] // self.every).sum())}}
        if self.name not in ("posg", "one_column"):
            return {}
        regs = self.scheduler[4]
        notes = self.log[1 : 1 + self.log[0, 0]].tolist()
        return {
            "first_run": int(regs[FIRST_RUN]) if regs[FIRST_RUN] >= 0 else None,
            "phases": [(0, PHASES[ROUND_ROBIN]), *((t, PHASES[what]) for t, what in notes if what < _RECEIVED)],
            "received": [(t, what - _RECEIVED) for t, what in notes if what >= _RECEIVED],
            "messages": count_messages(regs, self.rules),
        }


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
        Full knowledge is the paper's ideal, greedy on cumulated true times; least work looks at true backlogs
        instead. One column is POSG that knows no content. Feedback has no sketch: instances report their clock every
        `every` completions.
    overprovisioning : float
        Capacity over load: the mean time between arrivals is mean(costs) / instances times this.
    seed : int, SeedSequence or None
        Of POSG's hash functions and of Poisson arrivals.
    arrivals : {"constant", "poisson", "bursty"} or array-like of float
        Evenly spaced, exponential gaps, `burst` tuples at once; or the times themselves, not decreasing.
    burst : int
        Tuples a burst.
    speeds : array-like of float, optional
        By what each instance multiplies a cost; 1 by default.
    changes : sequence of (int, array-like), optional
        From which tuple on other multipliers hold.
    latency, control_latency : float
        Network time of a tuple to its instance, and of a message back to the scheduler.
    warmup : bool
        False starts POSG with matrices learnt beforehand from the same stream, so that no round-robin phase is
        measured.
    every : int
        Completions between two reports of the feedback policy.
    deadline : float, optional
        Count the tuples that stay longer (`late`).
    block : int, optional
        Give the least, mean and greatest completion time of each so many tuples.
    keep : bool
        Keep every tuple's completion time and instance.
    **options
        Of POSG: window, tolerance, epsilon, delta, columns, rounding, stability, clock, idle, ties, unseen,
        synchronise, resync, timeout,
        resend.

    Returns
    -------
    OperatorResult

    Examples
    --------
    >>> from streamlb import simulate_operator
    >>> simulate_operator([0, 1, 0], [10.0, 1.0, 10.0], 2, "round_robin", arrivals=[0.0, 1.0, 2.0], keep=True).completion.tolist()
    [10.0, 1.0, 18.0]
    """
    keys = key_array(keys)
    costs = _check.real_array("costs", costs, keys.size)
    m, k = costs.size, _check.integer("instances", instances, 1, 2**31 - 1)
    if m == 0:
        raise ValueError("keys must hold at least one tuple, got none")
    _check.choice("policy", policy, POLICIES)
    over = _check.real("overprovisioning", overprovisioning, 0.0, low_open=True)
    seed = _check.seed_value(seed)
    network = _check.real("latency", latency, 0.0), _check.real("control_latency", control_latency, 0.0)
    deadline = np.inf if deadline is None else _check.real("deadline", deadline, 0.0)
    interval = float(costs.mean()) / k * over
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
    state = _Policy(policy, k, _check.integer("every", every, 1), options, seed)
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
                at += state.run(at, keys[at:end], times[part], costs[at:end], factors, network, *into)
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


def _block_statistics(stays: np.ndarray, block: int) -> np.ndarray:
    """Return float64[blocks, 3]: least, mean and greatest of each block; the last may be shorter."""
    cuts = np.arange(0, stays.size, block)
    sizes = np.diff(np.r_[cuts, stays.size])
    return np.stack(
        [np.minimum.reduceat(stays, cuts), np.add.reduceat(stays, cuts) / sizes, np.maximum.reduceat(stays, cuts)],
        axis=1,
    )
