"""The pipeline: stages, which tasks talk in a step, stalls, and what a period covers.

Tantalaki et al. 2020, section III-B and algorithm 3, sections IV and V-E, figures 1, 3, 4, 5 and 7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from streamlb.placement.pipeline import PipelineSchedule, parts_received
from streamlb.placement.topology import Topology

from ...claim import Claim, Experiment, claims_into
from ...figures import OURS, SECOND, new_figure
from ...judging import Finding, Runs, all_of, at_least, at_most, close_to, exact, finding, never, printed, reported
from .readings import NAMES, example, scheduled, text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


CLAIMS: list[Claim] = []
claim = claims_into(CLAIMS, paper="PIPE", kind="a", readings=NAMES)
MORE = 1e-9  # shares are quotients of whole numbers
CASES = ("figure1", "random", "linear", "diamond", "linear5", "figure4")


def _grid(profile: str) -> list[dict[str, Any]]:
    return [{"case": case, "reading": reading} for case in CASES for reading in NAMES]


def measure_schedule(case: str, reading: str) -> dict[str, Any]:
    """Measure the pipeline of an example.

    Return its occupancy and stalls, who talks in the steps that the paper shows, the senders of a
    node, the pairs of tasks that a period covers, and the parts that have to be buffered.
    """
    if case == "figure4":
        return _figure4()
    topology, nodes = example(case)
    s = scheduled(topology, nodes, reading)
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
        **_coverage(s),
        **_parts(s),
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
        "pairs": 0,
        "pairs_missing": 0,
        "pairs_repeated": 0,
        "parts": 0,
        "waiting_parts": 0,
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


def _coverage(s: PipelineSchedule) -> dict[str, int]:
    """Count the pairs of tasks that talk, and those that N steps join never or more than once."""
    joined: dict[tuple[str, str], int] = {}
    for stage in range(s.occupancy.shape[1]):
        for step in range(s.nodes):
            for pair in s.communications(step, stage):
                joined[pair] = joined.get(pair, 0) + 1
    wanted = sum(int(s.topology.counts[a] * s.topology.counts[b]) for a, b in s.topology.edges)
    return {
        "pairs": wanted,
        "pairs_missing": wanted - len(joined),
        "pairs_repeated": sum(count > 1 for count in joined.values()),
    }


def _parts(s: PipelineSchedule) -> dict[str, int]:
    """Count the parts of a period, and those that find their task busy with another part.

    The latter have to be buffered.
    """
    parts = waiting = 0
    for row in s.occupancy[-s.nodes :]:
        received: dict[str, int] = {}
        for stage, step in enumerate(row.tolist()):
            for _, b in s.communications(step, stage):
                received[b] = received.get(b, 0) + 1
        parts += sum(received.values())
        waiting += sum(count - 1 for count in received.values())
    return {"parts": parts, "waiting_parts": waiting}


SCHEDULE = Experiment("pipe_schedule", _grid, measure_schedule)


def _row(runs: Runs, case: str) -> Any:
    return runs.where(case=case).frame.iloc[0]


@claim(
    "PIPE-P1b",
    where="III.B (1)",
    statement="with the pipeline full each node receives from one node in a slot",
    claimed="1",
    criterion="at most 1 other sending node in any slot of a period, in both examples",
    experiment=SCHEDULE,
)
def _judge_p1b(runs: Runs) -> Finding:
    most = {case: int(_row(runs, case)["senders"]) for case in ("random", "linear")}
    return finding(
        f"other nodes that send to one node in a slot of the full pipeline: up to {most['random']} (random), "
        f"{most['linear']} (linear)",
        value=all_of(at_most(exact(count), 1, f"senders of a node, {case}") for case, count in most.items()),
        note="One sender a node holds for each stage, since a step is a permutation; a slot runs a different step in "
        "each stage.",
    )


@claim(
    "PIPE-F1",
    where="Fig. 1",
    statement="the topology of Fig. 1 has three stages",
    claimed="3",
    criterion="equality",
    experiment=SCHEDULE,
    readings=("",),
)
def _judge_f1(runs: Runs) -> Finding:
    stages = int(_row(runs, "figure1")["stages"])
    return finding(f"{stages} stages", value=close_to(exact(stages), printed("3"), "stages"))


def _figure_pipeline(case: str):
    """Return a figure of the steps that an example's stages run, slot by slot."""

    def figure(runs: pd.DataFrame, profile: str) -> Figure:
        from streamlb.placement.show import draw_pipeline

        picture = draw_pipeline(scheduled(*example(case), NAMES[0]))
        picture.axes[0].set_title(f"{case} topology: steps in the pipeline")
        return picture

    return figure


