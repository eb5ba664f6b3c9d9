"""Options in one place: a frozen dataclass that checks itself, used by every class that takes them.

`@takes(Options)` gives a class the dataclass's signature and a read-only property for each option
that the class does not define itself. `@shows(signature_of(Options))` gives a function that
signature. `options_of` makes the options of such a class from the arguments of its call, `bind`
those of a function, so that a misspelt one is reported under the name of the class or function that
the user called. Where an argument names a policy with options of its own, `joined` is the signature
with those of every policy, and `bind_policy` refuses those that the chosen one does not take.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn, TypeVar

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
        _refuse(caller, str(error), "it takes", signature.parameters)
    return options(**given)


def bind_policy(
    caller: str,
    signature: inspect.Signature,
    options: type,
    policy_of: Callable[[Any], Any],
    args: tuple,
    kwargs: dict[str, Any],
) -> tuple[Any, Any, dict[str, Any]]:
    """Return a function's own `options`, the policy that was chosen, and what is for that policy.

    `signature` is what the function shows, `joined` from its own and those of all policies.
    `policy_of` makes a policy of the argument `policy`, or raises; its `takes` is the signature of
    its options. An option that this policy does not take is a TypeError that says what it takes.
    """
    known = {name: value for name, value in kwargs.items() if name in signature.parameters}
    try:
        named = signature.bind_partial(*args, **known).arguments
    except TypeError as error:
        _refuse(caller, str(error), "it takes", signature.parameters)
    choice = named.get("policy", signature.parameters["policy"].default)
    policy = policy_of(choice)
    own = signature_of(options).parameters
    taken = [name for name in signature.parameters if name in own or name in policy.takes.parameters]
    what = f"the policy {choice!r}" if isinstance(choice, str) else f"a {type(choice).__name__}"
    for name in (*named, *kwargs):
        if name not in taken:
            _refuse(caller, f"got an unexpected argument {name!r}", f"with {what} it takes", taken)
    needed = [name for name in taken if signature.parameters[name].default is inspect.Parameter.empty]
    missing = [name for name in needed if name not in named]
    if missing:
        _refuse(caller, f"missing a required argument: {missing[0]!r}", f"with {what} it takes", taken)
    for_policy = {name: value for name, value in named.items() if name not in own}
    return options(**{name: value for name, value in named.items() if name in own}), policy, for_policy


def _refuse(caller: str, error: str, takes: str, names: Iterable[str]) -> NoReturn:
    raise TypeError(f"{caller}: {error}; {takes} {', '.join(names)}") from None


def as_dict(options: Any, kind: type | None = None) -> dict[str, Any]:
    """Return the options by name, in the order of the signature: all, or those of a base `kind`."""
    return {name: getattr(options, name) for name in signature_of(kind or type(options)).parameters}


def show(name: str, values: dict[str, Any], state: str = "") -> str:
    """Return the call that makes an object and, as a comment, what has become of it: its repr."""
    call = f"{name}({', '.join(f'{key}={value!r}' for key, value in values.items())})"
    return f"{call}  # {state}" if state else call


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
    return _ordered({name: one for name, one in every.items() if name not in without.split()}, positional)


def joined(positional: str, *signatures: inspect.Signature) -> inspect.Signature:
    """Return a signature with every parameter of these, the `positional` ones first.

    One that several have is as in the first of them.
    """
    every: dict[str, inspect.Parameter] = {}
    for signature in signatures:
        for name, one in signature.parameters.items():
            every.setdefault(name, one)
    return _ordered(every, positional)


def _ordered(every: Mapping[str, inspect.Parameter], positional: str) -> inspect.Signature:
    first = positional.split()
    parameters = [every[name].replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in first]
    rest = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for name, one in every.items() if name not in first]
    return inspect.Signature(parameters + rest)


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


def show_call(made: Any, state: str = "") -> str:
    """Return the repr of an object whose class `takes` its options, and its `state` in words."""
    return show(type(made).__name__, options_dict(made), state)


def shows(signature: inspect.Signature) -> Callable[[_Function], _Function]:
    """Return a decorator for a function that hands its arguments to `bind` or `bind_policy`.

    The function then shows this signature.
    """

    def decorate(function: _Function) -> _Function:
        shown = signature.replace(return_annotation=function.__annotations__.get("return"))
        function.__signature__ = shown  # type: ignore[attr-defined]
        return function

    return decorate
