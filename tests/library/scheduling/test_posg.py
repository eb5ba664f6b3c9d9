"""POSG live: in one process, in two halves, and under messages that are late, lost or altered."""

import inspect
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import posg as naive

from streamlb import POSG, CostSketch, POSGInstance, POSGScheduler, _state
from streamlb.learning.messages import Hello, Matrices, MessageError, Reply, Request, decode, encode

SMALL = {"window": 6, "tolerance": 0.5, "epsilon": 0.5, "delta": 0.25}
COSTS = [1.0, 2.0, 5.0, 9.0]


def twin(k, resync, **rules):
    learners = [naive.Learner(6, 0.5, 2, 6, 0, "nonempty") for _ in range(k)]
    return naive.Scheduler(k, 2, 6, 0, resync=resync, timeout=6 * k, **rules), learners


@given(
    keys=st.lists(st.integers(0, 3), max_size=150),
    k=st.integers(1, 4),
    resync=st.sampled_from([False, 9]),
    lag=st.integers(0, 6),
    staggered=st.booleans(),
)
def test_live_matches_naive(keys, k, resync, lag, staggered):
    """Each instance completes its tuples in order, `lag` submissions behind; busy clock."""
    resync = resync or (9 if staggered else False)
    ref, learners = twin(k, int(resync), staggered=staggered)
    posg = POSG(k, **SMALL, clock="busy", resync=resync, synchronise="staggered" if staggered else "barrier")
    worked, flying = [0.0] * k, []
    for key in keys:
        i, request = ref.submit(key, 0.0)
        assert posg.submit(key) == i
        flying.append((i, key, request))
        if len(flying) > lag:
            i, key, request = flying.pop(0)
            posg.complete(i, key, COSTS[key])
            worked[i] += COSTS[key]
            if request is not None:
                ref.take_reply(i, request[0], worked[i], request[1], request[2])
            pair = learners[i].learn(key, COSTS[key])
            if pair is not None:
                ref.take_matrices(i, pair)
        assert posg.phase == ref.phase
        assert posg.estimates.tolist() == ref.clock
    assert posg.messages["matrices"] == ref.matrices
    if not lag:
        assert posg.messages["replies"] == ref.replies


def seen(scheduler):
    """All that a user can see of a scheduler."""
    keys, instances = range(4), range(scheduler.instances)
    return {
        **{name: getattr(scheduler, name) for name in ("phase", "epoch", "messages", "instances", "options")},
        **{name: getattr(scheduler, name).tolist() for name in ("estimates", "active", "known", "awaited")},
        "costs": [[scheduler.estimate(i, key) for key in keys] for i in instances],
    }


def assert_same_future(posg, fresh, rounds=20):
    """Both do the same from here on: whatever either remembers would show."""
    for key in [0, 1, 2, 3] * rounds:
        i = posg.submit(key)
        assert fresh.submit(key) == i
        for each in (posg, fresh):
            each.complete(i, key, COSTS[key], now=1.0)
        assert seen(posg) == seen(fresh)


def run_split(keys, k, deliver, **options):
    """Drive both halves; `deliver(messages)` says which messages reach the scheduler now.

    Returns (scheduler, chosen).
    """
    scheduler = POSGScheduler(k, **SMALL, **options)
    shared = {name: options[name] for name in ("clock", "resend") if name in options}
    instances = [POSGInstance(i, **SMALL, **shared, incarnation=1) for i in range(k)]
    chosen = []
    for t, key in enumerate(keys):
        i, request = scheduler.submit(key, now=float(t))
        chosen.append(i)
        for message in deliver(instances[i].complete(key, COSTS[key], request, now=float(t))):
            scheduler.receive(message)
    return scheduler, chosen


