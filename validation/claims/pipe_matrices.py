"""Claims of paper 002 on its matrices: the printed examples, element by element, and its propositions over a grid of (t, N)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from streamlb.placement import matrices, refine
from streamlb.placement.examples import PAPER_NODES, paper_topology
from streamlb.placement.pipeline import pipeline_schedule
from streamlb.placement.topology import Topology

from ..claim import DIFFERS, REPRODUCED, Claim, Experiment, Verdict
from ._pipe import PAPER, PRINTED, text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


def figure1_topology() -> Topology:
    """Return the topology of Fig 1: a spout and four bolts of four tasks, on six nodes."""
    names = ["spout", "bolt1", "bolt2", "bolt3", "bolt4"]
    edges = [("spout", "bolt1"), ("bolt1", "bolt2"), ("bolt1", "bolt3"), ("bolt2", "bolt4"), ("bolt3", "bolt4")]
    return Topology(dict.fromkeys(names, 4), edges)


def _examples_grid(profile: str) -> list[dict[str, Any]]:
    return [{"case": case} for case in PRINTED]


def measure_examples(case: str) -> dict[str, Any]:
    """Compute every matrix that the paper prints for an example."""
    topology = figure1_topology() if case == "figure1" else paper_topology(case)
    nodes = 6 if case == "figure1" else PAPER_NODES[case]
    s = pipeline_schedule(topology, nodes, "printed")
    members = refine.block_members(s.intermediate)
    sends = refine.bitmap(topology.edges, nodes)
    spare = refine.non_partners(members, sends)
    out = {
        name: text(getattr(s, name))
        for name in ("initial", "components", "transposed", "blocks", "intermediate", "final")
    }
    return {
        **out,
        "schedule": text(s.schedule),
        "named": text(s.named),
        "bitmap": text(sends),
        "members": text(members),
        "non_partners": " | ".join(" ".join(map(str, row)) for row in spare),
        "swaps": " | ".join(f"{v} {d}" for v, d in refine.printed_swaps(s.intermediate, topology.edges)),
        "row_moves": " | ".join(
            f"{i} {to}" for i, to in enumerate(matrices.row_targets(topology.widest, nodes).tolist())
        ),
    }


EXAMPLES = Experiment("pipe_examples", _examples_grid, measure_examples)


def _same(case: str, *names: str):
    """Return a judge that compares what was computed with what is printed."""

    def judge(runs: pd.DataFrame, profile: str) -> Verdict:
        row = runs[runs["case"] == case].iloc[0]
        wrong = [name for name in names if row[name] != PRINTED[case][name]]
        cells = sum(len(PRINTED[case][name].replace("|", " ").split()) for name in names)
        if wrong:
            return Verdict(DIFFERS, f"{', '.join(wrong)} not as printed", f"computed {row[wrong[0]]}")
        return Verdict(REPRODUCED, f"all {cells} entries equal")

    return judge


def _printed(claim: str, where: str, statement: str, case: str, *names: str, figure=None) -> Claim:
    return Claim(
        claim,
        PAPER,
        "a",
        where,
        statement,
        "printed matrix",
        "elementwise equality",
        EXAMPLES,
        _same(case, *names),
        figure,
    )


def _figure_schedules(runs: pd.DataFrame, profile: str) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    for axes, case in zip(figure.subplots(1, 2), ("random", "linear")):
        row = runs[runs["case"] == case].iloc[0]
        square = np.array([line.split() for line in row["schedule"].split(" | ")], int)
        printed = np.array([line.split() for line in PRINTED[case]["schedule"].split(" | ")], int)
        image = axes.imshow(square, cmap="viridis")
        wrong = np.argwhere(square != printed)
        axes.plot(wrong[:, 1], wrong[:, 0], "rx", label=f"not as printed: {len(wrong)} of {square.size} entries")
        axes.set(title=f"{case}: who sends to whom", xlabel="sending node", ylabel="step")
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.15), fontsize=8)
    figure.colorbar(image, ax=figure.axes, label="receiving node")
    return figure


# --- the propositions, over a grid


def _grid(profile: str) -> list[dict[str, Any]]:
    most = 40 if profile == "quick" else 64
    return [{"t": t, "most_nodes": most} for t in range(1, most + 1)]


def measure_grid(t: int, most_nodes: int) -> dict[str, Any]:
    """Count over N = 1..most_nodes where each statement on the matrices of (t, N) fails."""
    names = ["E2", "E4", "E6", "E8", "E10", "E11", "P1", "P1.1", "C1", "C2", "C3", "G1", "paper_P1"]
    fails = dict.fromkeys(names, 0)
    out: dict[str, Any] = {"coprime": 0, "rows_ratio": 0.0, "blocks_ratio": 0.0, "total_ratio": 0.0, "scaled": 0}
    scaled = {"nodes": 0, "tasks": 0, "both": 0}
    for n in range(1, most_nodes + 1):
        found = _failures(t, n, out)
        for name in found:
            fails[name] += 1
        out["coprime"] += math.gcd(t, n) == 1
        if n <= 12 and t <= 12:
            _scale(t, n, out, scaled)
    return {**out, **{f"fails_{k}": v for k, v in fails.items()}, **{f"scaled_{k}": v for k, v in scaled.items()}}


def _failures(t: int, n: int, out: dict[str, Any]) -> list[str]:
    """Return the statements that fail for (t, N)."""
    g = math.gcd(t, n)
    st, sn = t // g, n // g
    init = matrices.initial(t, n)
    comp = matrices.component_ids(init, t)
    trn = matrices.transpose_rows(comp)
    blocks = matrices.move_blocks(trn)
    inter = matrices.rotate_blocks(blocks)
    i, j = np.ogrid[:t, :n]
    rows, targets = matrices.row_targets(t, n), matrices.block_targets(t, n)
    failed = []
    if not (init == i * n + j).all():
        failed.append("E2")
    if any((comp[m * st :] - comp[: t - m * st] != m * sn).any() for m in range(1, g)):
        failed.append("E4")
    if sorted(rows.tolist()) != list(range(t)):
        failed.append("E6")
    if not (trn == (i % g) * sn + ((i // g) * sn + j // g) // st).all():
        failed.append("E8")
    if any(len(set(targets[:, c].tolist())) != st for c in range(sn)):
        failed.append("E10")
    cut = inter.reshape(st, g, sn, g)
    if any(len(set(cut[r, a, c].tolist())) != g for r in range(st) for a in range(g) for c in range(sn)):
        failed.append("E11")
    permuted = (np.sort(inter, axis=1) == np.arange(n)).all()
    if not permuted:
        failed += ["P1", "paper_P1"] if 2 <= t <= 12 and 2 <= n <= 24 else ["P1"]
        failed += ["G1"] if g == 1 else []
    if not _periodic(t, n, st, sn):
        failed.append("P1.1")
    moved_rows = int((rows != np.arange(t)).sum())
    moved_blocks = int((targets != np.arange(st)[:, None]).sum())
    failed += ["C1"] if moved_rows > st else []
    failed += ["C2"] if moved_blocks > sn - 1 else []
    total = st + sn - 1 + (sn - 1) * st
    failed += ["C3"] if moved_rows + moved_blocks > total else []
    out["total_ratio"] = max(out["total_ratio"], total / (st + sn))
    out["rows_ratio"] = max(out["rows_ratio"], moved_rows / st)
    out["blocks_ratio"] = max(out["blocks_ratio"], moved_blocks / max(sn - 1, 1))
    return failed


def _periodic(t: int, n: int, st: int, sn: int) -> bool:
    """Say whether tasks of one node and class are exactly those a multiple of LCM(t, N) apart, and N' components on.

    One column suffices: tasks of different nodes differ by no multiple of N, hence by none of the LCM.
    """
    rows = np.arange(t)
    tasks = rows * n
    apart = tasks[:, None] - tasks[None, :]
    same = rows[:, None] % st == rows[None, :] % st
    period = math.lcm(t, n)
    further = (tasks // t)[:, None] - (tasks // t)[None, :] == apart // period * sn
    return bool((same == (apart % period == 0)).all() and further[same].all())


def _scale(t: int, n: int, out: dict[str, Any], scaled: dict[str, int]) -> None:
    """Count whether the schedule of a multiple of N, of t, or of both begins with the same pattern."""
    small = _square(t, n)
    for k in (2, 3):
        out["scaled"] += 1
        for name, (t2, n2) in {"nodes": (t, k * n), "tasks": (k * t, n), "both": (k * t, k * n)}.items():
            scaled[name] += int((_square(t2, n2)[:n, :n] % n == small).all())


def _square(t: int, n: int) -> np.ndarray:
    steps = matrices.transpose_rows(matrices.component_ids(matrices.initial(t, n), t))
    return matrices.square(matrices.rotate_blocks(matrices.move_blocks(steps)))


GRID = Experiment("pipe_grid", _grid, measure_grid, cost=lambda row: row["t"])


def _never(name: str, note: str = ""):
    """Return a judge that wants no failure on the grid."""

    def judge(runs: pd.DataFrame, profile: str) -> Verdict:
        fails, pairs = int(runs[f"fails_{name}"].sum()), int(runs["most_nodes"].sum())
        return Verdict.when(fails == 0, f"{fails} failures in {pairs} pairs (t, N)", note)

    return judge


def _judge_p11(runs: pd.DataFrame, profile: str) -> Verdict:
    return _never("P1.1", "The printed steps show one direction; the grid shows both.")(runs, profile)


def _judge_p12(runs: pd.DataFrame, profile: str) -> Verdict:
    total = int(runs["scaled"].sum())
    found = {name: int(runs[f"scaled_{name}"].sum()) for name in ("nodes", "tasks", "both")}
    said = ", ".join(f"{name} x k: {count} of {total}" for name, count in found.items())
    return Verdict.when(
        all(count == total for count in found.values()),
        said,
        "The inverse of t' mod N' in the closed form changes with both sizes, so a multiple of one leads to another square.",
    )


def _judge_moves(name: str, ratio: str, what: str):
    def judge(runs: pd.DataFrame, profile: str) -> Verdict:
        fails, pairs = int(runs[f"fails_{name}"].sum()), int(runs["most_nodes"].sum())
        most = float(runs[ratio].max())
        return Verdict.when(
            fails == 0,
            f"bound exceeded for {fails} of {pairs} pairs (t, N), by up to {most:.0f} times",
            f"The count of {what} grows with the whole matrix (t rows, t'N' blocks), not with t' or N' alone.",
        )

    return judge


def _judge_c3(runs: pd.DataFrame, profile: str) -> Verdict:
    fails, pairs = int(runs["fails_C3"].sum()), int(runs["most_nodes"].sum())
    most = float(runs["total_ratio"].max())
    return Verdict.when(
        fails == 0 and most <= 2.0,
        f"rows and blocks moved exceed the printed total for {fails} of {pairs} pairs; that total is up to {most:.1f} (t' + N')",
        "A total with the product of t' and N' is not linear in them; writing the matrices takes tN entries in any case.",
    )


def _judge_g1(runs: pd.DataFrame, profile: str) -> Verdict:
    fails, coprime = int(runs["fails_G1"].sum()), int(runs["coprime"].sum())
    return Verdict.when(
        fails > 0,
        f"without added tasks Proposition 1 fails for {fails} of {coprime} pairs with gcd 1",
        "Rows are permutations for gcd 1 too (see the proof of the closed form); only the refinement finds nothing to exchange.",
    )


def _figure_moves(runs: pd.DataFrame, profile: str) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    axes.plot(runs["t"], runs["rows_ratio"], "o-", ms=3, label="rows moved by Eq. 6 / t'")
    axes.plot(runs["t"], runs["blocks_ratio"], "s-", ms=3, label="blocks moved by Eq. 10 / (N' - 1)")
    axes.axhline(1.0, color="k", ls="--", label="the paper's bound")
    axes.set(
        title="Moves against the printed bounds, worst N for each t",
        xlabel="t (tasks a component)",
        ylabel="ratio to the bound",
    )
    axes.legend()
    return figure


def _grid_claim(claim: str, where: str, statement: str, claimed: str, criterion: str, judge, figure=None) -> Claim:
    return Claim(claim, PAPER, "a", where, statement, claimed, criterion, GRID, judge, figure)


_ALL = "all t, N up to 40 (quick) or 64 (paper)"

EXPERIMENTS = [EXAMPLES, GRID]

CLAIMS = [
    _printed(
        "PIPE-E1",
        "Eq. 1, 3",
        "t=4, N=6, five components: M_init and M'_init, dummies with ID 5",
        "figure1",
        "initial",
        "components",
    ),
    _grid_claim("PIPE-E2", "Eq. 2", "M_init(i, j) = iN + j with t rows", "iN + j", f"equal, {_ALL}", _never("E2")),
    _grid_claim(
        "PIPE-E4",
        "Eq. 4-5",
        "rows t' apart differ by N' in every column",
        "mu N'",
        f"integer equality, {_ALL}",
        _never("E4"),
    ),
    _grid_claim(
        "PIPE-E6", "Eq. 6", "the row map is a permutation of 0..t-1", "implied", f"bijection, {_ALL}", _never("E6")
    ),
    _grid_claim(
        "PIPE-E8",
        "Eq. 8",
        "rows r' of a block of M'_trn differ by the constant part r'N'",
        "r'N' + floor((rN'+c)/t')",
        f"equal, {_ALL}",
        _never("E8"),
    ),
    _grid_claim(
        "PIPE-E9",
        "Eq. 9",
        "the variable part of a block of M'_trn is floor((rN'+c)/t')",
        "r'N' + floor((rN'+c)/t')",
        f"equal, {_ALL}",
        _never("E8"),
    ),
    _grid_claim(
        "PIPE-E10",
        "Eq. 10",
        "blocks of a block column go to different block rows",
        "implied",
        f"bijection in r for every c, {_ALL}",
        _never("E10", "It follows from gcd(t', N') = 1."),
    ),
    _grid_claim(
        "PIPE-E11",
        "Eq. 11",
        "rotation puts equal entries of a block on its diagonals",
        "diagonal",
        f"rows of a block have distinct entries, {_ALL}",
        _never("E11"),
    ),
    _grid_claim(
        "PIPE-P1",
        "Prop. 1",
        "every row of M'_inter holds each of 0..N-1 once",
        "always",
        "permutation for (t, N) in 2..12 x 2..24 and the whole grid",
        _never("P1", "Proved for every t and N in streamlb.analysis.pipeline."),
    ),
    _grid_claim(
        "PIPE-P1.1",
        "Prop. 1.1, Eq. 12-19",
        "tasks of one node and class are those LCM(t, N) apart",
        "LCM(t, N)",
        f"same node and class if and only if the difference is a multiple of LCM, components then N' apart, {_ALL}",
        _judge_p11,
    ),
    _grid_claim(
        "PIPE-P1.2",
        "VII",
        "with N or t multiplied by an integer the same pattern follows",
        "always",
        "big[:N, :N] mod N equals small, t, N up to 12, factors 2 and 3",
        _judge_p12,
    ),
    _grid_claim(
        "PIPE-C1",
        "III.C",
        "Eq. 6 moves at most t' rows",
        "t'",
        f"count, {_ALL}",
        _judge_moves("C1", "rows_ratio", "rows"),
        _figure_moves,
    ),
    _grid_claim(
        "PIPE-C2",
        "III.C",
        "Eq. 10 moves at most N'-1 blocks",
        "N'-1",
        f"count, {_ALL}",
        _judge_moves("C2", "blocks_ratio", "blocks"),
    ),
    _grid_claim(
        "PIPE-C3",
        "III.C",
        "all moves together are t' + N'-1 + (N'-1)t', linear in t' and N'",
        "O(t', N')",
        "count within the printed total, and the total at most 2 (t' + N')",
        _judge_c3,
    ),
    _grid_claim(
        "PIPE-G1",
        "VII",
        "for gcd(t, N) = 1 tasks must be added before scheduling",
        "needed",
        "Proposition 1 fails without them for some pair",
        _judge_g1,
    ),
    _printed("PIPE-M1", "IV-A", "random example: M'_init", "random", "components"),
    _printed("PIPE-M2", "IV-A", "random example: M'_trn after Eq. 6", "random", "transposed"),
    _printed("PIPE-M3", "IV-A", "random example: M'_trn after Eq. 10", "random", "blocks"),
    _printed("PIPE-M4", "IV-A", "random example: M'_inter", "random", "intermediate"),
    _printed("PIPE-M5", "IV-A", "random example: M', the IDs of each block", "random", "members"),
    _printed(
        "PIPE-M6",
        "IV-A",
        "random example: R-, the IDs of its block to which an ID does not send",
        "random",
        "non_partners",
    ),
    _printed("PIPE-M7", "IV-A", "random example: the exchanges 6 with 1 and 8 with 4", "random", "swaps"),
    _printed("PIPE-M8", "IV-A", "random example: M'_fin", "random", "final"),
    _printed("PIPE-M9", "IV-A", "random example: M'_fin in letters of tasks", "random", "named"),
    _printed("PIPE-M10", "IV-A", "random example: the 9 x 9 schedule", "random", "schedule", figure=_figure_schedules),
    _printed("PIPE-M11", "IV-B", "linear example: M'_init", "linear", "components"),
    _printed("PIPE-M12", "IV-B", "linear example: M'_trn equals M'_init", "linear", "transposed"),
    _printed("PIPE-M13", "IV-B", "linear example: M'_inter", "linear", "intermediate"),
    _printed("PIPE-M14", "IV-B", "linear example: the exchanges 6 with 1 and 4 with 3", "linear", "swaps"),
    _printed("PIPE-M15", "IV-B", "linear example: M'_fin", "linear", "final"),
    _printed("PIPE-M16", "IV-B", "linear example: M'_fin in letters of tasks", "linear", "named"),
    _printed("PIPE-M17", "IV-B", "linear example: the 8 x 8 schedule", "linear", "schedule"),
    _printed("PIPE-M18", "IV-A", "random example: rows 0..5 move to 0, 3, 1, 4, 2, 5", "random", "row_moves"),
    _printed(
        "PIPE-B1",
        "IV-A",
        "random example: Bitmap (its columns are component IDs; the printed header says N0..N8)",
        "random",
        "bitmap",
    ),
]
