"""The claims on load-aware shedding: all there, pure, and judged by what was measured."""

import json

import numpy as np
import pandas as pd
import pytest
from claim_checks import Fed, check_all_are_fed, check_judge, few_rows, judge_and_draw
from streamlb.validation.claims import claims_of
from streamlb.validation.claims.las import mentions, own, phases, readings
from streamlb.validation.engine import experiments_of
from streamlb.validation.judging import Runs

CLAIMS = {claim.id: claim for claim in claims_of("las")}
EXPERIMENTS = experiments_of(CLAIMS.values())
# All that the paper claims, but what it says of the sketch alone.
IDS = {
    *("L1", "L2", "T3.1", "T3.2", "T3.3", "T4.1a", "T4.1b", "T4.1c", "ED"),
    *("F4a", "F4b", "F4c", "F4d", "F4e", "F5a", "F5b", "F5c", "F5d"),
    *("F6A", "F6B", "F6C", "F6D", "F6E", "F6F", "F6G", "F7a", "F7b"),
}
PARTS = {"T3.1-v", "T3.3-v", "T4.1c-v", "F6F-v", "F7b-v"}  # of a sentence that says two things

SHORT = {"LAS": "las", "Straw-Man": "sm", "Full Knowledge": "fk", "Base Line": "bl"}


def steady(what, **values):
    """Return columns of one number of the paper's four shedders: `steady("wait", las=6.0)`."""
    return under_all({f"{name}: {what}": values[short] for name, short in SHORT.items() if short in values})


def under_all(columns):
    """Return columns as they are under every reading of a steady load."""
    return {f"{reading}: {name}": value for reading in readings.OF_A_STEADY_LOAD for name, value in columns.items()}


# The waits of a steady load as the paper has them, and what they drop.
WAITS = {
    **steady("wait", las=6.5, sm=120.0, fk=2.0, bl=150.0),
    **steady("drop", las=0.34, sm=0.30, fk=0.32, bl=0.30),
    **under_all({f"{name}: {what}": 100.0 for name in SHORT for what in ("least", "most")}),
    **under_all({"LAS: above": 0.4}),
}
IDLE = {**WAITS, **steady("wait", las=4.0, sm=4.2, fk=4.0, bl=4.3)}


def phase_columns(**changed):
    """Return the columns of a run through the phases as the paper has it, with numbers `changed`.

    `las_wait_F=1.0` is a shedder's wait in all windows of a phase, `las_last_F` in the last,
    `las_drop_F` what it drops there.
    """
    told = {"las_drop": 0.03, "fk_drop": 0.02, "sm_drop": 0.001, "las_wait": 60.0, "fk_wait": 62.0, "sm_wait": 300.0}
    of_phase = {
        "sm_last_A": 320.0, "las_drop_B": 0.51, "fk_drop_B": 0.5, "sm_drop_B": 0.5, "las_drop_D": 0.12,
        "fk_drop_D": 0.1, "sm_last_D": 3000.0, "las_drop_E": 0.0, "fk_drop_E": 0.0, "sm_drop_E": 0.0,
        "las_wait_E": 1.0, "fk_wait_E": 1.0, "sm_wait_E": 1.5, "las_wait_F": 200.0, "las_last_F": 70.0,
        "sm_last_F": 9000.0, "sm_last_G": 9000.0,
    }  # fmt: skip
    numbers = {**told, **of_phase, **changed}
    out = {}
    for name in phases.PAPERS_THREE:
        windows, short = [], SHORT[name]
        for letter in "ABCDEFG":
            wait = numbers.get(f"{short}_wait_{letter}", numbers[f"{short}_wait"])
            out[f"{name}: wait {letter}"] = wait
            out[f"{name}: drop {letter}"] = numbers.get(f"{short}_drop_{letter}", numbers[f"{short}_drop"])
            windows += [wait] * 4 + [numbers.get(f"{short}_last_{letter}", wait)]
        out[f"{name}: windows"] = windows
        out[f"{name}: kept"] = [1000.0] * phases.WINDOWS
    return out


