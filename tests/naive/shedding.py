"""Twins of the shedding room: the problem by brute force, the shedders, and their simulation tuple
by tuple."""

import itertools


def kept_waits(arrivals, costs, kept):
    free, out = 0, []
    for i in kept:
        start = max(free, arrivals[i])
        out.append(start - arrivals[i])
        free = start + costs[i]
    return out


def meets_goal(arrivals, costs, threshold, kept, goal):
    waited = kept_waits(arrivals, costs, kept)
    if goal == "bound":
        return all(wait <= threshold for wait in waited)
    return all(sum(waited[: j + 1]) <= threshold * (j + 1) for j in range(len(waited)))


def feasible_sets(arrivals, costs, threshold, goal):
    indices = range(len(arrivals))
    subsets = itertools.chain.from_iterable(itertools.combinations(indices, n) for n in range(len(indices) + 1))
    return [kept for kept in subsets if meets_goal(arrivals, costs, threshold, kept, goal)]


def most_kept(arrivals, costs, threshold, goal):
    return max(map(len, feasible_sets(arrivals, costs, threshold, goal)))


def goal_violated(goal, threshold, waited, wait, span=None, share=None, check="text"):
    """Whether keeping a tuple with this wait, after those that `waited`, misses the goal."""
    if goal == "bound":
        return wait > threshold
    if goal == "percentile":
        late = sum(w > threshold for w in [*waited, wait])
        return wait > threshold and late > (1 - share) * (len(waited) + 1)
    if goal == "windowed":
        last = [*waited, wait][-span:]
        return sum(last) > threshold * len(last)
    if check == "listing":
        return len(waited) > 0 and sum(waited) > threshold * len(waited)
    if check == "sum":
        return (sum(waited) + wait * len(waited) > threshold * len(waited)) if waited else wait > threshold
    return sum(waited) + wait > threshold * (len(waited) + 1)


class KnownCosts:
    """A shedder that is told each cost: Full Knowledge, or Straw-Man when it is always told the
    mean."""

    def __init__(self, threshold, growth=1.0, goal="average", span=None, share=None, check="text"):
        self.threshold, self.growth, self.goal, self.span, self.share = threshold, growth, goal, span, share
        self.check = check
        self.clock, self.waited, self.origin = 0.0, [], None

    def offer(self, now, cost):
        self.origin = now if self.origin is None else self.origin
        elapsed = now - self.origin
        wait = max(0.0, self.clock - elapsed)
        if goal_violated(self.goal, self.threshold, self.waited, wait, self.span, self.share, self.check):
            return True
        self.waited.append(wait)
        self.clock = max(self.clock, elapsed) + cost * self.growth
        return False


