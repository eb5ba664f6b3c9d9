"""The report is one whole page with every figure described, and the tables lie beside it."""

import base64
import re
from dataclasses import replace
from html.parser import HTMLParser

import pandas as pd
import pytest
from matplotlib.figure import Figure
from streamlb.validation.claim import DIFFERS, NOT_APPLICABLE, REPRODUCED, Claim, Experiment
from streamlb.validation.judging import UNDECIDED, Decision, finding, never, not_applicable
from streamlb.validation.report import alt_text, save_figure, write_report
from streamlb.validation.validate import Validation, output_folder
from streamlb.validation.verdicts import (
    Judged,
    JudgeError,
    count_verdicts,
    failed_judge,
    judge,
    verdict_table,
    write_verdicts,
)

VOID = {"meta", "img", "input", "br", "link"}
NASTY = "<script>alert('x')</script> & \"quotes\" ε ≤ δ"


class Page(HTMLParser):
    """Reads a page, and fails on an element that is closed wrongly or left open."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.text, self._open = [], [], []
        self.feed(text)
        assert self._open == []

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


def draw(runs, profile):
    figure = Figure()
    axes = figure.add_subplot()
    axes.plot(runs["seed"], runs["value"], label="ours")
    axes.set(title="Value\nby seed", xlabel="seed", ylabel="value (ms)")
    axes.legend()
    return figure


def crowded(runs, profile):
    figure = Figure()
    figure.add_subplot(title="Many points").plot(range(30_000), [i * 7919 % 1000 for i in range(30_000)], ".")
    return figure


def claim(name, paper, found, figure=None):
    experiment = Experiment("values", lambda profile: [], dict)
    return Claim(
        name,
        paper,
        "a/b",
        "3, <i>Lemma</i>",
        f"{name}: {NASTY}",
        "7",
        "equality",
        experiment,
        lambda runs: found,
        figure,
        NASTY,
    )


@pytest.fixture
def done(tmp_path):
    runs = pd.DataFrame({"seed": [0, 1, 2, 5], "value": [1.0, 2.0, 1.5, 3.0]})
    claims = [
        claim("POSG-A", "POSG", finding("7", value=never(0, 1), note=NASTY), draw),
        claim("LAS-B", "LAS", finding("8 > 7", value=never(1, 2)), crowded),
        claim("LAS-C", "LAS", not_applicable("nothing", "an assumption fails")),
    ]
    judged = [judge(item, runs, "quick", 1.25) for item in claims]
    return Validation(judged, output_folder(tmp_path / "out"), "quick", "local[2]", 4, 1, 75.0)


def test_report_is_whole_and_self_contained(done):
    write_report(done)
    text = done.report.read_text(encoding="utf-8")
    page = Page(text)
    assert not re.search(r"(https?:)?//[\w.]+\.\w", re.sub(r"base64,[\w+/=]+", "", text))
    assert page.all("link") == []
    for attributes in page.all("script") + page.all("img"):
        assert attributes.get("src", "data:").startswith("data:")
    assert len(page.all("script")) == 1  # what the claims say is text, not code
    assert "<i>Lemma</i>" not in text
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in page.all("meta")
    assert "prefers-color-scheme: dark" in text


def test_report_says_everything_of_each_claim(done):
    write_report(done)
    page = Page(done.report.read_text(encoding="utf-8"))
    shown = {a["id"]: (a["data-paper"], a["data-verdict"]) for a in page.all("details")}
    assert shown == {"POSG-A": ("POSG", REPRODUCED), "LAS-B": ("LAS", DIFFERS), "LAS-C": ("LAS", NOT_APPLICABLE)}
    words = " ".join(" ".join(page.text).split())
    for part in (
        "POSG-A: " + NASTY,
        "3, <i>Lemma</i>",
        "equality",
        "8 > 7",
        "exact or analytic; statistical",
        "seeds 0 to 2, 5;",
    ):
        assert part in words
    for fact in ("quick", "local[2]", "1 of them from an earlier run", "75 s", "numba", "Python", "Java", "Machine"):
        assert fact in words
    links = {a["href"].removeprefix("#") for a in page.all("a")}
    assert links <= {a["id"] for _, a in page.elements if "id" in a}


def test_figures_are_described_embedded_and_saved(done):
    write_report(done)
    images = Page(done.report.read_text(encoding="utf-8")).all("img")
    assert images[0]["src"] == images[2]["src"]  # the failure on the first page
    assert [image["alt"] for image in images[1:]] == [
        "Figure of POSG-A: Value by seed, value (ms) against seed, showing ours",
        "Figure of LAS-B: Many points",
    ]
    kinds = [re.match(r"data:image/([\w+]+);base64,(.*)", image["src"], re.DOTALL).groups() for image in images[1:]]
    # One with many points is smaller as pixels.
    assert [kind for kind, _ in kinds] == ["svg+xml", "png"]
    assert base64.b64decode(kinds[0][1]).lstrip().startswith(b"<?xml")
    names = sorted(path.name for path in (done.folder / "figures").iterdir())
    assert names == ["LAS-B.png", "LAS-B.svg", "POSG-A.png", "POSG-A.svg"]


def test_the_same_figure_gives_the_same_file(tmp_path):
    runs = pd.DataFrame({"seed": [0, 1], "value": [1.0, 2.0]})
    for name in ("one", "two"):
        save_figure(draw(runs, "quick"), tmp_path / name)
    for suffix in ("svg", "png"):
        assert (tmp_path / f"one.{suffix}").read_bytes() == (tmp_path / f"two.{suffix}").read_bytes()


def test_a_figure_without_words_still_has_an_alternative():
    assert alt_text(Figure(), "POSG-A") == "Figure of POSG-A: measured values"


def test_verdict_table(done):
    table = verdict_table(done.judged)
    assert table.columns.tolist() == [
        *("claim", "paper", "kind", "verdict", "shape", "value", "measured", "estimate", "low", "high"),
        *("claimed", "criterion", "reading", "holds_under", "amended", "runs", "seeds", "seconds", "note"),
    ]
    assert table["claim"].tolist() == ["POSG-A", "LAS-B", "LAS-C"]
    assert table["runs"].tolist() == [4, 4, 4]
    write_verdicts(done.judged, done.folder)
    pd.testing.assert_frame_equal(pd.read_parquet(done.folder / "verdicts.parquet"), table)
    empty = dict.fromkeys(("estimate", "low", "high"), "")
    text = pd.read_csv(done.folder / "verdicts.csv", keep_default_na=False, na_values=empty)
    pd.testing.assert_frame_equal(text.astype({"claimed": str}), table)


def test_counts_by_paper(done):
    counts = count_verdicts(done.judged)
    assert list(counts) == ["POSG", "LAS", "all"]
    assert {word: number for word, number in counts["LAS"].items() if number} == {DIFFERS: 1, NOT_APPLICABLE: 1}
    assert sum(counts["all"].values()) == 3


def test_a_failing_judge_or_figure_is_named(done):
    def fail(runs, profile=""):
        raise KeyError("value")

    base = claim("POSG-A", "POSG", finding("7", value=never(0, 1)), fail)
    runs = pd.DataFrame({"seed": [1]})
    with pytest.raises(
        JudgeError, match="the judge of POSG-A failed on 1 runs: TypeError: a judge must return a Finding, got str"
    ):
        judge(claim("POSG-A", "POSG", "yes"), runs, "quick", 0.0)
    broken = replace(base, judge=lambda runs: fail(runs))
    with pytest.raises(JudgeError, match=r"the judge of POSG-A failed on 1 runs: KeyError: 'value'"):
        judge(broken, runs, "quick", 0.0)
    judged = Judged(base, {"": Decision(REPRODUCED, "", "", "7", "")}, runs, 0.0)
    drawn = Validation([judged], done.folder, "quick", "local", 1, 0, 1.0)
    assert write_report(drawn) == {"POSG-A": "the figure of POSG-A failed: KeyError: 'value'"}
    page = drawn.report.read_text(encoding="utf-8")
    assert "What failed in this run" in page
    assert page.count("the figure of POSG-A failed") == 2  # on top, and at the claim


def test_the_first_page_counts_what_was_judged_and_lists_what_was_not(done):
    try:
        judge(replace(claim("POSG-Z", "POSG", None), judge=lambda runs: 1 / 0), pd.DataFrame({"seed": [1]}), "quick", 0)
    except JudgeError as error:
        decision = failed_judge(error)
    broken = Judged(claim("POSG-Z", "POSG", None, draw), {"": decision}, pd.DataFrame({"seed": [1]}), 0.0)
    assert decision.verdict == UNDECIDED
    assert "ZeroDivisionError" in decision.measured
    # Its figure is not drawn.
    assert write_report(replace(done, judged=[*done.judged, broken])) == {}
    page = " ".join(done.report.read_text(encoding="utf-8").split())
    write_report(done)
    sound = " ".join(done.report.read_text(encoding="utf-8").split())
    assert "What failed in this run" in page
    assert "What failed in this run" not in sound
    assert '<a href="#POSG-Z">POSG-Z</a>: the judge of POSG-Z failed on 1 runs: ZeroDivisionError' in page
    assert "Noise still covers" not in page
    lead = re.search('<p class="lead">.*?</p>', sound)
    assert lead.group() in page


def test_a_judge_cannot_change_what_the_next_one_sees(done):
    def spoil(runs):
        runs.frame["value"] = 0.0
        return finding("spoilt", value=never(0, 1))

    runs = pd.DataFrame({"value": [1.0]})
    judge(replace(claim("POSG-A", "POSG", None), judge=spoil), runs, "quick", 0.0)
    assert runs["value"].tolist() == [1.0]
