"""Streams, keys and sketches: messages a call, after compilation."""

import numpy as np

import streamlb

MESSAGES = 1_000_000


class Draw:
    params = [[1_000, 10_000, 1_000_000], [0.8, 1.4, 2.0]]
    param_names = ["keys", "exponent"]

    def setup(self, keys, exponent):
        self.stream = streamlb.Zipf(keys, exponent)
        self.stream.draw(8, 1)

    def time_draw(self, keys, exponent):
        self.stream.draw(MESSAGES, 1)


class Keys:
    params = [["list", "arrow", "arrow_dictionary", "int32"]]
    param_names = ["container"]

    def setup(self, container):
        import pyarrow as pa

        names = [f"user-{i}" for i in range(100_000)]
        self.keys = {
            "list": names,
            "arrow": pa.array(names),
            "arrow_dictionary": pa.array(names).dictionary_encode(),
            "int32": np.arange(100_000, dtype=np.int32),
        }[container]
        streamlb.key_array(self.keys)

    def time_key_array(self, container):
        streamlb.key_array(self.keys)


class Sketch:
    params = [["CountMin", "CostSketch", "SpaceSaving"], [0.8, 1.4, 2.0]]
    param_names = ["sketch", "exponent"]

    def setup(self, sketch, exponent):
        self.keys = streamlb.Zipf(10_000, exponent).draw(MESSAGES, 1)
        self.costs = streamlb.execution_times(10_000)[self.keys.astype(int)]
        self.sketch = streamlb.SpaceSaving(1024) if sketch == "SpaceSaving" else getattr(streamlb, sketch)(seed=1)
        self.arguments = (self.keys, self.costs) if sketch == "CostSketch" else (self.keys,)
        self.sketch.update(*self.arguments)
        self.sketch.estimate(self.keys[:8])

    def time_update(self, sketch, exponent):
        self.sketch.update(*self.arguments)

    def time_estimate(self, sketch, exponent):
        self.sketch.estimate(self.keys)

    def track_error(self, sketch, exponent):
        """Mean error a message: of the count as a share of all, of the cost in units of cost."""
        if sketch == "CostSketch":
            return float(np.abs(self.sketch.estimate(self.keys) - self.costs).mean())
        true = np.bincount(self.keys.astype(int), minlength=10_000) * (self.sketch.total // MESSAGES)
        return float((self.sketch.estimate(np.arange(10_000)) - true).mean() / self.sketch.total)

    track_error.unit = "mean error"
