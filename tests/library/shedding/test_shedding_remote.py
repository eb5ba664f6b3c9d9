"""Shedder and operator apart: the same as together when messages arrive, and sound when they do
not."""

import multiprocessing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamlb import LoadAwareShedder, RemoteOperator, RemoteShedder
from streamlb.learning.messages import Matrices, Reply, Report, Request, decode, encode

COSTS = [1.0, 2.0, 5.0, 9.0]
FATES = st.sampled_from(["now", "late", "lost", "twice"])


def cost_of(key):
    return COSTS[key % 4]


def backlog(shedder):
    """Return the wait that the shedder expects of a tuple that comes with the last one."""
    return shedder.expected_wait(shedder.last)


def seen(shedder):
    """Return what can be seen of a shedder, but for the count of its bad messages."""
    counts = shedder.offered, shedder.kept, shedder.matrices, shedder.replies, shedder.used, shedder.stale
    where = shedder.phase, shedder.active, shedder.epoch, shedder.waiting, shedder.incarnation, shedder.sequence
    return counts, where, shedder.last, backlog(shedder), shedder.average_wait, shedder.F.tolist(), shedder.W.tolist()


class Link:
    """Run a stream through shedder, queue and operator; `fate` says what happens to each of the
    operator's messages."""

    def __init__(self, shedder, operator, fate=lambda: "now"):
        self.shedder, self.operator, self.fate = shedder, operator, fate
        self.queue, self.late, self.free, self.decisions = [], [], 0.0, []

    def deliver(self, message):
        fate = self.fate()
        if fate == "late":
            self.late.append(message)
        elif fate != "lost":
            for _ in range(2 if fate == "twice" else 1):
                self.shedder.receive(message)

    def complete_until(self, now):
        while self.queue and self.queue[0][1] <= now:
            key, finish, request = self.queue.pop(0)
            for message in self.operator.complete(key, cost_of(key), finish, request):
                self.deliver(message)

    def offer(self, key, now):
        self.complete_until(now)
        drop = self.shedder.offer(key, now)
        self.decisions.append(drop)
        if not drop:
            self.free = max(self.free, now) + cost_of(key)
            self.queue.append((key, self.free, self.shedder.request))
        if self.late and len(self.decisions) % 7 == 0:
            self.shedder.receive(self.late.pop())  # out of order, too


TRACES = st.lists(st.tuples(st.integers(0, 11), st.sampled_from([0.0, 1.0, 3.0, 40.0])), min_size=1, max_size=150)


@given(TRACES, st.sampled_from([0, 4]), st.sampled_from(["wall", "busy"]), st.sampled_from(["exact", "difference"]))
def test_apart_is_together_when_messages_arrive(trace, reports, clock, sync):
    shape = {"epsilon": 0.2, "delta": 0.25, "seed": 3}
    same = {"reports": reports, "clock": clock}
    link = Link(RemoteShedder(8.0, 4, **shape, sync=sync, **same), RemoteOperator(4, 0.5, **shape, **same))
    together = LoadAwareShedder(8.0, 4, 0.5, **shape, sync=sync, **same)
    now, free, queue = 0.0, 0.0, []
    for key, gap in trace:
        now += gap
        while queue and queue[0][1] <= now:
            done, finish = queue.pop(0)
            together.complete(done, cost_of(done), finish)
        drop = together.offer(key, now)
        link.offer(key, now)
        assert link.decisions[-1] == drop
        if not drop:
            free = max(free, now) + cost_of(key)
            queue.append((key, free))
    assert link.shedder.phase == together.phase
    assert backlog(link.shedder) == pytest.approx(backlog(together))
    assert link.shedder.bad == link.shedder.stale == 0 or reports


@given(TRACES, st.lists(FATES, min_size=1, max_size=30), st.sampled_from([0, 4]), st.booleans())
def test_no_fate_of_messages_breaks_the_shedder(trace, fates, reports, garble):
    """Whatever is late, lost, repeated, reordered or altered: no error, finite numbers, no drop
    before it knows."""
    turn = iter(fates * 400)
    shape = {"epsilon": 0.2, "delta": 0.25, "seed": 3, "reports": reports}
    link = Link(RemoteShedder(8.0, 4, timeout=3, **shape), RemoteOperator(4, 0.5, **shape), lambda: next(turn))
    now = 0.0
    for i, (key, gap) in enumerate(trace):
        now += gap
        link.offer(key, now)
        if link.decisions[-1]:
            assert link.shedder.active
        if garble and i % 5 == 0:
            assert not link.shedder.receive(b"SLM\x01" + bytes(i % 40))
    shedder = link.shedder
    assert abs(backlog(shedder)) < 1e9
    assert shedder.dropped == sum(link.decisions)
    assert shedder.waiting >= 0


