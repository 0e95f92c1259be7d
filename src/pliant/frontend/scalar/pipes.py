"""spatialDistribution(in0, in1, x, positiveVelocity, initialPoints, initialValues): what flows out of a pipe (3.7.4.2).

With z(y, t) = Z(y - x(t)) the ends are Z(-x) and Z(1 - x); at the one where things flow in stands in0 or in1. Z is kept
at run time (``Op.PIPE``). A relation makes an event when a jump reaches the outlet: its left side, the distance of
the next jump, changes its sign whenever one does. Z is known where steps end, so steps must follow what flows in.
"""

from __future__ import annotations

from collections.abc import Callable

from pliant.errors import ModelError
from pliant.expr.build import choose, const, neg, sub, value_of
from pliant.frontend.scalar.interpret import Interpreter
from pliant.frontend.scalar.values import Value, scalars
from pliant.ir import Op, Span

RULE = "3.7.4.2"


class Pipes:
    """All pipes of a model."""

    def __init__(self, run: Interpreter, follow: Callable[[int, Span | None], None]) -> None:
        self.run, self.g, self.follow = run, run.g, follow
        self.numbers: dict[tuple[int, ...], int] = {}

    def outlets(self, given: list[Value], span: Span | None) -> tuple[int, int]:
        """Values at the ends 0 and 1."""
        g = self.g
        in0, in1, x, positive = (scalars(one)[0] for one in given[:4])
        zero, one = const(g, 0.0), const(g, 1.0)
        points = scalars(given[4]) if len(given) > 4 else [zero, one]
        values = scalars(given[5]) if len(given) > 5 else [zero, zero]
        self._check(points, values)
        key = (in0, in1, x, positive, *points, *values)
        self.follow(choose(g, positive, in0, in1), span)
        number = 2 * self.numbers.setdefault(key, len(self.numbers))
        ends = neg(g, x), sub(g, one, x)
        ahead = g.intern((Op.PIPE, number, 5, ends[1], in0, in1, x, positive, zero, *points, *values))
        toggles = self.run.event(zero, ahead, True, span)
        out = [
            g.intern((Op.PIPE, number + k, 0, ends[k], in0, in1, x, positive, toggles, *points, *values))
            for k in range(2)
        ]
        return choose(g, positive, in0, out[0]), choose(g, positive, out[1], in1)

    def _check(self, points: list[int], values: list[int]) -> None:
        """What is known of the initial profile; the rest is checked when a run starts."""
        if len(points) != len(values) or len(points) < 2:
            raise ModelError(
                f"initialPoints of spatialDistribution(...) are {len(points)}, initialValues {len(values)}",
                hint="give as many values as points, at least two",
                rule=RULE,
            )
        numbers = [value_of(self.g, e) for e in points]
        if None in numbers:
            return
        if numbers[0] != 0.0 or numbers[-1] != 1.0 or numbers != sorted(numbers):  # type: ignore[type-var]
            raise ModelError(
                "initialPoints of spatialDistribution(...) do not rise from 0 to 1",
                hint="the first point is 0, the last one 1",
                rule=RULE,
            )
