"""Naive twin of the POSG protocol and of its simulation: objects, dictionaries, an event queue."""

import heapq
import math

from naive.scheduling import Learner, sketch_columns


class Scheduler:
    """Rivetti et al. 2015, figure 3, with the settled points as options."""

    def __init__(
        self, k, rows, columns, seed, resync, timeout, clamp=False, least_recent=False, zero=False, staggered=False
    ):
        self.k, self.rows, self.columns, self.seed = k, rows, columns, seed
        self.resync, self.timeout, self.clamp, self.least_recent = resync, timeout, clamp, least_recent
        self.zero, self.staggered = zero, staggered
        self.phase, self.epoch, self.turn, self.since, self.submitted = "ROUND_ROBIN", 0, 0, 0, 0
        self.pairs, self.clock, self.assigned, self.mean = {}, [0.0] * k, [0.0] * k, [0.0] * k
        self.asked, self.replied, self.corrections = {}, {}, {}
        self.used, self.due = [0] * k, [0] * k
        self.ignored = self.timeouts = self.matrices = self.replies = 0
        self.first_run = None

    def estimate(self, key, i):
        F, W = self.pairs[i]
        cells = list(enumerate(sketch_columns(key, self.rows, self.columns, self.seed)))
        cell = min(cells, key=lambda cell: F.get(cell, 0))
        if F.get(cell, 0):
            return W[cell] / F[cell]
        return 0.0 if self.zero else self.mean[i]

    def start_sync(self):
        self.phase, self.turn, self.since = "SEND_ALL", 0, 0
        self.epoch += 1
        self.corrections = {}

    def run(self):
        self.phase, self.since = "RUN", 0
        if self.first_run is None:
            self.first_run = self.submitted
        for i in range(self.k):
            self.due[i] = self.submitted + self.resync * (i + 1) // self.k

    def apply(self, i, correction):
        before = self.clock[i]
        self.clock[i] = correction + (self.assigned[i] if self.clamp else before)
        return self.clock[i] - before

    def synchronise(self):
        moved = 0.0
        for i in range(self.k):
            if i in self.corrections:
                moved += self.apply(i, self.corrections[i])
        for i in range(self.k):
            if i not in self.corrections:
                if self.corrections:
                    self.clock[i] += moved / len(self.corrections)
                self.asked[i] = self.replied.get(i)
        self.run()

    def submit(self, key, now):
        """Return (instance, request or None)."""
        self.submitted += 1
        request = None
        if self.phase == "RUN" and not self.staggered and self.resync and self.since >= self.resync:
            self.start_sync()
        elif self.phase == "WAIT_ALL" and self.since >= self.timeout:
            self.timeouts += 1
            self.synchronise()
        asks = False
        if self.phase == "ROUND_ROBIN":
            i = self.turn
            self.turn = (self.turn + 1) % self.k
            return i, None
        if self.phase == "SEND_ALL":
            i, asks = self.turn, True
            self.turn += 1
            if self.turn == self.k:
                self.phase, self.since = "WAIT_ALL", 0
        else:
            self.since += 1
            level = [max(c, now) if self.clamp else c for c in self.clock]
            i = min(range(self.k), key=lambda i: (level[i], self.used[i] if self.least_recent else i, i))
            self.used[i] = self.submitted
            if self.staggered and self.phase == "RUN" and self.submitted >= self.due[i]:
                answered = self.asked.get(i) == self.replied.get(i)
                if answered or self.submitted - self.due[i] >= self.timeout:
                    self.epoch += 1
                    self.due[i] = self.submitted + self.resync
                    asks = True
        cost = self.estimate(key, i)
        self.clock[i] = (max(self.clock[i], now) if self.clamp else self.clock[i]) + cost
        self.assigned[i] += cost
        if asks:
            self.asked[i] = self.epoch
            request = (self.epoch, self.clock[i], self.assigned[i])
        return i, request

    def take_matrices(self, i, pair):
        self.matrices += 1
        F, W = self.pairs[i] = pair
        counts = [F.get((0, j), 0) for j in range(self.columns)]
        self.mean[i] = sum(W.get((0, j), 0.0) for j in range(self.columns)) / sum(counts) if sum(counts) else 0.0
        if self.phase == "ROUND_ROBIN":
            if len(self.pairs) == self.k:
                self.start_sync()
        elif not self.staggered:
            self.start_sync()

    def take_reply(self, i, epoch, clock, estimate, assigned):
        alone = self.staggered and self.phase == "RUN"
        fresh = self.asked.get(i) == epoch and self.replied.get(i) != epoch
        current = epoch == self.epoch and self.phase in ("SEND_ALL", "WAIT_ALL")
        if not fresh or not (alone or current):
            self.ignored += 1
            return
        self.replies += 1
        self.replied[i] = epoch
        correction = clock - (assigned if self.clamp else estimate)
        if alone:
            self.apply(i, correction)
            return
        self.corrections[i] = correction
        if self.phase == "WAIT_ALL" and len(self.corrections) == self.k:
            self.synchronise()


