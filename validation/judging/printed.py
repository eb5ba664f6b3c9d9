"""Printed numbers: what a paper says, and how far off a measured value may be to agree."""

from __future__ import annotations

import re
from dataclasses import dataclass

EFFECT_SHARE = 0.2  # of the printed effect


@dataclass(frozen=True)
class Printed:
    """A number of a paper and the tolerance that its print gives it.

    The tolerance is half a unit of the last printed digit, or a fifth of the printed effect (its
    distance from `neutral`), whichever is larger. Use `printed` to make one from the text.
    """

    text: str
    number: float
    tolerance: float

    @property
    def region(self) -> tuple[float, float]:
        """The values that agree with it."""
        return self.number - self.tolerance, self.number + self.tolerance


def printed(text: str, *, neutral: float = 0.0, scale: float = 1.0) -> Printed:
    """Return the number in a text as printed.

    Parameters
    ----------
    text : str
        The number as the paper writes it: ``"1.19"``, ``"25%"``, ``"10,690"``. A percent sign
        divides by 100.
    neutral : float
        The value that means no effect, in the unit of the result: 1 for a ratio of which the paper
        says that it is 1.25, 0 for a gain of 25%, the tuple of the change for the tuple of the
        recovery.
    scale : float
        By what the number is multiplied to be in the unit of the result.

    Examples
    --------
    >>> from streamlb.validation.judging import printed
    >>> printed("1.25", neutral=1.0)
    Printed(text='1.25', number=1.25, tolerance=0.05)
    >>> printed("16%").region
    (0.128, 0.192)
    """
    number = r"[-+]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d*\.?\d+)(?:[eE][-+]?\d+)?"
    found = re.fullmatch(rf"\s*({number})\s*(%?)\s*", text.replace("\N{MINUS SIGN}", "-"))
    if found is None:
        raise ValueError(f"text must be one printed number such as '1.25' or '25%', got {text!r}")
    digits, percent = found.group(1).replace(",", ""), found.group(2)
    factor = scale / (100.0 if percent else 1.0)
    mantissa, _, exponent = digits.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    unit = 10.0 ** (int(exponent or 0) - decimals) * abs(factor)
    value = round(float(digits) * factor, 12)
    tolerance = max(0.5 * unit, EFFECT_SHARE * abs(value - neutral))
    return Printed(text.strip(), value, round(tolerance, 12))
