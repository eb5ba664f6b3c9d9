"""One seed of a claim: its parameters, every column of its results, and what the judge says."""

import pytest
from streamlb.validation.claim import Claim, Experiment, Seeds
from streamlb.validation.judging import finding, less, mean
from streamlb.validation.show import MeasureError, NothingToShowError, show
from streamlb.validation.verdicts import JudgeError


def _measure(n, seed, reading=None):
    return {"load": n + seed / 10, "list": list(range(40)), "name": "x" * 60, "nothing": None}


SEEDED = Experiment("seeded", lambda profile: [{"n": n} for n in range(1, 13)], _measure, seeds=Seeds((5, 9), (5, 9)))
PLAIN = Experiment("plain", lambda profile: [{"n": 1, "seed": 3}, {"n": 2, "seed": 4}], _measure)


def _judge(runs):
    low, high = (runs.where(n=n)["load"] for n in (1, 12))
    return finding(f"{mean(low):.1f} against {mean(high):.1f}", shape=less(low, high, "the order"), note="A note.")


def claim_of(experiment, judge=_judge):
    return Claim("OWN-S", "OWN", "b", "section 1", "It grows.", "more", "in order", experiment, judge)


def text(*arguments, **options):
    return "\n".join(show(*arguments, **options))


def test_every_setting_and_every_column_is_shown(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    shown = text(claim_of(SEEDED), 7)
    words = shown.split()
    assert [row.split()[1:] for row in shown.splitlines() if row.startswith("setting")] != []
    settings = [cell for row in shown.splitlines() if row.startswith("setting") for cell in row.split()[1:]]
    assert settings == [str(i) for i in range(12)]
    loads = [float(cell) for row in shown.splitlines() if row.startswith("load") for cell in row.split()[1:]]
    assert loads == pytest.approx([n + 0.7 for n in range(1, 13)])
    assert "(40)" in words  # the length of a list that is too long
    assert max(map(len, shown.splitlines())) <= 100
    for part in ("OWN-S: section 1", "It grows.", "in order", "1.7 (one seed) against 12.7 (one seed)", "A note."):
        assert part in shown
    verdict = next(line.split() for line in shown.splitlines() if line.startswith("  verdict"))
    assert verdict == ["verdict", "undecided"]  # one seed decides nothing
    assert "estimate   11 (-inf to inf), the order" in shown


def test_one_setting_alone_and_a_judge_that_cannot_do_with_it():
    shown = text(claim_of(SEEDED), 7, 3)
    assert next(row.split() for row in shown.splitlines() if row.startswith("n ")) == ["n", "4"]
    assert "error" in shown
    assert "where: no run has n = 1" in shown


def test_grids_with_seeds_of_their_own():
    shown = text(claim_of(PLAIN), 4)
    assert next(row.split() for row in shown.splitlines() if row.startswith("seed")) == ["seed", "4"]
    assert next(row.split() for row in text(claim_of(PLAIN)).splitlines() if row.startswith("seed")) == ["seed", "3"]


def test_a_judge_that_fails_on_all_settings_is_an_error_after_the_runs_are_shown():
    def broken(runs):
        raise KeyError("column")

    lines = []
    with pytest.raises(JudgeError, match="the judge of OWN-S failed on 12 runs: KeyError: 'column'"):
        lines.extend(show(claim_of(SEEDED, broken), 7))
    assert lines[-1].split() == ["error", "KeyError:", "'column'"]


def test_a_measure_that_fails_is_named_with_its_row():
    def fail(n, seed):
        raise ZeroDivisionError("nothing to divide")

    broken = Experiment("broken", lambda profile: [{"n": 1}], fail, seeds=Seeds((5, 9), (5, 9)))
    with pytest.raises(
        MeasureError,
        match=r'the measure of OWN-S failed in setting 0 {"n":1,"seed":2}: ZeroDivisionError: nothing to divide',
    ):
        text(claim_of(broken), 2)


def test_a_seed_where_nothing_is_drawn_is_said_to_change_nothing():
    exact = Experiment("exact", lambda profile: [{"n": n} for n in range(1, 13)], lambda n: {"load": n})
    words = "so that the seed 5 changes nothing"
    assert words in " ".join(text(claim_of(exact), 5).split())
    assert "changes nothing" not in " ".join(text(claim_of(exact)).split())
    assert "changes nothing" not in " ".join(text(claim_of(SEEDED), 5).split())


def test_what_is_not_there_is_said_before_anything_is_measured():
    def fail(**row):
        raise AssertionError("measured")

    broken = claim_of(Experiment("broken", lambda profile: [{"n": 1, "seed": 3}], fail))
    with pytest.raises(NothingToShowError, match="OWN-S has no run with seed 9 in the quick profile"):
        text(broken, 9)
    with pytest.raises(NothingToShowError, match="setting must be 0 to 0 for OWN-S, got 4"):
        text(broken, 3, 4)