@claim(
    "PIPE-F3a",
    where="Fig. 3a, Alg. 3",
    statement="random example: stage l runs step (slot - l) mod 9",
    claimed="the picture",
    criterion="report only: the picture is lost with the text, and the pipeline follows Algorithm 3 by construction",
    amended="Compared the code with the same formula written once more, which could not fail.",
    experiment=SCHEDULE,
    figure=_figure_pipeline("random"),
    readings=("",),
)
def _judge_f3a(runs: Runs) -> Finding:
    slots = _row(runs, "random")["occupancy"].split(" | ")
    return reported(
        f"steps of the stages, slot by slot: {', '.join(slots[:4])} and so on; {slots[-1]} in slot {len(slots) - 1}, "
        "when the pipeline is full",
        "A stage that has not begun has -1. What the steps do is judged by PIPE-F3b and PIPE-S2.",
    )


def _figure_step(runs: pd.DataFrame, profile: str) -> Figure:
    from streamlb.placement.show import draw_step

    picture = draw_step(scheduled(*example("random"), NAMES[0]), 0)
    picture.axes[0].set_title("random topology: tasks that talk when a stage runs step 0")
    return picture


@claim(
    "PIPE-F3b",
    where="Fig. 3b",
    statement="random example: in step 0 J sends to P, M and H to O; in step 1 D sends to J",
    claimed="J>P, M>O, H>O; D>J",
    criterion="each of the four pairs talks in its step and stage",
    experiment=SCHEDULE,
    figure=_figure_step,
)
def _judge_f3b(runs: Runs) -> Finding:
    row = _row(runs, "random")
    wanted = {"step0": (2, ["J>P", "M>O", "H>O"]), "step1": (1, ["D>J"])}
    pairs = [(pair, row[name][stage].split()) for name, (stage, named) in wanted.items() for pair in named]
    missing = sum(pair not in found for pair, found in pairs)
    return finding(
        f"{missing} of {len(pairs)} pairs missing; step 0, stage 2: {row['step0'][2]}; step 1, stage 1: "
        f"{row['step1'][1]}",
        value=never(missing, of=len(pairs)),
    )


@claim(
    "PIPE-S1",
    where="IV-A",
    statement="random example: two parts for O in step 0 of stage 2 stall the pipeline",
    claimed="h",
    criterion="equality",
    experiment=SCHEDULE,
)
def _judge_s1(runs: Runs) -> Finding:
    stalls = list(_row(runs, "random")["stalls"])
    return finding(
        f"{stalls[2]} h in the slot where stage 2 runs step 0 (M and H both send to O)",
        value=close_to(exact(stalls[2]), printed("1"), "slots of stall"),
    )


def _figure_stall(runs: pd.DataFrame, profile: str) -> Figure:
    figure, axes = new_figure("Parts handled after a slot with many-to-one sends", "time (h)", "task", size=(5.5, 2.8))
    stall = int(runs[runs["case"] == "figure4"]["stall_slots"].iloc[0])
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
    readings=("",),
)
@claim(
    "PIPE-F4",
    where="Fig. 4",
    statement="three parts for T and two for O in one slot stall for the longer",
    claimed="2h = max(2h, h)",
    criterion="equality",
    experiment=SCHEDULE,
    readings=("",),
)
def _judge_f4(runs: Runs) -> Finding:
    stall = int(_row(runs, "figure4")["stall_slots"])
    return finding(
        f"{stall} h: three parts for T and two for O in one slot",
        value=close_to(exact(stall), printed("2"), "slots of stall"),
    )


