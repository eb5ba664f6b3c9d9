"""Load shedding: how long it takes once compiled, and what becomes of the waits."""

import streamlb

TUPLES = 200_000
POLICIES = ["load_aware", "straw_man", "full_knowledge", "random"]


def load(exponent, tuples=TUPLES):
    keys = streamlb.Zipf(4096, exponent).draw(tuples, 1)
    return keys, streamlb.execution_times(4096, 64, 0.1, 6.4, seed=1)[keys]


class Simulate:
    params = [POLICIES, [0.0, 1.0, 2.0], [0.25, 0.5]]
    param_names = ["policy", "exponent", "underprovisioning"]

    def setup(self, policy, exponent, underprovisioning):
        self.keys, self.costs = load(exponent)
        streamlb.simulate_shedding(self.keys[:8], self.costs[:8], policy)
        self.options = {"underprovisioning": underprovisioning, "seed": 1}
        if policy != "random":  # which has no goal
            self.options["threshold"] = 6.4

    def time_simulate(self, policy, exponent, underprovisioning):
        streamlb.simulate_shedding(self.keys, self.costs, policy, **self.options)

    def track_average_wait(self, policy, exponent, underprovisioning):
        result = streamlb.simulate_shedding(self.keys, self.costs, policy, **self.options)
        return result.between(TUPLES // 4).average_wait

    track_average_wait.unit = "ms, threshold 6.4"

    def track_dropped(self, policy, exponent, underprovisioning):
        result = streamlb.simulate_shedding(self.keys, self.costs, policy, **self.options)
        return result.between(TUPLES // 4).dropped_ratio

    track_dropped.unit = "share of the tuples"


class Live:
    params = [["average", "windowed", "bound", "percentile"], [0, 16]]
    param_names = ["goal", "reports"]

    def setup(self, goal, reports):
        keys, costs = load(1.0, 50_000)
        self.shedder = streamlb.LoadAwareShedder(6.4, goal=goal, reports=reports)
        self.shedder.train(keys, costs)
        self.tuples = list(zip(keys[:10_000].tolist(), costs[:10_000].tolist()))
        self.now = 0.0
        self.time_offer_and_complete(goal, reports)

    def time_offer_and_complete(self, goal, reports):
        """Offer 10,000 tuples, and complete those that are kept."""
        now, offer, complete = self.now, self.shedder.offer, self.shedder.complete
        for key, cost in self.tuples:
            now += 3.0
            if not offer(key, now):
                complete(key, cost)
        self.now = now


class Series:
    params = [[0, 16], ["average", "windowed"]]
    param_names = ["reports", "goal"]

    def setup(self, reports, goal):
        self.load = streamlb.seven_phases(1)
        self.run(reports, goal)

    def run(self, reports, goal):
        return streamlb.simulate_shedding(
            self.load.keys,
            self.load.costs,
            "load_aware",
            64.0,
            arrivals=self.load.arrivals,
            reports=reports,
            goal=goal,
            span=4000,
        )

    def time_seven_phases(self, reports, goal):
        self.run(reports, goal)

    def track_wait_after_costs_double(self, reports, goal):
        return self.run(reports, goal).between(100_000, 120_000).average_wait

    track_wait_after_costs_double.unit = "ms, threshold 64"