def through_phases(false, **noise):
    """Return what a claim on the phases is fed: the paper's run, and what makes it false."""
    return Fed(true=phase_columns(), false=[phase_columns(**changed) for changed in false], **noise)


MANY = {f"{name}: drop {letter}": 0.5 for name in phases.PAPERS_THREE for letter in "ABCDEFG"}


def tweets(las=40.0, sm=900.0, fk=40.0, las_drop=0.07, sm_drop=0.0001, fk_drop=0.06):
    """Return the columns of a run on tweets, the same under every reading."""
    out = {"values": 110, "most": 152.0, "mean_cost": 9.7, "at_1_ms": 0.36, "top": 0.065}
    drops = {"las": las_drop, "sm": sm_drop, "fk": fk_drop}
    for reading in readings.OF_TWEETS:
        for name, short in SHORT.items():
            if short != "bl":
                out[f"{reading}: {name}: completion"] = {"las": las, "sm": sm, "fk": fk}[short]
                out[f"{reading}: {name}: drop"] = drops[short]
    for name in ("Straw-Man + factor", "LAS + reports"):
        out |= {f"{name}: completion": 50.0, f"{name}: drop": 0.07}
    return out


def own_levels(**waits):
    """Return the columns of our own steady runs: `reports=5.0` waits, the drops follow them."""
    told = {
        "LAS": 7.0, "LAS, no factor": 40.0, own.REPORTED: 5.0, own.ASKED: 6.0, own.ONE_COLUMN: 6.5,
        "LAS, listing": 7.0, "Straw-Man": 120.0, "Straw-Man + factor": 9.0, "Full Knowledge": 6.4,
        "Full Knowledge + factor": 2.0,
    } | waits  # fmt: skip
    out = {f"{name}: wait": wait for name, wait in told.items()}
    return out | {f"{name}: drop": 0.3 + wait / 1000 for name, wait in told.items()}


def own_phases(**changed):
    """Return the columns of our own runs through the phases."""
    numbers = {
        "LAS": (9000.0, 0.5), own.REPORTED: (300.0, 0.01), own.ASKED: (1000.0, 0.02), own.ONE_COLUMN: (310.0, 0.01),
        "Full Knowledge": (64.0, 0.005), "LAS, windowed": (6000.0, 0.4), "LAS + reports, windowed": (100.0, 0.2),
    } | changed  # fmt: skip
    out = {}
    for name, (wait, drop) in numbers.items():
        out |= {f"{name}: wait F": wait, f"{name}: drop F": 0.5, f"{name}: wait G": wait / 9, f"{name}: drop G": drop}
    return out


def falls_but_at(exponent):
    """Return waits of LAS that fall with the exponent of the row, but for this one."""
    return steady("wait", las=lambda row: 12.0 - 3 * row.exponent + 8 * (row.exponent == exponent))


