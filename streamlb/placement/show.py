"""Pictures of a pipeline schedule: the pipeline with its stalls, one step, and the Latin square.

matplotlib is imported when a picture is drawn, and only its object interface is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from streamlb import _check

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from streamlb.placement.pipeline import PipelineSchedule


def draw_pipeline(schedule: PipelineSchedule, slots: int | None = None) -> Figure:
    """Draw which step each stage runs over time, with the stalls as gaps.

    The paper shows this in figures 3a, 5 and 7a.

    Parameters
    ----------
    schedule : PipelineSchedule
    slots : int, optional
        How many slots to draw; by default those that fill the pipeline and one period.

    Examples
    --------
    >>> from streamlb import pipeline_schedule
    >>> from streamlb.placement.examples import paper_topology
    >>> from streamlb.placement.show import draw_pipeline
    >>> draw_pipeline(pipeline_schedule(paper_topology("linear"), 8)).axes[0].get_xlabel()
    'time (slots of h)'
    """
    from matplotlib.figure import Figure

    occupancy, stalls = schedule.occupancy, schedule.stalls
    slots = len(occupancy) if slots is None else _check.integer("slots", slots, 1, len(occupancy))
    begins = np.arange(slots) + np.concatenate([[0], np.cumsum(stalls[: slots - 1])])
    end = begins[-1] + 1 + stalls[slots - 1]
    figure = Figure(figsize=(max(5.0, 0.45 * end + 1.5), 1.2 + 0.5 * occupancy.shape[1]), layout="constrained")
    axes = figure.subplots()
    for k in range(slots):
        for stage, step in enumerate(occupancy[k].tolist()):
            if step >= 0:
                axes.barh(stage, 1.0, left=begins[k], color=f"C{step % 10}", edgecolor="white", height=0.9)
                axes.text(begins[k] + 0.5, stage, str(step), ha="center", va="center", color="white", fontsize=8)
        if stalls[k]:
            label = "stall" if k == int(np.argmax(stalls > 0)) else None
            axes.axvspan(begins[k] + 1, begins[k] + 1 + stalls[k], color="0.8", hatch="//", label=label)
    axes.set(title="Steps in the pipeline", xlabel="time (slots of h)", ylabel="stage", xlim=(0, end))
    axes.set_yticks(range(occupancy.shape[1]))
    axes.invert_yaxis()
    if stalls[:slots].any():
        axes.legend(loc="upper right", fontsize=8)
    return figure


def draw_step(schedule: PipelineSchedule, step: int) -> Figure:
    """Draw the tasks of every node, and who sends to whom when each stage runs a step.

    The paper shows this in figures 3b and 7b.
    """
    from matplotlib.figure import Figure

    step = _check.integer("step", step, 0, schedule.nodes - 1)
    topology, node = schedule.topology, schedule.placement.task_node
    height = np.zeros(topology.tasks)
    for j in range(schedule.nodes):
        own = np.flatnonzero(node == j)
        height[own] = np.arange(own.size)
    where = {name: (int(node[i]), float(height[i])) for i, name in enumerate(topology.task_names)}
    figure = Figure(figsize=(1.0 + 0.95 * schedule.nodes, 1.8 + 0.6 * (height.max() + 1)), layout="constrained")
    axes = figure.subplots()
    for name, (x, y) in where.items():
        axes.text(
            x, y, name, ha="center", va="center", fontsize=8, bbox={"boxstyle": "round", "fc": "0.95", "ec": "0.5"}
        )
    for stage in range(schedule.occupancy.shape[1]):
        for a, b in schedule.communications(step, stage):
            arrow = {
                "arrowstyle": "->",
                "color": f"C{stage}",
                "shrinkA": 9,
                "shrinkB": 9,
                "connectionstyle": "arc3,rad=0.25",
            }
            axes.annotate("", where[b], where[a], arrowprops=arrow)
        axes.plot([], [], color=f"C{stage}", label=f"stage {stage}")
    axes.set(title=f"Tasks that talk in step {step}", xlabel="node", ylabel="place in the node")
    axes.set_xlim(-0.6, schedule.nodes - 0.4)
    axes.set_ylim(-0.6, height.max() + 1.2)
    axes.set_xticks(range(schedule.nodes), [f"N{j}" for j in range(schedule.nodes)])
    axes.set_yticks([])
    axes.legend(loc="upper right", fontsize=8, ncols=max(schedule.occupancy.shape[1], 1))
    return figure


def draw_schedule(schedule: PipelineSchedule) -> Figure:
    """Draw the Latin square: to which node each node sends in each step."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.2, 4.6), layout="constrained")
    axes = figure.subplots()
    image = axes.imshow(schedule.schedule, cmap="viridis", aspect="auto")
    if schedule.nodes <= 20:
        for p in range(schedule.nodes):
            for j in range(schedule.nodes):
                axes.text(j, p, str(schedule.schedule[p, j]), ha="center", va="center", color="white", fontsize=7)
    axes.set(title="Whom each node sends to", xlabel="sending node", ylabel="step")
    figure.colorbar(image, ax=axes, label="receiving node")
    return figure
