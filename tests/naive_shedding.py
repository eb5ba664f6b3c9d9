"""Twins of the shedding room: the problem by brute force, and the shedders and their simulation one tuple at a time."""

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
