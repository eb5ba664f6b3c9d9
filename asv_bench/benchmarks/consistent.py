"""Groupings for unequal workers and the simulation of their queues, timed after compilation."""

import numpy as np

import streamlb

MESSAGES = 1_000_000


def build(grouping, workers):
    if grouping == "ConsistentGrouping":
        return streamlb.ConsistentGrouping(workers, virtual=10, seed=1)
    return getattr(streamlb, grouping)(workers, seed=1)


class RouteMany:
    params = [["PowerOfRandomChoices", "BoundedLoadHashing", "ConsistentGrouping"], [10, 1000], [0.8, 1.4, 2.0]]
    param_names = ["grouping", "workers", "exponent"]

    def setup(self, grouping, workers, exponent):
        self.keys = streamlb.Zipf(10_000, exponent).draw(MESSAGES, 1)
        self.grouping = build(grouping, workers)
        self.grouping.route_many(self.keys)
        self.key = int(self.keys[0])
        self.grouping.route(self.key)

    def time_route_many(self, *_):
        self.grouping.route_many(self.keys)

    def time_route(self, *_):
        self.grouping.route(self.key)

    def track_imbalance(self, *_):
        loads = self.grouping.loads
        return float((loads.max() - loads.mean()) / loads.mean())

    track_imbalance.unit = "of the mean load"

    def track_probes(self, *_):
        return self.grouping.probes.mean

    track_probes.unit = "probes a message"

    def track_pairs(self, *_):
        footprint = streamlb.KeyFootprint(10_000, self.grouping.workers)
        footprint.add(self.keys, self.grouping.route_many(self.keys))
        return footprint.pairs

    track_pairs.unit = "(key, worker) pairs"


class Capacity:
    params = [["ShuffleGrouping", "ConsistentGrouping"], [1, 100]]
    param_names = ["grouping", "sources"]

    def setup(self, grouping, sources):
        self.keys = streamlb.Zipf(10_000, 1.0).draw(MESSAGES, 1)
        self.capacities = streamlb.fast_and_slow(10, 3, 5)
        self.grouping, self.sources = grouping, sources
        self.run()

    def run(self):
        grouping = getattr(streamlb, self.grouping)(10, self.sources)
        return streamlb.simulate_capacity(self.keys, grouping, self.capacities, slots=500)

    def time_simulate(self, *_):
        self.run()

    def track_queue(self, *_):
        return float(self.run().queue.max())

    track_queue.unit = "messages in the longest queue"


class Signals:
    params = [[10, 1000, 10_000], [1, 100], ["fcfs", "lru"]]
    param_names = ["workers", "sources", "policy"]

    def setup(self, workers, sources, policy):
        self.grouping = streamlb.ConsistentGrouping(workers, sources, policy=policy, inner="kg")
        over = np.random.default_rng(1).permutation(workers) < workers // 2
        self.utilisation = np.where(over, 1.2, 0.4)
        self.grouping.observe(self.utilisation)

    def time_observe(self, *_):
        self.grouping.observe(self.utilisation)

    def time_signal(self, *_):
        self.grouping.signal(0, "busy")
        self.grouping.signal(1, "idle")
        self.grouping.next_slot()
