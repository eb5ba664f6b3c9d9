"""The claims of Rivetti et al. 2015 on POSG, proactive online shuffle grouping, and our own.

`theory` has sections II, III-B and IV-A of the paper, `complexity` its theorems 3.1 to 3.3, `skew`
its figure 4, `sweeps` its figures 5 to 9, `over_time` figures 10 and 11, `tweets` figure 12, and
`own` what the paper does not say. Section IV-B is about sketches: its claims are in the package
`sketches`.
"""

MODULES = ("theory", "complexity", "skew", "sweeps", "over_time", "tweets", "own")
