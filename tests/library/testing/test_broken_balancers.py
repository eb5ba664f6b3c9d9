"""Each check can fail: balancers that are broken in one place, and the check that must see it."""

import functools
import json
import random
import threading
import unittest

import numpy as np
import pytest
from balancers import Counters, Greedy, Outstanding, TwoChoices, key_of, whole

from streamlb import CostSketch, CountMin
from streamlb.testing import (
    CheckError,
    SkippedCheckWarning,
    check_grouping,
    check_scheduler,
    check_sketch,
    grouping_checks,
    scheduler_checks,
    sketch_checks,
)
from streamlb.testing.schedulers import COSTS

TWO = {"promises": {"workers_per_key": 2}}
COUNTED = {"promises": {"never_under": True, "bracket": True, "heavy": lambda sketch: 1 / sketch.capacity}}
QUEUED = {"promises": {"least_outstanding": True, "work_conserving": True}}


def test_sound_ones_pass():
    assert check_grouping(TwoChoices, **TWO).skipped == {}
    report = check_sketch(Counters, **COUNTED, skip=["state", "bad_state"])  # it offers no state
    assert "bound_heavy" in report.passed
    report = check_scheduler(Outstanding, **QUEUED)
    assert report.skipped == {}
    assert report.passed[-2:] == ["bound_work_conserving", "bound_least_outstanding"]


class OutOfRange(TwoChoices):
    def route(self, key, source=None, weight=1):
        return super().route(key, source, weight) + 1


class NoNumber(TwoChoices):
    def route(self, key, source=None, weight=1):
        return float(super().route(key, source, weight))


class RefusesText(TwoChoices):
    def route(self, key, source=None, weight=1):
        return super().route(key + 0, source, weight)


class LosesTheLast(TwoChoices):
    @property
    def loads(self):
        return [*super().loads[:-1], 0]


class CountsBatchesOnce(TwoChoices):
    def route(self, key, source=None, weight=1):
        self.messages -= self.messages % 50 == 49  # loses one now and then
        return super().route(key, source, weight)


class IgnoresWeights(TwoChoices):
    def route(self, key, source=None, weight=1):
        return super().route(key, source, min(1, whole("weight", weight, 0)))


class IgnoresSources(TwoChoices):
    def route(self, key, source=None, weight=1):
        if source is not None:
            whole("source", source, 0, self.sources - 1)
        return super().route(key, 0, weight)


class BatchAlternates(TwoChoices):
    def route_many(self, keys, weights=None, source=None):
        return [*super().route_many(keys, weights, source)[:-1], *([0] if len(keys) else [])]


class BatchForgetsTies(TwoChoices):
    def route_many(self, keys, weights=None, source=None):
        out = super().route_many(keys, weights, source)
        self.ties = 0
        return out


class BatchStartsAtTheFirstSource(TwoChoices):
    def route_many(self, keys, weights=None, source=None):
        done, self.messages = self.messages, 0
        try:
            return super().route_many(keys, weights, source)
        finally:
            self.messages += done


class DrawsFromTheGlobalGenerator(TwoChoices):
    def choose(self, key, load):
        return random.randrange(self.workers)


class SharesLoads(TwoChoices):
    everyone = [0] * 2000

    def choose(self, key, load):
        self.everyone[0] += 1
        return place_of(key, self.everyone[0], self.workers)


