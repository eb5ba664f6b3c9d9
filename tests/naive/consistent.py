"""Twins of the groupings for unequal workers and of the slotted simulation of their queues."""

import math
from fractions import Fraction

from naive.core import candidate, derive, key_hash
from naive.ratios import fraction_of


def _full(load, sent, n, epsilon):
    """Return who is full, in exact fractions.

    A message of no weight before any other finds every worker free.
    """
    limit = (1 + fraction_of(epsilon)) * sent / n if sent else 1
    return [count >= limit for count in load]


def random_choices(keys, workers, sources=1, epsilon=0.01, max_probes=None, seed=0, weights=None):
    """Return (workers of the messages, loads by source, mean probes, most probes)."""
    if max_probes is None:
        max_probes = max(64, 8 * workers)
    load = [[0] * workers for _ in range(sources)]
    out, probes = [], []
    for i, key in enumerate(keys):
        mine, weight = load[i % sources], 1 if weights is None else weights[i]
        full = _full(mine, sum(mine) + weight, workers, epsilon)
        sequence = [candidate(key, seed, probe, workers) for probe in range(max_probes)]
        free = [probe for probe, worker in enumerate(sequence) if not full[worker]]
        if free:
            worker, looked = sequence[free[0]], free[0] + 1
        else:
            start = sequence[0]
            worker = min(range(workers), key=lambda w: (mine[w], (w - start) % workers))
            looked = max_probes
        mine[worker] += weight
        out.append(worker)
        probes.append(looked)
    return out, load, sum(probes) / max(1, len(probes)), max(probes, default=0)


