"""The pipeline: stages, which tasks talk in a step, stalls, and what a period covers.

Tantalaki et al. 2020, section III-B and algorithm 3, sections IV and V-E, figures 1, 3, 4, 5 and 7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from streamlb.placement.pipeline import PipelineSchedule, parts_received, pipeline_schedule
from streamlb.placement.topology import Topology

from ...claim import Claim, Experiment, Verdict, claims_into
from ...figures import OURS, SECOND, new_figure
from .readings import example, text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


CLAIMS: list[Claim] = []
claim = claims_into(CLAIMS, paper="PIPE", kind="a")


def _grid(profile: str) -> list[dict[str, Any]]:
    return [{"case": case} for case in ("figure1", "random", "linear", "figure4")]


def measure_schedule(case: str) -> dict[str, Any]:
    """Measure the pipeline of an example.

    Return its occupancy and stalls, who talks in the steps that the paper shows, the senders of a
    node, the pairs of tasks that a period covers, and the parts that have to be buffered.
    """
    if case == "figure4":
        return _figure4()
    topology, nodes = example(case)
    s = pipeline_schedule(topology, nodes)
    stages = s.occupancy.shape[1]
    return {
        "stages": stages,
        "occupancy": text(s.occupancy),
        "stalls": s.stalls.tolist(),
        "stall_slots": s.stall_slots,
        "step0": [" ".join(f"{a}>{b}" for a, b in s.communications(0, stage)) for stage in range(stages)],
        "step1": [" ".join(f"{a}>{b}" for a, b in s.communications(1, stage)) for stage in range(stages)],
        "senders": _senders(s),
        "senders_a_stage": 1 if (np.sort(s.schedule, axis=1) == np.arange(nodes)).all() else 0,
        "pairs_covered": _coverage(s),
        "extra_parts": _extra_parts(s),
    }


def _figure4() -> dict[str, Any]:
    """Build the scenario of figure 4.

    In one slot I, M and Q of node 2 send to T on node 3, and two tasks of node 1 to O on node 2.
    """
    topology = Topology(
        dict.fromkeys(["E", "F", "I", "M", "Q", "O", "T"], 1),
        [("E", "O"), ("F", "O"), ("E", "I"), ("E", "M"), ("E", "Q"), ("I", "T"), ("M", "T"), ("Q", "T")],
    )
    task_node = np.array([1, 1, 2, 2, 2, 2, 3])
    # Step 0 joins nodes 2 and 3, step 1 joins nodes 1 and 2.
    step0, step1 = [0, 1, 3, 2], [0, 2, 1, 3]
    most = parts_received(topology, task_node, np.array([step0, step1]), 2)
    stall = int(most[1] - 1)  # slot 1: stage 0 runs step 1 and stage 1 runs step 0
    unused = {
        "occupancy": "",
        "step0": [],
        "step1": [],
        "senders": 0,
        "senders_a_stage": 0,
        "pairs_covered": "",
        "extra_parts": 0,
    }
    return {"stages": 2, "stalls": (np.maximum(most, 1) - 1).tolist(), "stall_slots": stall, **unused}


def _senders(s: PipelineSchedule) -> int:
    """Return the most other nodes from which one node receives in a slot of the full pipeline."""
    most = 0
    for row in s.occupancy[-s.nodes :]:
        sources: list[set[int]] = [set() for _ in range(s.nodes)]
        for stage, step in enumerate(row.tolist()):
            names = {a for pair in s.communications(step, stage) for a in pair[:1]}
            for name in names:
                node = int(s.placement.task_node[s.topology.task_names.index(name)])
                sources[int(s.schedule[step, node])].add(node)
        most = max(most, *(len(nodes - {j}) for j, nodes in enumerate(sources)))
    return most


def _coverage(s: PipelineSchedule) -> str:
    """Say how often the pairs of tasks that talk are joined in one period of N steps."""
    joined: dict[tuple[str, str], int] = {}
    for stage in range(s.occupancy.shape[1]):
        for step in range(s.nodes):
            for pair in s.communications(step, stage):
                joined[pair] = joined.get(pair, 0) + 1
    wanted = sum(int(s.topology.counts[a] * s.topology.counts[b]) for a, b in s.topology.edges)
    return f"{len(joined)} of {wanted} pairs, {min(joined.values())} to {max(joined.values())} times"


def _extra_parts(s: PipelineSchedule) -> int:
    """Return how many parts of a period find their task busy with another: they are buffered."""
    extra = 0
    for row in s.occupancy[-s.nodes :]:
        received: dict[str, int] = {}
        for stage, step in enumerate(row.tolist()):
            for _, b in s.communications(step, stage):
                received[b] = received.get(b, 0) + 1
        extra += sum(count - 1 for count in received.values())
    return extra


SCHEDULE = Experiment("pipe_schedule", _grid, measure_schedule)


def _row(runs: pd.DataFrame, case: str) -> Any:
    return runs[runs["case"] == case].iloc[0]


@claim(
    "PIPE-P1b",
    where="III.B (1)",
    statement="with the pipeline full each node receives from one node in a slot",
    claimed="1",
    criterion="at most 1 other sending node in any slot of a period",
    experiment=SCHEDULE,
)
def _judge_p1b(runs: pd.DataFrame, profile: str) -> Verdict:
    most = {case: int(_row(runs, case)["senders"]) for case in ("random", "linear")}
    return Verdict.when(
        all(count <= 1 for count in most.values()),
        f"other nodes that send to one node in a slot of the full pipeline: up to {most['random']} (random), "
        f"{most['linear']} (linear)",
        "One sender a node holds for each stage, since a step is a permutation; a slot runs a different step in "
        "each stage.",
    )


@claim(
    "PIPE-F1",
    where="Fig. 1",
    statement="the topology of Fig. 1 has three stages",
    claimed="3",
    criterion="equality",
    experiment=SCHEDULE,
)
def _judge_f1(runs: pd.DataFrame, profile: str) -> Verdict:
    stages = int(_row(runs, "figure1")["stages"])
    return Verdict.when(stages == 3, f"{stages} stages")


def _algorithm3(steps: int, stages: int, slots: int) -> str:
    """Evaluate Algorithm 3 as it stands: stage l runs step (delta - l) mod P once delta >= l."""
    return text([[(k - stage) % steps if k - stage >= 0 else -1 for stage in range(stages)] for k in range(slots)])


def _figure_pipeline(case: str):
    """Return a figure of the steps that an example's stages run, slot by slot."""

    def figure(runs: pd.DataFrame, profile: str) -> Figure:
        from streamlb.placement.show import draw_pipeline

        picture = draw_pipeline(pipeline_schedule(*example(case)))
        picture.axes[0].set_title(f"{case} topology: steps in the pipeline")
        return picture

    return figure


