"""The claims, with one package for each paper and one for the sketches that two papers share.

A package names its modules in `MODULES`, in the order of the paper's sections, and each of these
modules declares its claims in a list `CLAIMS`. `all_claims` gathers them in the order of
`PACKAGES`.
"""

from __future__ import annotations

import importlib

from ..claim import Claim

PACKAGES = ("posg", "las", "sketches", "dc", "cg", "pipe")


def claims_of(package: str) -> list[Claim]:
    """Return the claims of one package, module by module in the order that it names them."""
    own = importlib.import_module(f"{__name__}.{package}")
    modules = (importlib.import_module(f"{own.__name__}.{name}") for name in own.MODULES)
    return [claim for module in modules for claim in module.CLAIMS]


def all_claims() -> list[Claim]:
    """Return every claim, package by package."""
    return [claim for package in PACKAGES for claim in claims_of(package)]
