"""The refinement (Tantalaki et al. 2020, proposition 2, algorithm 2 and section VII).

What it keeps, how near it comes to the exact optimum over all relabellings, and what the tasks that
the paper adds give it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from streamlb.analysis import best_relabelling

from streamlb.placement.pipeline import PipelineSchedule, pipeline_schedule
from streamlb.placement.topology import Topology

from ...claim import Claim, Experiment, Seeds, claims_into
from ...figures import OURS, PAPER, SECOND, THIRD, new_figure
from ...judging import Finding, Runs, at_least, between, exact, finding, mean, never, proportion, reported
from .readings import NAMES, example, random_case, scheduled

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


CLAIMS: list[Claim] = []
claim = claims_into(CLAIMS, paper="PIPE", kind="a")
EXACT = 1e-9  # floats against rationals


def _optimum(topology: Topology, nodes: int) -> dict[str, Any]:
    """Return the exact optimum of the traffic that crosses, and of traffic plus load."""
    counts, edges = topology.counts.tolist(), [tuple(e) for e in topology.edges.tolist()]
    share, _ = best_relabelling(topology.widest, nodes, counts, edges)
    value, _ = best_relabelling(topology.widest, nodes, counts, edges, load_factor=1)
    return {"best_share": float(share), "best_value": float(value)}


def _reached(name: str, s: PipelineSchedule) -> dict[str, Any]:
    """Return what a schedule comes to: traffic that crosses, the same plus load, and balance."""
    loads, share = s.placement.node_loads(), s.placement.inter_node_share()
    return {
        f"{name}_share": share,
        f"{name}_value": share + s.nodes * float((loads**2).sum()) - 1.0,
        f"{name}_deviation": s.placement.load_deviation(),
        f"{name}_valid": bool((np.sort(s.final, axis=1) == np.arange(s.nodes)).all()),
        f"{name}_moved": int((s.labels != np.arange(s.nodes)).sum()),
    }


def _every_way(topology: Topology, nodes: int) -> dict[str, Any]:
    """Compare no refinement, the readings of Algorithm 2 and local search with the optimum."""
    out = {"nodes": nodes, **_optimum(topology, nodes), **_reached("none", pipeline_schedule(topology, nodes, None))}
    for reading in NAMES:
        out |= _reached(reading, scheduled(topology, nodes, reading))
    out |= _reached("optimised", pipeline_schedule(topology, nodes, "optimised"))
    share_only = pipeline_schedule(topology, nodes, "optimised", load_factor=0.0)
    ours, theirs = out["optimised_value"], min(out[f"{reading}_value"] for reading in NAMES)
    return {
        **out,
        "search_share": share_only.placement.inter_node_share(),
        **{f"{reading}_least": abs(out[f"{reading}_share"] - out["best_share"]) <= EXACT for reading in NAMES},
        "readings_differ": abs(out["default_share"] - out["printed_share"]) > EXACT,
        "optimised_best": ours <= out["best_value"] + EXACT,
        "optimised_worse": ours > theirs + EXACT,
        "optimised_better": ours < theirs - EXACT,
    }


def measure_paper_case(case: str) -> dict[str, Any]:
    """Refine an example of the paper in every way."""
    return _every_way(*example(case))


def measure_refine(seed: int) -> dict[str, Any]:
    """Refine a small random DAG in every way."""
    return _every_way(*random_case(seed, gcd_is_one=False, components=(3, 4), tasks=(2, 6), nodes=(4, 8)))


PAPER_CASES = Experiment(
    "pipe_optimum",
    lambda profile: [{"case": case} for case in ("random", "linear")],
    measure_paper_case,
    cost=lambda row: 50.0,
)
REFINE = Experiment(
    "pipe_refine", lambda profile: [{}], measure_refine, seeds=Seeds(quick=(80, 270), paper=(200, 1000), start=5000)
)


@claim(
    "PIPE-P2",
    where="Prop. 2",
    statement="diagonals can be interchanged so that rows stay permutations",
    claimed="exists",
    criterion="rows stay permutations on random DAGs for which Algorithm 2 finds exchanges",
    experiment=REFINE,
    readings=NAMES,
)
def _judge_p2(runs: Runs) -> Finding:
    exchanged = runs.frame[runs.frame[f"{runs.reading}_moved"] > 0]
    wrong = int((~exchanged[f"{runs.reading}_valid"].astype(bool)).sum())
    return finding(
        f"{wrong} of {len(exchanged)} topologies with exchanges have a row that is no permutation",
        value=never(wrong, of=len(exchanged)),
    )


def _figure_refine(runs: pd.DataFrame, profile: str) -> Figure:
    figure, axes = new_figure(
        "Share of the traffic that crosses nodes", "exact optimum (share)", "reached (share)", size=(6, 4.5)
    )
    for name, mark, colour, label in (
        ("none", ".", THIRD, "not refined"),
        ("default", "o", SECOND, "Algorithm 2, our reading"),
        ("printed", "+", PAPER, "Algorithm 2 to the letter"),
        ("search", "x", OURS, "local search on traffic alone"),
    ):
        axes.plot(runs["best_share"], runs[f"{name}_share"], mark, color=colour, label=label, alpha=0.7)
    low = float(runs["best_share"].min())
    axes.plot([low, 1], [low, 1], color="black", lw=1, ls="--", label="exact optimum (the paper: maximum extent)")
    axes.legend(fontsize=8)
    return figure


@claim(
    "PIPE-P2opt",
    where="Prop. 2",
    statement="communicating tasks are placed together to the maximum extent (random example)",
    claimed="maximum extent",
    criterion="inter-node share equals the exact optimum over relabellings",
    experiment=PAPER_CASES,
    readings=NAMES,
)
def _judge_p2opt(runs: Runs) -> Finding:
    row = runs.where(case="random").frame.iloc[0]
    reached, best = row[f"{runs.reading}_share"], row["best_share"]
    return finding(
        f"random example: {reached:.4f} of the traffic crosses nodes, the optimum is {best:.4f}",
        value=between(exact(reached - best), -EXACT, EXACT, "above the optimum"),
        note="Algorithm 2 exchanges at most floor(G/2) IDs of a block and never looks back.",
    )


@claim(
    "PIPE-P2dag",
    where="Prop. 2",
    statement="how often Algorithm 2 reaches the maximum extent on small random DAGs",
    claimed="no number",
    criterion="report only: the paper claims the optimum for its own example alone",
    kind="b",
    experiment=REFINE,
    readings=NAMES,
    figure=_figure_refine,
)
def _judge_p2dag(runs: Runs) -> Finding:
    over = runs[f"{runs.reading}_share"] - runs["best_share"]
    reached, parted = proportion(runs[f"{runs.reading}_least"]), proportion(runs["readings_differ"])
    return reported(
        f"the optimum is reached in {reached:.0%} of the topologies; crossing traffic is {mean(over):.3f} above it "
        "on average",
        f"Topologies of 3 or 4 components on 4 to 8 nodes with 1 < gcd(t, N) < N, so that there are blocks to "
        f"exchange between. The two readings of Algorithm 2 differ in crossing traffic in {parted:.0%}.",
    )


# --- what the paper does where gcd(t, N) = 1 -----------------------------------------------------


def measure_remedy(seed: int) -> dict[str, Any]:
    """Schedule a random DAG with gcd(t, N) = 1 as it is and with tasks added."""
    graph, nodes = random_case(seed, gcd_is_one=True, components=(3, 6), tasks=(2, 8), nodes=(6, 12))
    out: dict[str, Any] = {"nodes": nodes}
    for reading in NAMES:
        s = scheduled(graph, nodes, reading)
        out |= _reached(reading, s)
        out[f"{reading}_stalls"] = s.stall_slots
        out[f"{reading}_rows"] = len(s.final) - graph.widest
    return out


REMEDY = Experiment(
    "pipe_remedy", lambda profile: [{}], measure_remedy, seeds=Seeds(quick=(60, 60), paper=(400, 400), start=0)
)


@claim(
    "PIPE-G1r",
    where="VII",
    statement="what the tasks give that the paper adds where gcd(t, N) = 1",
    claimed="no number",
    criterion="report only: the paper has no case of it",
    kind="b",
    experiment=REMEDY,
    readings=("added", "printed"),
)
def _judge_remedy(runs: Runs) -> Finding:
    with_tasks = runs.reading
    fewer, worse = (runs[f"{with_tasks}_{what}"] - runs[f"default_{what}"] for what in ("share", "deviation"))
    rows, stalls = runs[f"{with_tasks}_rows"], runs[f"{with_tasks}_stalls"] - runs["default_stalls"]
    return reported(
        f"with {mean(rows):.1f} rows of dummies added, the share of traffic that crosses changes by {mean(fewer):+.3f} "
        f"and the deviation of the nodes' loads by {mean(worse):+.2f}",
        f"Without them Algorithm 2 has blocks of one entry and nothing to exchange. Stalls of a period change by "
        f"{mean(stalls):+.1f} slots.",
    )


# --- our own: local search -----------------------------------------------------------------------


@claim(
    "OWN-PIPE-1",
    paper="OWN",
    where="beside Tantalaki et al. 2020",
    kind="a/b",
    statement="local search over relabellings is never worse than Algorithm 2 on inter-node traffic plus load, and "
    "mostly optimal",
    claimed="never worse, optimal in nine of ten",
    criterion="shape: in no topology above either reading of Algorithm 2 (it starts there, so this checks the code); "
    "value: exactly optimal in at least nine of ten small topologies",
    amended="Judged until now on topologies of which most had nothing to refine (N = t, or gcd 1), with paper examples "
    "among them; now on random ones with 1 < gcd(t, N) < N.",
    experiment=REFINE,
)
def _judge_search(runs: Runs) -> Finding:
    best, better = proportion(runs["optimised_best"]), proportion(runs["optimised_better"])
    worse = int(runs.frame["optimised_worse"].sum())
    return finding(
        f"exactly optimal in {best:.0%} of {len(runs)} topologies, worse than Algorithm 2 in {worse}, better in "
        f"{better:.0%}",
        shape=never(worse, of=len(runs)),
        value=at_least(best, 0.9, "share exactly optimal"),
    )
