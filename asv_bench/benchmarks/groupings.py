"""Groupings and the cluster: messages a call, after compilation, and how balanced they were."""

import tracemalloc

import numpy as np

import streamlb

MESSAGES = 1_000_000


class RouteMany:
    params = [
        [
            "KeyGrouping",
            "ShuffleGrouping",
            "PartialKeyGrouping",
            "PowerOfTwoChoices",
            "DChoices",
            "WChoices",
            "RoundRobinHead",
        ],
        [10, 50, 1000],
        [0.8, 1.4, 2.0],
        [1, 5],
    ]
    param_names = ["grouping", "workers", "exponent", "sources"]

    def setup(self, grouping, workers, exponent, sources):
        self.keys = streamlb.Zipf(10_000, exponent).draw(MESSAGES, 1)
        self.build = lambda: getattr(streamlb, grouping)(workers, sources, seed=1)
        self.build().route_many(self.keys[:8])

    def time_route_many(self, *_):
        self.build().route_many(self.keys)

    def track_imbalance(self, *_):
        grouping = self.build()
        grouping.route_many(self.keys)
        return streamlb.imbalance(grouping.loads)

    track_imbalance.unit = "share of messages"


class Route:
    params = [["KeyGrouping", "PartialKeyGrouping", "DChoices", "WChoices"], ["int", "str"]]
    param_names = ["grouping", "key"]

    def setup(self, grouping, key):
        self.route = getattr(streamlb, grouping)(50, seed=1).route
        self.key = 17 if key == "int" else "user-17"
        self.route(self.key)

    def time_route(self, *_):
        self.route(self.key)


class Variants:
    """What the options of D-Choices gain: imbalance and (key, worker) pairs over 20 seeds."""

    params = [["distinct", "independent"], ["rotate", "first"], [20, 100]]
    param_names = ["candidates", "ties", "workers"]

    def setup(self, candidates, ties, workers):
        self.keys = streamlb.Zipf(10_000, 1.4).draw(200_000, 1)
        self.options = {"candidates": candidates, "ties": ties}
        self.workers = workers

    def track_imbalance(self, *_):
        return sum(self.run(seed)[0] for seed in range(20)) / 20

    def track_pairs(self, *_):
        return self.run(0)[1]

    def run(self, seed):
        grouping = streamlb.DChoices(self.workers, 5, seed=seed, **self.options)
        workers = grouping.route_many(self.keys)
        return streamlb.imbalance(grouping.loads), streamlb.replication(self.keys, workers)

    track_imbalance.unit = "share of messages"
    track_pairs.unit = "pairs"


class Memory:
    """The most memory at once of D-Choices with many workers and sources, all counters in use."""

    params = [1.0, 1.4]
    param_names = ["exponent"]

    def setup(self, exponent):
        # Every other one is drawn, the rest are new.
        self.keys = np.arange(48 * 200_000, dtype=np.uint64)
        self.keys[::2] = streamlb.Zipf(1_000_000, exponent).draw(self.keys.size // 2, 1)
        streamlb.DChoices(9, 2).route_many(self.keys[:8])

    def track_peak(self, _):
        tracemalloc.start()
        streamlb.DChoices(10_000, 48, seed=1).route_many(self.keys)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return (peak - 4 * self.keys.size) / 1e6  # less the workers that it returns

    track_peak.unit = "MB"


class Cluster:
    params = [["KeyGrouping", "DChoices"]]
    param_names = ["grouping"]

    def setup(self, grouping):
        self.keys = streamlb.Zipf(10_000, 1.4).draw(200_000, 1)
        self.build = lambda: getattr(streamlb, grouping)(80, 48, seed=1)
        streamlb.simulate_cluster(self.keys[:8], self.build(), in_flight=100)

    def time_simulate(self, *_):
        streamlb.simulate_cluster(self.keys, self.build(), in_flight=100)

    def track_throughput(self, *_):
        return streamlb.simulate_cluster(self.keys, self.build(), in_flight=100).throughput

    track_throughput.unit = "messages per unit of time"
