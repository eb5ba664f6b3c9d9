"""Naive twins of the groupings of Nasir et al. 2016, and of the pairs that metrics counts.

Each is one class over plain lists: `route(key, source=None, weight=1)`, `load[source][worker]`.
"""

import math
from fractions import Fraction

from naive.core import candidate, derive, fast_range, random_bits
from naive.ratios import fraction_of

__all__ = [
    "NaiveChoices",
    "NaiveKey",
    "NaivePartialKey",
    "NaiveShuffle",
    "NaiveTwoRandom",
    "naive_fewest_choices",
    "naive_pairs",
]


def _start(seed, source, n):
    return derive(seed, source + 1)[-1] % n


class _Naive:
    def __init__(self, workers, sources=1, seed=0):
        self.n, self.sources, self.seed = workers, sources, seed
        self.load = [[0] * workers for _ in range(sources)]
        self.messages = 0

    def route(self, key, source=None, weight=1):
        source = self.messages % self.sources if source is None else source
        worker = self.choose(key, source, weight)
        self.load[source][worker] += weight
        self.messages += 1
        return worker

    def lesser(self, a, b, source):
        return a if self.load[source][a] <= self.load[source][b] else b


class NaiveKey(_Naive):
    def choose(self, key, source, weight):
        return candidate(key, self.seed, 0, self.n)


class NaiveShuffle(_Naive):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.sent = [0] * self.sources

    def choose(self, key, source, weight):
        self.sent[source] += 1
        return (_start(self.seed, source, self.n) + self.sent[source] - 1) % self.n


class NaivePartialKey(_Naive):
    def choose(self, key, source, weight):
        return self.lesser(candidate(key, self.seed, 0, self.n), candidate(key, self.seed, 1, self.n), source)


class NaiveTwoRandom(_Naive):
    def choose(self, key, source, weight):
        bits = random_bits(self.seed, self.messages)
        return self.lesser(fast_range(bits, self.n), fast_range((bits << 32) % 2**64, self.n), source)


def naive_pairs(keys, workers):
    """The number of different (key, worker) pairs."""
    return len(set(zip(keys, workers)))


def naive_fewest_choices(shares, n, epsilon, distinct, switch=True):
    """Return d for shares in descending order.

    Distinct workers are no fewer than those which the hashes reach on average. Where n hashes or
    more are needed all workers are taken; without the switch, where n + n ln n are.
    """
    if not shares:
        return min(2, n)
    most = n + int(n * math.log(n)) if distinct and not switch and n > 2 else n
    d = _least_that_fits(shares, n, most, epsilon, False)
    if distinct and d < most:
        return max(math.ceil(n - n * ((n - 1) / n) ** d), _least_that_fits(shares, n, n, epsilon, True))
    return min(d, n)


def _least_that_fits(shares, n, most, epsilon, distinct):
    """The least d in [2, most) for which every prefix fits, or `most`."""
    tail = max(0.0, 1.0 - sum(shares))

    def fits(d, h):
        if distinct:
            b = n * (1 - (1 - d / n) ** h)
            hot = math.prod((max(b, d) - i) / (n - i) for i in range(d))
            cold = b * (b - 1) / (n * (n - 1))
        else:
            b = n - n * ((n - 1) / n) ** (h * d)
            hot, cold = (b / n) ** d, (b / n) ** 2
        return sum(shares[:h]) + hot * sum(shares[h:]) + cold * tail <= b * (1 / n + epsilon) + 1e-12

    for d in range(max(2, math.ceil(shares[0] * n)), most):
        if all(fits(d, h) for h in range(1, len(shares) + 1)):
            return d
    return most


