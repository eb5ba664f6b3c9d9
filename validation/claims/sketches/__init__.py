"""The claims about sketches of Rivetti et al. 2015 (POSG) and Rivetti et al. 2016 (LAS).

Both papers learn what tuples cost with two Count-Min matrices, and say much the same of them.
`counts` has Count-Min and its shapes, `cells` the ratios in the cells, and `estimates` the expected
estimate of a cost and its tail.
"""

MODULES = ("counts", "cells", "estimates")