TWEET_NOISE = {name: 2000.0 if "completion" in name else 0.5 for name in tweets() if ":" in name}
OPTIMAL = {"streams": 100, "failed": 0, "smallest": ""}
FED = {
    # the rules
    "LAS-L1": Fed(
        true={"stable": lambda row: row.drift < 0.03, "sent": lambda row: 16 if row.drift < 0.03 else 24,
              "told": 16, "late": 0},
        false=[{"sent": 24}, {"told": 15}],
    ),
    "LAS-L2": Fed(
        true={"own_average": 6.3, "last_kept": 0.999, "dropped": 0.3},
        false=[{"own_average": 6.9}, {"last_kept": 0.3}],
        noise=None,
    ),
    "LAS-T3.1": Fed(
        true={"rows": 4, "columns": 55, "least": 8, "most": 8, "ending": 228, "average": 8.2}, false={"average": 12.5}
    ),
    "LAS-T3.1-v": Fed(
        true={"rows": 4, "columns": 55, "least": 8, "most": 8, "ending": 12, "average": 8.0}, false={"ending": 13}
    ),
    "LAS-T3.2": Fed(
        true={"bits": lambda row: 9_000 + 320 * row.executed / row.epsilon,
              "cells": lambda row: row.executed / row.epsilon},
        false={"bits": lambda row: 9_000 + 600 * row.executed / row.epsilon},
    ),
    "LAS-T3.3": Fed(
        true={"executed": 90_000, "offered": 131_072, "matrices": 30, "requests": 30, "replies": 29, "cells": 220,
              "bits": 900_000},
        false=[{"matrices": 60}, {"requests": 32}, {"replies": 31}],
        noise=None,
    ),
    "LAS-T3.3-v": Fed(
        true={"executed": 90_000, "offered": 131_072, "matrices": 30, "requests": 30, "replies": 29, "cells": 220,
              "bits": 900_000},
        false={"bits": 2_000_000},
        noise=None,
    ),
    # the theorem
    "LAS-T4.1a": Fed(
        true={"worst": 1.0, "passed": 0, "others": 0}, false=[{"passed": 1, "worst": 1.1}, {"others": 2}], noise=None
    ),
    "LAS-T4.1b": Fed(true=OPTIMAL, false={"failed": 1, "smallest": "one"}),
    "LAS-T4.1c": Fed(true={"needless": 0, "dropped": 500}, false={"needless": 1}, noise=None),
    "LAS-T4.1c-v": Fed(true=OPTIMAL, false={"failed": 1, "smallest": "one"}),
    "LAS-ED": Fed(
        true={"items": 0.9, "messages": 0.8, "expected": 0.94}, false={"items": 0.05}, verdict="reported"
    ),
    # figures 4 and 5
    "LAS-F4a": Fed(true=IDLE, false=steady("wait", las=6.0)),
    "LAS-F4b": Fed(true=WAITS, false=[steady("wait", sm=20.0), steady("wait", bl=20.0)]),
    "LAS-F4c": Fed(
        true=WAITS,
        false=[steady("wait", las=12.0), steady("wait", las=2.0), steady("wait", las=200.0), under_all({"LAS: above": 0.0})],
    ),
    "LAS-F4d": Fed(true=WAITS, false=steady("wait", fk=6.0)),
    "LAS-F4e": Fed(
        true=WAITS, false=[steady("drop", fk=0.29), steady("drop", las=0.31), steady("drop", bl=0.315)]
    ),
    "LAS-F5a": Fed(true=WAITS, false=[steady("wait", sm=20.0), steady("wait", bl=20.0)]),
    "LAS-F5b": Fed(
        true={**WAITS, **falls_but_at(-1.0)},
        false=[falls_but_at(0.5), falls_but_at(3.0)],
    ),
    "LAS-F5c": Fed(true=WAITS, false=under_all({"Straw-Man: most": 250.0}), verdict="reported"),
    "LAS-F5d": Fed(true=WAITS, false=steady("drop", las=0.5), verdict="reported"),
    # figure 6
    "LAS-F6A": through_phases([{"las_drop_A": 0.09}, {"sm_last_A": 70.0}, {"fk_drop_A": 0.0005}], noise=MANY),
    "LAS-F6B": through_phases(
        [{"las_drop_B": 0.6}, {"sm_drop_B": 0.0005}, {"sm_wait_B": 900.0}, {"las_wait_B": 9.0}], noise=MANY
    ),
    "LAS-F6C": through_phases([{"las_drop_C": 0.2}, {"sm_drop_C": 0.2}], noise=MANY),
    "LAS-F6D": through_phases(
        [{"las_drop_D": 0.2}, {"fk_drop_D": 0.01, "las_drop_D": 0.01}, {"sm_drop_D": 0.1}, {"sm_last_D": 90.0},
         {"las_wait_D": 9.0}, {"fk_wait_D": 400.0}],
        noise=MANY,
    ),
    "LAS-F6E": through_phases([{"sm_drop_E": 0.1}, {"sm_wait_E": 300.0}, {"las_wait_E": 30.0}], noise=MANY),
    "LAS-F6F": Fed(true=phase_columns(), false=phase_columns(las_wait_F=9.0), verdict="reported"),
    "LAS-F6F-v": through_phases([{"sm_last_F": 200.0}, {"las_last_F": 9_500.0}, {"las_last_F": 500.0}, {"las_drop_F": 1.0}]),
    "LAS-F6G": through_phases([{"las_drop_G": 0.5}, {"las_wait_G": 900.0}, {"sm_last_G": 90.0}], noise=MANY),
    # figure 7
    "LAS-F7a": Fed(true=tweets(), false=[tweets(las=80.0), tweets(sm=30.0), tweets(sm=200.0)], noise=TWEET_NOISE),
    "LAS-F7b": Fed(true=tweets(), false=[tweets(las_drop=0.02), tweets(fk_drop=0.2)], noise=TWEET_NOISE),
    "LAS-F7b-v": Fed(true=tweets(), false=tweets(sm_drop=0.05), noise=TWEET_NOISE),
    # our own
    "OWN-LAS-FACTOR": Fed(true=own_levels(), false=own_levels(**{"Straw-Man + factor": 90.0})),
    "OWN-LAS-REPORTS": Fed(true=own_levels(), false=own_levels(LAS=4.0)),
    "OWN-LAS-QUESTIONS": Fed(true=own_levels(**{own.ASKED: 5.01}), false=own_levels(**{own.ASKED: 6.5})),
    "OWN-LAS-COLUMN": Fed(true=own_levels(**{own.ONE_COLUMN: 5.5}), false=own_levels(**{own.ONE_COLUMN: 8.0})),
    "OWN-LAS-F": Fed(
        true=own_phases(), false=[own_phases(**{own.REPORTED: (2000.0, 0.01)}), own_phases(**{own.ASKED: (400.0, 0.02)})]
    ),
    "OWN-LAS-G": Fed(
        true=own_phases(),
        false=[own_phases(**{own.REPORTED: (300.0, 0.3)}), own_phases(**{own.REPORTED: (900.0, 0.01)})],
    ),
    "OWN-LAS-WINDOW": Fed(
        true=own_phases(),
        false=[own_phases(**{"LAS, windowed": (9500.0, 0.4)}), own_phases(**{"LAS + reports, windowed": (400.0, 0.2)})],
    ),
}  # fmt: skip


