"""The claims, one module a paper. `all_claims` gathers them in the order of the papers."""

from __future__ import annotations

import importlib
import pkgutil

from ..claim import Claim


def all_claims() -> list[Claim]:
    """Return every claim of every module of this package, module by module in order of name."""
    claims: list[Claim] = []
    for info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{info.name}")
        claims.extend(getattr(module, "CLAIMS", ()))
    return claims
