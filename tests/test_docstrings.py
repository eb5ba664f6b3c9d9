"""Docstrings: every public name has one, in numpydoc, and every example in them runs."""

import doctest
import importlib
import inspect
import pkgutil

import pytest
import streamlb.analysis
import streamlb.validation
from numpydoc.validate import validate

import streamlb
import streamlb.testing


def modules():
    """Give every module of the library and of the theory."""
    names = ["streamlb"]
    for package in (streamlb, streamlb.analysis, streamlb.validation):
        prefix = package.__name__ + "."
        paths = list(package.__path__)[:1] if package is streamlb else package.__path__
        names += [info.name for info in pkgutil.walk_packages(paths, prefix) if not info.name.endswith("__main__")]
    return sorted(set(names))


@pytest.mark.parametrize("name", modules())
def test_examples_run(name):
    module = importlib.import_module(name)
    assert module.__doc__, f"{name} has no docstring"
    assert doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS).failed == 0


def public():
    """Give the dotted name of every public class, method and function."""
    for package in (streamlb, streamlb.analysis, streamlb.testing):
        for name in sorted(set(getattr(package, "__all__", dir(package)))):
            value = getattr(package, name)
            if name.startswith("_") or not (inspect.isclass(value) or inspect.isfunction(value)):
                continue
            path = f"{value.__module__}.{value.__qualname__}"
            yield path
            if inspect.isclass(value):
                for member, thing in vars(value).items():
                    if not member.startswith("_") and (callable(thing) or isinstance(thing, (property, classmethod))):
                        yield f"{path}.{member}"


@pytest.mark.parametrize("path", sorted(set(public())))
def test_public_names_are_documented(path):
    errors = [(code, text) for code, text in validate(path)["errors"] if code in ("GL08", "PR02", "SS01", "GL06")]
    assert not errors
    result = validate(path)
    if result["type"] in ("function", "type") or "parameters" in result["docstring"].lower():
        missing = [text for code, text in result["errors"] if code == "PR01"]
        assert not missing or result["docstring"].count("\n") <= 6, missing