@given(
    keys=st.lists(st.integers(0, 3), max_size=150),
    k=st.integers(1, 4),
    clock=st.sampled_from(["wall", "busy"]),
    resend=st.sampled_from(["always", "changed"]),
)
def test_split_is_the_whole(keys, k, clock, resend):
    scheduler, chosen = run_split(keys, k, lambda messages: messages, clock=clock, resend=resend)
    posg = POSG(k, **SMALL, clock=clock, resend=resend)
    ref = []
    for t, key in enumerate(keys):
        ref.append(posg.submit(key, now=float(t)))
        posg.complete(ref[-1], key, COSTS[key], now=float(t))
    assert chosen == ref
    assert scheduler.estimates.tolist() == posg.estimates.tolist()
    assert scheduler.messages == posg.messages
    assert (scheduler.phase, scheduler.epoch) == (posg.phase, posg.epoch)


class Unreliable:
    """Loses, doubles, delays, reorders and alters messages, by a generator."""

    def __init__(self, seed):
        self.rng, self.late = np.random.default_rng(seed), []

    def __call__(self, messages):
        for message in messages:
            fate = self.rng.random()
            if fate < 0.2:
                continue
            if fate < 0.3:
                altered = bytearray(message)
                altered[self.rng.integers(len(altered))] ^= 1 + int(self.rng.integers(255))
                message = bytes(altered)
            self.late += [message] * (2 if fate > 0.8 else 1)
        self.rng.shuffle(self.late)
        now = int(self.rng.integers(0, len(self.late) + 1))
        out, self.late = self.late[:now], self.late[now:]
        return out


@settings(max_examples=60)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 4), staggered=st.booleans(), clamp=st.booleans())
def test_unreliable_messages_never_stall_or_corrupt(seed, k, staggered, clamp):
    network = Unreliable(seed)
    keys = np.random.default_rng(seed).integers(0, 4, 400).tolist()
    rules = {"synchronise": "staggered" if staggered else "barrier", "resync": 20}
    if clamp:
        rules |= {"idle": "clamp", "ties": "least_recent"}
    scheduler, chosen = run_split(keys, k, network, **rules)
    assert all(0 <= i < k for i in chosen)
    assert np.isfinite(scheduler.estimates).all()
    assert scheduler.phase in ("ROUND_ROBIN", "SEND_ALL", "WAIT_ALL", "RUN")
    if scheduler.phase == "ROUND_ROBIN":
        assert chosen == [t % k for t in range(len(keys))]  # it knew nothing, so round robin


def trained(k=2, **options):
    """A scheduler in RUN and its instances, with the busy clock."""
    scheduler = POSGScheduler(k, **SMALL, clock="busy", resync=False, **options)
    instances = [POSGInstance(i, **SMALL, clock="busy", incarnation=1) for i in range(k)]
    while scheduler.phase != "RUN":
        i, request = scheduler.submit(0)
        for message in instances[i].complete(0, 1.0, request):
            scheduler.receive(message)
    return scheduler, instances


def send_matrices(scheduler, instance, key=0, cost=1.0, request=None):
    """Let an instance execute until it sends matrices; return that message, undelivered."""
    while True:
        for message in instance.complete(key, cost, request):
            if isinstance(decode(message), Matrices):
                return message
        request = None


def test_stale_epochs_are_never_used():
    scheduler, instances = trained()
    scheduler.receive(send_matrices(scheduler, instances[0]))
    old = [scheduler.submit(0) for _ in range(2)]
    assert scheduler.phase == "WAIT_ALL"
    old_replies = [next(iter(instances[i].complete(0, 1.0, request))) for i, request in old]
    scheduler.receive(send_matrices(scheduler, instances[1]))  # a new epoch begins
    assert scheduler.phase == "SEND_ALL"
    before, epoch = scheduler.estimates.tolist(), scheduler.epoch
    assert [scheduler.receive(reply) for reply in old_replies] == [False, False]
    assert scheduler.estimates.tolist() == before
    assert (scheduler.phase, scheduler.epoch) == ("SEND_ALL", epoch)
    assert scheduler.messages["ignored"] == 2


