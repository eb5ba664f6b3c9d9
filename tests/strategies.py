"""Hypothesis strategies that tests of several rooms share."""

from hypothesis import strategies as st

from streamlb import Topology


@st.composite
def topologies(draw, most_components=5, most_tasks=6):
    n = draw(st.integers(1, most_components))
    counts = draw(st.lists(st.integers(1, most_tasks), min_size=n, max_size=n))
    edges = []
    for v in range(1, n):
        senders = draw(st.sets(st.integers(0, v - 1), max_size=2))
        edges += [(f"c{u}", f"c{v}") for u in sorted(senders)]
    return Topology({f"c{i}": c for i, c in enumerate(counts)}, edges)
