"""Options in one place: a frozen dataclass that checks itself, used by every class that takes them.

`@takes(Options)` gives a class the dataclass's signature and a read-only property for each option
that the class does not define itself. `@shows(Options)` gives a function the dataclass's options in
its signature. `bind` makes the options of a call, so that a misspelt one is reported under the name
of the class or function that the user called.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

_Class = TypeVar("_Class", bound=type)
_Function = TypeVar("_Function", bound=Callable)


def checked(options: Any, **values: Any) -> None:
    """Set fields of a frozen dataclass to their checked values; for its `__post_init__` only."""
    for name, value in values.items():
        object.__setattr__(options, name, value)


def bind(caller: str, options: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Return `options(*args, **kwargs)`, or a TypeError that names `caller` and what it takes."""
    signature = inspect.signature(options)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        names = ", ".join(signature.parameters)
        raise TypeError(f"{caller}: {error}; it takes {names}") from None
    return options(*args, **kwargs)


def as_dict(options: Any) -> dict[str, Any]:
    """Return the options by name, in order: what a state or a repr shows."""
    return {field.name: getattr(options, field.name) for field in dataclasses.fields(options)}


def show(name: str, values: dict[str, Any]) -> str:
    """Return the call that makes an object: its repr."""
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in values.items())})"


def takes(options: type) -> Callable[[_Class], _Class]:
    """Return a decorator for a class that keeps an instance of this dataclass in `self.options`."""

    def decorate(cls: _Class) -> _Class:
        cls._Options = options  # type: ignore[attr-defined]
        cls.__signature__ = inspect.signature(options)  # type: ignore[attr-defined]
        for field in dataclasses.fields(options):
            if not hasattr(cls, field.name):
                setattr(cls, field.name, property(_reader(field.name), doc=f"The option `{field.name}`."))
        return cls

    return decorate


def _reader(name: str) -> Callable[[Any], Any]:
    return lambda self: getattr(self.options, name)


def shows(options: type) -> Callable[[_Function], _Function]:
    """Return a decorator for a function that hands its `**options` to `bind` with this dataclass.

    The function then shows the dataclass's options in its signature, behind its own parameters.
    """

    def decorate(function: _Function) -> _Function:
        signature = inspect.signature(function)
        own = [each for each in signature.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
        both = [*own, *inspect.signature(options).parameters.values()]
        function.__signature__ = signature.replace(parameters=both)  # type: ignore[attr-defined]
        return function

    return decorate
