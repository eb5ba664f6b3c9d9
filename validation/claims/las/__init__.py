"""The claims of Rivetti et al. 2016 on LAS, load-aware shedding, and our own about it.

`protocol` has section 3 of the paper, `theory` its section 4, `steady` its figures 4 and 5,
`phases` figure 6, `tweets` figure 7, and `own` what the paper does not say. What section 4 says of
the sketch alone is in the package `sketches`.
"""

MODULES = ("protocol", "theory", "steady", "phases", "tweets", "own")
