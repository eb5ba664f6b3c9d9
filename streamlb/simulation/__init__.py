"""Simulations: operators behind a scheduler or a shedder, clusters, pipelines."""