@claim(
    "PIPE-F3a",
    where="Fig. 3a, Alg. 3",
    statement="random example: stage l runs step (slot - l) mod 9",
    claimed="the picture",
    criterion="equality",
    experiment=SCHEDULE,
    figure=_figure_pipeline("random"),
)
def _judge_f3a(runs: pd.DataFrame, profile: str) -> Verdict:
    row = _row(runs, "random")
    return Verdict.when(
        row["occupancy"] == _algorithm3(9, 3, 11),
        "the pipeline follows Algorithm 3 slot by slot",
        "The printed picture is lost with the text; Algorithm 3 is evaluated beside it.",
    )


def _figure_step(runs: pd.DataFrame, profile: str) -> Figure:
    from streamlb.placement.show import draw_step

    picture = draw_step(pipeline_schedule(*example("random")), 0)
    picture.axes[0].set_title("random topology: tasks that talk when a stage runs step 0")
    return picture


@claim(
    "PIPE-F3b",
    where="Fig. 3b",
    statement="random example: in step 0 J sends to P, M and H to O; in step 1 D sends to J",
    claimed="J>P, M>O, H>O; D>J",
    criterion="equality",
    experiment=SCHEDULE,
    figure=_figure_step,
)
def _judge_f3b(runs: pd.DataFrame, profile: str) -> Verdict:
    row = _row(runs, "random")
    wanted = {"step0": (2, ["J>P", "M>O", "H>O"]), "step1": (1, ["D>J"])}
    missing = [
        pair for name, (stage, pairs) in wanted.items() for pair in pairs if pair not in row[name][stage].split()
    ]
    return Verdict.when(not missing, f"step 0, stage 2: {row['step0'][2]}; step 1, stage 1: {row['step1'][1]}")


