"""Made-up claims and decisions: a report of any outcome, without measuring anything."""

import pandas as pd
from streamlb.validation.claim import Claim, Experiment
from streamlb.validation.judging import DIFFERS, IN_SHAPE, NOT_APPLICABLE, REPORTED, REPRODUCED, UNDECIDED, Decision
from streamlb.validation.verdicts import Judged

INF = float("inf")
WORDS = {REPRODUCED: "holds", IN_SHAPE: "fails", DIFFERS: "fails", UNDECIDED: "undecided"}


def decision(verdict, estimate=1.0, half=0.1, region=(0.5, 1.5), checks=1, measured="1.0"):
    """Return a decision on a value; where nothing is judged only the words are there."""
    if verdict in (NOT_APPLICABLE, REPORTED):
        return Decision(verdict, "", "", measured, "a note")
    shape = "holds" if verdict == IN_SHAPE else ""
    numbers = (estimate, estimate - half, estimate + half)
    return Decision(verdict, shape, WORDS[verdict], measured, "a note", "", *numbers, frozenset(), region, checks)


def judged(name, verdict, *, paper=None, kind="b", figure=None, readings=None, seeds=20, claimed="1.0", **made):
    """Return a judged claim; `readings` gives the verdicts of the others by name."""
    decisions = {"": decision(verdict, **made)}
    if readings:
        decisions = {"ours": decisions[""], **{title: decision(word, **made) for title, word in readings.items()}}
    claim = Claim(
        name,
        paper or name.split("-")[0],
        kind,
        "figure 1",
        f"What {name} states.",
        claimed,
        "as printed",
        Experiment("values", lambda profile: [], dict),
        lambda runs: None,
        figure,
        readings=tuple(decisions),
    )
    return Judged(claim, decisions, pd.DataFrame({"seed": range(seeds), "value": range(seeds)}), 1.0)
