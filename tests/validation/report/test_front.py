"""The first page says what was measured: other outcomes give other sentences."""

import re

import pytest
from made_up import INF, judged
from streamlb.validation.judging import DIFFERS, IN_SHAPE, NOT_APPLICABLE, REPORTED, REPRODUCED, UNDECIDED
from streamlb.validation.report.front import (
    excess,
    important_failures,
    most_telling,
    overview,
    paper_sentences,
    sureness,
)
from streamlb.validation.report.tables import printed_numbers


def draw(runs, profile):
    raise AssertionError("the first page draws nothing")


def another(runs, profile):
    raise AssertionError("the first page draws nothing")


def test_the_overview_counts_papers_and_our_own_apart():
    items = [
        judged("POSG-1", REPRODUCED),
        judged("DC-1", DIFFERS),
        judged("DC-2", REPORTED),
        judged("OWN-1", UNDECIDED),
    ]
    first, second = overview(items)
    assert first == (
        "Three statements of two papers were measured in this run: 1 reproduced, 1 not so and 1 reported without a verdict."
    )
    assert second == "One claim of our own, judged by the same rules: 1 undecided."
    assert overview([items[3]]) == [second]


def test_sentences_follow_the_verdicts():
    """A paper of which all claims come out in one way gets sentences that no other way gives."""
    texts = {
        word: " ".join(paper_sentences([judged(f"DC-F{i}", word) for i in range(3)], None))
        for word in (REPRODUCED, IN_SHAPE, DIFFERS, UNDECIDED, NOT_APPLICABLE)
    }
    assert len(set(texts.values())) == 5
    assert "No decided claim of it fails" in texts[REPRODUCED]
    assert "3 are reproduced" in texts[REPRODUCED]
    assert "Do not rely on DC-F0" in texts[DIFFERS]
    assert "3 hold in shape only" in texts[IN_SHAPE]
    assert "No decided claim of it fails, but for values." in texts[IN_SHAPE]
    assert "Noise still covers DC-F0, DC-F1 and DC-F2." in texts[UNDECIDED]
    assert "decides none" in texts[NOT_APPLICABLE]


def test_exact_statements_are_told_apart_from_measurements():
    items = [judged("DC-E1", REPRODUCED, kind="a"), judged("DC-E2", DIFFERS, kind="a/b"), judged("DC-F1", REPRODUCED)]
    assert "What to believe: of its exact statements, 1 of 2; of what it measured, 1 of 1." in paper_sentences(
        items, None
    )


def test_no_more_than_four_failures_are_named():
    text = " ".join(paper_sentences([judged(f"DC-F{i}", DIFFERS) for i in range(7)], None))
    assert len(set(re.findall(r"DC-F\d", text))) == 4
    assert "three more claims that fail less widely" in text


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ({"estimate": 3.0, "half": 0.5, "region": (0.5, 2.0)}, 0.5 / 2.5),
        ({"estimate": 0.2, "half": 0.1, "region": (0.4, INF)}, 0.1 / 0.4),
        ({"estimate": 1.0, "half": 0.5, "region": (0.4, INF)}, 0.0),
        ({"estimate": 7.0, "half": 0.0, "region": (0.0, 0.0)}, 1.0),
        ({"estimate": -0.1, "half": 0.01, "region": (0.0, INF)}, 1.0),
    ],
)
def test_excess_is_the_gap_between_interval_and_region(made, expected):
    assert excess(judged("DC-F1", DIFFERS, **made)) == pytest.approx(expected)


def test_failures_come_by_excess_and_those_that_differ_before_those_in_shape():
    far, near = {"estimate": 9.0, "region": (0.0, 1.0)}, {"estimate": 1.5, "region": (0.0, 1.0)}
    items = [
        judged("DC-1", DIFFERS, **near),
        judged("DC-2", IN_SHAPE, **far),
        judged("DC-3", DIFFERS, **far),
        judged("DC-4", REPRODUCED),
    ]
    assert [item.claim.id for item in most_telling(items)] == ["DC-3", "DC-1", "DC-2"]


