"""The report: one HTML file that holds everything, and the figures as files beside it."""

from __future__ import annotations

import base64
import datetime
import io
import os
import platform
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamlb import _version
from streamlb.cli import versions

from .verdicts import VERDICTS, Judged, JudgeError, count_verdicts, papers_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from .validate import Validation

PAPER_NAMES = {
    "POSG": "Proactive online shuffle grouping (Rivetti et al. 2015)",
    "LAS": "Load-aware shedding (Rivetti et al. 2016)",
    "DC": "D-Choices and W-Choices (Nasir et al. 2016)",
    "CG": "Consistent grouping and the power of random choices (Nasir et al. 2017)",
    "PIPE": "Pipeline-based linear scheduling (Tantalaki et al. 2020)",
    "OWN": "Our own: what the papers leave open",
}
KINDS = {"a": "exact or analytic", "b": "statistical", "c": "a cluster or private data, simulated"}
_LARGE = 150_000  # bytes: a figure with many points is smaller as PNG


def write_report(done: Validation, progress: bool = False) -> None:
    """Write `report.html` and the figures of a validation.

    Drawing takes its time: `progress` says whether to show a bar.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from tqdm import tqdm

    environment = Environment(
        loader=FileSystemLoader(os.path.dirname(__file__)),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    judged = done.judged
    layout = "{percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} claims drawn [{elapsed} gone, {remaining} left]"
    drawn: dict[tuple[Any, str], _Drawn] = {}
    with tqdm(judged, disable=not progress, bar_format=layout, mininterval=1.0) as bar:
        views = [_claim_view(item, done, drawn) for item in bar]
    html = environment.get_template("report.html").render(
        papers=[(paper, PAPER_NAMES.get(paper, paper)) for paper in papers_of(judged)],
        verdicts=VERDICTS,
        kinds=KINDS,
        counts=count_verdicts(judged),
        claims=views,
        run=_run_facts(done),
        facts=_machine_facts(done),
    )
    draft = done.report.with_suffix(".html.part")
    draft.write_text(html, encoding="utf-8")
    os.replace(draft, done.report)


@dataclass(frozen=True)
class _Drawn:
    """A figure, as the page holds it and as files; claims that share it draw it once."""

    figure: Figure
    image: str
    stem: Path


def _claim_view(item: Judged, done: Validation, drawn: dict[tuple[Any, str], _Drawn]) -> dict[str, Any]:
    claim, verdict = item.claim, item.verdict
    return {
        "id": claim.id,
        "paper": claim.paper,
        "kind": claim.kind,
        "kind_text": "; ".join(KINDS.get(letter.strip(), letter) for letter in re.split(r"[/+,]", claim.kind)),
        "where": claim.where,
        "statement": claim.statement,
        "setup": claim.setup,
        "claimed": claim.claimed,
        "criterion": claim.criterion,
        "verdict": verdict.verdict,
        "measured": verdict.measured,
        "note": verdict.note,
        "runs": len(item.runs),
        "seconds": _duration(item.seconds),
        "seeds": _seeds(item.runs),
        "experiment": claim.experiment.name,
        "figure": _figure_view(item, done, drawn) if claim.figure is not None else None,
    }


def _figure_view(item: Judged, done: Validation, drawn: dict[tuple[Any, str], _Drawn]) -> dict[str, Any]:
    """Draw a claim's figure, save it, and return it as an image that the page can hold."""
    claim = item.claim
    assert claim.figure is not None
    key, stem = (claim.figure, claim.experiment.name), done.folder / "figures" / claim.id
    if key in drawn:
        for suffix in ("png", "svg"):
            shutil.copyfile(f"{drawn[key].stem}.{suffix}", f"{stem}.{suffix}")
    else:
        try:
            figure = claim.figure(item.runs.copy(), done.profile)
            save_figure(figure, stem)
            drawn[key] = _Drawn(figure, _embedded(figure), stem)
        except Exception as error:
            raise JudgeError(f"the figure of {claim.id} failed: {type(error).__name__}: {error}") from error
    width, height = drawn[key].figure.get_size_inches()
    return {
        "image": drawn[key].image,
        "alt": alt_text(drawn[key].figure, claim.id),
        "file": f"figures/{claim.id}",
        # A phone scrolls a figure of several panels rather than shrink it.
        "wide": width > 2 * height or width > 9,
    }


def save_figure(figure: Figure, stem: Path) -> None:
    """Save a figure as PNG and as SVG; the same figure gives the same bytes."""
    for suffix, metadata in (("png", {"Software": None}), ("svg", {"Date": None, "Creator": None})):
        with _reproducible():
            figure.savefig(
                f"{stem}.{suffix}", dpi=150, bbox_inches="tight", facecolor="white", metadata=metadata, format=suffix
            )


def _embedded(figure: Figure) -> str:
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


def _seeds(runs: pd.DataFrame) -> str:
    """Return the seeds of the runs, as ranges; nothing where none is drawn."""
    if "seed" not in runs:
        return ""
    seeds = sorted({int(seed) for seed in runs["seed"].dropna()})
    ranges: list[list[int]] = []
    for seed in seeds:
        if ranges and seed == ranges[-1][1] + 1:
            ranges[-1][1] = seed
        else:
            ranges.append([seed, seed])
    shown = [f"{low}" if low == high else f"{low} to {high}" for low, high in ranges[:6]]
    return ", ".join(shown) + (f" and {len(ranges) - 6} more ranges" if len(ranges) > 6 else "")


def _duration(seconds: float) -> str:
    if seconds < 0.01:
        return "less than 0.01 s"
    if seconds < 100:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    if seconds < 6000:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def _run_facts(done: Validation) -> dict[str, Any]:
    return {
        "profile": done.profile,
        "runs": done.runs,
        "reused": done.reused,
        "wall": _duration(done.seconds),
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
    }


def _machine_facts(done: Validation) -> list[tuple[str, str]]:
    """Return what a reader needs to run the same again."""
    from streamlb.spark.session import SparkUnavailableError, find_java

    try:
        java = find_java()
        java_text = f"{java.version} ({java.source})"
    except SparkUnavailableError:
        java_text = "none"
    packages = versions("numpy", "numba", "scipy", "sympy", "pandas", "pyarrow", "pyspark", "matplotlib")
    return [
        ("streamlb", _version.__version__),
        ("Profile", done.profile),
        ("Wall time", f"{_duration(done.seconds)} for measuring and judging, without drawing the figures"),
        ("Runs", f"{done.runs}" + (f", {done.reused} of them from an earlier run" if done.reused else "")),
        ("Seeds", "every run draws its own stream from the seed in its row; each claim lists its seeds"),
        ("Spark master", done.master),
        ("Machine", f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores{_memory()}"),
        ("Processor", _processor()),
        ("Python", platform.python_version()),
        ("Java", java_text),
        ("Packages", ", ".join(f"{name} {version}" for name, version in packages.items())),
    ]


def _memory() -> str:
    try:
        return f", {os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB"
    except (ValueError, OSError):
        return ""


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            found = re.search(r"model name\s*:\s*(.+)", file.read())
    except OSError:
        found = None
    return found.group(1).strip() if found else platform.processor() or "unknown"