@claim(
    "PIPE-F7",
    where="Fig. 7",
    statement="linear example: the pipeline has no stall",
    claimed="no stall",
    criterion="no slot with a stall",
    amended="Also compared the code with Algorithm 3 written once more, which could not fail.",
    experiment=SCHEDULE,
    figure=_figure_pipeline("linear"),
)
def _judge_f7(runs: Runs) -> Finding:
    row = _row(runs, "linear")
    stalled = sum(stall > 0 for stall in row["stalls"])
    return finding(
        f"{stalled} of {len(row['stalls'])} slots with a stall; step 0: {'; '.join(row['step0'])}",
        value=never(stalled, of=len(row["stalls"])),
    )


@claim(
    "PIPE-S2",
    where="III.B",
    statement="in a period every two tasks that talk are joined",
    claimed="all-to-all",
    criterion="each pair once in N steps, in all four topologies of the paper",
    amended="Looked at the two examples of section IV only.",
    experiment=SCHEDULE,
)
def _judge_s2(runs: Runs) -> Finding:
    own = runs.where(case=("random", "linear", "diamond", "linear5")).frame
    pairs, missing, repeated = (int(own[name].sum()) for name in ("pairs", "pairs_missing", "pairs_repeated"))
    return finding(
        f"of {pairs} pairs in {len(own)} topologies {missing} are never joined and {repeated} more than once",
        value=all_of(never(missing, of=pairs, label="never joined"), never(repeated, of=pairs, label="joined twice")),
    )


def _waiting(runs: Runs, case: str) -> tuple[float, str]:
    """Return the share of a period's parts that wait, and the count in words."""
    row = _row(runs, case)
    return row["waiting_parts"] / row["parts"], f"{row['waiting_parts']} of {row['parts']} ({case})"


@claim(
    "PIPE-S3",
    where="V.E, Fig. 18",
    statement="the line of five components buffers less than the diamond and the random topology",
    claimed="fewer tuples",
    criterion="the share of a period's parts that find their task busy is smaller than in each of the others",
    amended="Looked at the line of Fig. 6; the sentence is about that of Fig. 16b and 18.",
    experiment=SCHEDULE,
)
def _judge_s3(runs: Runs) -> Finding:
    found = {case: _waiting(runs, case) for case in ("linear5", "diamond", "random")}
    line = found["linear5"][0]
    above = {case: share - line for case, (share, _) in found.items() if case != "linear5"}
    return finding(
        "parts of a period that have to wait: " + ", ".join(said for _, said in found.values()),
        shape=all_of(
            at_least(exact(difference), MORE, f"share in {case} above that in the line")
            for case, difference in above.items()
        ),
        note="With full parts from every task. The line has 16 tasks on 8 nodes, so that a node has two tasks of a "
        "component which send to the same task in one step.",
    )


@claim(
    "PIPE-S3l",
    where="V.C",
    statement="in the linear example a task receives one part at a time, so that buffering is not generally needed",
    claimed="no buffering",
    criterion="no part of a period finds its task busy",
    experiment=SCHEDULE,
)
def _judge_s3_line(runs: Runs) -> Finding:
    row = _row(runs, "linear")
    return finding(
        f"{row['waiting_parts']} of {row['parts']} parts of a period have to wait",
        value=never(row["waiting_parts"], of=row["parts"]),
        note="With t <= N a node has at most one task of a component, so in a line a task receives at most one part a "
        "slot; in the line of Fig. 18 it receives more (PIPE-S3).",
    )
