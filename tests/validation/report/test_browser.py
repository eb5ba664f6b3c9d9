"""The report in a real headless Chromium: it renders, its filters work, and it fits a phone.

The page is put into a frame of a page of ours, which measures it and works its filters; the frame
is as wide as the window of a desktop or of a phone.
"""

import html
import json
import re
import shutil
import subprocess

import pytest
from made_up import judged
from matplotlib.figure import Figure
from streamlb.validation.judging import DIFFERS, IN_SHAPE, NOT_APPLICABLE, REPORTED, REPRODUCED, UNDECIDED
from streamlb.validation.report import write_report
from streamlb.validation.validate import Validation, output_folder

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: install the package chromium")
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--enable-logging=stderr"),
)
ASK = """
const view = document.querySelector("iframe");
view.onload = () => {
  const page = view.contentDocument, root = page.documentElement, answers = {};
  const shown = () => [...page.querySelectorAll("details.claim")].filter(c => !c.hidden).map(c => c.id);
  const set = (id, value) => { const e = page.getElementById(id); e.value = value; e.dispatchEvent(new Event("input")); };
  answers.overflow = root.scrollWidth - root.clientWidth;
  answers.all = shown();
  set("verdict", "differs"); answers.differs = shown();
  set("paper", "DC"); answers.both = shown();
  answers.sections = [...page.querySelectorAll("section")].filter(s => !s.hidden).map(s => s.id);
  set("verdict", ""); set("paper", ""); set("words", "las-3"); answers.words = shown();
  set("words", ""); page.querySelector(".tile[data-verdict='undecided']").click(); answers.tile = shown();
  answers.count = page.getElementById("shown").textContent;
  page.getElementById("unfold").click();
  answers.open = page.querySelectorAll("details.claim[open]").length;
  answers.wide = root.scrollWidth - root.clientWidth;
  answers.colours = [...page.querySelectorAll(".tile b")].map(b => getComputedStyle(b).color);
  answers.images = [...page.images].map(i => i.complete && i.naturalWidth > 0);
  document.body.dataset.answers = JSON.stringify(answers);
};
"""


def draw(runs, profile):
    figure = Figure(figsize=(11.0, 3.0))
    figure.add_subplot(title="Wide", xlabel="seed", ylabel="value (ms)").plot(runs["value"])
    return figure


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    words = (REPRODUCED, IN_SHAPE, DIFFERS, UNDECIDED, NOT_APPLICABLE, REPORTED)
    long = "a-word-without-any-place-to-break-it-" * 6
    items = [
        judged(f"{paper}-{i}", word, figure=draw if i < 3 else None, measured=long, readings={"letter": REPRODUCED})
        for paper in ("DC", "LAS")
        for i, word in enumerate(words[:4])
    ] + [judged("OWN-NA", NOT_APPLICABLE), judged("OWN-REP", REPORTED)]
    done = Validation(items, output_folder(tmp_path_factory.mktemp("report")), "quick", "local", 1, 0, 1.0)
    write_report(done)
    return done.report


@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_works_in_a_browser(report, tmp_path, width):
    frame = (
        f'<iframe style="width:{width}px;height:900px;border:0" srcdoc="{html.escape(report.read_text())}"></iframe>'
    )
    outer = tmp_path / "outer.html"
    outer.write_text(f"<!doctype html><meta charset=utf-8><body>{frame}<script>{ASK}</script></body>")
    command = [
        CHROMIUM,
        *FLAGS,
        f"--user-data-dir={tmp_path / 'user'}",
        "--virtual-time-budget=10000",
        "--window-size=1400,1000",
    ]
    done = subprocess.run([*command, "--dump-dom", outer.as_uri()], capture_output=True, text=True, timeout=120)
    assert not re.findall(r"CONSOLE.*", done.stderr)
    found = re.search(r'data-answers="([^"]*)"', done.stdout)
    assert found, done.stderr[-2000:]
    answers = json.loads(html.unescape(found.group(1)))
    assert answers["overflow"] <= 0
    assert answers["wide"] <= 0
    assert len(answers["all"]) == 10
    assert answers["differs"] == ["LAS-2", "DC-2"]
    assert answers["both"] == ["DC-2"]
    assert answers["sections"] == ["paper-DC"]
    assert answers["words"] == ["LAS-3"]
    assert answers["tile"] == ["LAS-3", "DC-3"]
    assert answers["count"] == "2 of 10"
    assert answers["open"] == 10
    assert len(set(answers["colours"])) == 7  # one for each verdict, and the ink of all claims
    assert answers["images"]
    assert all(answers["images"])
