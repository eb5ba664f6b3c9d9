"""Scheduling: greedy, POSG live and simulated; speed, and what it brings."""

import streamlb

TUPLES = 1_000_000


def stream(exponent, m=TUPLES):
    keys = streamlb.Zipf(4096, exponent).draw(m, 1)
    return keys, streamlb.execution_times(4096, seed=2)[keys.astype(int)]


class Greedy:
    params = [[5, 60, 1000]]
    param_names = ["machines"]

    def setup(self, machines):
        _, self.costs = stream(1.0)
        streamlb.greedy_schedule(self.costs[:8], machines)

    def time_greedy_schedule(self, machines):
        streamlb.greedy_schedule(self.costs, machines)


class Simulate:
    params = [["round_robin", "full_knowledge", "least_work", "feedback", "one_column", "posg"], [1.0, 2.0]]
    param_names = ["policy", "exponent"]

    def setup(self, policy, exponent):
        self.keys, self.costs = stream(exponent)
        streamlb.simulate_operator(self.keys[:8], self.costs[:8], 5, policy)

    def time_simulate_operator(self, policy, exponent):
        streamlb.simulate_operator(self.keys, self.costs, 5, policy)

    def track_mean_completion(self, policy, exponent):
        return streamlb.simulate_operator(self.keys[:150_000], self.costs[:150_000], 5, policy).mean

    track_mean_completion.unit = "ms"


def trained(instances):
    """A scheduler that has learnt from 20,000 tuples, and their keys."""
    posg = streamlb.POSG(instances, window=64, tolerance=0.5)
    keys, costs = stream(1.0, 20_000)
    for key, cost in zip(keys.tolist(), costs.tolist()):
        posg.complete(posg.submit(key), key, cost)
    return posg, keys


class Batch:
    params = [[2, 5, 50]]
    param_names = ["instances"]

    def setup(self, instances):
        self.posg, self.keys = trained(instances)
        self.posg.submit_many(self.keys[:8])

    def time_submit_many(self, instances):
        self.posg.submit_many(self.keys)


class Live:
    params = [[2, 5, 50]]
    param_names = ["instances"]
    number = 2000

    def setup(self, instances):
        self.posg, _ = trained(instances)
        self.instance = streamlb.POSGInstance(0)
        self.instance.complete(17, 3.0)

    def time_submit(self, instances):
        self.posg.submit(17)

    def time_submit_and_complete(self, instances):
        self.posg.complete(self.posg.submit(17), 17, 3.0)

    def time_complete_at_an_instance(self, instances):
        self.instance.complete(17, 3.0)

    def track_messages(self, instances):
        return sum(self.posg.messages[name] for name in ("matrices", "replies"))
