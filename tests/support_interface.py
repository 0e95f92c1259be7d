"""The public callables of pliant, found by looking: what is new is in the list, and tests that do not know it fail."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any

import pliant

#: arguments that may stand without a name where that is not one: the contract's exceptions
BY_POSITION = {
    "ode": 2,
    "Segments": 2,
    "Scenarios": 2,
    "Coupling.add": 2,
    "Coupling.connect": 2,
    "Plan.why": 2,
}


def public_classes() -> dict[str, type]:
    """Classes that users make or get; errors and flags apart."""
    found = {name: getattr(pliant, name) for name in pliant.__all__}
    return {
        name: thing
        for name, thing in found.items()
        if inspect.isclass(thing) and not issubclass(thing, (Exception, Enum))
    }


def is_protocol(cls: type) -> bool:
    """What users write and pliant calls, not the other way round."""
    return bool(getattr(cls, "_is_protocol", False))


def methods(cls: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Public methods of a class, but for those that a base class prescribes which is not public itself."""
    hidden = [base for base in cls.__mro__[1:] if base.__name__ not in (*pliant.__all__, "AsDict", "Stamped")]
    for name in dir(cls):
        value = inspect.getattr_static(cls, name)
        value = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
        if not name.startswith("_") and inspect.isfunction(value) and not any(hasattr(one, name) for one in hidden):
            yield name, value


def public_callables() -> dict[str, Callable[..., Any]]:
    """Functions, classes and their methods by name: load, Model, Model.simulate. Formulas (pliant.criteria) apart."""
    found: dict[str, Callable[..., Any]] = {}
    for name in pliant.__all__:
        if inspect.isfunction(getattr(pliant, name)):
            found[name] = getattr(pliant, name)
    for name, cls in public_classes().items():
        if is_protocol(cls):
            continue
        found[name] = cls
        found |= {f"{name}.{method}": function for method, function in methods(cls)}
    return found
