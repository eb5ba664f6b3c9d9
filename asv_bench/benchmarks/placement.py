"""Placement and the pipeline simulator: how time grows with t and N, and what is gained."""

import time
from itertools import pairwise

import streamlb
from streamlb.placement.examples import PAPER_NODES, paper_topology


def line(components, tasks):
    names = [f"c{i}" for i in range(components)]
    return streamlb.Topology(dict.fromkeys(names, tasks), list(pairwise(names)))


class Schedule:
    params = [[4, 16, 64, 256], [16, 64, 256, 1024], ["restated", "optimised"]]
    param_names = ["t", "nodes", "refine"]

    def setup(self, t, nodes, refine):
        self.topology = line(5, t)
        streamlb.pipeline_schedule(line(2, 2), 4, refine)

    def time_schedule(self, t, nodes, refine):
        streamlb.pipeline_schedule(self.topology, nodes, refine)

    def track_inter_node_share(self, t, nodes, refine):
        return streamlb.pipeline_schedule(self.topology, nodes, refine).placement.inter_node_share()

    def track_load_deviation(self, t, nodes, refine):
        return streamlb.pipeline_schedule(self.topology, nodes, refine).placement.load_deviation()


class TenThousandTasks:
    params = [[(10, 1000), (100, 100), (1000, 10)], ["restated", "optimised"]]
    param_names = ["components_tasks", "refine"]
    timeout = 120

    def setup(self, components_tasks, refine):
        self.topology = line(*components_tasks)
        streamlb.pipeline_schedule(line(2, 2), 4, refine)

    def time_schedule(self, components_tasks, refine):
        streamlb.pipeline_schedule(self.topology, 1000, refine)


class Comparators:
    params = [[100, 1000]]
    param_names = ["nodes"]

    def setup(self, nodes):
        self.topology = line(10, nodes)

    def time_even(self, nodes):
        streamlb.even_schedule(self.topology, nodes)

    def time_resource_aware(self, nodes):
        streamlb.resource_aware_schedule(self.topology.limited(20), nodes)


class Simulate:
    params = [list(PAPER_NODES), ["none", "steps", "work-conserving"]]
    param_names = ["topology", "gate"]

    def setup(self, topology, gate):
        self.schedule = streamlb.pipeline_schedule(paper_topology(topology), PAPER_NODES[topology], "optimised")
        self.run(gate, 8)

    def run(self, gate, slots):
        return streamlb.simulate_pipeline(
            self.schedule, gate=gate, slots=slots, load=0.5, bandwidth=98, distance_cost=0.1
        )

    def time_run(self, topology, gate):
        self.run(gate, 5000)

    def track_task_slots(self, topology, gate):
        begun = time.perf_counter()
        slots = self.run(gate, 20_000).slots
        return self.schedule.topology.tasks * slots / (time.perf_counter() - begun)

    def track_latency(self, topology, gate):
        return self.run(gate, 5000).latency

    track_task_slots.unit = "task-slots/s"
    track_latency.unit = "slots"
