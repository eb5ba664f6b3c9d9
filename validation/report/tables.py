"""The tables of readings: what each reading of a paper makes of each of its printed numbers."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..claim import Claim, Reading
from ..judging import FAILS, HOLDS, Decision
from ..verdicts import Judged


@dataclass(frozen=True)
class PrintedNumbers:
    """The printed numbers of a paper (claims with a value) under each of its readings.

    `cells` holds the decision by reading and claim; a reading under which a claim is not measured
    has none.
    """

    readings: tuple[Reading, ...]
    claims: tuple[Claim, ...]
    cells: dict[tuple[str, str], Decision]

    def _holding(self, reading: str) -> frozenset[str]:
        """Return the claims whose printed number this reading gives."""
        found = ((claim.id, self.cells.get((reading, claim.id))) for claim in self.claims)
        return frozenset(name for name, decision in found if decision is not None and decision.value == HOLDS)

    def held(self, reading: str) -> int:
        """Return how many printed numbers this reading gives."""
        return len(self._holding(reading))

    def asked(self, reading: str) -> int:
        """Return how many printed numbers are decided under this reading."""
        found = [self.cells[reading, claim.id].value for claim in self.claims if (reading, claim.id) in self.cells]
        return sum(word in (HOLDS, FAILS) for word in found)

    def never(self) -> list[str]:
        """Return the claims whose printed number fails under every reading."""
        return [
            claim.id
            for claim in self.claims
            if all(self.cells[reading, claim.id].value == FAILS for reading, own in self.cells if own == claim.id)
        ]

    def sentence(self) -> str:
        """Say which reading explains most of the paper, and which numbers no reading gives."""
        held = {reading.name: self._holding(reading.name) for reading in self.readings}
        most = max(map(len, held.values()))
        best = [reading for reading in self.readings if len(held[reading.name]) == most]
        total, failing = len(self.claims), len(self.never())
        numbers = "its one printed number" if total == 1 else f"{most or 'any'} of its {total} printed numbers"
        if most == 0:
            if failing < total:
                return f"No reading is found to give {numbers}; noise still covers {total - failing} of them."
            text = f"No reading gives {numbers}"
        elif len(best) == len(self.readings) and len(set(held.values())) == 1:
            text = f"Every reading gives {'' if total == 1 else 'the same '}{numbers}"
        elif len(best) == 1:
            text = f"The reading “{best[0].title}” explains most: {numbers}"
        else:
            text = f"The readings {_listed([f'“{reading.title}”' for reading in best], 'and')} explain most: {numbers} each"
        never = self.never()
        if most == 0 or not never:
            return text + "."
        return f"{text}; no reading gives {_listed(never)}."


def printed_numbers(judged: Iterable[Judged]) -> PrintedNumbers | None:
    """Return the table of one paper; None where no printed number has several readings."""
    items = [item for item in judged if len(item.decisions) > 1 and any(d.value for d in item.decisions.values())]
    if not items:
        return None
    readings: dict[str, Reading] = {}
    for item in items:
        known = readings_of(item.claim)
        for name in item.decisions:
            readings.setdefault(name, known.get(name, Reading(name, name, "")))
    cells = {
        (name, item.claim.id): decision for item in items for name, decision in item.decisions.items() if decision.value
    }
    return PrintedNumbers(tuple(readings.values()), tuple(item.claim for item in items), cells)


def readings_of(claim: Claim) -> dict[str, Reading]:
    """Return the readings that the package of a claim declares, by name."""
    package = str(claim.judge.__module__).rpartition(".")[0]
    if not package:
        return {}
    try:
        declared = importlib.import_module(f"{package}.readings")
    except ImportError:
        return {}
    found = getattr(declared, "READINGS", {})
    return {name: reading for name, reading in found.items() if isinstance(reading, Reading)}


def _listed(names: Sequence[str], last: str = "or") -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {last} {names[-1]}"
