"""Options live once: signature, repr, checks and errors of every class and simulator agree."""

import inspect

import numpy as np
import pytest

import streamlb
from streamlb import (
    LoadAwareShedder,
    Placement,
    ShuffleGrouping,
    StrawMan,
    Topology,
    even_schedule,
    simulate_operator,
    simulate_shedding,
)
from streamlb.learning.learner import CostLearner
from streamlb.simulation.operator import POLICIES as OPERATOR_POLICIES
from streamlb.simulation.shedding import POLICIES as SHEDDING_POLICIES

# What each class needs, and another value than the default of each option that some class takes.
CLASSES = {
    "POSG": {"instances": 2},
    "POSGScheduler": {"instances": 2},
    "POSGInstance": {"instance": 1, "incarnation": 5},
    "LoadAwareShedder": {},
    "RemoteShedder": {},
    "RemoteOperator": {},
    "StrawMan": {},
    "FullKnowledge": {},
    "RandomShedder": {"share": 0.25},
    "CostLearner": {},
}
OTHER = {
    "instances": 3, "instance": 2, "window": 7, "tolerance": 0.3, "epsilon": 0.2, "delta": 0.2, "seed": 9,
    "stability": "printed", "rounding": "floor", "columns": 5, "clock": "busy", "resend": "changed", "idle": "clamp",
    "ties": "least_recent", "unseen": "zero", "synchronise": "staggered", "resync": 40, "timeout": 50,
    "incarnation": 8, "threshold": 2.5, "safety": 0.125, "goal": "bound", "span": 9, "share": 0.5, "reports": 3,
    "clamp": False, "sync": "difference", "check": "listing", "start": "matrices", "mean_cost": 2.0,
    "costs": [1.0, 2.0], "look": "before",
}  # fmt: skip


def named(name):
    return CostLearner if name == "CostLearner" else getattr(streamlb, name)


def options_of(thing):
    return list(inspect.signature(thing).parameters)


OF_CLASSES = [(name, option) for name in CLASSES for option in options_of(named(name))]

PLACED = even_schedule(Topology({"s": 1, "b": 1}, [("s", "b")]), nodes=1)
SIMULATORS = {
    "simulate_operator": {"keys": [1, 2], "costs": [1.0, 2.0], "instances": 2},
    "simulate_shedding": {"keys": [1, 2], "costs": [1.0, 2.0]},
    "simulate_shed_operator": {"keys": [1, 2], "costs": [1.0, 2.0], "shedder": StrawMan(), "scheduler": 2},
    "simulate_pipeline": {"placement": PLACED, "slots": 3},
    "simulate_cluster": {"stream": [1, 2], "grouping": ShuffleGrouping(2), "in_flight": 1},
    "simulate_capacity": {"stream": [1, 2], "grouping": ShuffleGrouping(2), "capacities": [1, 1], "slots": 2},
}
# Every simulator with each policy that it has: its name, the policy, and what the policy adds.
RUNS = [(name, None, []) for name in SIMULATORS if name not in ("simulate_operator", "simulate_shedding")]
RUNS += [("simulate_operator", policy, list(kind.takes.parameters)) for policy, kind in OPERATOR_POLICIES.items()]
RUNS += [("simulate_shedding", policy, list(kind.takes.parameters)) for policy, kind in SHEDDING_POLICIES.items()]
OF_POLICIES = {
    "simulate_operator": {one for kind in OPERATOR_POLICIES.values() for one in kind.takes.parameters},
    "simulate_shedding": {one for kind in SHEDDING_POLICIES.values() for one in kind.takes.parameters},
}


def taken(simulator, own):
    """Return the names that a simulator takes, with a policy that adds `own`."""
    others = OF_POLICIES.get(simulator, set()) - set(own)
    return [name for name in options_of(getattr(streamlb, simulator)) if name not in others]


def call(simulator, chosen, **more):
    given = SIMULATORS[simulator] | ({} if chosen is None else {"policy": chosen}) | more
    return getattr(streamlb, simulator)(**given)


def wrong_values(name):
    """Give values that no argument takes; flags and numbers get some of their own."""
    yield from (object(), [[1.0], [1.0, 2.0]], 1 + 2j)
    if name not in ("keys", "stream"):  # of a dict they take its keys
        yield {"a": 1}
    if name not in ("policy", "arrivals"):
        yield "nonsense"
    if name in ("keep", "warmup", "stalls", "piggyback", "keep_workers", "clamp", "changes"):
        yield 1
    if name in ("burst", "block", "every", "slots", "part", "cores", "resend", "bins", "in_flight"):
        yield from (1.5, True, float("nan"), -1, 2**80)
    if name in ("latency", "control_latency", "deadline", "load", "network", "rate", "distance_cost"):
        yield from (True, float("nan"), float("inf"), -1.0)
    if name in ("changes", "warmup"):
        yield from ([(1,)], [(1, 2, 3)], [(1, "a")], [(1.5, [1.0, 1.0])], [(None, None)])


@pytest.mark.parametrize(("simulator", "policy", "own"), RUNS)
def test_a_simulator_takes_what_it_shows(simulator, policy, own):
    parameters = inspect.signature(getattr(streamlb, simulator)).parameters.values()
    assert {one.kind for one in parameters} <= {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}
    assert set(own) <= {one.name for one in parameters}
    call(simulator, policy)