class NaiveChoices(_Naive):
    """D-Choices, W-Choices ("all") and round robin for the head ("turn"), by `head`."""

    def __init__(
        self,
        head,
        workers,
        sources=1,
        seed=0,
        theta=None,
        epsilon=1e-4,
        capacity=None,
        guard=True,
        distinct=True,
        rotate=True,
        choices=None,
        switch=True,
    ):
        super().__init__(workers, sources, seed)
        self.switch = switch
        self.head, self.epsilon, self.guard, self.distinct, self.rotate = head, epsilon, guard, distinct, rotate
        self.theta = Fraction(1, 5 * workers) if theta is None else fraction_of(theta)
        self.capacity = max(1000, 2 * math.ceil(1 / self.theta)) if capacity is None else capacity
        self.choices = choices
        starts = [_start(seed, s, workers) if rotate else 0 for s in range(sources)]
        self.views = [_Source(start, min(choices or 2, workers)) for start in starts]

    def workers_of(self, key, d):
        if not self.distinct:
            return [candidate(key, self.seed, i, self.n) for i in range(d)]
        first = candidate(key, self.seed, 0, self.n)
        found = [first, (first + 1 + candidate(key, self.seed, 1, self.n - 1)) % self.n]
        draw = 2
        while len(found) < d:
            worker = candidate(key, self.seed, draw, self.n)
            if worker not in found:
                found.append(worker)
            draw += 1
        return found[:d]

    def is_hot(self, view, key):
        count, error = view.counts[key]
        if self.guard:
            return count - error >= max(self.theta * view.total, 50)
        return count >= self.theta * view.total and count > 0

    def least(self, candidates, at, load):
        """Return the place of the first least loaded candidate, from place `at` on and round."""
        d = len(candidates)
        order = [(at + i) % d for i in range(d)] if self.rotate else range(d)
        return min(order, key=lambda place: load[candidates[place]])

    def solve(self, view):
        view.hot = [key for key in view.hot if self.is_hot(view, key)]
        shares = sorted((view.counts[key][0] / view.total for key in view.hot), reverse=True)
        solved = naive_fewest_choices(shares, self.n, self.epsilon, self.distinct, self.switch)
        d = min(self.choices, self.n) if self.choices else solved
        if d != view.d:
            view.d = d
            view.history.append((view.total, d))
        view.next_solve = view.total + 1 + view.total // 100

    def choose(self, key, source, weight):
        view, load = self.views[source], self.load[source]
        view.offer(key, weight, self.capacity)
        if self.head == "d" and view.total >= view.next_solve:
            self.solve(view)
        if not self.is_hot(view, key):
            return self.lesser(*self.workers_of(key, 2), source) if self.n > 1 else 0
        if self.head == "turn":
            view.at = (view.at + 1) % self.n
            return (view.at - 1) % self.n
        if self.head == "d" and key not in view.hot:
            view.hot.append(key)
            self.solve(view)
        if self.head == "all" or view.d >= self.n:
            view.at = self.least(range(self.n), view.at, load)
            return view.at
        candidates = self.workers_of(key, view.d)
        at = view.places.get(key, view.start) % view.d
        view.places[key] = self.least(candidates, at, load)
        return candidates[view.places[key]]


class _Source:
    def __init__(self, start, d):
        self.start = self.at = start
        self.d = d
        self.total = self.next_solve = 0
        self.slots = []  # keys in the order of their counters
        self.counts = {}  # key -> (count, error)
        self.hot, self.places, self.history = [], {}, []

    def offer(self, key, weight, capacity):
        self.total += weight
        if key in self.counts:
            count, error = self.counts[key]
            self.counts[key] = (count + weight, error)
        elif len(self.slots) < capacity:
            self.slots.append(key)
            self.counts[key] = (weight, 0)
        else:
            slot = min(range(capacity), key=lambda s: self.counts[self.slots[s]][0])
            victim = self.slots[slot]
            least, _ = self.counts.pop(victim)
            if victim in self.hot:
                self.hot.remove(victim)
            self.places.pop(victim, None)
            self.slots[slot] = key
            self.counts[key] = (least + weight, least)
