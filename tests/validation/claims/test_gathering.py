"""Every claim is found: packages name all of their modules, and an id is given once."""

import importlib
import pkgutil

import pytest
from streamlb.validation import claims
from streamlb.validation.claims import PACKAGES, all_claims, claims_of


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_names_every_module_that_has_claims(package):
    own = importlib.import_module(f"{claims.__name__}.{package}")
    modules = [info.name for info in pkgutil.iter_modules(own.__path__)]
    having = {name for name in modules if hasattr(importlib.import_module(f"{own.__name__}.{name}"), "CLAIMS")}
    assert sorted(own.MODULES) == sorted(having)


def test_claims_come_package_by_package():
    assert {info.name for info in pkgutil.iter_modules(claims.__path__)} == set(PACKAGES)
    gathered = [claim.id for claim in all_claims()]
    assert gathered == [claim.id for package in PACKAGES for claim in claims_of(package)]
    assert len(set(gathered)) == len(gathered)