class LoadAware:
    """Load-aware shedding with lists: a reply replays every tuple kept since the request."""

    def __init__(
        self, learner, threshold, growth, goal="average", span=None, share=None, reports=0, timeout=0, clamp=True,
        sync="exact", check="text", start="reply", clock="wall", unseen="mean", resync=0, look="after",
        most=256,
    ):  # fmt: skip
        self.resync, self.look, self.most = resync, look, most
        # Requests that are not answered: the number of the tuple, the clock then.
        self.under_way = []
        self.learner, self.threshold, self.growth = learner, threshold, growth
        self.goal, self.span, self.share, self.check = goal, span, share, check
        self.reports, self.timeout, self.clamp, self.sync, self.start = reports, timeout, clamp, sync, start
        self.clock_kind, self.unseen = clock, unseen
        self.phase, self.active, self.origin, self.clock = "NOP", False, None, 0.0
        # Log: (elapsed, cost, known) of every kept tuple.
        self.pair, self.waited, self.log = None, [], []
        self.asked, self.patience, self.again = 0, timeout, False
        self.queue, self.done, self.busy, self.wall, self.reported = [], 0, 0.0, 0.0, 0

    def estimate(self, key):
        from naive.scheduling import sketch_columns

        frequency, total = self.pair
        cells = list(enumerate(sketch_columns(key, self.learner.rows, self.learner.columns, self.learner.seed)))
        least = min(cells, key=lambda cell: frequency.get(cell, 0))
        if frequency.get(least, 0) == 0:
            if self.unseen == "zero":
                return 0.0
            row = [cell for cell in frequency if cell[0] == 0]
            return sum(total[cell] for cell in sorted(row)) / sum(frequency[cell] for cell in row)
        return total[least] / frequency[least]

    def offer(self, key, now):
        self.origin = now if self.origin is None else self.origin
        elapsed = now - self.origin
        if self.phase == "NOP":
            self.keep(elapsed, now, 0.0, known=False)
            return False
        if self.active:
            wait = self.expected_wait(now)
            if goal_violated(self.goal, self.threshold, self.waited, wait, self.span, self.share, self.check):
                return True
            self.waited.append(wait)
        self.keep(elapsed, now, self.estimate(key) * self.growth)
        kept = len(self.log)
        if self.phase == "RUN" and self.under_way and self.timeout and kept - self.asked > self.patience:
            self.patience *= 2
            self.phase = "SEND"
        due = self.resync and kept - self.asked >= self.resync
        if self.phase == "RUN" and due and (self.sync == "difference" or not self.under_way):
            self.phase = "SEND"
        if self.phase == "SEND" and len(self.under_way) < self.most:
            self.patience = self.patience if self.under_way else self.timeout
            if self.sync == "exact":
                self.under_way = []  # a reply to an earlier request is void
            self.under_way.append((kept, self.clock))
            self.asked, self.phase = kept, "RUN"
        return False

    def keep(self, elapsed, now, cost, known=True):
        self.clock = (max(self.clock, elapsed) if self.clamp else self.clock) + cost
        self.log.append((elapsed, cost, known))
        self.queue.append(now)

    def expected_wait(self, now):
        wait = self.clock - (now - self.origin)
        return max(0.0, wait) if self.clamp else wait

    def replay(self, clock, number):
        """The clock now, if it was `clock` once tuple `number` (counted from 1) was executed."""
        for elapsed, cost, _ in self.log[number:]:
            clock = (max(clock, elapsed) if self.clamp else clock) + cost
        return clock

    def complete(self, key, elapsed, now=None):
        arrived = self.queue[self.done] - self.origin
        self.wall = max(self.wall, arrived) + elapsed if now is None else now - self.origin
        self.done += 1
        self.busy += elapsed
        clock = self.busy if self.clock_kind == "busy" else self.wall
        pair = self.learner.learn(key, elapsed, self.look == "before")
        if self.under_way and self.under_way[0][0] == self.done:
            _, believed = self.under_way.pop(0)
            self.clock = self.replay(clock, self.done) if self.sync == "exact" else self.clock + clock - believed
            self.active = True
            if self.again:
                self.again, self.phase = False, "SEND"
        unknown = any(not known for _, _, known in self.log[self.done :])
        if self.reports and self.done % self.reports == 0 and self.phase != "NOP" and not unknown:
            self.clock, self.active = self.replay(clock, self.done), True
        if pair:
            self.pair = pair
            if self.under_way and self.sync == "exact":
                self.again = True
            else:
                self.phase = "SEND"
            self.active = self.active or self.start == "matrices"


def simulate_shedding(offer, complete, keys, costs, arrivals):
    """The waits (None if dropped) of a stream at one operator behind a shedder, from its two
    calls."""
    waits, queue, free = [], [], 0.0
    for key, cost, now in zip(keys, costs, arrivals):
        while queue and queue[0][2] <= now:
            complete(*queue.pop(0))
        if offer(key, now, cost):
            waits.append(None)
            continue
        start = max(free, now)
        free = start + cost
        waits.append(start - now)
        queue.append((key, cost, free))
    for entry in queue:
        complete(*entry)
    return waits
