"""The first page of the report: what holds, what does not, and how sure that is.

Every sentence is computed from the decisions; none is printed whatever was measured.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from ..judging import DIFFERS, IN_SHAPE, NOT_APPLICABLE, REPORTED, REPRODUCED, UNDECIDED
from ..judging.estimates import ALPHA
from ..verdicts import Judged
from .tables import PrintedNumbers

OWN = "OWN"
FAILURES = 5
NAMED = 4  # claims that a sentence names at most
SHORT = 60  # letters of a measured text that a sentence takes as it is
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def overview(judged: Sequence[Judged]) -> list[str]:
    """Return what was checked and how it came out, in a few sentences."""
    papers = [item for item in judged if item.claim.paper != OWN]
    own = [item for item in judged if item.claim.paper == OWN]
    sentences = []
    if papers:
        names = {item.claim.paper for item in papers}
        sentences.append(
            f"{_count(len(papers), 'statement').capitalize()} of {_count(len(names), 'paper')} "
            f"{'was' if len(papers) == 1 else 'were'} measured in this run: {_outcomes(papers)}."
        )
    if own:
        sentences.append(
            f"{_count(len(own), 'claim').capitalize()} of our own, judged by the same rules: {_outcomes(own)}."
        )
    return sentences


def _outcomes(judged: Sequence[Judged]) -> str:
    counts = Counter(item.verdict.verdict for item in judged)
    phrases = (
        (REPRODUCED, "reproduced"),
        (IN_SHAPE, "right in shape but not in value"),
        (DIFFERS, "not so"),
        (UNDECIDED, "undecided"),
        (NOT_APPLICABLE, "not applicable"),
        (REPORTED, "reported without a verdict"),
    )
    return _listed([f"{counts[word]} {phrase}" for word, phrase in phrases if counts[word]])


def paper_sentences(judged: Sequence[Judged], printed: PrintedNumbers | None) -> list[str]:
    """Return a few sentences on one paper: what to believe, what not, under which reading."""
    words = Counter(item.verdict.verdict for item in judged)
    decided = words[REPRODUCED] + words[IN_SHAPE] + words[DIFFERS]
    sentences = []
    if decided:
        sentences.append(
            f"Of {_count(decided, 'claim')} that this run decides, {words[REPRODUCED]} {_are(words[REPRODUCED])} reproduced"
            + (f", {words[IN_SHAPE]} {_hold(words[IN_SHAPE])} in shape only" if words[IN_SHAPE] else "")
            + (f", and {words[DIFFERS]} {_are(words[DIFFERS])} not so" if words[DIFFERS] else "")
            + "."
        )
    else:
        sentences.append("This run decides none of its claims.")
    sentences += _what_to_believe(judged)
    failed = [item for item in most_telling(judged) if item.verdict.verdict == DIFFERS]
    if failed:
        more = len(failed) - NAMED
        named = _listed([_told(item) for item in failed[:NAMED]])
        sentences.append(
            f"Do not rely on {named}"
            + (f", nor on {_count(more, 'more claim')} that {_fail(more)} less widely" if more > 0 else "")
            + "."
        )
    elif decided:
        sentences.append("No decided claim of it fails" + (", but for values." if words[IN_SHAPE] else "."))
    if printed is not None:
        sentences.append(printed.sentence())
    undecided = [item.claim.id for item in judged if item.verdict.verdict == UNDECIDED]
    if undecided:
        sentences.append(f"Noise still covers {_listed(undecided[:NAMED])}" + _and_more(len(undecided) - NAMED) + ".")
    return sentences


def _what_to_believe(judged: Sequence[Judged]) -> list[str]:
    """Say how the exact statements fare beside what was measured."""
    exact = [item for item in judged if item.claim.kind.startswith("a")]
    measured = [item for item in judged if not item.claim.kind.startswith("a")]
    parts = []
    for name, group in (("its exact statements", exact), ("what it measured", measured)):
        verdicts = Counter(item.verdict.verdict for item in group)
        total = verdicts[REPRODUCED] + verdicts[IN_SHAPE] + verdicts[DIFFERS]
        if total:
            parts.append(f"{name}, {verdicts[REPRODUCED]} of {total}")
    if len(parts) < 2:
        return []
    return [f"What to believe: of {parts[0]}; of {parts[1]}."]


def excess(item: Judged) -> float:
    """Return how far the interval lies outside of what is claimed, as a share of the larger.

    0 for what does not fail, and 1 at most where both have one sign.
    """
    decision = item.verdict
    low, high = decision.region
    if decision.low > high:
        gap, ends = decision.low - high, (decision.low, high)
    elif decision.high < low:
        gap, ends = low - decision.high, (decision.high, low)
    else:
        return 0.0
    scale = max(abs(end) for end in ends)
    return gap / scale if math.isfinite(gap) and scale > 0 else 0.0


def most_telling(judged: Iterable[Judged]) -> list[Judged]:
    """Return the claims that fail, those first that lie furthest outside of what is claimed."""
    failed = [item for item in judged if item.verdict.verdict in (DIFFERS, IN_SHAPE)]
    return sorted(failed, key=lambda item: (item.verdict.verdict != DIFFERS, -excess(item), item.claim.id))


def important_failures(judged: Sequence[Judged]) -> list[Judged]:
    """Return the failures of the papers that the first page shows, five at most.

    Only claims with a figure count. Each paper's most telling failure comes before any paper's
    second, so that one paper cannot fill the page.
    """
    by_paper: dict[str, list[Judged]] = {}
    for item in most_telling(item for item in judged if item.claim.paper != OWN and item.claim.figure is not None):
        by_paper.setdefault(item.claim.paper, []).append(item)
    chosen: list[Judged] = []
    figures: set[object] = set()
    for place in range(max(map(len, by_paper.values()), default=0)):
        for own in by_paper.values():
            # A figure of the same experiment that is shown already would say nothing new.
            if place < len(own):
                figure = own[place].claim.figure, own[place].claim.experiment.name
                if figure not in figures:
                    chosen.append(own[place])
                    figures.add(figure)
    return most_telling(chosen[:FAILURES])


def sureness(judged: Sequence[Judged]) -> list[str]:
    """Return how sure the verdicts are, in a few sentences."""
    noisy = [item for item in judged if item.verdict.checks > 0 and item.verdict.decided]
    exact = [item for item in judged if item.verdict.checks == 0 and item.verdict.shape + item.verdict.value]
    undecided = [item for item in judged if not item.verdict.decided]
    sentences = []
    if noisy:
        seeds = sorted(item.seeds for item in noisy)
        expected = ALPHA * len(noisy)
        most = "fewer than one" if expected < 1 else f"about {expected:.0f}"
        each = (
            f"{seeds[0]} independent seeds"
            if seeds[0] == seeds[-1]
            else f"{seeds[0]} to {seeds[-1]} independent seeds each"
        )
        sentences.append(
            f"{_count(len(noisy), 'verdict').capitalize()} {'rests' if len(noisy) == 1 else 'rest'} on random streams, "
            f"with {each}. The intervals are made to err with a chance of {ALPHA:.1%} for a verdict, over all looks at "
            f"its data, so that {most} wrong verdict{'s' if expected >= 1 else ''} should be among them; where a quantity "
            "has a long tail the chance is up to six times as high."
        )
    if exact:
        sentences.append(
            f"{_count(len(exact), 'verdict').capitalize()} {'counts' if len(exact) == 1 else 'count'} violations or "
            f"{'compares' if len(exact) == 1 else 'compare'} exact numbers: no noise is in them."
        )
    sentences.append(
        f"Noise still covers {_count(len(undecided), 'question')} where the budget of seeds is spent; "
        f"{'it is' if len(undecided) == 1 else 'they are'} called undecided."
        if undecided
        else "No question is left open by noise."
    )
    return sentences


def _told(item: Judged) -> str:
    return f"{item.claim.id} (claimed {item.claim.claimed}; measured {_short(item)})"


def _short(item: Judged) -> str:
    """Return what was measured where that is short, else the estimate that decides."""
    decision = item.verdict
    first = decision.measured.split(";")[0].rstrip(".")
    if len(first) <= SHORT or not math.isfinite(decision.estimate):
        return first
    text = number_text(decision.estimate, decision.low, decision.high)
    return f"{decision.label}: {text}" if decision.label else text


def number_text(estimate: float, low: float, high: float) -> str:
    """Return ``1.06 (1.04 to 1.08)``; one number where there is no noise."""
    if low == high:
        return _number(estimate)
    return f"{_number(estimate)} ({_number(low)} to {_number(high)})"


def _number(value: float) -> str:
    """Return three digits, as many as thousands need, or a power of ten for what is tiny."""
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return text.replace("-", "−") if "e" not in text else text


def _count(number: int, noun: str) -> str:
    word = _NUMBERS[number] if number < len(_NUMBERS) else f"{number:,}"
    return f"{word} {noun}{'' if number == 1 else 's'}"


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _hold(number: int) -> str:
    return "holds" if number == 1 else "hold"


def _fail(number: int) -> str:
    return "fails" if number == 1 else "fail"


def _and_more(number: int) -> str:
    return f" and {_count(number, 'other')}" if number > 0 else ""


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