def place_of(key, salt, workers):
    return (salt // 7 + len(str(key))) % workers


class ResetKeepsTies(TwoChoices):
    def reset(self):
        ties = getattr(self, "ties", 0)
        super().reset()
        self.ties = ties


class CopiesShareLoads(TwoChoices):
    def __deepcopy__(self, memo):
        twin = type(self)(self.workers, self.sources, seed=self.seed)
        vars(twin).update(vars(self))
        return twin


class PickleForgets(TwoChoices):
    def __getstate__(self):
        return {**vars(self), "ties": 0}


class StateForgets(TwoChoices):
    @classmethod
    def from_state(cls, data):
        made = super().from_state(data)
        made.ties = 0
        return made


class TakesAnyState(TwoChoices):
    @classmethod
    def from_state(cls, data):
        return super().from_state(data) if data else cls(3)


class TakesNoWorkers(TwoChoices):
    def __init__(self, workers, sources=1, *, seed=0):
        super().__init__(max(1, whole("workers", workers, -99)), sources, seed=seed)


class NamesNothing(TwoChoices):
    def route(self, key, source=None, weight=1):
        try:
            return super().route(key, source, weight)
        except (TypeError, ValueError):
            raise ValueError("bad argument") from None


class CountsBeforeItLooks(TwoChoices):
    def route(self, key, source=None, weight=1):
        self.ties += 1
        out = super().route(key, source, weight)
        self.ties -= 1
        return out


class BatchRoutesUpToTheBadKey(TwoChoices):
    def route_many(self, keys, weights=None, source=None):
        if isinstance(keys, (str, int)) or (weights is not None and len(weights) != len(keys)):
            return super().route_many(keys, weights, source)
        weights = [1] * len(keys) if weights is None else weights
        return [self.route(key, source, weight) for key, weight in zip(keys, weights)]


class IndexErrorForSources(TwoChoices):
    def route(self, key, source=None, weight=1):
        if source is not None and source not in range(self.sources):
            raise IndexError("source")
        return super().route(key, source, weight)


class NegativeWeights(TwoChoices):
    def route(self, key, source=None, weight=1):
        return super().route(key, source, abs(weight) if isinstance(weight, int) else weight)


class ThreeWorkers(TwoChoices):
    def choose(self, key, load):
        return (super().choose(key, load) + (self.messages % 97 == 0)) % self.workers


class Hashed(TwoChoices):
    def choose(self, key, load):
        return place_of(key, 0, self.workers)


class TrueForOne(TwoChoices):
    def route(self, key, source=None, weight=1):
        worker = super().route(key, source, weight)
        return bool(worker) if worker < 2 else worker


class NeverTheFirstWorker(TwoChoices):
    def choose(self, key, load):
        return self.workers - 1 if self.workers > 1 or self.messages < 60 else 1

    def route(self, key, source=None, weight=1):
        return super().route(key, source, weight) if self.workers > 1 or self.messages < 60 else 1


class ChecksSourcesOnly(TwoChoices):
    """Takes a source, and goes by its own turn."""

    def route(self, key, source=None, weight=1):
        if source is not None:
            whole("source", source, 0, self.sources - 1)
        return super().route(key, None, weight)


class BatchIgnoresTheSource(TwoChoices):
    def route_many(self, keys, weights=None, source=None):
        if source is not None:
            whole("source", source, 0, self.sources - 1)
        return super().route_many(keys, weights, None)


class FoldsTheFourthSource(TwoChoices):
    def route(self, key, source=None, weight=1):
        if source is None:
            source = self.messages % self.sources
        return super().route(key, min(source, 3) if isinstance(source, int) else source, weight)


class BatchTextCountsNothing(TwoChoices):
    def route_many(self, keys, weights=None, source=None):
        before = [list(row) for row in self.source_loads]
        out = super().route_many(keys, weights, source)
        if len(keys) and isinstance(keys[0], str):
            self.source_loads = before
        return out


class WrapsAt500(TwoChoices):
    def route(self, key, source=None, weight=1):
        worker = super().route(key, source, weight)
        for row in self.source_loads:
            row[worker] = 0 if 500 <= row[worker] < 600 else row[worker]
        return worker


def loses_a_message_each(size):
    """Return a class whose batches lose the load of a message at the borders of inner chunks."""

    class Loses(TwoChoices):
        def route_many(self, keys, weights=None, source=None):
            out = super().route_many(keys, weights, source)
            for at in range(size - 1, len(out) - 1, size):
                self.source_loads[0][out[at]] -= 1
            return out

    Loses.__name__ = f"LosesAMessageEach{size}"
    return Loses


class ResetForgetsTheTurn(TwoChoices):
    def reset(self):
        turn = getattr(self, "turn", 0)
        super().reset()
        self.turn = turn

    def route(self, key, source=None, weight=1):
        if source is None:
            source = self.turn % self.sources
        worker = super().route(key, source, weight)
        self.turn += 1
        return worker


class PickleForgetsTheTurn(ResetForgetsTheTurn):
    def reset(self):
        super().reset()
        self.turn = 0

    def __getstate__(self):
        return {**vars(self), "turn": 0}


class StateForgetsTheSeed(TwoChoices):
    @classmethod
    def from_state(cls, data):
        made = super().from_state(data)
        made.seed = 3
        return made


class StateIsLive(TwoChoices):
    """Gives its own lists away, and takes those that it is given."""

    def state(self):
        return vars(self)

    @classmethod
    def from_state(cls, data):
        if not isinstance(data, dict):
            raise TypeError("state must be a dict")
        made = cls(data["workers"])
        vars(made).update(data)
        return made


class CopiesOnlyWhenNew(TwoChoices):
    def __deepcopy__(self, memo):
        if self.messages:
            raise TypeError("cannot copy a balancer in use")
        return type(self)(self.workers, self.sources, seed=self.seed)


GROUPINGS = {
    TrueForOne: "range",
    NeverTheFirstWorker: "one_worker",
    ChecksSourcesOnly: "sources",
    BatchIgnoresTheSource: "sources",
    FoldsTheFourthSource: "sources",
    BatchTextCountsNothing: "keys",
    WrapsAt500: "conservation",
    loses_a_message_each(512): "long",
    loses_a_message_each(1024): "long",
    loses_a_message_each(4096): "long",
    ResetForgetsTheTurn: "reset",
    PickleForgetsTheTurn: "pickle",
    StateForgetsTheSeed: "state",
    StateIsLive: "state",
    CopiesOnlyWhenNew: "copy",
    OutOfRange: "range",
    NoNumber: "range",
    RefusesText: "keys",
    LosesTheLast: "conservation",
    CountsBatchesOnce: "conservation",
    IgnoresWeights: "weights",
    IgnoresSources: "sources",
    BatchAlternates: "batch",
    BatchForgetsTies: "batch",
    BatchStartsAtTheFirstSource: "chunks",
    DrawsFromTheGlobalGenerator: "determinism",
    SharesLoads: "instances",
    ResetKeepsTies: "reset",
    CopiesShareLoads: "copy",
    PickleForgets: "pickle",
    StateForgets: "state",
    TakesAnyState: "bad_state",
    TakesNoWorkers: "bad_options",
    NamesNothing: "bad_keys",
    CountsBeforeItLooks: "bad_keys",
    BatchRoutesUpToTheBadKey: "bad_keys",
    NegativeWeights: "bad_weights",
    IndexErrorForSources: "bad_sources",
    ThreeWorkers: "bound_workers_per_key",
}


def caught(checks, name):
    """Return what a check says of a broken class."""
    with pytest.raises(CheckError) as error:
        dict(checks)[name]()
    text = str(error.value)
    assert f"fails the check '{name}'" in text
    assert "Given" in text
    assert "expected" in text
    assert "\n" not in text
    return text


@pytest.mark.parametrize("kind", GROUPINGS, ids=lambda kind: kind.__name__)
def test_broken_groupings_are_caught(kind):
    text = caught(grouping_checks(kind, **TWO), GROUPINGS[kind])
    assert text.startswith(kind.__name__)


def test_every_check_of_groupings_has_a_broken_class():
    assert {name for name, _ in grouping_checks(TwoChoices, **TWO)} == set(GROUPINGS.values())


def test_an_imbalance_above_the_promised_bound_is_caught():
    promise = {"imbalance": lambda grouping, m: 0.5 * m / grouping.workers + 1}
    text = caught(grouping_checks(Hashed, promises=promise), "bound_imbalance")
    assert "one key all the time" in text


class CountsOnceABatch(Counters):
    def update(self, keys, weights=None):
        super().update(sorted(set(keys)) if isinstance(keys, list) and weights is None else keys, weights)


class LosesAfterThousands(Counters):
    def update(self, keys, weights=None):
        super().update(keys, weights)
        if isinstance(keys, list) and len(keys) > 1024:
            self.total -= 1


class LosesInChunks(Counters):
    def update(self, keys, weights=None):
        super().update(keys, weights)
        if isinstance(keys, list) and len(keys) < 40:
            self.total += 1


class IgnoresText(Counters):
    def add(self, key, weight):
        super().add(key, weight if isinstance(key, int) else 0)


class NoTotal(Counters):
    def add(self, key, weight):
        super().add(key, weight)
        self.total -= key == 3


class WeightsOfOne(Counters):
    def add(self, key, weight):
        super().add(key, min(weight, 1))


class AsksAndForgets(Counters):
    def estimate(self, keys):
        out = super().estimate(keys)
        self.counts.pop(0, None)
        return out


class RandomVictims(Counters):
    def add(self, key, weight):
        super().add(key, weight)
        if random.random() < 0.1:
            self.counts[key] += 1


class OneTable(Counters):
    table = {}  # noqa: RUF012

    def add(self, key, weight):
        self.table[key] = self.table.get(key, 0) + weight
        super().add(key, weight)
        self.counts[key] = self.table[key]


class KeepsTotal(Counters):
    def reset(self):
        total = getattr(self, "total", 0)
        super().reset()
        self.total = total


class CopiesShareCounts(Counters):
    def __deepcopy__(self, memo):
        twin = type(self)(self.capacity)
        vars(twin).update(vars(self))
        return twin


class PickleLosesErrors(Counters):
    def __getstate__(self):
        return {**vars(self), "errors": dict.fromkeys(self.errors, 0)}


class MergesTotalsOnly(Counters):
    def merge(self, other):
        if type(other) is not type(self):
            raise TypeError("other must be of the same class")
        self.total += other.total


class MergeEmptiesTheOther(Counters):
    def merge(self, other):
        super().merge(other)
        other.reset()


class MergesAnything(Counters):
    def merge(self, other):
        if isinstance(other, Counters):
            super().merge(other)


class TakesFloats(Counters):
    def update(self, keys, weights=None):
        super().update(int(keys) if isinstance(keys, float) else keys, weights)


class CountsBeforeWeights(Counters):
    def update(self, keys, weights=None):
        self.total += 1
        super().update(keys, weights)
        self.total -= 1


class ForgetsError(Counters):
    """Takes over a counter without the count of the key that had it: an estimate may be too low."""

    def add(self, key, weight):
        new = key not in self.counts
        super().add(key, weight)
        if new:
            self.counts[key], self.errors[key] = weight, 0


class ErrorTooSmall(Counters):
    def error(self, keys):
        out = super().error(keys)
        return [value // 2 for value in out] if isinstance(out, list) else out // 2


class HidesTheHeaviest(Counters):
    def heavy_hitters(self, share):
        return sorted(super().heavy_hitters(share), key=lambda row: row[1])[:-1]


SKETCHES = {
    IgnoresText: "keys",
    NoTotal: "conservation",
    WeightsOfOne: "weights",
    AsksAndForgets: "estimates",
    CountsOnceABatch: "batch",
    LosesInChunks: "chunks",
    LosesAfterThousands: "long",
    RandomVictims: "determinism",
    OneTable: "instances",
    KeepsTotal: "reset",
    CopiesShareCounts: "copy",
    PickleLosesErrors: "pickle",
    MergesTotalsOnly: "merge",
    MergeEmptiesTheOther: "merge",
    MergesAnything: "bad_merge",
    TakesFloats: "bad_keys",
    CountsBeforeWeights: "bad_values",
    ForgetsError: "bound_never_under",
    ErrorTooSmall: "bound_bracket",
    HidesTheHeaviest: "bound_heavy",
}


@pytest.mark.parametrize("kind", SKETCHES, ids=lambda kind: kind.__name__)
def test_broken_sketches_are_caught(kind):
    caught(sketch_checks(kind, **COUNTED), SKETCHES[kind])


def test_every_check_of_sketches_has_a_broken_class():
    names = {name for name, _ in sketch_checks(Counters, **COUNTED)}
    # Shared with groupings, which see to them.
    assert names - set(SKETCHES.values()) == {"state", "bad_state"}


def test_an_estimate_above_the_true_count_is_caught():
    caught(sketch_checks(Counters, promises={"never_over": True}), "bound_never_over")
    dict(sketch_checks(Counters, promises={"never_over": True}, capacity=5000))["bound_never_over"]()


def test_an_accuracy_that_is_not_kept_is_caught():
    """The table is made for epsilon = 0.2 and delta = 0.5; more than that is promised of it."""
    checks = sketch_checks(CountMin, promises={"accuracy": (0.01, 0.01)}, epsilon=0.2, delta=0.5)
    assert "p-value" in caught(checks, "bound_accuracy")


class SumsOfCosts(CostSketch):
    def estimate(self, keys, unseen="mean"):
        return super().estimate(keys, unseen) * 3


def test_a_cost_beyond_all_costs_is_caught():
    caught(sketch_checks(SumsOfCosts), "bound_between")


class NextInstance(Outstanding):
    def submit(self, key, now=None):
        instance, stamp = super().submit(key, now)
        return instance + (self.next % 50 == 0) * self.instances, stamp


class NoPair(Outstanding):
    def submit(self, key, now=None):
        return super().submit(key, now)[0]


class TextIsNoKey(Outstanding):
    def submit(self, key, now=None):
        return super().submit(key + 0, now)


class NeverTheFirst(Outstanding):
    def submit(self, key, now=None):
        instance, stamp = super().submit(key, now)
        return max(instance, 1) if self.next > 20 else instance, stamp


class BatchToOne(Outstanding):
    def submit_many(self, keys, now=None):
        instances, stamps = super().submit_many(keys, now)
        return instances[:1] * len(instances), stamps


class BatchAtOneLook(Outstanding):
    def submit_many(self, keys, now=None):
        instances, stamps = super().submit_many(keys, now)
        self.next += len(keys) < 20
        return instances, stamps


class Random(Outstanding):
    def submit(self, key, now=None):
        return random.randrange(self.instances), super().submit(key, now)[1]


class OneQueue(Outstanding):
    shared = [0]  # noqa: RUF012

    def submit(self, key, now=None):
        super().submit(key, now)
        self.shared[0] += 1
        return self.shared[0] // 3 % self.instances, self.next


class ResetKeepsQueues(Outstanding):
    def reset(self):
        self.outstanding = getattr(self, "outstanding", [0] * self.instances)
        self.next = 0


class CopiesShareQueues(Outstanding):
    def __deepcopy__(self, memo):
        twin = type(self)(self.instances)
        vars(twin).update(vars(self))
        return twin


class PickleForgetsQueues(Outstanding):
    def __getstate__(self):
        return {**vars(self), "outstanding": [0] * self.instances}


class StateForgetsQueues(Outstanding):
    @classmethod
    def from_state(cls, data):
        made = super().from_state(data)
        made.outstanding = [0] * made.instances
        return made


class RestoresNothing(Outstanding):
    @classmethod
    def from_state(cls, data):
        return super().from_state(data) if data else cls(2)


class FailIsForgotten(Outstanding):
    def complete(self, instance, key, elapsed, stamp, now=None):
        super().complete(instance, key, elapsed, stamp, now)
        Outstanding.fail(self, instance, key, stamp)

    def fail(self, instance, key, stamp):
        key_of(key)
        whole("instance", instance, 0, self.instances - 1)


class AnyInstances(Outstanding):
    def __init__(self, instances):
        super().__init__(instances or 1)


class AnyKey(Outstanding):
    def submit(self, key, now=None):
        return super().submit(0 if key is None else key, now)


class AnyElapsed(Outstanding):
    def complete(self, instance, key, elapsed, stamp, now=None):
        super().complete(instance, key, abs(elapsed) if isinstance(elapsed, float) else elapsed, stamp, now)


class CompletesBeforeItLooks(Outstanding):
    def complete(self, instance, key, elapsed, stamp, now=None):
        self.next += 1
        super().complete(instance, key, elapsed, stamp, now)
        self.next -= 1


class AnyTime(Outstanding):
    def check_time(self, now):
        return now


class InTurn(Outstanding):
    def submit(self, key, now=None):
        super().submit(key, now)
        return self.next % self.instances, self.next


class SecondBest(Outstanding):
    """Never sends to a busy instance while one is idle, and else to the last of all."""

    def submit(self, key, now=None):
        before = list(self.outstanding)
        instance, stamp = super().submit(key, now)
        if 0 not in before:
            self.outstanding[instance] -= 1
            instance = self.instances - 1
            self.outstanding[instance] += 1
        return instance, stamp


SCHEDULERS = {
    NextInstance: "range",
    NoPair: "range",
    TextIsNoKey: "keys",
    NeverTheFirst: "one_instance",
    BatchToOne: "batch",
    BatchAtOneLook: "chunks",
    Random: "determinism",
    OneQueue: "instances",
    ResetKeepsQueues: "reset",
    CopiesShareQueues: "copy",
    PickleForgetsQueues: "pickle",
    StateForgetsQueues: "state",
    RestoresNothing: "bad_state",
    FailIsForgotten: "fail",
    AnyInstances: "bad_options",
    AnyKey: "bad_keys",
    AnyElapsed: "bad_completions",
    CompletesBeforeItLooks: "bad_completions",
    AnyTime: "bad_times",
    InTurn: "bound_work_conserving",
    SecondBest: "bound_least_outstanding",
}


@pytest.mark.parametrize("kind", SCHEDULERS, ids=lambda kind: kind.__name__)
def test_broken_schedulers_are_caught(kind):
    caught(scheduler_checks(kind, **QUEUED), SCHEDULERS[kind])


def test_every_check_of_schedulers_has_a_broken_class():
    assert {name for name, _ in scheduler_checks(Outstanding, **QUEUED)} == set(SCHEDULERS.values())


def test_grahams_bound_holds_for_known_costs_and_not_for_wrong_ones():
    known = functools.partial(Greedy, costs=COSTS)
    dict(scheduler_checks(known, promises={"greedy": 0}))["bound_greedy"]()
    wrong = functools.partial(Greedy, costs=(1.0, 1.0, 1.0, 1.0))
    assert "Graham" in caught(scheduler_checks(wrong, promises={"greedy": 0}), "bound_greedy")


class Barely:
    """Offers no more than a grouping must."""

    def __init__(self, workers):
        self.workers = whole("workers", workers, 1)

    def route(self, key):
        return place_of(key_of(key), 0, self.workers)


def test_what_is_not_offered_is_skipped_and_said():
    with pytest.warns(SkippedCheckWarning, match=r"Barely\(\): not checked: conservation \(Barely has no loads"):
        report = check_grouping(Barely)
    assert report.passed == [
        "range",
        "one_worker",
        "keys",
        "determinism",
        "instances",
        "copy",
        "pickle",
        "bad_options",
        "bad_keys",
    ]
    assert report.skipped["weights"] == "route takes no weight"
    assert "weights                  skipped: route takes no weight" in str(report)
    with pytest.raises(unittest.SkipTest, match="Barely has no route_many"):
        dict(grouping_checks(Barely))["batch"]()
    quiet = check_grouping(Barely, skip=list(report.skipped))  # warnings are errors here
    assert set(quiet.skipped.values()) == {"the caller said so"}


class DictOfArrays(TwoChoices):
    """Its state is a dict that holds an array, a tuple and a NaN."""

    def state(self):
        numbers = (self.workers, self.sources, self.seed, self.messages, self.ties)
        return {"numbers": numbers, "loads": np.array(self.source_loads), "nan": float("nan")}

    @classmethod
    def from_state(cls, data):
        if not isinstance(data, dict):
            raise TypeError(f"state must be a dict, got {data!r}")
        workers, sources, seed, messages, ties = data["numbers"]
        made = cls(workers, sources, seed=seed)
        made.messages, made.ties, made.source_loads = messages, ties, data["loads"].tolist()
        return made


class DictForgetsLoads(DictOfArrays):
    def state(self):
        state = super().state()
        state["loads"][-1] = 0
        return state


class HoldsALock(TwoChoices):
    def reset(self):
        super().reset()
        self.lock = threading.Lock()

    def state(self):
        return json.dumps({name: value for name, value in vars(self).items() if name != "lock"}).encode()


class NeedsTwo(TwoChoices):
    def __init__(self, workers, sources=1, *, seed=0):
        super().__init__(whole("workers", workers, 2), sources, seed=seed)


class NeedsTwoInstances(Outstanding):
    def __init__(self, instances):
        super().__init__(whole("instances", instances, 2))

    @classmethod
    def from_state(cls, data):
        return Outstanding.from_state.__func__(lambda _: cls(2), data)


def test_a_state_may_hold_arrays():
    assert check_grouping(DictOfArrays, **TWO).skipped == {}
    caught(grouping_checks(DictForgetsLoads, **TWO), "state")


def test_what_cannot_be_copied_is_skipped_and_said():
    with pytest.warns(SkippedCheckWarning, match=r"copy \(HoldsALock cannot be copied: .*pickle"):
        report = check_grouping(HoldsALock, **TWO)
    assert list(report.skipped) == ["copy", "pickle"]


def test_a_class_that_needs_two_workers_is_checked_with_two():
    with pytest.warns(SkippedCheckWarning, match="NeedsTwo needs at least 2 workers"):
        report = check_grouping(NeedsTwo, **TWO)
    assert list(report.skipped) == ["one_worker"]
    with pytest.warns(SkippedCheckWarning, match="NeedsTwoInstances needs at least 2 instances"):
        report = check_scheduler(NeedsTwoInstances, **QUEUED)
    assert list(report.skipped) == ["one_instance"]


def test_all_failures_are_told_at_once():
    with pytest.raises(CheckError) as error:
        check_grouping(OutOfRange)
    text = str(error.value)
    assert text.startswith("OutOfRange() fails ")
    assert text.count("fails the check") >= 2
    assert "a worker from 0 to 6 was expected, but got 7" in text


def test_an_error_that_nobody_expected_is_told_with_the_call():
    text = caught(grouping_checks(RefusesText), "keys")
    assert "Given route('a'), no error was expected, but got TypeError" in text


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: check_grouping(7), TypeError, "kind must be a class"),
        (lambda: check_grouping(TwoChoices, skip=["btach"]), ValueError, "skip must hold names .* got 'btach'"),
        (lambda: check_grouping(TwoChoices, skip="batch"), TypeError, "skip must be several names"),
        (lambda: check_grouping(TwoChoices, promises={"balance": 1}), ValueError, "promises must .* got 'balance'"),
    ],
)
def test_bad_calls(call, error, text):
    with pytest.raises(error, match=text):
        call()
