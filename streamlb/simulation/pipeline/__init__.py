"""The simulator of a placed topology: `simulate` is what a user calls, `kernels` is what runs."""

from streamlb.simulation.pipeline.simulate import PipelineOptions, PipelineResult, simulate_pipeline

__all__ = ["PipelineOptions", "PipelineResult", "simulate_pipeline"]
