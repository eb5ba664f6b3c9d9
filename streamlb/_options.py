"""Options in one place: a frozen dataclass that checks itself, used by every class that takes them.

`@takes(Options)` gives a class the dataclass's signature and a read-only property for each option
that the class does not define itself. `@shows(Options)` gives a function the dataclass's options in
its signature. `options_of` makes the options of such a class from the arguments of its call, `bind`
those of a function, so that a misspelt one is reported under the name of the class or function that
the user called.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

_Class = TypeVar("_Class", bound=type)
_Function = TypeVar("_Function", bound=Callable)


def checked(options: Any, **values: Any) -> None:
    """Set fields of a frozen dataclass to their checked values; for its `__post_init__` only."""
    for name, value in values.items():
        object.__setattr__(options, name, value)


def bind(caller: str, options: Any, args: tuple, kwargs: dict[str, Any], signature: Any = None) -> Any:
    """Return `options` made from the arguments of a call.

    A call that does not fit is a TypeError that names `caller` and what it takes. The caller takes
    what the dataclass takes or, where it is given, what its own `signature` says.
    """
    signature = signature_of(options) if signature is None else signature
    try:
        given = signature.bind(*args, **kwargs).arguments
    except TypeError as error:
        names = ", ".join(signature.parameters)
        raise TypeError(f"{caller}: {error}; it takes {names}") from None
    return options(**given)


def as_dict(options: Any, kind: type | None = None) -> dict[str, Any]:
    """Return the options by name, in the order of the signature: all, or those of a base `kind`."""
    return {name: getattr(options, name) for name in signature_of(kind or type(options)).parameters}


def show(name: str, values: dict[str, Any]) -> str:
    """Return the call that makes an object: its repr."""
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in values.items())})"


@functools.cache
def signature_of(options: type, positional: str | None = None, without: str = "") -> inspect.Signature:
    """Return the signature of a class with these options.

    Without `positional` it is the dataclass's, but that a keyword-only `seed` stands last. With it,
    those options come first and by position, the others by name only. Options in `without` are not
    taken: they stay at their defaults.
    """
    every = inspect.signature(options).parameters
    if positional is None:
        order = sorted(every.values(), key=lambda one: one.name == "seed" and one.kind is one.KEYWORD_ONLY)
        return inspect.Signature(order)
    first, left_out = positional.split(), without.split()
    rest = [one for one in every.values() if one.name not in (*first, *left_out)]
    parameters = [every[name].replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in first]
    return inspect.Signature(parameters + [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in rest])


def takes(options: type, positional: str | None = None, without: str = "") -> Callable[[_Class], _Class]:
    """Return a decorator for a class that keeps an instance of this dataclass in `self.options`.

    Which of the options it takes, and which by position, is as for `signature_of`.
    """

    def decorate(cls: _Class) -> _Class:
        cls._Options = options  # type: ignore[attr-defined]
        cls.__signature__ = signature_of(options, positional, without)  # type: ignore[attr-defined]
        for name in cls.__signature__.parameters:  # type: ignore[attr-defined]
            if not hasattr(cls, name):
                setattr(cls, name, property(_reader(name), doc=f"The option `{name}`."))
        return cls

    return decorate


def options_of(made: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Return the options of an object whose class `takes` them, from the arguments of its call."""
    cls = type(made)
    return bind(cls.__name__, cls._Options, args, kwargs, cls.__signature__)


def options_dict(made: Any) -> dict[str, Any]:
    """Return the options that the class of an object `takes`, by name, as in its signature."""
    return {name: getattr(made.options, name) for name in type(made).__signature__.parameters}


def _reader(name: str) -> Callable[[Any], Any]:
    def read(self: Any) -> Any:  # not a lambda: numpydoc looks for a `def`
        return getattr(self.options, name)

    return read


def shows(options: type) -> Callable[[_Function], _Function]:
    """Return a decorator for a function that hands its `**options` to `bind` with this dataclass.

    The function then shows the dataclass's options in its signature, behind its own parameters.
    """

    def decorate(function: _Function) -> _Function:
        signature = inspect.signature(function)
        own = [each for each in signature.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
        both = [*own, *signature_of(options).parameters.values()]
        function.__signature__ = signature.replace(parameters=both)  # type: ignore[attr-defined]
        return function

    return decorate
