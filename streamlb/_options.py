"""Options that live once: a frozen dataclass that checks itself, for every class that takes them.

`@takes(Options)` gives a class the dataclass's signature and a read-only property for each option
that the class does not define itself. `bind` makes the options of a call, so that a misspelt one is
reported under the name of the class or function that the user called.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

_Class = TypeVar("_Class", bound=type)


def checked(options: Any, **values: Any) -> None:
    """Set fields of a frozen dataclass to their checked values; for its `__post_init__` only."""
    for name, value in values.items():
        object.__setattr__(options, name, value)


@functools.cache
def signature_of(options: Any) -> inspect.Signature:
    """Return the signature of an options dataclass; a keyword-only `seed` stands last."""
    signature = inspect.signature(options)
    order = sorted(signature.parameters.values(), key=lambda p: p.name == "seed" and p.kind is p.KEYWORD_ONLY)
    return signature.replace(parameters=order, return_annotation=inspect.Signature.empty)


def bind(caller: str, options: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Return `options(*args, **kwargs)`, or a TypeError that names `caller` and what it takes."""
    signature = signature_of(options)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        names = ", ".join(signature.parameters)
        raise TypeError(f"{caller}: {error}; it takes {names}") from None
    return options(*args, **kwargs)


def as_dict(options: Any) -> dict[str, Any]:
    """Return the options by name, in the order of the signature: what a state or a repr shows."""
    return {name: getattr(options, name) for name in signature_of(options.__class__).parameters}


def show(name: str, values: dict[str, Any]) -> str:
    """Return the call that makes an object: its repr."""
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in values.items())})"


def takes(options: type) -> Callable[[_Class], _Class]:
    """Return a decorator for a class that keeps such options in its slot `options`."""

    def decorate(cls: _Class) -> _Class:
        cls._Options = options  # type: ignore[attr-defined]
        cls.__signature__ = signature_of(options)  # type: ignore[attr-defined]
        for field in dataclasses.fields(options):
            if not hasattr(cls, field.name):
                setattr(cls, field.name, property(_reader(field.name), doc=f"The option `{field.name}`."))
        return cls

    return decorate


def _reader(name: str) -> Callable[[Any], Any]:
    def read(self: Any) -> Any:
        return getattr(self.options, name)

    return read
