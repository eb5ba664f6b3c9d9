"""Sketches: Count-Min, the F and W pair of POSG and LAS, SpaceSaving."""
