"""The equations and propositions on the matrices, checked over a grid of (t, N).

Tantalaki et al. 2020, sections III and VII: equations 2 to 19, propositions 1, 1.1 and 1.2, and the
count of moves.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from streamlb.placement import matrices

from ...claim import Claim, Experiment, claims_into
from ...figures import OURS, SECOND, new_figure, paper_line
from ...judging import Finding, Runs, all_of, at_least, at_most, exact, finding, never

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


ALL = "all t, N up to 40 (quick) or 64 (paper)"
CLAIMS: list[Claim] = []
claim = claims_into(CLAIMS, paper="PIPE", kind="a")


def _grid(profile: str) -> list[dict[str, Any]]:
    most = 40 if profile == "quick" else 64
    return [{"t": t, "most_nodes": most} for t in range(1, most + 1)]


def measure_grid(t: int, most_nodes: int) -> dict[str, Any]:
    """Count over N = 1..most_nodes where each statement on the matrices of (t, N) fails."""
    names = ["E2", "E4", "E6", "E8", "E9", "E10", "E11", "P1", "P1.1", "C1", "C2", "C3", "G1", "paper_P1"]
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
    """Return the statements that fail for (t, N); `out` keeps the largest ratios to the bounds."""
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
    first_rows = trn[::g]  # of the blocks of each block row
    if not (trn - np.repeat(first_rows, g, axis=0) == (i % g) * sn).all():
        failed.append("E8")
    if not (first_rows == (np.arange(st)[:, None] * sn + j // g) // st).all():
        failed.append("E9")
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
    """Say whether tasks of one node and class are exactly those a multiple of LCM(t, N) apart.

    Each such multiple must also lead N' components on. One column suffices: tasks of different
    nodes differ by no multiple of N, hence by none of the LCM.
    """
    rows = np.arange(t)
    tasks = rows * n
    apart = tasks[:, None] - tasks[None, :]
    same = rows[:, None] % st == rows[None, :] % st
    period = math.lcm(t, n)
    further = (tasks // t)[:, None] - (tasks // t)[None, :] == apart // period * sn
    return bool((same == (apart % period == 0)).all() and further[same].all())


def _scale(t: int, n: int, out: dict[str, Any], scaled: dict[str, int]) -> None:
    """Count where the schedule of a multiple of N, of t or of both begins with the same pattern."""
    small = _square(t, n)
    for k in (2, 3):
        out["scaled"] += 1
        for name, (t2, n2) in {"nodes": (t, k * n), "tasks": (k * t, n), "both": (k * t, k * n)}.items():
            scaled[name] += int((_square(t2, n2)[:n, :n] % n == small).all())


def _square(t: int, n: int) -> np.ndarray:
    """Return the schedule of components with t tasks each on N nodes, without refinement."""
    steps = matrices.transpose_rows(matrices.component_ids(matrices.initial(t, n), t))
    return matrices.square(matrices.rotate_blocks(matrices.move_blocks(steps)))


GRID = Experiment("pipe_grid", _grid, measure_grid, cost=lambda row: row["t"])


def _never(name: str, note: str = ""):
    """Return a judge that wants no failure on the grid."""

    def judge(runs: Runs) -> Finding:
        fails, pairs = int(runs.frame[f"fails_{name}"].sum()), int(runs.frame["most_nodes"].sum())
        return finding(f"{fails} failures in {pairs} pairs (t, N)", value=never(fails, of=pairs), note=note)

    return judge


claim(
    "PIPE-E2",
    where="Eq. 2",
    statement="M_init(i, j) = iN + j with t rows",
    claimed="iN + j",
    criterion=f"equal, {ALL}",
    experiment=GRID,
)(_never("E2"))
claim(
    "PIPE-E4",
    where="Eq. 4-5",
    statement="rows t' apart differ by N' in every column",
    claimed="mu N'",
    criterion=f"integer equality, {ALL}",
    experiment=GRID,
)(_never("E4"))
claim(
    "PIPE-E6",
    where="Eq. 6",
    statement="the row map is a permutation of 0..t-1",
    claimed="implied",
    criterion=f"bijection, {ALL}",
    experiment=GRID,
)(_never("E6"))
claim(
    "PIPE-E8",
    where="Eq. 8",
    statement="rows r' of a block of M'_trn differ by the constant part r'N'",
    claimed="r'N'",
    criterion=f"equal, {ALL}",
    experiment=GRID,
)(_never("E8"))
claim(
    "PIPE-E9",
    where="Eq. 9",
    statement="the variable part of a block of M'_trn is floor((rN'+c)/t')",
    claimed="floor((rN'+c)/t')",
    criterion=f"equal in the first row of each block, {ALL}",
    experiment=GRID,
)(_never("E9"))
claim(
    "PIPE-E10",
    where="Eq. 10",
    statement="blocks of a block column go to different block rows",
    claimed="implied",
    criterion=f"bijection in r for every c, {ALL}",
    experiment=GRID,
)(_never("E10", "It follows from gcd(t', N') = 1."))
claim(
    "PIPE-E11",
    where="Eq. 11",
    statement="rotation puts equal entries of a block on its diagonals",
    claimed="diagonal",
    criterion=f"rows of a block have distinct entries, {ALL}",
    experiment=GRID,
)(_never("E11"))
claim(
    "PIPE-P1",
    where="Prop. 1",
    statement="every row of M'_inter holds each of 0..N-1 once",
    claimed="always",
    criterion="permutation for (t, N) in 2..12 x 2..24 and the whole grid",
    experiment=GRID,
)(_never("P1", "Proved for every t and N in streamlb.analysis.pipeline."))


claim(
    "PIPE-P1.1",
    where="Prop. 1.1, Eq. 12-19",
    statement="tasks of one node and class are those LCM(t, N) apart",
    claimed="LCM(t, N)",
    criterion=(
        "same node and class if and only if the difference is a multiple of LCM, components then N' apart, " + ALL
    ),
    experiment=GRID,
)(_never("P1.1", "The printed steps show one direction; the grid shows both."))


@claim(
    "PIPE-P1.2",
    where="VII",
    statement="with N or t multiplied by an integer the same pattern follows",
    claimed="always",
    criterion="big[:N, :N] mod N equals small, t, N up to 12, factors 2 and 3",
    experiment=GRID,
)
def _judge_p12(runs: Runs) -> Finding:
    total = int(runs.frame["scaled"].sum())
    found = {name: int(runs.frame[f"scaled_{name}"].sum()) for name in ("nodes", "tasks", "both")}
    said = ", ".join(f"{name} x k: {count} of {total}" for name, count in found.items())
    return finding(
        said,
        value=all_of(never(total - count, of=total, label=f"{name} x k") for name, count in found.items()),
        note="The inverse of t' mod N' in the closed form changes with both sizes, so a multiple of one leads to "
        "another square.",
    )


def _moves_within(name: str, ratio: str, what: str):
    """Return a judge that wants no more moves than the printed bound."""

    def judge(runs: Runs) -> Finding:
        fails, pairs = int(runs.frame[f"fails_{name}"].sum()), int(runs.frame["most_nodes"].sum())
        most = float(runs.frame[ratio].max())
        return finding(
            f"bound exceeded for {fails} of {pairs} pairs (t, N); at most {most:.1f} times the bound",
            value=never(fails, of=pairs),
            note=f"The count of {what} grows with the whole matrix (t rows, t'N' blocks), not with t' or N' alone.",
        )

    return judge


def _figure_moves(runs: pd.DataFrame, profile: str) -> Figure:
    figure, axes = new_figure(
        "Moves against the printed bounds, worst N for each t", "t (tasks of a component)", "ratio to the bound"
    )
    axes.plot(runs["t"], runs["rows_ratio"], "o-", ms=3, color=OURS, label="rows moved by Eq. 6 / t'")
    axes.plot(runs["t"], runs["blocks_ratio"], "s-", ms=3, color=SECOND, label="blocks moved by Eq. 10 / (N' - 1)")
    paper_line(axes, 1.0, "the paper's bound")
    axes.legend()
    return figure


claim(
    "PIPE-C1",
    where="III.C",
    statement="Eq. 6 moves at most t' rows",
    claimed="t'",
    criterion=f"count, {ALL}",
    experiment=GRID,
    figure=_figure_moves,
)(_moves_within("C1", "rows_ratio", "rows"))
claim(
    "PIPE-C2",
    where="III.C",
    statement="Eq. 10 moves at most N'-1 blocks",
    claimed="N'-1",
    criterion=f"count, {ALL}",
    experiment=GRID,
)(_moves_within("C2", "blocks_ratio", "blocks"))


@claim(
    "PIPE-C3",
    where="III.C",
    statement="all moves together are t' + N'-1 + (N'-1)t', linear in t' and N'",
    claimed="O(t', N')",
    criterion="value: rows and blocks moved within the printed total; shape: that total at most 2 (t' + N')",
    experiment=GRID,
)
def _judge_c3(runs: Runs) -> Finding:
    fails, pairs = int(runs.frame["fails_C3"].sum()), int(runs.frame["most_nodes"].sum())
    most = float(runs.frame["total_ratio"].max())
    return finding(
        f"rows and blocks moved exceed the printed total for {fails} of {pairs} pairs; that total is up to "
        f"{most:.1f} (t' + N')",
        shape=at_most(exact(most), 2.0, "total / (t' + N')"),
        value=never(fails, of=pairs),
        note="A total with the product of t' and N' is not linear in them; writing the matrices takes tN entries in "
        "any case.",
    )


@claim(
    "PIPE-G1",
    where="VII",
    statement="for gcd(t, N) = 1 tasks must be added before scheduling",
    claimed="needed",
    criterion="Proposition 1 fails without them for some pair",
    experiment=GRID,
)
def _judge_g1(runs: Runs) -> Finding:
    fails, coprime = int(runs.frame["fails_G1"].sum()), int(runs.frame["coprime"].sum())
    return finding(
        f"without added tasks Proposition 1 fails for {fails} of {coprime} pairs with gcd 1",
        value=at_least(exact(fails), 1, "pairs for which they are needed"),
        note="Rows are permutations for gcd 1 too (see the proof of the closed form); only the refinement finds "
        "nothing to exchange. PIPE-G1r shows what added tasks give it.",
    )
