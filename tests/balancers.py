"""Balancers in plain Python that keep the contract: what a user of `streamlb.testing` may write.

They import nothing from streamlb. Tests break them in one place at a time.
"""

import json
import math
import numbers
import zlib


def whole(name, value, low, high=math.inf):
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    if not low <= value <= high:
        raise ValueError(f"{name} must be from {low} to {high}, got {value}")
    return int(value)


def key_of(key):
    if isinstance(key, bool) or not isinstance(key, (numbers.Integral, str, bytes)):
        raise TypeError(f"key must be an int, str or bytes, got {key!r}")
    return int(key) if isinstance(key, numbers.Integral) else key


def keys_of(keys):
    if isinstance(keys, (str, bytes)) or not hasattr(keys, "__iter__"):
        raise TypeError(f"keys must be many, got {keys!r}")
    return [key_of(key) for key in keys]


def place(key, seed, number, workers):
    return zlib.crc32(f"{seed} {number} {key!r}".encode()) % workers


class TwoChoices:
    """The less loaded of a key's two workers; ties take turns."""

    def __init__(self, workers, sources=1, *, seed=0):
        self.workers = whole("workers", workers, 1)
        self.sources = whole("sources", sources, 1)
        self.seed = whole("seed", seed, 0)
        self.reset()

    def reset(self):
        self.messages = self.ties = 0
        self.source_loads = [[0] * self.workers for _ in range(self.sources)]

    @property
    def loads(self):
        return [sum(column) for column in zip(*self.source_loads)]

    def choose(self, key, load):
        first, second = (place(key, self.seed, number, self.workers) for number in (0, 1))
        if load[first] != load[second]:
            return first if load[first] < load[second] else second
        self.ties += 1
        return (first, second)[self.ties % 2]

    def route(self, key, source=None, weight=1):
        key, weight = key_of(key), whole("weight", weight, 0)
        source = self.messages % self.sources if source is None else whole("source", source, 0, self.sources - 1)
        self.messages += 1
        worker = self.choose(key, self.source_loads[source])
        self.source_loads[source][worker] += weight
        return worker

    def route_many(self, keys, weights=None, source=None):
        keys = keys_of(keys)
        weights = [1] * len(keys) if weights is None else [whole("weights", weight, 0) for weight in weights]
        if len(weights) != len(keys):
            raise ValueError(f"weights must be as many as the keys, {len(keys)}, got {len(weights)}")
        if source is not None:
            whole("source", source, 0, self.sources - 1)
        return [self.route(key, source, weight) for key, weight in zip(keys, weights)]

    def state(self):
        return json.dumps(vars(self)).encode()

    @classmethod
    def from_state(cls, data):
        if not isinstance(data, bytes):
            raise TypeError("state must be bytes")
        values = json.loads(data)  # what is no JSON is a ValueError
        made = cls(values["workers"], values["sources"], seed=values["seed"])
        vars(made).update(values)
        return made


class Counters:
    """SpaceSaving in plain Python: the heavy keys, with an error each (Metwally et al. 2005)."""

    def __init__(self, capacity=20):
        self.capacity = whole("capacity", capacity, 1)
        self.reset()

    def reset(self):
        self.total, self.counts, self.errors = 0, {}, {}

    def update(self, keys, weights=None):
        single = isinstance(keys, (numbers.Integral, str, bytes))
        keys = keys_of([keys] if single else keys)
        weights = [1] * len(keys) if weights is None else ([weights] if single else weights)
        weights = [whole("weights", weight, 0) for weight in weights]
        if len(weights) != len(keys):
            raise ValueError(f"weights must be as many as the keys, {len(keys)}, got {len(weights)}")
        for key, weight in zip(keys, weights):
            self.add(key, weight)

    def add(self, key, weight):
        self.total += weight
        if key not in self.counts:
            least, error = None, 0
            if len(self.counts) == self.capacity:
                least = min(self.counts, key=lambda each: (self.counts[each], str(each)))
                error = self.counts.pop(least)
                del self.errors[least]
            self.counts[key] = self.errors[key] = error
        self.counts[key] += weight

    def floor(self):
        return min(self.counts.values()) if len(self.counts) == self.capacity else 0

    def ask(self, table, keys):
        if isinstance(keys, (numbers.Integral, str, bytes)):
            return table.get(key_of(keys), self.floor())
        return [table.get(key, self.floor()) for key in keys_of(keys)]

    def estimate(self, keys):
        return self.ask(self.counts, keys)

    def error(self, keys):
        return self.ask(self.errors, keys)

    def heavy_hitters(self, share):
        return [(key, count) for key, count in self.counts.items() if count >= share * self.total]

    def merge(self, other):
        if type(other) is not type(self):
            raise TypeError(f"other must be {type(self).__name__}")
        keys = sorted({*self.counts, *other.counts}, key=str)
        counts = {key: self.estimate(key) + other.estimate(key) for key in keys}
        errors = {key: self.error(key) + other.error(key) for key in keys}
        kept = sorted(keys, key=lambda key: -counts[key])[: self.capacity]
        self.total += other.total
        self.counts = {key: counts[key] for key in kept}
        self.errors = {key: errors[key] for key in kept}


class Outstanding:
    """The instance with the fewest tuples outstanding; stamps tell tuples apart."""

    def __init__(self, instances):
        self.instances = whole("instances", instances, 1)
        self.reset()

    def reset(self):
        self.outstanding, self.next = [0] * self.instances, 0

    def submit(self, key, now=None):
        key_of(key)
        self.check_time(now)
        self.next += 1
        instance = self.outstanding.index(min(self.outstanding))
        self.outstanding[instance] += 1
        return instance, self.next

    def submit_many(self, keys, now=None):
        pairs = [self.submit(key, now) for key in keys_of(keys)]
        return [instance for instance, _ in pairs], [stamp for _, stamp in pairs]

    def complete(self, instance, key, elapsed, stamp, now=None):
        self.check_time(now)
        if not isinstance(elapsed, numbers.Real):
            raise TypeError(f"elapsed must be a number, got {elapsed!r}")
        if not 0 <= elapsed < math.inf:
            raise ValueError(f"elapsed must be finite and not negative, got {elapsed}")
        self.fail(instance, key, stamp)

    def fail(self, instance, key, stamp):
        key_of(key)
        self.outstanding[whole("instance", instance, 0, self.instances - 1)] -= 1

    def check_time(self, now):
        if now is not None and (not isinstance(now, numbers.Real) or not math.isfinite(now)):
            raise ValueError(f"now must be finite, got {now!r}")

    def state(self):
        return json.dumps(vars(self))

    @classmethod
    def from_state(cls, data):
        if not isinstance(data, str):
            raise TypeError("state must be a text")
        made = cls(1)
        vars(made).update(json.loads(data))
        return made


class Greedy:
    """The instance with the least work; a key's cost is known to it."""

    def __init__(self, instances, *, costs):
        self.work, self.costs = [0.0] * whole("instances", instances, 1), costs

    def submit(self, key):
        instance = self.work.index(min(self.work))
        self.work[instance] += self.costs[key_of(key) % 4] if isinstance(key, numbers.Integral) else 1.0
        return instance

    def complete(self, instance, key, elapsed):
        pass
