"""What must be true of every claim, whatever its paper."""

from matplotlib.figure import Figure
from streamlb.validation.claim import DIFFERS, NOT_APPLICABLE, REPRODUCED


def judge_and_draw(claim, runs):
    """Judge a claim and draw its figure, if it has one; return the verdict."""
    verdict = claim.judge(runs.copy(), "quick")
    assert verdict.verdict in (REPRODUCED, DIFFERS, NOT_APPLICABLE)
    assert verdict.measured
    if claim.figure is not None:
        figure = claim.figure(runs.copy(), "quick")
        assert isinstance(figure, Figure)
        assert figure.get_suptitle() or figure.axes[0].get_title()
        assert any(axes.get_xlabel() for axes in figure.axes)
        assert all(axes.get_ylabel() for axes in figure.axes if _is_first_of_its_row(axes))
        figure.canvas.draw()
    return verdict


def _is_first_of_its_row(axes):
    place = axes.get_subplotspec()
    return place is None or place.is_first_col()