@claim(
    "PIPE-S1",
    where="IV-A",
    statement="random example: two parts for O in step 0 of stage 2 stall the pipeline",
    claimed="h",
    criterion="equality",
    experiment=SCHEDULE,
)
def _judge_s1(runs: pd.DataFrame, profile: str) -> Verdict:
    stalls = list(_row(runs, "random")["stalls"])
    return Verdict.when(stalls[2] == 1, f"{stalls[2]} h in the slot where stage 2 runs step 0 (M and H both send to O)")


def _figure_stall(runs: pd.DataFrame, profile: str) -> Figure:
    figure, axes = new_figure("Parts handled after a slot with many-to-one sends", "time (h)", "task", size=(5.5, 2.8))
    stall = int(_row(runs, "figure4")["stall_slots"])
    for y, parts in enumerate((2, 3)):
        for k in range(parts):
            axes.barh(y, 1, left=k, color=OURS if k == 0 else SECOND, edgecolor="white")
    axes.axvspan(1, 1 + stall, color="0.85", zorder=0, label=f"stall: {stall} h (paper: 2 h)")
    axes.set_yticks([0, 1], ["O on node 2", "T on node 3"])
    axes.legend()
    return figure


@claim(
    "PIPE-F5",
    where="Fig. 5",
    statement="the stall of Fig. 4 in the pipeline lasts two slots",
    claimed="2h",
    criterion="equality",
    experiment=SCHEDULE,
    figure=_figure_stall,
)
@claim(
    "PIPE-F4",
    where="Fig. 4",
    statement="three parts for T and two for O in one slot stall for the longer",
    claimed="2h = max(2h, h)",
    criterion="equality",
    experiment=SCHEDULE,
)
def _judge_f4(runs: pd.DataFrame, profile: str) -> Verdict:
    stall = int(_row(runs, "figure4")["stall_slots"])
    return Verdict.when(stall == 2, f"{stall} h: three parts for T and two for O in one slot")


@claim(
    "PIPE-F7",
    where="Fig. 7",
    statement="linear example: the pipeline has no stall",
    claimed="no stall",
    criterion="equality",
    experiment=SCHEDULE,
    figure=_figure_pipeline("linear"),
)
def _judge_f7(runs: pd.DataFrame, profile: str) -> Verdict:
    row = _row(runs, "linear")
    follows = row["occupancy"] == _algorithm3(8, 3, 10)
    return Verdict.when(
        follows and sum(row["stalls"]) == 0, f"{sum(row['stalls'])} slots of stall; step 0: {'; '.join(row['step0'])}"
    )


@claim(
    "PIPE-S2",
    where="III.B",
    statement="in a period every two tasks that talk are joined",
    claimed="all-to-all",
    criterion="equality",
    experiment=SCHEDULE,
)
def _judge_s2(runs: pd.DataFrame, profile: str) -> Verdict:
    said = {case: _row(runs, case)["pairs_covered"] for case in ("random", "linear")}
    full = {"random": "110 of 110 pairs, 1 to 1 times", "linear": "36 of 36 pairs, 1 to 1 times"}
    return Verdict.when(said == full, f"random: {said['random']}; linear: {said['linear']}")


@claim(
    "PIPE-S3",
    where="V.E",
    statement="a purely linear topology buffers less",
    claimed="less",
    criterion="equality",
    experiment=SCHEDULE,
)
def _judge_s3(runs: pd.DataFrame, profile: str) -> Verdict:
    extra = {case: int(_row(runs, case)["extra_parts"]) for case in ("random", "linear")}
    return Verdict.when(
        extra["linear"] == 0 < extra["random"],
        f"parts that must be buffered in a period: {extra['linear']} (linear), {extra['random']} (random)",
        "With t <= N a node has at most one task of a component, so in a line a task receives at most one part a slot.",
    )
