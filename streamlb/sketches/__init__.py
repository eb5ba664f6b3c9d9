"""Sketches: Count-Min, the F and W pair of Rivetti et al. 2015 and 2016, SpaceSaving."""
