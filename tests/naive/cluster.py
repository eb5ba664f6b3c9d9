"""Naive twin of streamlb.simulation.cluster: a heap of events, and a queue for each worker."""

import heapq
import itertools

__all__ = ["naive_cluster"]


def naive_cluster(workers, service, n, sources, network, in_flight=None, ready=None, slots=1):
    """Return when each message is sent and when it is done."""
    m = len(workers)
    order = itertools.count()
    events, sent, done = [], [None] * m, [None] * m
    following, flying, waiting = list(range(sources)), [0] * sources, [False] * sources
    free = [[0.0] * slots for _ in range(n)]

    def plan(source, now):
        """Enter the source's next send, unless it must wait for an acknowledgement."""
        i = following[source]
        if i >= m:
            return
        if in_flight is not None and flying[source] >= in_flight:
            waiting[source] = True
        else:
            heapq.heappush(events, (max(now, ready[i]) if ready is not None else now, next(order), "send", source))

    for source in range(sources):
        plan(source, 0.0)
    while events:
        now, _, kind, source = heapq.heappop(events)
        if kind == "back":
            flying[source] -= 1
            if waiting[source]:
                waiting[source] = False
                plan(source, now)
            continue
        i = following[source]
        slot = free[workers[i]].index(min(free[workers[i]]))
        sent[i] = now
        done[i] = free[workers[i]][slot] = max(now + network, free[workers[i]][slot]) + service[i]
        following[source] += sources
        flying[source] += 1
        if in_flight is not None:
            heapq.heappush(events, (done[i] + network, next(order), "back", source))
        plan(source, now)
    return sent, done
