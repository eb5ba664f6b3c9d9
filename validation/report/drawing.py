"""Figures: saved as files, held by the page, and described in words."""

from __future__ import annotations

import base64
import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LARGE = 150_000  # bytes: a figure with many points is smaller as PNG


def save_figure(figure: Figure, stem: Path) -> None:
    """Save a figure as PNG and as SVG; the same figure gives the same bytes."""
    for suffix, metadata in (("png", {"Software": None}), ("svg", {"Date": None, "Creator": None})):
        with _reproducible():
            figure.savefig(
                f"{stem}.{suffix}", dpi=150, bbox_inches="tight", facecolor="white", metadata=metadata, format=suffix
            )


def embedded(figure: Figure) -> str:
    """Return a data address of the figure, transparent: the page is light or dark."""
    image = io.BytesIO()
    with _reproducible():
        figure.savefig(
            image, format="svg", bbox_inches="tight", transparent=True, metadata={"Date": None, "Creator": None}
        )
    kind = "svg+xml"
    if image.tell() > _LARGE:
        image, kind = io.BytesIO(), "png"
        figure.savefig(image, format="png", dpi=120, bbox_inches="tight", transparent=True)
    return f"data:image/{kind};base64,{base64.b64encode(image.getvalue()).decode()}"


def _reproducible() -> Any:
    from matplotlib import rc_context

    return rc_context({"svg.hashsalt": "streamlb"})


def alt_text(figure: Figure, claim: str) -> str:
    """Return what a figure shows, in words, from its titles, axes and legends."""
    parts = [figure.get_suptitle()] if figure.get_suptitle() else []
    for axes in figure.axes:
        words = [axes.get_title(), axes.get_title("left")]
        words.append(" against ".join(filter(None, (axes.get_ylabel(), axes.get_xlabel()))))
        legend = axes.get_legend()
        if legend is not None:
            words.append("showing " + ", ".join(text.get_text() for text in legend.get_texts()))
        parts.append(", ".join(word for word in words if word))
    for legend in figure.legends:
        parts.append("showing " + ", ".join(text.get_text() for text in legend.get_texts()))
    text = ". ".join(part for part in parts if part)
    return re.sub(r"\s+", " ", f"Figure of {claim}: {text or 'measured values'}").strip()