def trained(timeout=None, reports=0):
    """A shedder that has the operator's matrices, and its operator."""
    shedder = RemoteShedder(1e12, window=2, timeout=timeout, safety=0.0, reports=reports)
    operator = RemoteOperator(window=2, reports=reports)
    for i in range(4):
        shedder.offer("a", float(i))
        for message in operator.complete("a", 1.0, i + 1.0, shedder.request):
            shedder.receive(message)
    assert shedder.phase == "SEND"
    return shedder, operator


def test_a_lost_reply_is_asked_for_again_and_a_late_one_ignored():
    shedder, operator = trained(timeout=3)
    shedder.offer("a", 10.0)
    (late,) = operator.complete("a", 1.0, 11.0, shedder.request)
    for i in range(4):
        shedder.offer("a", 20.0 + i)
    assert decode(shedder.request).epoch == 2
    assert not shedder.receive(late)  # it answers epoch 1
    assert (shedder.active, shedder.stale) == (False, 1)
    reply = next(m for m in operator.complete("a", 1.0, 99.0, shedder.request) if isinstance(decode(m), Reply))
    assert shedder.receive(reply)
    assert shedder.expected_wait(23.0) == 99.0 - 23.0
    assert not shedder.receive(reply)  # the same again
    assert shedder.active


def test_old_matrices_do_not_replace_new_ones():
    shedder, operator = trained()
    first, second = [], []
    for batch, cost in ((first, 2.0), (second, 5.0)):
        for _ in range(4):
            batch.extend(operator.complete("a", cost, 50.0))
    assert shedder.receive(second[-1])
    assert not shedder.receive(first[-1])
    shedder.offer("b", 60.0)
    assert shedder.estimate("a") == 5.0


def test_an_operator_that_restarts():
    shedder, old = trained()
    shedder.offer("a", 10.0)
    new = RemoteOperator(window=2, incarnation=2)
    assert shedder.waiting
    assert shedder.receive(new.hello())
    assert shedder.phase == "SEND"  # the tuple that carried the request is gone: ask again
    assert not shedder.receive(new.hello())
    late = old.complete("a", 1.0, 11.0, encode(Request(0, 1, 0.0, 0.0)))
    assert not any(shedder.receive(message) for message in late)
    shedder.offer("a", 12.0)
    (reply,) = new.complete("a", 1.0, 13.0, shedder.request)
    assert shedder.receive(reply)
    assert shedder.active


def test_a_restarted_operator_counts_its_reports_anew():
    shedder, _ = trained(reports=2)
    new = RemoteOperator(window=50, reports=2, incarnation=2)
    shedder.receive(new.hello())
    shedder.offer("a", 10.0)
    shedder.offer("a", 10.0)
    assert new.complete("a", 7.0, 17.0) == []
    (report,) = new.complete("a", 7.0, 24.0)
    assert isinstance(decode(report), Report)
    assert shedder.receive(report)
    assert shedder.expected_wait(10.0) == 14.0


def test_messages_that_do_not_belong_are_counted_and_ignored():
    shedder, operator = trained()
    before = seen(shedder)
    other_seed = RemoteOperator(window=2, seed=9)
    other_shape = RemoteOperator(window=2, epsilon=0.5)
    wrong = [b"", b"nonsense", encode(Request(0, 1, 0.0, 0.0)), encode(Report(3, 1, 4, 1.0, 1.0))]
    for operator in (other_seed, other_shape):
        for _ in range(4):
            wrong.extend(operator.complete("a", 1.0, 1.0))
    assert sum(isinstance(decode(message), Matrices) for message in wrong[2:]) == 2
    assert not any(shedder.receive(message) for message in wrong)
    assert shedder.bad == len(wrong)
    assert seen(shedder) == before
    with pytest.raises(TypeError, match="message must be bytes"):
        shedder.receive("text")


def test_the_operator_ignores_a_request_it_cannot_read():
    operator = RemoteOperator(window=2)
    assert operator.complete("a", 1.0, 1.0, b"garbage") == []
    assert operator.complete("a", 1.0, 2.0, operator.hello()) == []
    assert operator.completed == 2