def bounded_hash(keys, workers, sources=1, epsilon=0.01, points=1, seed=0, weights=None):
    """Return (workers of the messages, loads by source, mean points looked at, most)."""
    ring_seed = seed ^ 0x52494E47
    size = workers * points
    ring = sorted((point, i // points) for i, point in enumerate(derive(ring_seed, size)))
    load = [[0] * workers for _ in range(sources)]
    out, probes = [], []
    for i, key in enumerate(keys):
        mine, weight = load[i % sources], 1 if weights is None else weights[i]
        full = _full(mine, sum(mine) + weight, workers, epsilon)
        place = key_hash(key, seed)
        start = next((j for j, (point, _) in enumerate(ring) if point >= place), 0)
        looked = next(j for j in range(size) if not full[ring[(start + j) % size][1]])
        worker = ring[(start + looked) % size][1]
        mine[worker] += weight
        out.append(worker)
        probes.append(looked + 1)
    return out, load, sum(probes) / max(1, len(probes)), max(probes, default=0)


class Pairing:
    """One source's map of virtual workers and its queues, as sets and lists."""

    def __init__(self, workers, virtual, policy):
        self.owner = [v % workers for v in range(workers * virtual)]
        self.policy = policy
        self.alive = set(range(workers))
        self.queues = {"idle": [], "busy": []}  # [worker, amount], first come first
        self.busy_at = {}
        self.got_at = {}
        self.busy_slot = {}
        self.signalled = {}
        self.clock = 0

    def held(self, worker):
        return self.owner.count(worker)

    def _move(self, giver, taker):
        self.owner[self.owner.index(giver)] = taker
        self.got_at[taker] = self.clock

    def signal(self, worker, word, slot, strength=0.0):
        if self.signalled.get(worker) == slot:
            return 0
        self.signalled[worker] = slot
        self.clock += 1
        amount = max(1, int(strength * self.held(worker)))
        mine, other = self.queues[word], self.queues["busy" if word == "idle" else "idle"]
        other[:] = [entry for entry in other if entry[0] != worker]
        waiting = [entry for entry in mine if entry[0] == worker]
        if waiting:
            waiting[0][1] = amount
        else:
            mine.append([worker, amount])
        if word == "busy":
            self.busy_at[worker] = self.clock
            self.busy_slot[worker] = slot
        return self._pair() if self.policy == "fcfs" else self._give_to_least_recently_busy(worker, word, slot)

    def share_out(self, worker, amount, giving):
        """Move virtual workers between one worker and the others, by what these hold."""
        before = {w: self.held(w) for w in self.alive}
        part = dict.fromkeys(self.alive, 0)
        for _ in range(amount):
            others = [w for w in sorted(self.alive) if w != worker and (giving or self.held(w) > 1)]
            other = min(others, key=lambda w: Fraction(part[w] + 1, before[w]))
            part[other] += 1
            self._move(*((worker, other) if giving else (other, worker)))

    def add_worker(self, worker):
        self.alive.add(worker)
        self.share_out(worker, len(self.owner) // len(self.alive), False)

    def remove_worker(self, worker):
        self.alive.remove(worker)
        for queue in self.queues.values():
            queue[:] = [entry for entry in queue if entry[0] != worker]
        self.share_out(worker, self.held(worker), True)

    def _pair(self):
        moves = 0
        idle, busy = self.queues["idle"], self.queues["busy"]
        while idle and busy:
            if self.held(busy[0][0]) == 1:
                busy.pop(0)
                continue
            self._move(busy[0][0], idle[0][0])
            moves += 1
            for queue in (idle, busy):
                queue[0][1] -= 1
                if queue[0][1] == 0:
                    queue.pop(0)
        return moves

    def _give_to_least_recently_busy(self, worker, word, slot):
        if word == "idle":
            return 0
        [[_, amount]] = [entry for entry in self.queues["busy"] if entry[0] == worker]
        self.queues["busy"].clear()
        idle, moves = self.queues["idle"], 0
        while moves < amount and self.held(worker) > 1:
            others = [w for w in sorted(self.alive) if w != worker and self.busy_slot.get(w) != slot]
            if idle:
                taker = idle[0][0]
                idle[0][1] -= 1
                if idle[0][1] == 0:
                    idle.pop(0)
            elif others:
                taker = min(others, key=lambda w: (self.busy_at.get(w, 0), self.got_at.get(w, 0), w))
            else:
                break
            self._move(worker, taker)
            moves += 1
        return moves


def signal_words(utilisation, before, idle, busy, hysteresis):
    """Return what each worker says, "busy", "idle" or None; `before` is what they said last."""
    out = []
    for u, last in zip(utilisation, before):
        if u > busy or (last == "busy" and u > busy - hysteresis):
            out.append("busy")
        elif u < idle or (last == "idle" and u < idle + hysteresis):
            out.append("idle")
        else:
            out.append(None)
    return out


def signal_strengths(utilisation, middle, proportional):
    """Return how strongly each worker speaks: what leads to the middle of the band, or 0."""
    return [min(1.0, abs(u - middle) / u if u else 1.0) if proportional else 0.0 for u in utilisation]


def observe(maps, words, strengths, slot):
    """Let every map act on what all workers say, the idle ones first; return the moves made."""
    return sum(
        one.signal(worker, word, slot, strengths[worker])
        for said in ("idle", "busy")
        for worker, word in enumerate(words)
        for one in maps
        if word == said
    )


def slot_queues(workers, ends, capacities, changes=()):
    """Serve messages first in, first out.

    Return the queue at each slot's end, the utilisation and the mean latency, each [slot][worker].
    `changes` maps a message's number to the capacities from then on.
    """
    changes = dict(changes)
    rate, n = list(capacities), len(capacities)
    backlog, clock = [0.0] * n, 0.0  # messages waiting or in service, as a fluid
    queue, utilisation, latency = [], [], []
    start = 0
    for slot, end in enumerate(ends):
        count, late = [0] * n, [0.0] * n
        for i in range(start, end):
            if i in changes:
                now = slot + (i - start) / (end - start)
                backlog = [max(0.0, b - (now - clock) * c) for b, c in zip(backlog, rate)]
                clock, rate = now, list(changes[i])
            now = slot + (i - start + 0.5) / (end - start)
            backlog = [max(0.0, b - (now - clock) * c) for b, c in zip(backlog, rate)]
            clock = now
            w = workers[i]
            backlog[w] += 1.0
            count[w] += 1
            late[w] += backlog[w] / rate[w]
        backlog = [max(0.0, b - (slot + 1 - clock) * c) for b, c in zip(backlog, rate)]
        clock = slot + 1.0
        queue.append([max(0, math.ceil(b - 1e-6) - 1) for b in backlog])
        utilisation.append([a / c for a, c in zip(count, rate)])
        latency.append([x / max(1, a) for x, a in zip(late, count)])
        start = end
    return queue, utilisation, latency


def slot_simulation(bins, ends, capacities, sources, virtual, policy, proportional, hysteresis, delay, full=None):
    """Return the worker of each message.

    Sources hear a signal with their next message to its worker, `delay` slots late. Workers judge
    themselves by their utilisation or, if `full` is given, by their queue over it.
    """
    n = len(capacities)
    maps = [Pairing(n, virtual, policy) for _ in range(sources)]
    pending, waiting, words, out, start = {}, [], [None] * n, [], 0
    for slot, end in enumerate(ends):
        count = [0] * n
        for i in range(start, end):
            s = i % sources
            worker = maps[s].owner[bins[i]]
            out.append(worker)
            count[worker] += 1
            if (s, worker) in pending:
                word, strength = pending.pop((s, worker))
                maps[s].signal(worker, word, slot, strength)
        if full is None:
            judged = [a / c for a, c in zip(count, capacities)]
        else:
            judged = [waits / full for waits in slot_queues(out, ends[: slot + 1], capacities)[0][slot]]
        words = signal_words(judged, words, 0.75, 0.85, hysteresis)
        waiting.append((words, signal_strengths(judged, 0.8, proportional)))
        if len(waiting) > delay:
            said, strong = waiting.pop(0)
            for worker, word in enumerate(said):
                if word is not None:
                    pending.update({(s, worker): (word, strong[worker]) for s in range(sources)})
        start = end
    return out