def test_doubled_and_reordered_matrices_count_once():
    scheduler, instances = trained()
    first, second = send_matrices(scheduler, instances[0]), send_matrices(scheduler, instances[0], cost=3.0)
    assert scheduler.receive(second)
    assert not scheduler.receive(second)
    assert not scheduler.receive(first)  # older than what is known
    assert scheduler.estimate(0, 0) == 3.0


def test_a_lost_reply_does_not_stall():
    scheduler, instances = trained(timeout=5)
    scheduler.receive(send_matrices(scheduler, instances[0]))
    asked = [scheduler.submit(0) for _ in range(2)]
    i, request = asked[0]
    scheduler.receive(next(iter(instances[i].complete(0, 1.0, request))))  # the other reply is lost
    for _ in range(6):
        scheduler.submit(0)
    assert scheduler.phase == "RUN"
    assert scheduler.messages["timeouts"] == 1
    late = next(iter(instances[asked[1][0]].complete(0, 1.0, asked[1][1])))
    before = scheduler.estimates.tolist()
    assert not scheduler.receive(late)
    assert scheduler.estimates.tolist() == before


def test_who_does_not_reply_moves_as_the_others():
    """Replies of +10 and +20 from two of three: the third moves by 15."""
    scheduler = POSGScheduler(3, **SMALL, resync=False, timeout=3)
    instances = [POSGInstance(i, **SMALL, incarnation=1) for i in range(3)]
    for instance in instances:
        scheduler.receive(send_matrices(scheduler, instance))
    asked = dict(scheduler.submit(0) for _ in range(3))
    before = scheduler.estimates
    for i, moved in ((0, 10.0), (1, 20.0)):
        request = decode(asked[i])
        scheduler.receive(
            encode(Reply(i, 1, request.epoch, request.estimate + moved, request.estimate, request.assigned))
        )
    assert scheduler.phase == "WAIT_ALL"
    spent = np.zeros(3)
    for _ in range(4):
        i, _ = scheduler.submit(0)
        spent[i] += 1.0  # every execution took 1
    assert scheduler.phase == "RUN"
    assert (scheduler.estimates - before - spent).tolist() == [10.0, 20.0, 15.0]


def test_instances_join_leave_and_restart():
    scheduler, instances = trained()
    joined = POSGInstance(2, **SMALL, clock="busy", incarnation=1)
    assert scheduler.receive(joined.hello())
    assert scheduler.instances == 3
    assert scheduler.phase == "SEND_ALL"
    # A fresh instance counts its busy time from 0; the scheduler lets it start at the mean of the
    # others.
    assert scheduler.estimates[2] == pytest.approx(scheduler.estimates[:2].mean())
    used = []
    for _ in range(60):
        i, request = scheduler.submit(0)
        used.append(i)
        for message in [*instances, joined][i].complete(0, 1.0, request):
            scheduler.receive(message)
    assert np.bincount(used, minlength=3).min() > 15  # no one is flooded, no one starves
    scheduler.leave(0)
    assert 0 not in [scheduler.submit(0)[0] for _ in range(20)]
    assert not scheduler.receive(send_matrices(scheduler, instances[0]))
    again = POSGInstance(0, **SMALL, clock="busy", incarnation=2)
    assert scheduler.receive(again.hello())
    assert not scheduler.receive(send_matrices(scheduler, instances[0]))  # of its earlier life
    assert 0 in [scheduler.submit(0)[0] for _ in range(20)]


def test_a_restart_is_noticed_without_hello():
    scheduler, _ = trained()
    again = POSGInstance(1, **SMALL, clock="busy", incarnation=5)
    assert scheduler.receive(send_matrices(scheduler, again, cost=4.0))
    assert scheduler.phase == "SEND_ALL"