def test_every_claim_is_there():
    assert {f"LAS-{name}" for name in IDS | PARTS} == {name for name in CLAIMS if name.startswith("LAS-")}
    assert all(claim.paper == ("OWN" if name.startswith("OWN") else "LAS") for name, claim in CLAIMS.items())


def test_every_judge_is_fed():
    check_all_are_fed(FED, list(CLAIMS.values()))


@pytest.mark.parametrize("name", CLAIMS)
def test_judges_tell_true_from_false(name):
    check_judge(CLAIMS[name], FED[name])


def test_readings_are_declared_and_each_is_used():
    used = {reading for claim in CLAIMS.values() for reading in claim.readings if reading}
    assert used == set(readings.READINGS)
    assert all(claim.readings[0] in ("", "default") for claim in CLAIMS.values())
    assert all(reading.title and reading.allowed_by.startswith(("Section", "Listing")) for reading in
               readings.READINGS.values())  # fmt: skip


def test_the_listing_sets_what_as_printed_sets():
    from streamlb import LoadAwareShedder

    printed = LoadAwareShedder.as_printed(6.4, seed=3)
    assert LoadAwareShedder(6.4, seed=3, **readings.READINGS["listing"].options["las"]).options == printed.options


@pytest.mark.parametrize("name", sorted(EXPERIMENTS))
def test_a_run_is_a_pure_function_of_its_row(name):
    experiment = EXPERIMENTS[name]
    row = json.loads(json.dumps(few_rows(experiment, 1)[0]))
    assert json.dumps(experiment.measure(**row)) == json.dumps(experiment.measure(**row))