@pytest.mark.parametrize(("simulator", "policy", "own"), RUNS)
def test_a_misspelt_option_names_the_simulator_and_all_that_it_takes(simulator, policy, own):
    with pytest.raises(TypeError, match=f"^{simulator}: .*'mispelt'.* it takes ") as found:
        call(simulator, policy, mispelt=3)
    assert str(found.value).split(" it takes ")[1].split(", ") == taken(simulator, own)
    assert policy is None or f"the policy {policy!r}" in str(found.value)


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_a_missing_argument_names_the_simulator(simulator):
    first = next(iter(SIMULATORS[simulator]))
    with pytest.raises(TypeError, match=f"^{simulator}: missing a required argument: '{first}'.* it takes {first}"):
        getattr(streamlb, simulator)(**{name: value for name, value in SIMULATORS[simulator].items() if name != first})


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_too_many_arguments_name_the_simulator(simulator):
    with pytest.raises(TypeError, match=f"^{simulator}: too many positional arguments; it takes "):
        getattr(streamlb, simulator)(*[1] * 20)


@pytest.mark.parametrize(("simulator", "policy", "own"), [run for run in RUNS if run[1] is not None])
def test_an_option_of_another_policy_is_refused(simulator, policy, own):
    """Also at its default: it would mean nothing."""
    parameters = inspect.signature(getattr(streamlb, simulator)).parameters
    for other in sorted(OF_POLICIES[simulator] - set(own)):
        with pytest.raises(
            TypeError, match=f"^{simulator}: .*'{other}'; with the policy '{policy}' it takes "
        ) as found:
            call(simulator, policy, **{other: parameters[other].default})
        assert str(found.value).split(" it takes ")[1].split(", ") == taken(simulator, own)


def test_every_policy_has_options_that_others_refuse():
    """What the test above goes through is not empty."""
    assert "every" not in OPERATOR_POLICIES["posg"].takes.parameters
    assert "window" not in OPERATOR_POLICIES["round_robin"].takes.parameters
    assert "threshold" not in SHEDDING_POLICIES["random"].takes.parameters
    assert "mean_cost" not in SHEDDING_POLICIES["load_aware"].takes.parameters
    assert not SHEDDING_POLICIES["none"].takes.parameters


def test_a_goal_given_by_position_is_refused_where_there_is_none():
    with pytest.raises(TypeError, match=r"^simulate_shedding: .*'threshold'; with the policy 'random' it takes keys"):
        simulate_shedding([1], [1.0], "random", 6.4, 0.25)


def test_options_do_not_go_with_a_shedder_object():
    for option in ({"goal": "bound"}, {"threshold": 6.4}, {"safety": 0.0}):
        with pytest.raises(TypeError, match=f"^simulate_shedding: .*{next(iter(option))!r}; with a LoadAwareShedder"):
            simulate_shedding([1], [1.0], LoadAwareShedder(6.4), **option)
    with pytest.raises(TypeError, match="'warmup'; with a StrawMan it takes keys, costs, policy"):
        simulate_shedding([1], [1.0], StrawMan(6.4), warmup=([1], [1.0]))


@pytest.mark.parametrize(("simulator", "policy", "own"), RUNS)
def test_a_wrong_argument_is_named(simulator, policy, own):
    for option in taken(simulator, own):
        for value in wrong_values(option):
            with pytest.raises((TypeError, ValueError), match=rf"^{option}\b.* must "):
                call(simulator, policy, **{option: value})


@pytest.mark.parametrize("name", CLASSES)
def test_a_misspelt_option_names_the_class(name):
    with pytest.raises(TypeError, match=f"^{name}: .*'mispelt'; it takes {', '.join(options_of(named(name)))}$"):
        named(name)(**CLASSES[name], mispelt=1)


@pytest.mark.parametrize(("name", "option"), OF_CLASSES)
def test_a_wrong_option_of_a_class_is_named(name, option):
    for value in (object(), 1 + 2j):
        with pytest.raises((TypeError, ValueError), match=rf"^{option}\b.* must "):
            named(name)(**CLASSES[name] | {option: value})


@pytest.mark.parametrize(("name", "option"), OF_CLASSES)
def test_the_repr_makes_the_same_object(name, option):
    made = named(name)(**CLASSES[name] | {option: OTHER[option]})
    plain = named(name)(**CLASSES[name])
    shown = repr(made)
    assert all(f"{one}=" in shown for one in options_of(named(name)))
    assert shown != repr(plain)
    again = eval(shown, {name: named(name), "array": np.array})
    assert repr(again) == shown
    np.testing.assert_equal(getattr(again.options, option), getattr(made.options, option))


def test_the_repr_says_in_a_few_words_what_has_become_of_it():
    shedder = LoadAwareShedder(2.0, window=2, goal="bound")
    for time in range(5):
        shedder.offer("tick", now=float(time))
        shedder.complete("tick", elapsed=1.0)
    call, state = repr(shedder).split("  # ")
    assert eval(call, vars(streamlb) | {"LoadAwareShedder": LoadAwareShedder}).threshold == 2.0
    assert state == "RUN, offered 5, dropped 0"
    posg = streamlb.POSG(2)
    posg.submit(1)
    assert repr(posg).endswith("  # ROUND_ROBIN, epoch 0, 1 tuples")


def test_bad_input_of_a_simulator_changes_no_state():
    shedder, before = LoadAwareShedder(6.4), LoadAwareShedder(6.4).state()
    for wrong in ({"arrivals": [1.0]}, {"underprovisioning": 2.0}, {"warmup": ([1], [-1.0])}, {"seed": "a"}):
        with pytest.raises((TypeError, ValueError)):
            simulate_shedding([1, 2], [1.0, 1.0], shedder, **wrong)
    assert shedder.state() == before
    with pytest.raises(TypeError, match=r"^placement must be a Placement"):
        streamlb.simulate_pipeline(Placement)
    with pytest.raises(ValueError, match=r"^changes must be at increasing tuples above 0, got \[5, 5\]"):
        simulate_operator([1], [1.0], 1, changes=[(5, [1.0]), (5, [1.0])])