def test_nothing_known_is_round_robin_again():
    posg = POSG(3, **SMALL, clock="busy")
    while posg.phase != "RUN":
        posg.complete(posg.submit(0), 0, 1.0)
    posg.restart(0)
    assert posg.phase == "SEND_ALL"
    posg.restart(1)
    posg.restart(2)
    assert posg.phase == "ROUND_ROBIN"
    assert not posg.known.any()
    assert [posg.submit(0) for _ in range(4)] == [0, 1, 2, 0]


def test_live_join_and_leave():
    posg = POSG(2, **SMALL, clock="busy")
    while posg.phase != "RUN":
        posg.complete(posg.submit(0), 0, 1.0)
    assert posg.join() == 2
    used = []
    for _ in range(60):
        used.append(posg.submit(0))
        posg.complete(used[-1], 0, 1.0)
    assert np.bincount(used, minlength=3).min() > 10
    posg.leave(0)
    posg.complete(0, 0, 1.0)  # a straggler
    assert posg.messages["ignored"] >= 1
    assert 0 not in [posg.submit(0) for _ in range(10)]
    posg.leave(1)
    with pytest.raises(ValueError, match="last"):
        posg.leave(2)
    assert posg.active.tolist() == [False, False, True]


def test_who_joined_is_in_the_state():
    posg = POSG(2, **SMALL, clock="busy")
    while posg.phase != "RUN":
        posg.complete(posg.submit(0), 0, 1.0)
    posg.join()
    again = POSG.from_state(posg.state())
    assert seen(again) == seen(posg)
    assert again.instances == again.parameters["instances"] == 3
    assert_same_future(posg, again)


def test_a_scheduler_travels_by_pickle():
    scheduler, instances = trained()
    scheduler, instances = pickle.loads(pickle.dumps((scheduler, instances)))
    assert scheduler.receive(POSGInstance(2, **SMALL, clock="busy", incarnation=1).hello())
    for _ in range(20):
        i, _ = scheduler.submit(0)
        assert scheduler.active[i]
    assert scheduler.estimates.max() > 0.0


