"""The two halves of POSG over a bad network, for long, while instances come, go and start over."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlb import POSG, POSGInstance, POSGScheduler
from streamlb.learning.messages import Hello, Matrices, MessageError, Reply, decode, encode

SMALL = {"window": 4, "tolerance": 0.5}
COSTS = (1.0, 0.0, 5.0, 2.0)  # a tuple may cost nothing


class World:
    """A scheduler, its instances, and the messages on their way to it."""

    def __init__(self, seed, k, loss, **options):
        self.rng, self.loss, self.options = np.random.default_rng(seed), loss, options
        self.scheduler = POSGScheduler(k, **SMALL, resync=20, **options)
        self.lives = [1] * k
        self.instances = [self.instance(i) for i in range(k)]
        self.mail, self.now = [], 0.0

    def instance(self, i):
        shared = {name: self.options[name] for name in ("clock", "resend", "columns") if name in self.options}
        return POSGInstance(i, **SMALL, **shared, incarnation=self.lives[i])

    def submit(self):
        key = int(self.rng.integers(0, 4))
        if self.rng.random() < 0.7:  # else another tuple at the same instant
            self.now += 1.0
        i, request = self.scheduler.submit(key, now=self.now)
        assert self.scheduler.active[i]
        self.post(self.instances[i].complete(key, COSTS[key], request, now=self.now))

    def post(self, messages):
        for message in messages:
            if self.rng.random() >= self.loss:
                self.mail += [message] * (2 if self.rng.random() < self.loss else 1)
        if self.loss:
            self.rng.shuffle(self.mail)
        arriving = len(self.mail) if not self.loss else int(self.rng.integers(0, len(self.mail) + 1))
        for message in self.mail[:arriving]:
            self.scheduler.receive(message)
        self.mail = self.mail[arriving:]

    def upheaval(self):
        """An instance joins, leaves, or starts over, with a word or without."""
        kind, i = int(self.rng.integers(0, 4)), int(self.rng.integers(0, len(self.instances)))
        if kind == 0 and len(self.instances) < 6:
            self.lives.append(1)
            self.instances.append(self.instance(len(self.instances)))
            self.post([self.instances[-1].hello()])
        elif kind == 1 and i < self.scheduler.instances and self.scheduler.active.sum() > 1:
            self.scheduler.leave(i)
        else:
            self.lives[i] += 1
            self.instances[i] = self.instance(i)
            if kind == 2:
                self.post([self.instances[i].hello()])

    def check(self):
        scheduler = self.scheduler
        assert np.isfinite(scheduler.estimates[scheduler.active]).all()
        assert np.isinf(scheduler.estimates[~scheduler.active]).all()
        if scheduler.phase == "WAIT_ALL":  # who waits for no one would wait for the time-out
            assert scheduler.awaited.any()


RULES = (
    {},
    {"clock": "busy"},
    {"resend": "changed"},
    {"idle": "clamp", "ties": "least_recent"},
    {"synchronise": "staggered", "idle": "clamp", "ties": "least_recent", "resend": "changed"},
)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    k=st.integers(1, 4),
    loss=st.sampled_from([0.1, 0.5, 0.9]),
    rules=st.sampled_from(RULES),
)
def test_a_long_bad_life_and_then_a_good_one(seed, k, loss, rules):
    world = World(seed, k, loss, **rules)
    for _ in range(600):
        world.submit()
        if world.rng.random() < 0.03:
            world.upheaval()
        world.check()
    # From here on nothing is lost: who takes part becomes known, and the scheduler runs again.
    world.loss = 0.0
    world.post([instance.hello() for instance in world.instances])
    for _ in range(80 * 6 * 9):
        world.submit()
        world.check()
        if world.scheduler.phase == "RUN":
            break
    assert world.scheduler.phase == "RUN"


def test_lost_matrices_are_sent_again_though_unchanged():
    scheduler = POSGScheduler(1, **SMALL, clock="busy", resend="changed")
    instance = POSGInstance(0, **SMALL, clock="busy", resend="changed", incarnation=1)
    pairs = [t for t in range(8 * 20) if any(isinstance(decode(m), Matrices) for m in instance.complete(0, 1.0))]
    assert [(t + 1) // 8 for t in pairs] == [
        1,
        10,
        19,
    ]  # a pair is stable every two windows; eight of nine are held back
    assert instance.suppressed == 17
    assert scheduler.phase == "ROUND_ROBIN"


def test_who_left_unheard_is_not_brought_back_by_what_it_said_before():
    scheduler = POSGScheduler(2, **SMALL)
    early = POSGInstance(0, **SMALL, incarnation=5)
    said = [message for t in range(8) for message in early.complete(0, 1.0, now=float(t))]
    scheduler.leave(0)
    assert [scheduler.receive(message) for message in said] == [False]
    assert scheduler.active.tolist() == [False, True]
    assert not scheduler.receive(early.hello())  # of the life that was told to leave
    assert scheduler.receive(POSGInstance(0, **SMALL, incarnation=6).hello())
    assert scheduler.active.all()


def test_one_column_in_two_halves():
    world = World(0, 2, 0.0, columns=1, clock="busy")
    for _ in range(60):
        world.submit()
    assert world.scheduler.messages["synchronisations"] > 0
    assert world.scheduler.rejected == 0


SHAPE = (4, 55)
ONES = np.ones(SHAPE, np.int64), np.ones(SHAPE)


@pytest.mark.parametrize(
    "message",
    [
        Hello(0, 2**63),
        Matrices(0, 1, 2**63, 0, *ONES),
        Matrices(0, 1, 1, 0, ONES[0] * 2**61, ONES[1]),  # their sum would wrap
        Matrices(0, 1, 1, 0, ONES[0], ONES[1] * 1e308),
        Matrices(0, 1, 1, 0, -ONES[0], ONES[1]),
        Matrices(0, 1, 1, 0, ONES[0], ONES[1] * np.nan),
        Reply(0, 1, 1, 1e308, -1e308, 0.0),  # their difference would be infinite
    ],
)
def test_numbers_beyond_measure_are_rejected(message):
    with pytest.raises(MessageError):
        decode(encode(message))
    scheduler = POSGScheduler(1, **SMALL)
    assert not scheduler.receive(encode(message))
    assert scheduler.rejected == 1


@pytest.mark.parametrize("elapsed", [1e101, 1.7e308])
def test_times_that_would_add_up_to_infinity_are_refused(elapsed):
    posg, fresh = POSG(1, **SMALL, clock="busy"), POSG(1, **SMALL, clock="busy")
    for call in (lambda: posg.complete(0, 1, elapsed), lambda: posg.complete(0, 1, 1.0, now=elapsed)):
        with pytest.raises(ValueError, match="must be in"):
            call()
    for each in (posg, fresh):  # nothing was learnt from what was refused
        for key in [0, 1, 2, 3] * 20:
            each.complete(each.submit(key), key, COSTS[key])
    assert (posg.estimates.tolist(), posg.messages) == (fresh.estimates.tolist(), fresh.messages)
    with pytest.raises(ValueError, match="must be in"):
        POSGInstance(0, **SMALL).complete(0, elapsed)


def test_the_longest_times_stay_finite():
    posg = POSG(2, **SMALL)
    for t in range(200):
        posg.complete(posg.submit(t % 3, now=1e100), t % 3, 1e100, now=1e100)
    assert np.isfinite(posg.estimates).all()
    assert posg.messages["synchronisations"] > 0
