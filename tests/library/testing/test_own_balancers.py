"""Every grouping, sketch and scheduler of the library passes its own checks."""

import functools

import pytest

import streamlb
from streamlb import (
    POSG,
    BoundedLoadHashing,
    ConsistentGrouping,
    CostSketch,
    CountMin,
    DChoices,
    KeyGrouping,
    PartialKeyGrouping,
    POSGInstance,
    POSGScheduler,
    PowerOfRandomChoices,
    PowerOfTwoChoices,
    RoundRobinHead,
    ShuffleGrouping,
    SpaceSaving,
    WChoices,
    greedy_schedule,
)
from streamlb.groupings.base import Grouping
from streamlb.keys import key_int
from streamlb.testing import grouping_checks, scheduler_checks, sketch_checks
from streamlb.testing.groupings import GroupingContract
from streamlb.testing.schedulers import COSTS

GROUPINGS = {
    "KeyGrouping": (KeyGrouping, {}),
    "ShuffleGrouping": (ShuffleGrouping, {}),
    "PartialKeyGrouping": (PartialKeyGrouping, {}),
    "PowerOfTwoChoices": (PowerOfTwoChoices, {}),
    "DChoices": (DChoices, {"theta": 0.05}),
    "DChoices printed": (DChoices, {"candidates": "independent", "ties": "first", "guard": False}),
    "DChoices few counters": (DChoices, {"theta": 0.1, "capacity": 10, "choices": 3}),
    "WChoices": (WChoices, {"theta": 0.05}),
    "RoundRobinHead": (RoundRobinHead, {"theta": 0.05}),
    "PowerOfRandomChoices": (PowerOfRandomChoices, {"epsilon": 0.05}),
    "PowerOfRandomChoices few probes": (PowerOfRandomChoices, {"epsilon": 0.001, "max_probes": 8}),
    "BoundedLoadHashing": (BoundedLoadHashing, {"epsilon": 0.05, "points": 2}),
    **{
        f"ConsistentGrouping {inner}": (ConsistentGrouping, {"inner": inner, "virtual": 4})
        for inner in ("porc", "kg", "pkg", "potc", "sg", "ch")
    },
}
SKETCHES = {
    "CountMin": (CountMin, {"epsilon": 0.1, "delta": 0.2}),
    "CountMin default": (CountMin, {}),
    "CostSketch": (CostSketch, {"epsilon": 0.1, "delta": 0.2}),
    "SpaceSaving": (SpaceSaving, {"capacity": 17}),
    "SpaceSaving wide": (SpaceSaving, {"capacity": 300}),
    "SpaceSaving one": (SpaceSaving, {"capacity": 1}),
}
SMALL = {"window": 8, "tolerance": 0.5}
NOT_OFFERED = {  # what a check is about that the library does not offer, and why
    "CostSketch": {"weights"},
    "POSG": {"fail"},  # a tuple that failed is completed
    "Greedy": {"batch", "chunks", "state", "bad_state", "fail", "bad_completions", "bad_times", "bad_options"},
    "TwoHalves": {"fail", "batch", "chunks", "reset", "state", "bad_state"},
}


class TwoHalves:
    """POSG's halves as one scheduler whose requests travel as stamps."""

    def __init__(self, instances, **options):
        self.scheduler = POSGScheduler(instances, **options)
        self.instances = [POSGInstance(i, **options, incarnation=1) for i in range(instances)]

    def submit(self, key, now=None):
        return self.scheduler.submit(key, now)

    def complete(self, instance, key, elapsed, stamp, now=None):
        if type(instance) is not int or not 0 <= instance < len(self.instances):
            raise ValueError(f"instance must be one of {len(self.instances)}, got {instance!r}")
        for message in self.instances[instance].complete(key, elapsed, stamp, now):
            self.scheduler.receive(message)

    @property
    def estimates(self):
        return self.scheduler.estimates


class Greedy:
    """`greedy_schedule` as a scheduler: the costs of keys are known to it."""

    def __init__(self, instances):
        self.instances, self.costs = instances, []
        self.reset()

    def reset(self):
        self.costs = []
        greedy_schedule(self.costs, self.instances)

    def submit(self, key):
        self.costs.append(COSTS[key_int(key) % 4])
        return greedy_schedule(self.costs, self.instances)[0].tolist()[-1]

    def complete(self, instance, key, elapsed):
        """Be told what it knew."""


SCHEDULERS = {
    "POSG": (POSG, SMALL),
    "POSG busy": (POSG, {**SMALL, "clock": "busy", "synchronise": "staggered", "resend": "changed"}),
    "POSG economical": (POSG.economical, SMALL),
    "TwoHalves": (TwoHalves, SMALL),
    "Greedy": (Greedy, {"promises": {"greedy": 0}}),
}


def one_by_one(kinds, give):
    params = []
    for name, (kind, options) in kinds.items():
        missing = next((gone for start, gone in NOT_OFFERED.items() if name.startswith(start)), set())
        for check, run in give(kind, **options):
            if check not in missing:
                params.append(pytest.param(run, id=f"{name} {check}"))
    return params


@pytest.mark.parametrize("check", one_by_one(GROUPINGS, grouping_checks))
def test_groupings(check):
    check()


@pytest.mark.parametrize("check", one_by_one(SKETCHES, sketch_checks))
def test_sketches(check):
    check()


@pytest.mark.parametrize("check", one_by_one(SCHEDULERS, scheduler_checks))
def test_schedulers(check):
    check()


def test_no_grouping_or_sketch_is_left_out():
    public = {name: getattr(streamlb, name) for name in streamlb.__all__}
    groupings = {value for value in public.values() if isinstance(value, type) and issubclass(value, Grouping)}
    assert groupings == {kind for kind, _ in GROUPINGS.values()}
    sketches = {value for value in public.values() if getattr(value, "__module__", "").startswith("streamlb.sketches.")}
    assert sketches == {kind for kind, _ in SKETCHES.values()}


@pytest.mark.parametrize("kind", [PowerOfRandomChoices, BoundedLoadHashing])
def test_the_known_bound_is_that_of_the_theory(kind):
    """The checks need no scipy, so they have the formula themselves."""
    promise = GroupingContract(kind, None, {}).promises["imbalance"]
    for m, epsilon, workers, sources in ((1, 0.01, 3, 1), (1500, 0.1, 7, 4), (77, 1 / 3, 50, 2)):
        grouping = kind(workers, sources, epsilon=epsilon)
        ref = streamlb.analysis.random_choices_imbalance_bound(m, workers, epsilon, sources)
        assert float(promise(grouping, m)) == pytest.approx(ref)


def test_a_function_may_stand_for_the_class():
    names = [name for name, _ in grouping_checks(functools.partial(KeyGrouping, seed=4), sources=2)]
    # Whose bounds they are is not looked for in a function.
    assert "bound_workers_per_key" not in names
    for _, run in grouping_checks(functools.partial(KeyGrouping, seed=4), sources=2):
        run()
