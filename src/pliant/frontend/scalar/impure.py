"""When impure functions are called (Modelica specification 3.6, section 12.3).

An impure function is called where a when-clause is active, at the start, or for the value of a parameter: once for each
time that the text is reached. So a call has an expression that says whether it is reached, and the call before it in
the same algorithm as an operand, which is called first. Both stand before the arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pliant.expr.build import const, logical_and
from pliant.ir import Op

if TYPE_CHECKING:
    from pliant.frontend.scalar.interpret import Interpreter
    from pliant.ir import Span


class ImpureCalls:
    """What surrounds the calls of impure functions."""

    def __init__(self, run: Interpreter) -> None:
        self.run = run
        self.clause: Callable[[], int] | None = None  # whether what is evaluated is reached; None: it is not known when
        self.last: int | None = None  # the call before
        self.in_pure = 0  # > 0: in `pure(...)`
        self.acting = False  # in a call for what it does
        self.performed: list[int] = []  # impure calls in such calls, in order
        self.missed: dict[str, Span | None] = {}  # functions that are called where nobody says when

    @property
    def each(self) -> bool:
        """Every call in the text is a call of its own."""
        return not self.in_pure

    def lead(self) -> tuple[int, ...]:
        """What stands before the arguments of a call."""
        if self.clause is None or self.in_pure:
            return ()
        g = self.run.g
        active = self.clause()
        for one in self.run.conditions:
            active = logical_and(g, active, one)
        return active, const(g, 0.0) if self.last is None else self.last

    def made(self, call: int) -> None:
        """A call that those behind it in the text have to wait for."""
        node = self.run.g.nodes[call]
        if node[0] == Op.FOREIGN and node[1].n_lead:
            self.last = call
            if self.acting:
                self.performed.append(call)

    def notes(self) -> list[str]:
        """About calls that are not made."""
        return [
            f"{span}: `{name}` is called for what it does by a function that equations call at any time: there it is "
            "not made, only at events and at the start"
            for name, span in self.missed.items()
        ]

    def misses(self, name: str, span: Span | None) -> None:
        """A call for what it does; it is not made where nobody says when."""
        if self.acting and self.clause is None and not self.in_pure:
            self.missed.setdefault(name, span)

    @contextmanager
    def reached_where(self, clause: Callable[[], int] | None, *, follows: bool = False) -> Iterator[None]:
        """What is evaluated here is reached where an expression says so; ``follows``: behind the calls before it."""
        before = self.clause, self.last
        self.clause = clause
        if not follows:
            self.last = None
        try:
            yield
        finally:
            self.clause, last = before[0], self.last
            self.last = last if follows else before[1]

    @contextmanager
    def only_where(self, condition: int) -> Iterator[None]:
        """The same, and a condition besides."""
        around = self.clause
        if around is None:
            yield
            return
        with self.reached_where(lambda: logical_and(self.run.g, around(), condition), follows=True):
            yield

    @contextmanager
    def for_effect(self) -> Iterator[None]:
        """A call for what it does: nothing else may ask for the impure calls in it."""
        before, self.acting = self.acting, True
        try:
            yield
        finally:
            self.acting = before

    @contextmanager
    def tried(self) -> Iterator[None]:
        """Calls that are evaluated here are no calls of the model."""
        before, self.performed = (self.last, self.performed), []
        try:
            yield
        finally:
            self.last, self.performed = before

    @contextmanager
    def pure(self, is_pure: bool) -> Iterator[None]:
        """Calls in `pure(...)`."""
        self.in_pure += is_pure
        try:
            yield
        finally:
            self.in_pure -= is_pure
