"""What POSG costs: time for each tuple, space and messages (theorems 3.1 to 3.3).

The section is III-B of Rivetti et al. 2015.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from streamlb.analysis import posg_message_bounds

from ...claim import Claim, Experiment, Seeds, claims_into
from ...figures import COLOURS, PAPER, new_figure
from ...judging import Finding, Runs, all_of, at_most, exact, finding, never
from .operations import cells_touched, numbers_held
from .readings import ITEMS, NAMES, READINGS, STARTING, WINDOW, draw

CLAIMS: list[Claim] = []
claim = claims_into(CLAIMS, paper="POSG", kind="a")

# --- theorems 3.1 and 3.2: what a tuple touches, what is stored ----------------------------------


def _count(rows: int, k: int, columns: int) -> dict[str, int]:
    return cells_touched(rows, k, columns) | numbers_held(rows, k, columns)


OPERATIONS = Experiment(
    "posg_operations",
    lambda profile: [
        {"rows": r, "k": k, "columns": c} for r in (1, 2, 4, 8) for k in (1, 2, 5, 10, 40) for c in (1, 11, 55)
    ],
    _count,
)


def _per(counts: Any, sizes: Any) -> str:
    """Return the count for each unit of size: one number, or the range."""
    each = np.asarray(counts, dtype=float) / np.asarray(sizes, dtype=float)
    return f"{each[0]:.3g}" if np.ptp(each) == 0 else f"{each.min():.3g} to {each.max():.3g}"


@claim(
    "POSG-T3.1",
    where="theorem 3.1",
    statement="Time for each tuple, as the proof counts it (listings III.1 and III.2): O(log 1/δ) at an instance, "
    "O(k + log 1/δ) at the scheduler.",
    claimed="bound",
    criterion="value: an execution touches at most 4r cells, a submission at most k clocks and 2r cells, on the "
    "library's own kernels, for r = 1..8, k = 1..40 and c = 1..55",
    experiment=OPERATIONS,
)
def _judge_time(runs: Runs) -> Finding:
    frame = runs.frame
    beyond = (frame["update"] > 4 * frame["rows"]) | (frame["estimate"] > 2 * frame["rows"])
    beyond |= frame["choice"] > frame["k"]
    return finding(
        f"cells touched: an execution {_per(frame['update'], frame['rows'])} for each row, an estimate "
        f"{_per(frame['estimate'], frame['rows'])}, a choice {_per(frame['choice'], frame['k'])} for each instance",
        value=never(beyond.sum(), len(frame), "settings beyond the count"),
        note="Counted on kernels that run uncompiled over arrays that count. An execution reads and writes F and W in "
        "each row; an estimate reads F in each row and W in one.",
    )


@claim(
    "POSG-T3.1w",
    where="theorem 3.1",
    statement="The same for every tuple, also for one that ends a window of N executions.",
    claimed="bound",
    criterion="value: the cells that such a tuple touches for each row do not grow with the columns c",
    experiment=OPERATIONS,
)
def _judge_worst_time(runs: Runs) -> Finding:
    frame = runs.frame
    narrow, wide = frame["columns"].min(), frame["columns"].max()
    worst = frame[["first", "later"]].max(axis=1) / frame["rows"]
    growth = worst[frame["columns"] == wide].max() / worst[frame["columns"] == narrow].max()
    cells = frame["rows"] * frame["columns"]
    largest = frame[(frame["rows"] == 4) & (frame["columns"] == wide)].iloc[0]
    spread = max(largest["first"], largest["later"]) / WINDOW
    return finding(
        f"a tuple that makes a snapshot touches {_per(frame['first'], cells)} cells for each of r·c more, one that "
        f"sends its matrices {_per(frame['later'], cells)}: {growth:.0f} times as many with {wide} columns as with "
        f"{narrow}",
        value=at_most(exact(growth), 1.0, "growth with the columns"),
        note=f"The theorem's bound holds on average over a window: with 4 rows, {wide} columns and N = {WINDOW:,} this "
        f"is {spread:.2f} cells for each tuple. Each pair that comes costs the scheduler "
        f"{_per(frame['accept'], cells)} cells for each of r·c.",
    )


@claim(
    "POSG-T3.2",
    where="theorem 3.2",
    statement="Space: O(1/ε log 1/δ) counters at an instance, k times that and O(k) at the scheduler.",
    claimed="bound",
    criterion="value: at most 3rc counters at an instance (the matrices and the snapshot), 2krc and 12k numbers at the "
    "scheduler, in the library's own arrays",
    experiment=OPERATIONS,
)
def _judge_space(runs: Runs) -> Finding:
    frame = runs.frame
    cells = frame["rows"] * frame["columns"]
    beyond = (frame["instance"] + frame["snapshots"] > 3 * cells) | (frame["scheduler"] > 2 * frame["k"] * cells)
    beyond |= frame["vectors"] > 12 * frame["k"]
    return finding(
        f"numbers for each of r·c cells: {_per(frame['instance'], cells)} counters and "
        f"{_per(frame['snapshots'], cells)} of the snapshot at an instance, "
        f"{_per(frame['scheduler'], frame['k'] * cells)} for each instance at the scheduler, and there "
        f"{_per(frame['vectors'], frame['k'])} besides for each instance",
        value=never(beyond.sum(), len(frame), "settings beyond the count"),
        note="The proof leaves out the snapshot (and a second one where matrices are sent only when they changed): "
        "the order stands.",
    )


# --- theorem 3.3: messages -----------------------------------------------------------------------


def _messages(exponent: float, k: int, reading: str, seed: int) -> dict[str, Any]:
    from streamlb import simulate_operator

    options = READINGS[reading].options
    keys, costs = draw(exponent, seed)
    result = simulate_operator(keys, costs, k, "posg", 1.0, seed, **options)
    counted = result.messages
    rows, columns = 4, 54 if options.get("rounding") == "floor" else 55
    matrices = counted["matrices"] + counted["matrices_under_way"]
    replies = counted["replies"] + counted["ignored"] + counted["replies_under_way"]
    # A counter of F counts executions, one of W and a clock hold their times in ms.
    count, clock = math.ceil(math.log2(keys.size + 1)), math.ceil(math.log2(2 * costs.sum() + 1))
    cells, item = rows * columns, math.ceil(math.log2(ITEMS))
    return {
        "matrices": matrices,
        "replies": replies,
        "most_matrices": posg_message_bounds(keys.size, WINDOW, k)["matrices"],
        "bits": matrices * cells * (count + clock) + replies * clock,
        "most_bits": keys.size / WINDOW * (cells * (count + item) + k * count),
        "bytes": counted["bytes"],
    }


MESSAGES = Experiment(
    "posg_messages",
    lambda profile: [
        {"exponent": z, "k": k, "reading": r} for z in (0.0, 1.0, 2.0) for k in (2, 5, 10) for r in STARTING
    ],
    _messages,
    seeds=Seeds(quick=(3, 3), paper=(20, 20)),
)
BY_THE_LETTER = ("printed", *(name for name in STARTING if name != "printed"))


def _figure_messages(runs, profile):
    figure, axes = new_figure(
        "Messages of a run against theorem 3.3", "m/2N pairs and k replies for each (messages)", "counted (messages)"
    )
    for colour, (reading, group) in zip(COLOURS, runs.groupby("reading")):
        most = group["most_matrices"] * (1 + group["k"])
        axes.scatter(most, group["matrices"] + group["replies"], s=10, color=colour, label=NAMES[reading])
    top = float((runs["most_matrices"] * (1 + runs["k"])).max())
    axes.plot([0, top], [0, top], color=PAPER, ls="--", label="the bound")
    axes.legend(fontsize=8)
    return figure


@claim(
    "POSG-T3.3",
    kind="a/b",
    where="theorem 3.3",
    statement="Over m tuples O(k m/N) messages are exchanged.",
    claimed="bound",
    criterion="value: in every run at most m/2N pairs of matrices (an instance needs two windows for each) and at most "
    "k replies for each pair that was sent; the theorem is on the algorithm to the letter, which is the headline",
    amended="matrices ≤ m/2N + k, replies ≤ k for each pair; then also k more replies each N·k tuples. Both were looser "
    "than what the algorithm can send",
    experiment=MESSAGES,
    figure=_figure_messages,
    readings=BY_THE_LETTER,
)
def _judge_messages(runs: Runs) -> Finding:
    frame = runs.frame
    many = int((frame["matrices"] > frame["most_matrices"]).sum())
    chatty = int((frame["replies"] > frame["k"] * frame["matrices"]).sum())
    share = (frame["matrices"] / frame["most_matrices"]).max()
    five = runs.where(k=5).frame
    return finding(
        f"in {many} of {len(frame)} runs too many pairs, in {chatty} too many replies; at most {share:.0%} of m/2N pairs",
        value=all_of(
            never(many, len(frame), "runs with more than m/2N pairs"),
            never(chatty, len(frame), "runs with more than k replies for a pair"),
        ),
        note=f"k = 5, 32,768 tuples: {five['matrices'].mean():.0f} pairs and {five['replies'].mean():.0f} replies on "
        "average, also those under way at the end. Our reading asks all instances again every N·k tuples in RUN, which "
        "is not in the text: k replies more each time, still O(k m/N) but beyond k for each pair.",
    )


@claim(
    "POSG-T3.3b",
    kind="a/b",
    where="theorem 3.3",
    statement="Over m tuples O(m/N ((1/ε) log(1/δ) (log m + log n) + k log m)) bits are exchanged.",
    claimed="bound",
    criterion="value: in every run at most m/N (rc (log m + log n) + k log m) bits, where each counter takes as many "
    "bits as the largest number that it can hold; logarithms of base 2, rounded up",
    experiment=MESSAGES,
    readings=BY_THE_LETTER,
)
def _judge_bits(runs: Runs) -> Finding:
    frame = runs.frame
    share = frame["bits"] / frame["most_bits"]
    beyond = int((share > 1).sum())
    return finding(
        f"in {beyond} of {len(frame)} runs more bits than the formula with all constants 1; at most {share.max():.0%} "
        "of it",
        value=never(beyond, len(frame), "runs beyond the bits of the formula"),
        note=f"As bytes with 64-bit counters, marks and checksums the messages take "
        f"{(8 * frame['bytes'].sum() / frame['bits'].sum()) if frame['bits'].sum() else 0:.1f} times these bits. W holds "
        "times, so that its counters need log(m w_max) bits, which the theorem does not say.",
    )