def differs(pair, last, tolerance):
    """Whether W/F moved since the last pair.

    Cells by more than 3 tolerance together, or the sum over all of them by more than tolerance.
    """
    if last is None:
        return True
    expected = {cell: last[1][cell] / last[0][cell] * count for cell, count in pair[0].items() if cell in last[0]}
    total = sum(expected.values())
    moved = sum(abs(value - pair[1][cell]) for cell, value in expected.items())
    drift = abs(sum(pair[1][cell] for cell in expected) - total)
    return total == 0 or moved > 3 * tolerance * total or drift > tolerance * total


def simulate_posg(
    keys, costs, arrivals, k, window, tolerance, rows, columns, seed, stability, speeds, delay, control, busy, **rules
):
    """Event by event: tuples reach their instance, wait, are executed; messages travel.

    Returns (stays, chosen, scheduler).
    """
    on_change = rules.pop("on_change", False)
    last = [None] * k
    scheduler = Scheduler(k, rows, columns, seed, **rules)
    learners = [Learner(window, tolerance, rows, columns, seed, stability) for _ in range(k)]
    worked = [0.0] * k
    queues, running = [[] for _ in range(k)], [False] * k
    stays, chosen = [None] * len(keys), [None] * len(keys)
    # At one instant: completions, then messages (in the order of their tuples, replies first), then
    # tuples at instances, then arrivals.
    events = [(arrivals[t], 3, t, "arrival", t) for t in range(len(keys))]
    heapq.heapify(events)

    def start(i, now):
        t, request = queues[i].pop(0)
        running[i] = True
        heapq.heappush(events, (now + costs[t] * speeds(t)[i], 0, t, "done", (i, t, request)))

    while events:
        now, _, _, kind, what = heapq.heappop(events)
        if kind == "arrival":
            t = what
            i, request = scheduler.submit(keys[t], now)
            chosen[t] = i
            heapq.heappush(events, (now + delay, 2, t, "tuple", (i, t, request)))
        elif kind == "tuple":
            i, t, request = what
            queues[i].append((t, request))
            if not running[i]:
                start(i, now)
        elif kind == "done":
            i, t, request = what
            stays[t] = now - arrivals[t]
            running[i] = False
            cost = costs[t] * speeds(t)[i]
            worked[i] += cost
            if request is not None:
                reply = (i, request[0], worked[i] if busy else now, request[1], request[2])
                heapq.heappush(events, (now + control, 1, 2 * t, "reply", reply))
            pair = learners[i].learn(keys[t], cost)
            if pair is not None and (not on_change or differs(pair, last[i], tolerance)):
                last[i] = pair
                heapq.heappush(events, (now + control, 1, 2 * t + 1, "matrices", (i, pair)))
            if queues[i]:
                start(i, now)
        elif kind == "reply":
            scheduler.take_reply(*what)
        else:
            scheduler.take_matrices(*what)
    return stays, chosen, scheduler


def simulate_simple(policy, costs, arrivals, k, speeds, delay, every=1, control=0.0):
    """Round robin, full knowledge, least work, and feedback with every report delivered in time."""
    free, load, sent = [0.0] * k, [0.0] * k, [0] * k
    done, busy, reports = [0] * k, [0.0] * k, []
    known, clock, used = [(0, 0.0)] * k, [0.0] * k, [0] * k
    stays, chosen = [], []
    for t, (cost, now) in enumerate(zip(costs, arrivals)):
        if policy == "round_robin":
            i = t % k
        elif policy == "full_knowledge":
            i = load.index(min(load))
        elif policy == "least_work":
            level = [max(f, now + delay) for f in free]
            i = level.index(min(level))
        else:
            for due, _, j, finished, covered, mean in sorted(reports):
                if due <= now:
                    known[j] = (covered, mean)
                    clock[j] = finished + (sent[j] - covered) * mean
            reports = [report for report in reports if report[0] > now]
            level = [max(c, now + delay) for c in clock]
            i = min(range(k), key=lambda i: (level[i], used[i], i))
            if not all(covered for covered, _ in known):
                i = sent.index(min(sent))
            clock[i], used[i] = level[i] + known[i][1], t + 1
        paid = cost * speeds(t)[i]
        load[i] += paid
        free[i] = max(free[i], now + delay) + paid
        sent[i] += 1
        done[i] += 1
        busy[i] += paid
        if policy == "feedback" and done[i] % every == 0:
            reports.append((free[i] + control, t, i, free[i], done[i], busy[i] / done[i]))
        stays.append(free[i] - now)
        chosen.append(i)
    assert all(math.isfinite(stay) for stay in stays)
    return stays, chosen