def test_the_page_shows_every_paper_s_worst_failure_before_any_second():
    far, near = {"estimate": 9.0, "region": (0.0, 1.0)}, {"estimate": 1.5, "region": (0.0, 1.0)}
    items = [
        judged("DC-1", DIFFERS, figure=draw, **far),
        judged("DC-2", DIFFERS, figure=draw, **far),  # the same figure
        judged("DC-3", DIFFERS, figure=another, **far),
        judged("CG-1", DIFFERS, figure=lambda r, p: None, **near),
        judged("LAS-1", DIFFERS, **far),  # without a figure
        judged("OWN-1", DIFFERS, figure=lambda r, p: None, **far),  # not of a paper
        judged("POSG-1", REPRODUCED, figure=lambda r, p: None),
    ]
    assert {item.claim.id for item in important_failures(items)} == {"DC-1", "DC-3", "CG-1"}
    many = [
        judged(f"{paper}-{i}", DIFFERS, figure=lambda r, p: None) for paper in ("DC", "CG", "LAS") for i in range(5)
    ]
    papers = [item.claim.paper for item in important_failures(many)]
    assert len(papers) == 5
    assert set(papers) == {"DC", "CG", "LAS"}
    assert important_failures([items[-1]]) == []


def test_sureness_counts_what_can_be_wrong_by_chance():
    items = [
        judged("DC-1", REPRODUCED, seeds=10),
        judged("DC-2", DIFFERS, seeds=40),
        judged("DC-3", REPRODUCED, checks=0),
        judged("DC-4", UNDECIDED),
        judged("DC-5", REPORTED),
    ]
    text = " ".join(sureness(items))
    assert "Two verdicts rest on random streams, with 10 to 40 independent seeds each." in text
    assert "fewer than one wrong verdict should" in text
    assert "One verdict counts violations or compares exact numbers" in text
    assert "covers one question where" in text
    assert "about 2 wrong verdicts" in " ".join(sureness([judged(f"DC-{i}", DIFFERS) for i in range(2000)]))
    assert sureness([judged("DC-1", REPORTED)]) == ["No question is left open by noise."]


def test_the_table_of_readings_counts_printed_numbers():
    items = [
        judged("DC-1", REPRODUCED, readings={"letter": DIFFERS}),
        judged("DC-2", DIFFERS, readings={"letter": DIFFERS}),
        judged("DC-3", REPRODUCED, readings={"letter": REPRODUCED}),
        judged("DC-4", REPRODUCED),  # one reading only
    ]
    table = printed_numbers(items)
    assert [reading.name for reading in table.readings] == ["ours", "letter"]
    assert [(table.held(name), table.asked(name)) for name in ("ours", "letter")] == [(2, 3), (1, 3)]
    assert table.never() == ["DC-2"]
    assert table.sentence() == "The reading “ours” explains most: 2 of its 3 printed numbers; no reading gives DC-2."
    assert printed_numbers(items[3:]) is None


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([(DIFFERS, DIFFERS)], "No reading gives its one printed number."),
        ([(REPRODUCED, REPRODUCED)], "Every reading gives its one printed number."),
        (
            [(DIFFERS, REPRODUCED), (DIFFERS, REPRODUCED)],
            "The reading “letter” explains most: 2 of its 2 printed numbers.",
        ),
        (
            [(UNDECIDED, UNDECIDED)],
            "No reading is found to give its one printed number; noise still covers 1 of them.",
        ),
        (
            [(REPRODUCED, DIFFERS), (DIFFERS, REPRODUCED)],
            "The readings “ours” and “letter” explain most: 1 of its 2 printed numbers each.",
        ),
    ],
)
def test_the_sentence_on_readings(verdicts, expected):
    items = [judged(f"DC-{i}", ours, readings={"letter": letter}) for i, (ours, letter) in enumerate(verdicts)]
    assert printed_numbers(items).sentence() == expected
