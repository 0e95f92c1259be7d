"""Where an expression stands while it is translated, and what its names mean there."""

from __future__ import annotations

from typing import Any

from pliant.frontend.flat.types import INTEGER, Type
from pliant.frontend.modelica.instances.classes import Scope
from pliant.frontend.modelica.values.data import FunctionValue, Shaped

__all__ = ["Context", "FunctionContext", "Shaped"]

UNKNOWN = Shaped(None, INTEGER)  # a loop variable of a loop that stays one


class FunctionContext:
    """The function that is being translated."""

    __slots__ = ("functional", "inst", "known", "locals", "number")

    def __init__(self, number: int, inst: Any) -> None:
        self.number, self.inst = number, inst
        self.locals: dict[str, int] = {}
        self.known: dict[str, Any] = {}  # what is known of locals: Shaped, for the evaluation of sizes
        self.functional: dict[str, FunctionValue] = {}  # inputs that are functions


class Context:
    """Scope, loop variables and the function around."""

    __slots__ = ("elements", "env", "function", "given", "loops", "path", "scope")

    def __init__(
        self,
        scope: Scope,
        env: dict[str, Any] | None = None,
        loops: dict[str, int] | None = None,
        function: FunctionContext | None = None,
        given: dict[str, int] | None = None,
        elements: dict[str, Shaped] | None = None,
    ) -> None:
        self.scope = scope
        self.env = env or {}  # names with values: loop variables of loops that are written out
        self.loops = loops or {}  # loop variables that stay: numbers of iterators
        self.function = function
        self.given = given or {}  # names that stand for expressions: inputs while defaults are translated
        self.elements = elements or {}  # loop variables among them: elements of vectors whose values are not known
        self.path = scope.inst.path

    def with_env(self, **more: Any) -> Context:
        """The same with more known names."""
        return Context(self.scope, {**self.env, **more}, self.loops, self.function, self.given, self.elements)

    def with_element(self, name: str, e: int, of: Type) -> Context:
        """The same where a loop variable stands for an expression."""
        env, loops = ({k: v for k, v in one.items() if k != name} for one in (self.env, self.loops))
        elements = {**self.elements, name: Shaped(None, of)}
        return Context(self.scope, env, loops, self.function, {**self.given, name: e}, elements)

    def with_loop(self, name: str, number: int) -> Context:
        """The same inside a loop."""
        env = {k: v for k, v in self.env.items() if k != name}
        return Context(self.scope, env, {**self.loops, name: number}, self.function, self.given, self.elements)

    @property
    def known(self) -> dict[str, Any] | None:
        """What the evaluation of values may use here."""
        if self.function is not None or self.loops or self.elements:
            known = self.function.known if self.function is not None else {}
            return {**known, **self.elements, **dict.fromkeys(self.loops, UNKNOWN), **self.env}
        return self.env or None