@pytest.mark.parametrize("name", sorted(EXPERIMENTS))
def test_the_paper_profile_is_no_smaller(name):
    quick, paper = (EXPERIMENTS[name].grid(profile) for profile in ("quick", "paper"))
    assert len(paper) >= len(quick)


def test_the_papers_sizes():
    """At least the paper's 100 associations at the first look; its 5,000 runs by the last."""
    experiment = EXPERIMENTS["las_levels"]
    rows = experiment.grid("paper")
    looks, (orders,) = experiment.seeds.looks("paper"), {row["orders"] for row in rows}
    assert looks[0] >= 100
    assert looks[-1] * orders >= 5_000
    assert len({row["underprovisioning"] for row in rows}) == 11


def test_a_wait_of_a_phase_weighs_windows_by_what_they_kept():
    ran = phases.run_phases({"half": ("full_knowledge", {"safety": 0.5})}, 3)
    assert 0.5 < ran["half: drop B"] < 0.8
    for letter, part in zip("ABCDEFG", np.split(np.arange(phases.WINDOWS), 7)):
        waits, kept = (np.array(ran[f"half: {what}"])[part] for what in ("windows", "kept"))
        assert ran[f"half: wait {letter}"] == pytest.approx((waits * kept).sum() / kept.sum())
        assert ran[f"half: drop {letter}"] == pytest.approx(1 - kept.sum() / phases.PHASE)


def test_a_window_of_a_phase_is_found():
    runs = Runs(pd.DataFrame({"seed": [0, 1], "LAS: windows": [list(range(35)), [2.0 * i for i in range(35)]]}))
    assert phases.window(runs, "LAS", "A").values.tolist() == [4.0, 8.0]
    assert phases.window(runs, "LAS", "G", 0).values.tolist() == [30.0, 60.0]


def test_the_stand_in_for_tweets_is_as_described():
    """All that section 5 says of the tweets, each to half a unit of its last printed digit.

    The number of entities, "roughly" 35,000, is of all that are mentioned: a twentieth is allowed.
    """
    chances, shares = mentions.mention_chances(), mentions.class_shares()
    assert chances.sum() == pytest.approx(1.0)
    assert shares.sum() == pytest.approx(1.0)
    stream = mentions.entities(mentions.TWEETS)
    assert stream.distinct(stream.messages) == pytest.approx(mentions.ENTITIES, rel=0.05)
    frames = [mentions.draw(mentions.TWEETS, seed) for seed in range(3)]
    for came in frames:
        assert (came.costs.size, came.costs.min(), came.costs.max()) == (mentions.TWEETS, 1.0, 152.0)
        assert abs(came.costs.mean() - 9.7) < 0.05
        assert abs((came.costs == 1).mean() - 0.36) < 0.005
        assert (np.unique(came.costs, return_counts=True)[1].max() / came.costs.size) == (came.costs == 1).mean()
        assert abs((came.entity == 0).mean() - 0.065) < 0.001
        assert abs(np.unique(came.costs).size - 110) <= 3


def test_a_field_of_mentions_always_costs_the_same():
    came = mentions.draw(50_000, 5)
    frame = pd.DataFrame({"field": came.field, "cost": came.costs})
    assert (frame.groupby("field")["cost"].nunique() == 1).all()
    assert frame["field"].nunique() > 10_000


@pytest.mark.parametrize("name", CLAIMS)
def test_claim_is_judged_and_drawn(name, few_runs):
    experiment = CLAIMS[name].experiment
    rows = few_rows(experiment)
    if experiment.seeds is None and len(rows) > 40:
        rows = rows[:: len(rows) // 20]
    judge_and_draw(CLAIMS[name], few_runs(experiment, rows))
