"""Placement: where the tasks of a topology run, and which node sends to which in each step."""