def test_bad_calls_change_nothing():
    shedder, operator = trained()
    before = seen(shedder)
    with pytest.raises(ValueError, match="now must not go backwards"):
        shedder.offer("a", 1.0)
    with pytest.raises(TypeError, match="complete must be called on the RemoteOperator"):
        shedder.complete("a", 1.0)
    assert seen(shedder) == before
    done = operator.completed
    for elapsed, now, name in ((-1.0, 1.0, "elapsed"), (1e101, 1.0, "elapsed"), (1.0, float("nan"), "now")):
        with pytest.raises(ValueError, match=f"{name} must be"):
            operator.complete("a", elapsed, now)
    assert operator.completed == done
    for incarnation in (0, 2**63):
        with pytest.raises(ValueError, match=f"incarnation must be in .* got {incarnation}"):
            RemoteOperator(incarnation=incarnation)
    assert repr(operator).startswith("RemoteOperator(window=")
    assert repr(shedder).startswith("RemoteShedder(threshold=")


def _operate(pipe):
    """An operator in a process of its own: executes what comes, sends back its messages, ends at
    None."""
    operator = RemoteOperator(window=8, tolerance=0.2, reports=4)
    while (work := pipe.recv()) is not None:
        pipe.send(operator.complete(*work))
    pipe.close()


def test_two_processes():
    """The same decisions as with both sides in one process."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_operate, args=(there,))
    process.start()
    try:
        shedder = RemoteShedder(8.0, window=8, reports=4)
        together = LoadAwareShedder(8.0, window=8, tolerance=0.2, reports=4)
        free, decisions, expected = 0.0, [], []
        for i in range(200):
            key, now = i * i % 11, 2.0 * i
            decisions.append(shedder.offer(key, now))
            expected.append(together.offer(key, now))
            if not decisions[-1]:
                free = max(free, now) + cost_of(key)
                here.send((key, cost_of(key), free, shedder.request))
                assert here.poll(30)
                for message in here.recv():
                    shedder.receive(message)
                together.complete(key, cost_of(key), free)
        assert decisions == expected
        assert any(decisions)
    finally:
        here.send(None)
        process.join(30)
    assert process.exitcode == 0


def test_a_restarted_operator_owes_nothing_of_its_old_queue():
    """The backlog of the old life is no one's wait, and the clock is asked for again though no
    request was due."""
    shedder, operator = trained()
    shedder.offer("a", 10.0)
    for message in operator.complete("a", 1.0, 500.0, shedder.request):
        shedder.receive(message)
    assert (shedder.phase, shedder.waiting, shedder.expected_wait(10.0)) == ("RUN", 0, 490.0)
    assert shedder.receive(RemoteOperator(window=2, incarnation=2).hello())
    assert (shedder.phase, shedder.expected_wait(10.0)) == ("SEND", 0.0)
    shedder.offer("a", 10.0)
    assert decode(shedder.request).epoch == 2


NUMBERS = st.sampled_from([0.0, -1.0, 5.0, 1e300, -1e300, float("nan"), float("inf")])
COUNTS = st.sampled_from([0, 1, -1, 2, 4, 8, 10**6, 2**63 - 1, -(2**63)])
WILD = st.one_of(
    st.binary(max_size=60),
    st.builds(lambda epoch, clock: encode(Reply(0, 1, epoch, clock, 0.0, 0.0)), COUNTS, NUMBERS),
    st.builds(lambda done, clock: encode(Report(0, 1, done, clock, 0.0)), COUNTS, NUMBERS),
)


@given(TRACES, st.lists(WILD, max_size=30), st.sampled_from([0, 1, 4]), st.booleans(), st.data())
def test_wild_messages_never_break_the_shedder(trace, wild, reports, clamp, data):
    """Any bytes, whole messages with absurd numbers, cut and altered ones: counted, and the state
    stays finite."""
    shape = {"epsilon": 0.2, "delta": 0.25, "seed": 3, "reports": reports}
    link = Link(RemoteShedder(8.0, 4, timeout=3, clamp=clamp, **shape), RemoteOperator(4, 0.5, **shape))
    now, received = 0.0, 0
    for i, (key, gap) in enumerate(trace):
        now += gap
        link.offer(key, now)
        if i < len(wild):
            link.shedder.receive(wild[i])
            received += 1
    cut = encode(Report(0, 1, 4, 9.0, 9.0))
    at = data.draw(st.integers(0, len(cut) - 1))
    before, bad = seen(link.shedder), link.shedder.bad
    altered = bytearray(cut)
    altered[at] ^= 1 << data.draw(st.integers(0, 7))
    assert not link.shedder.receive(cut[:at])
    assert not link.shedder.receive(bytes(altered))
    assert link.shedder.bad == bad + 2
    assert seen(link.shedder) == before
    told = link.shedder.used + link.shedder.stale + link.shedder.bad
    assert told >= received + 2
    assert abs(backlog(link.shedder)) < float("inf")