def test_options_are_those_of_the_dataclass():
    names = ["instances", "window", "tolerance", "epsilon", "delta", "seed"]
    for kind in (POSG, POSGScheduler):
        parameters = inspect.signature(kind).parameters.values()
        by_place = [p.name for p in parameters if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
        assert by_place == names
        assert kind(3, 7, 0.5).window == 7
        with pytest.raises(TypeError, match=f"{kind.__name__}: .*positional.*; it takes instances, window"):
            kind(3, 7, 0.5, 0.05, 0.1, 0, "printed")
        with pytest.raises(TypeError, match=f"{kind.__name__}: .*'windw'; it takes instances, window"):
            kind(3, windw=7)
        with pytest.raises(TypeError, match=f"{kind.__name__}: missing .*'instances'"):
            kind()
    with pytest.raises(TypeError, match=r"POSGInstance: .*'ties'; it takes instance, window"):
        POSGInstance(0, ties="first")
    instance = POSGInstance(1, 7, 0.5, 0.05, 0.1, 0, "printed", "ceil", "busy", 3)
    assert (instance.instance, instance.window, instance.clock, instance.incarnation) == (1, 7, "busy", 3)
    posg = POSG(3, window=10, seed=4, resync=None, timeout=False)
    assert posg.parameters == POSG(**posg.parameters).parameters
    assert (posg.resync, posg.timeout, posg.columns, posg.seed) == (False, False, 55, 4)
    assert (POSG(3, window=10).resync, POSG(3, window=10).timeout) == (30, 30)


def test_state_of_an_older_version_is_refused():
    old = _state.pack("POSG", 1, {}, {})
    with pytest.raises(ValueError, match="version 2 of POSG, got version 1"):
        POSG.from_state(old)


def test_state_of_another_kind_is_refused():
    data = POSG(2).state()
    with pytest.raises(ValueError, match="checksum"):
        POSG.from_state(data[:-1])
    with pytest.raises(ValueError, match="class"):
        CostSketch.from_state(data)


def test_matrices_are_sent_again_only_when_they_changed():
    instance = POSGInstance(0, **SMALL, incarnation=1, resend="changed")
    costs = [3.0] * 60 + [30.0] * 60
    sent = [t for t, cost in enumerate(costs) if instance.complete(1, cost, now=float(t))]
    assert sum(t < 60 for t in sent) == 1
    assert sum(t >= 60 for t in sent) >= 1
    assert instance.suppressed > 0


def test_economical_takes_its_options():
    posg = POSG.economical(3, window=32, resync=64)
    assert (posg.parameters["resend"], posg.parameters["idle"], posg.parameters["resync"]) == ("changed", "clamp", 64)
    assert POSG.economical(3, window=32).parameters["resync"] == 256
    for t, key in enumerate([0, 1, 2, 3] * 200):
        posg.complete(posg.submit(key, now=float(t)), key, COSTS[key], now=float(t))
    assert posg.phase == "RUN"
    assert posg.messages["matrices"] == 3


def test_reset_is_as_new():
    posg, fresh = POSG(2, **SMALL, clock="busy"), POSG(2, **SMALL, clock="busy")
    for key in [0, 1, 2, 3] * 20:
        posg.complete(posg.submit(key), key, COSTS[key])
    posg.reset()
    assert seen(posg) == seen(fresh)
    assert_same_future(posg, fresh)


@pytest.mark.parametrize("elapsed", [-1.0, float("nan"), float("inf"), -float("inf"), "3", True])
def test_bad_elapsed_teaches_an_instance_nothing(elapsed):
    instance = POSGInstance(0, **SMALL)
    learnt = instance.learner.state()
    with pytest.raises((ValueError, TypeError), match="elapsed"):
        instance.complete(1, elapsed)
    assert instance.learner.state() == learnt


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"instances": 0}, "instances"),
        ({"window": 0}, "window"),
        ({"tolerance": -1.0}, "tolerance"),
        ({"clock": "sun"}, "clock"),
        ({"idle": "sleep"}, "idle"),
        ({"ties": "last"}, "ties"),
        ({"unseen": "max"}, "unseen"),
        ({"resync": 0}, "resync"),
        ({"timeout": -3}, "timeout"),
        ({"columns": 0}, "columns"),
        ({"rounding": "up"}, "rounding"),
        ({"stability": "firm"}, "stability"),
        ({"synchronise": "never"}, "synchronise"),
    ],
)
def test_bad_parameters(change, name):
    for kind in (POSG, POSGScheduler):
        with pytest.raises(ValueError, match=name):
            kind(**({"instances": 2} | change))


def test_messages_of_others_are_rejected_and_counted():
    scheduler, instances = trained()
    foreign = POSGInstance(0, window=6, tolerance=0.5, epsilon=0.5, delta=0.25, seed=9, incarnation=1)
    wide = POSGInstance(0, window=6, tolerance=0.5, epsilon=0.1, delta=0.25, incarnation=1)
    good = send_matrices(scheduler, instances[0])
    before = seen(scheduler)
    bad = [
        send_matrices(scheduler, foreign),  # other hash functions
        send_matrices(scheduler, wide),  # another shape
        good[:-3],
        b"",
        encode(Request(0, 1, 0.0, 0.0)),  # not for a scheduler
        encode(Hello(10**6, 1)),
    ]
    assert not any(scheduler.receive(message) for message in bad)
    assert scheduler.rejected == len(bad)
    assert seen(scheduler) == before
    with pytest.raises(TypeError, match="bytes"):
        scheduler.receive("text")


def test_an_instance_refuses_what_is_no_request_for_it():
    instance = POSGInstance(1, **SMALL, incarnation=1)
    learnt = instance.learner.state()
    for wrong in (encode(Request(0, 1, 0.0, 0.0)), instance.hello(), b"garbage"):
        with pytest.raises(MessageError):
            instance.complete(3, 1.0, wrong)
    assert instance.learner.state() == learnt
