"""Puts the page together: what the template shows of each claim, each paper and the run."""

from __future__ import annotations

import datetime
import hashlib
import os
import platform
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamlb import _version
from streamlb.cli import versions

from ..claim import Reading
from ..verdicts import VERDICTS, Failed, Judged, JudgeError, count_verdicts, papers_of
from .drawing import alt_text, embedded, save_figure
from .front import important_failures, number_text, overview, paper_sentences, sureness
from .tables import PrintedNumbers, printed_numbers, readings_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from ..validate import Validation

PAPER_NAMES = {
    "POSG": "Proactive online shuffle grouping (Rivetti et al. 2015)",
    "LAS": "Load-aware shedding (Rivetti et al. 2016)",
    "DC": "D-Choices and W-Choices (Nasir et al. 2016)",
    "CG": "Consistent grouping and the power of random choices (Nasir et al. 2017)",
    "PIPE": "Pipeline-based linear scheduling (Tantalaki et al. 2020)",
    "OWN": "Our own: what the papers leave open",
}
# What the page calls the colours of a verdict, and its mark.
LOOKS = {
    "reproduced": ("reproduced", "✓"),
    "in shape": ("shape", "≈"),
    "differs": ("differs", "≠"),
    "undecided": ("undecided", "?"),
    "not applicable": ("na", "–"),
    "reported": ("reported", "·"),
}
KINDS = {"a": "exact or analytic", "b": "statistical", "c": "a cluster or private data, simulated"}


def write_report(done: Validation, progress: bool = False) -> dict[str, str]:
    """Write `report.html` and the figures of a validation; return what failed in drawing, by claim.

    Drawing takes its time: `progress` says whether to show a bar. The page lists what failed above
    all, and the sentences of its first page are about the other claims.
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
    drawn: dict[tuple[Any, bytes], _Drawn] = {}
    with tqdm(judged, disable=not progress, bar_format=layout, mininterval=1.0) as bar:
        views = [_claim_view(item, done, drawn) for item in bar]
    by_id = {view["id"]: view for view in views}
    undrawn = {view["id"]: view["undrawn"] for view in views if view["undrawn"]}
    sound = [item for item in judged if not isinstance(item.verdict, Failed)]
    environment.filters["linked"] = _linker(by_id)
    html = environment.get_template("report.html").render(
        overview=overview(sound),
        broken=replace(done, undrawn=undrawn).failures,
        papers=[
            _paper_view(paper, [item for item in sound if item.claim.paper == paper]) for paper in papers_of(judged)
        ],
        failures=[by_id[item.claim.id] for item in important_failures(sound)],
        sureness=sureness(sound),
        verdicts=VERDICTS,
        looks=LOOKS,
        kinds=KINDS,
        counts=count_verdicts(judged),
        claims=views,
        run=_run_facts(done),
        facts=_machine_facts(done),
    )
    draft = done.report.with_suffix(".html.part")
    draft.write_text(html, encoding="utf-8")
    os.replace(draft, done.report)
    return undrawn


@dataclass(frozen=True)
class _Drawn:
    """A figure, as the page holds it and as files; claims that share it draw it once."""

    figure: Figure
    image: str
    stem: Path


def _claim_view(item: Judged, done: Validation, drawn: dict[tuple[Any, bytes], _Drawn]) -> dict[str, Any]:
    claim, verdict = item.claim, item.verdict
    figure, undrawn = None, ""
    if claim.figure is not None and not isinstance(verdict, Failed):
        try:
            figure = _figure_view(item, done, drawn)
        except JudgeError as error:
            undrawn = str(error)
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
        "shape": verdict.shape,
        "value": verdict.value,
        "estimate": _estimate_text(item),
        "readings": _reading_rows(item),
        "amended": claim.amended,
        "measured": verdict.measured,
        "note": verdict.note,
        "runs": len(item.runs),
        "seconds": _duration(item.seconds),
        "seeds": _seeds(item.runs),
        "experiment": claim.experiment.name,
        "figure": figure,
        "undrawn": undrawn,
    }


def _estimate_text(item: Judged) -> str:
    """Return the number on which the verdict hangs, with its interval and what it is."""
    decision = item.verdict
    if decision.estimate != decision.estimate:
        return ""
    text = number_text(decision.estimate, decision.low, decision.high)
    return f"{decision.label}: {text}" if decision.label else text


def _reading_rows(item: Judged) -> list[dict[str, str]]:
    """Return what each reading makes of a claim; nothing where there is one reading only."""
    if len(item.decisions) < 2:
        return []
    known = readings_of(item.claim)
    return [
        {
            "title": known[name].title if name in known else name,
            "verdict": decision.verdict,
            "measured": decision.measured,
        }
        for name, decision in item.decisions.items()
    ]


def _paper_view(paper: str, judged: Sequence[Judged]) -> dict[str, Any]:
    printed = printed_numbers(judged)
    return {
        "id": paper,
        "name": PAPER_NAMES.get(paper, paper),
        "sentences": paper_sentences(judged, printed),
        "table": _table_view(printed) if printed is not None else None,
    }


def _table_view(printed: PrintedNumbers) -> dict[str, Any]:
    """Return the table *reading x printed number*, a row for each printed number."""
    return {
        "readings": [
            {
                "title": reading.title,
                "allowed_by": reading.allowed_by,
                "held": printed.held(reading.name),
                "asked": printed.asked(reading.name),
            }
            for reading in printed.readings
        ],
        "rows": [
            {
                "id": claim.id,
                "claimed": claim.claimed,
                "cells": [_cell(printed, reading, claim.id) for reading in printed.readings],
            }
            for claim in printed.claims
        ],
        "sentence": printed.sentence(),
    }


def _cell(printed: PrintedNumbers, reading: Reading, claim: str) -> dict[str, str] | None:
    decision = printed.cells.get((reading.name, claim))
    if decision is None:
        return None
    return {"word": decision.value, "text": number_text(*decision.of_value) if decision.of_value else ""}


def _linker(known: dict[str, Any]) -> Any:
    """Return the filter that makes links of the ids of claims in a text."""
    from markupsafe import Markup, escape

    def linked(text: str) -> Markup:
        parts = re.split(r"([A-Z]+-[A-Z]?[\w.-]*\w)", text)
        return Markup("").join(
            Markup('<a href="#{0}">{0}</a>').format(part) if part in known else escape(part) for part in parts
        )

    return linked


def _figure_view(item: Judged, done: Validation, drawn: dict[tuple[Any, bytes], _Drawn]) -> dict[str, Any]:
    """Draw a claim's figure, save it, and return it as an image that the page can hold."""
    claim = item.claim
    assert claim.figure is not None
    # Claims of one experiment may rest on different runs, as each gets the seeds that it needs.
    runs = hashlib.blake2b(item.runs.to_json().encode()).digest()
    key, stem = (claim.figure, runs), done.folder / "figures" / claim.id
    if key in drawn:
        for suffix in ("png", "svg"):
            shutil.copyfile(f"{drawn[key].stem}.{suffix}", f"{stem}.{suffix}")
    else:
        try:
            figure = claim.figure(item.runs.copy(), done.profile)
            save_figure(figure, stem)
            drawn[key] = _Drawn(figure, embedded(figure), stem)
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
