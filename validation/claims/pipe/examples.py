"""The printed examples, element by element (Tantalaki et al. 2020, figure 1, section IV)."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from streamlb.placement import matrices, refine

from ...claim import Claim, Experiment, claims_into
from ...figures import panels
from ...judging import Finding, Runs, finding, never
from .readings import NAMES, PRINTED, READINGS, example, scheduled, text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


CLAIMS: list[Claim] = []
claim = claims_into(CLAIMS, paper="PIPE", kind="a")


def _examples_grid(profile: str) -> list[dict[str, Any]]:
    return [{"case": case, "reading": reading} for case in PRINTED for reading in NAMES]


def measure_examples(case: str, reading: str) -> dict[str, Any]:
    """Compute every matrix that the paper prints for an example, under a reading."""
    topology, nodes = example(case)
    s = scheduled(topology, nodes, reading)
    members = refine.block_members(s.intermediate)
    sends = refine.bitmap(topology.edges, nodes)
    spare = refine.non_partners(members, sends)
    swaps = refine.SWAPS[READINGS[reading].options["refine"]]
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
        "swaps": " | ".join(f"{v} {d}" for v, d in swaps(s.intermediate, topology.edges)),
        "row_moves": " | ".join(
            f"{i} {to}" for i, to in enumerate(matrices.row_targets(topology.widest, nodes).tolist())
        ),
    }


EXAMPLES = Experiment("pipe_examples", _examples_grid, measure_examples)


def _differing(computed: str, printed: str) -> int:
    """Count the entries that differ; a matrix of another shape has entries too many or missing."""
    rows = zip_longest(computed.split(" | "), printed.split(" | "), fillvalue="")
    return sum(a != b for x, y in rows for a, b in zip_longest(x.split(), y.split()))


def _as_printed(case: str, *names: str):
    """Return a judge that compares what was computed with what is printed."""

    def judge(runs: Runs) -> Finding:
        own = runs.where(case=case).frame
        wrong = {name: sum(_differing(m, PRINTED[case][name]) for m in own[name]) for name in names}
        entries = len(own) * sum(len(PRINTED[case][name].replace("|", " ").split()) for name in names)
        bad = [name for name, count in wrong.items() if count]
        return finding(
            f"{sum(wrong.values())} of {entries} entries differ",
            value=never(min(sum(wrong.values()), entries), of=entries),
            note=f"Computed: {own[bad[0]].iloc[0]}" if bad else "",
        )

    return judge


def _figure_schedules(runs: pd.DataFrame, profile: str) -> Figure:
    cases = ("random", "linear")
    figure, (row,) = panels("Who sends to whom in each step", cases, "sending node", ["step"], size=(4.5, 3.6))
    for axes, case in zip(row, cases):
        computed = runs[(runs["case"] == case) & (runs["reading"] == NAMES[0])].iloc[0]["schedule"]
        square, printed = (
            np.array([line.split() for line in matrix.split(" | ")], int)
            for matrix in (computed, PRINTED[case]["schedule"])
        )
        axes.grid(False)
        image = axes.imshow(square, cmap="viridis")
        wrong = np.argwhere(square != printed)
        axes.plot(wrong[:, 1], wrong[:, 0], "rx", label=f"not as printed: {len(wrong)} of {square.size} entries")
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.15), fontsize=8)
    figure.colorbar(image, ax=figure.axes, label="receiving node")
    return figure


REFINED = ("swaps", "final", "named", "schedule")  # what comes after Algorithm 2


def _printed(id: str, where: str, statement: str, case: str, *names: str, figure=None) -> None:
    """Declare the claim that what is computed for an example is what the paper prints.

    What comes after Algorithm 2 is judged under each reading of it; what comes before is the same
    under all.
    """
    claim(
        id,
        where=where,
        statement=statement,
        claimed="printed matrix",
        criterion="elementwise equality",
        experiment=EXAMPLES,
        figure=figure,
        readings=NAMES if any(name in REFINED for name in names) else ("",),
    )(_as_printed(case, *names))


_printed(
    "PIPE-E1",
    "Eq. 1, 3",
    "t=4, N=6, five components: M_init and M'_init, dummies with ID 5",
    "figure1",
    "initial",
    "components",
)
_printed("PIPE-M1", "IV-A", "random example: M'_init", "random", "components")
_printed("PIPE-M2", "IV-A", "random example: M'_trn after Eq. 6", "random", "transposed")
_printed("PIPE-M3", "IV-A", "random example: M'_trn after Eq. 10", "random", "blocks")
_printed("PIPE-M4", "IV-A", "random example: M'_inter", "random", "intermediate")
_printed("PIPE-M5", "IV-A", "random example: M', the IDs of each block", "random", "members")
_printed(
    "PIPE-M6", "IV-A", "random example: R-, the IDs of its block to which an ID does not send", "random", "non_partners"
)
_printed("PIPE-M7", "IV-A", "random example: the exchanges 6 with 1 and 8 with 4", "random", "swaps")
_printed("PIPE-M8", "IV-A", "random example: M'_fin", "random", "final")
_printed("PIPE-M9", "IV-A", "random example: M'_fin in letters of tasks", "random", "named")
_printed("PIPE-M10", "IV-A", "random example: the 9 x 9 schedule", "random", "schedule", figure=_figure_schedules)
_printed("PIPE-M11", "IV-B", "linear example: M'_init", "linear", "components")
_printed("PIPE-M12", "IV-B", "linear example: M'_trn equals M'_init", "linear", "transposed")
_printed("PIPE-M13", "IV-B", "linear example: M'_inter", "linear", "intermediate")
_printed("PIPE-M14", "IV-B", "linear example: the exchanges 6 with 1 and 4 with 3", "linear", "swaps")
_printed("PIPE-M15", "IV-B", "linear example: M'_fin", "linear", "final")
_printed("PIPE-M16", "IV-B", "linear example: M'_fin in letters of tasks", "linear", "named")
_printed("PIPE-M17", "IV-B", "linear example: the 8 x 8 schedule", "linear", "schedule")
_printed("PIPE-M18", "IV-A", "random example: rows 0..5 move to 0, 3, 1, 4, 2, 5", "random", "row_moves")
_printed(
    "PIPE-B1",
    "IV-A",
    "random example: Bitmap (its columns are component IDs; the printed header says N0..N8)",
    "random",
    "bitmap",
)
