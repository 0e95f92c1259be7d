"""Algebraic differentiation of expressions.

    gradient         all partial derivatives of one expression at once, backwards (Griewank & Walther, Evaluating
                     Derivatives, ch. 3): adjoint(operand) += adjoint(node) * d node / d operand
    time_derivative  d/dt forwards, a call of a function with a derivative annotation becoming a call of that
                     derivative

Both share local partials, so the results share nodes with the expression itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pliant.expr.build import (
    add,
    apply,
    binary,
    choose,
    const,
    div,
    homotopy,
    mul,
    neg,
    operands,
    power,
    reachable,
    sub,
    substitute,
    value_of,
    var,
    variables_of,
)
from pliant.ir import Function, Graph, Op, Routine

LOG10_E = 0.4342944819032518


def _one(g: Graph) -> int:
    return const(g, 1.0)


def _square(g: Graph, a: int) -> int:
    return mul(g, a, a)


def _of_unary(g: Graph, op: int, e: int, a: int) -> int:
    """d e / d a of e = op(a)."""
    one = _one(g)
    if op == Op.NEG:
        return const(g, -1.0)
    if op == Op.SQRT:
        return div(g, const(g, 0.5), e)
    if op == Op.SIN:
        return apply(g, Op.COS, a)
    if op == Op.COS:
        return neg(g, apply(g, Op.SIN, a))
    if op == Op.TAN:
        return add(g, one, _square(g, e))
    if op == Op.EXP:
        return e
    if op == Op.LOG:
        return div(g, one, a)
    if op == Op.LOG10:
        return div(g, const(g, LOG10_E), a)
    if op == Op.ABS:
        return choose(g, binary(g, Op.LT, a, const(g, 0.0)), const(g, -1.0), one)
    if op in (Op.ASIN, Op.ACOS):
        slope = div(g, one, apply(g, Op.SQRT, sub(g, one, _square(g, a))))
        return slope if op == Op.ASIN else neg(g, slope)
    if op == Op.ATAN:
        return div(g, one, add(g, one, _square(g, a)))
    if op == Op.SINH:
        return apply(g, Op.COSH, a)
    if op == Op.COSH:
        return apply(g, Op.SINH, a)
    if op == Op.TANH:
        return sub(g, one, _square(g, e))
    return const(g, 0.0)  # sign, floor, ceil, not: constant between jumps


def _of_power(g: Graph, e: int, a: int, b: int, k: int) -> int:
    if k == 1:
        return mul(g, apply(g, Op.LOG, a), e)
    exponent = value_of(g, b)
    if exponent is not None:
        return mul(g, b, power(g, a, const(g, exponent - 1.0)))
    return mul(g, b, power(g, a, sub(g, b, _one(g))))


def partial(g: Graph, e: int, k: int) -> int:
    """Derivative of node e with respect to its k-th operand."""
    node = g.nodes[e]
    op = node[0]
    if op in (Op.ADD, Op.SUB):
        return const(g, -1.0 if op == Op.SUB and k == 1 else 1.0)
    if op == Op.MUL:
        return int(node[2 - k])
    if op == Op.DIV:
        return div(g, _one(g), node[2]) if k == 0 else neg(g, div(g, e, node[2]))
    if op == Op.POW:
        return _of_power(g, e, node[1], node[2], k)
    if op == Op.ATAN2:
        norm = add(g, _square(g, node[1]), _square(g, node[2]))
        return div(g, node[2], norm) if k == 0 else neg(g, div(g, node[1], norm))
    if op == Op.TABLE:
        return g.intern((Op.TABLE, node[1], node[2] + 1, node[3]))
    if op == Op.DELAY:
        is_first = node[2] == 0 and k < 2
        return g.intern((Op.DELAY, node[1], 1 + k, *node[3:])) if is_first else const(g, 0.0)
    if op == Op.PIPE:
        return _of_pipe(g, node, k)
    if op == Op.FOREIGN:
        return _of_foreign(g, node, k)
    if op == Op.ROUTINE:
        return _of_routine(g, node, k)
    if op == Op.CALL:
        raise AssertionError("calls are expanded before they are differentiated")
    if len(node) == 2:
        return _of_unary(g, op, e, node[1])
    return const(g, 0.0)  # relations and logic


def _of_pipe(g: Graph, node: tuple[Any, ...], k: int) -> int:
    """By the place, by what flows in now, and by x; the distance of the next jump by x alone."""
    order = 1 + k if node[2] == 0 and k < 4 else 6 if node[2] == 5 and k == 3 else None
    return const(g, 0.0) if order is None else g.intern((Op.PIPE, node[1], order, *node[3:]))


def _of_foreign(g: Graph, node: tuple[Any, ...], k: int) -> int:
    """By argument k: the declared derivative with the rate of this argument alone, else by differences."""
    call, output, args = node[1], node[2], node[3:]
    zero = const(g, 0.0)
    if call.is_object or call.n_lead or k in call.objects or k >= call.n_args - call.n_text_args:
        return zero
    if call.derivative is None:
        return g.intern((Op.FOREIGN, call.partial(k), output, *args))
    if k not in call.differentiated:
        return zero
    rates = [_one(g) if place == k else zero for place in call.differentiated]
    return g.intern((Op.FOREIGN, call.derivative, output, *args, *rates))


def _of_routine(g: Graph, node: tuple[Any, ...], k: int) -> int:
    if node[1].condition >= 0:
        direction = [const(g, float(place == k)) for place in range(node[1].n_args)]
        return _along_loop(g, node, direction)
    slopes = slopes_of(node[1], node[2])
    known = value_of(slopes.graph, slopes.outputs[k])
    return g.intern((Op.ROUTINE, slopes, k, *node[3:])) if known is None else const(g, known)


def _along_loop(g: Graph, node: tuple[Any, ...], direction: Sequence[int]) -> int:
    tangent = tangent_of(node[1])
    return g.intern((Op.ROUTINE, tangent, node[1].n_outputs + node[2], *node[3:], *direction))


def tangent_of(loop: Routine) -> Routine:
    """The loop with what its state changes by, where the arguments move in a direction: those behind the arguments."""
    found = loop.slopes.get(-1)
    if found is None:
        g, n = loop.graph, loop.n_args
        rate = TimeDerivative(g, (), lambda v: var(g, n + v))
        outputs = (*loop.outputs, *(rate(e) for e in loop.outputs))
        state = (*loop.state, *(n + v for v in loop.state))
        found = Routine(f"{loop.name} along a direction", g, 2 * n, outputs, loop.condition, state)
        loop.slopes[-1] = found
    return found


MOST_FORWARD = 12  # arguments up to which a routine is differentiated forwards


def slopes_of(routine: Routine, output: int) -> Routine:
    """The routine that gives the partial derivatives of one output by all arguments."""
    found = routine.slopes.get(output)
    if found is None:
        g, n, e = routine.graph, routine.n_args, routine.outputs[output]
        forward = n <= MOST_FORWARD
        row = {k: _along(routine, k)(e) for k in range(n)} if forward else gradient(g, e, lambda v: v >= 0)
        outputs = tuple(row.get(k, const(g, 0.0)) for k in range(n))
        found = Routine(f"{routine.name} by its arguments", g, n, outputs, rates=routine.rates)
        routine.slopes[output] = found
    return found


def _along(routine: Routine, k: int) -> TimeDerivative:
    """Derivatives in the body where argument k moves."""
    g = routine.graph
    found = TimeDerivative(g, (), lambda v: const(g, float(v == k)))
    found.memo = routine.rates.setdefault(k, found.memo)
    return found


CLOCK = -1  # number under which `gradient` gives the derivative by time


_CHOICES = (Op.IF, Op.HOMOTOPY, Op.MIN, Op.MAX)


def chosen(g: Graph, i: int, one: int, other: int) -> int:
    """``one`` where node i takes its first alternative, ``other`` where it takes its second."""
    node = g.nodes[i]
    op = node[0]
    if op == Op.IF:
        return choose(g, node[1], one, other)
    if op == Op.HOMOTOPY:
        return homotopy(g, one, other)
    low, high = (node[1], node[2]) if op == Op.MIN else (node[2], node[1])
    return choose(g, binary(g, Op.LE, low, high), one, other)


def gradient(g: Graph, e: int, wanted: Callable[[int], bool], under: list[int] | None = None) -> dict[int, int]:
    """Partial derivatives of e: number of the variable -> expression, for the variables that are wanted.

    ``under``: the nodes below e, ascending, if they are known already.

    Variables whose derivative is identically zero are left out. ``wanted(CLOCK)`` asks for the explicit derivative by
    time. Alternatives are differentiated apart and chosen between as wholes: the derivative of a branch that is not
    taken may be infinite, and zero times it would be NaN.
    """
    zero = const(g, 0.0)
    choices: dict[int, dict[int, int]] = {}
    nodes = g.nodes
    under = reachable(g, (e,)) if under is None else under
    for i in under:
        if nodes[i][0] in _CHOICES and i != e:
            choices[i] = _of_choice(g, i, wanted, choices)
    found = _of_choice(g, e, wanted, choices) if nodes[e][0] in _CHOICES else _backwards(g, e, wanted, choices, under)
    return {v: p for v, p in found.items() if p != zero}


def _of_choice(g: Graph, i: int, wanted: Callable[[int], bool], choices: dict[int, dict[int, int]]) -> dict[int, int]:
    """Gradient of a node that takes one of two alternatives."""
    zero = const(g, 0.0)
    first, second = (
        choices[branch] if branch in choices else _backwards(g, branch, wanted, choices) for branch in g.nodes[i][-2:]
    )
    return {
        v: chosen(g, i, first.get(v, zero), second.get(v, zero))
        for v in [*first, *(w for w in second if w not in first)]
    }


def _backwards(
    g: Graph,
    e: int,
    wanted: Callable[[int], bool],
    choices: dict[int, dict[int, int]],
    under: list[int] | None = None,
) -> dict[int, int]:
    """Adjoints from e down to the variables; gradients of choices are known."""
    nodes = g.nodes
    under = reachable(g, (e,)) if under is None else under
    active: set[int] = set()
    by_time = wanted(CLOCK)
    for i in under:
        node = nodes[i]
        op = node[0]
        if op == Op.VAR:
            if wanted(node[1]):
                active.add(i)
        elif op == Op.TIME:
            if by_time:
                active.add(i)
        elif op > Op.ARG and not active.isdisjoint(operands(g, i)):
            active.add(i)
    if e not in active:
        return {}
    adjoint: dict[int, int] = {e: _one(g)}
    zero = const(g, 0.0)
    result: dict[int, int] = {}

    def send(to: int, amount: int) -> None:
        if to in active and amount != zero:
            before = adjoint.get(to)
            adjoint[to] = amount if before is None else add(g, before, amount)

    def give(v: int, amount: int) -> None:
        before = result.get(v)
        result[v] = amount if before is None else add(g, before, amount)

    for i in reversed(under):
        a = adjoint.pop(i, None)
        if a is None or a == zero:
            continue
        node = nodes[i]
        op = node[0]
        if op == Op.VAR:
            give(node[1], a)
        elif op == Op.TIME:
            give(CLOCK, a)
        elif i in choices:
            for v, p in choices[i].items():
                give(v, mul(g, a, p))
        elif op in (Op.ADD, Op.SUB):
            send(node[1], a)
            send(node[2], a if op == Op.ADD else neg(g, a))
        elif op == Op.DIV:
            quotient = div(g, a, node[2])
            send(node[1], quotient)
            if node[2] in active:
                send(node[2], neg(g, mul(g, quotient, i)))
        else:
            for k, operand in enumerate(operands(g, i)):
                if operand in active:
                    send(operand, mul(g, a, partial(g, i, k)))
    return result


class TimeDerivative:
    """d/dt of expressions; remembers every node it has differentiated.

    ``of_variable`` gives the derivative of a variable as an expression (0 for what is constant between events).
    """

    def __init__(self, g: Graph, functions: Sequence[Function], of_variable: Callable[[int], int]) -> None:
        self.g = g
        self.functions = functions
        self.of_variable = of_variable
        self.memo: dict[int, int] = {}
        self.read: dict[tuple[int, int], list[int]] = {}

    def __call__(self, e: int) -> int:
        """d e / dt"""
        memo, nodes = self.memo, self.g.nodes
        for i in self.under(e):
            if i not in memo:
                memo[i] = self._node(i, nodes[i])
        return memo[e]

    def under(self, e: int) -> list[int]:
        """Nodes that e depends on, ascending: without arguments that functions only hand to their derivatives."""
        nodes = self.g.nodes
        if not self.functions:
            return reachable(self.g, (e,))
        seen: set[int] = set()
        stack = [e]
        while stack:
            i = stack.pop()
            if i not in seen:
                seen.add(i)
                node = nodes[i]
                is_call = node[0] == Op.CALL
                stack.extend([node[3 + k] for k in self._read(node)] if is_call else operands(self.g, i))
        return sorted(seen)

    def _read(self, node: tuple[int, ...]) -> list[int]:
        """Arguments of a call that its value depends on, and those whose rates its derivative wants."""
        found = self.read.get((node[1], node[2]))
        if found is None:
            function, nodes = self.functions[node[1]], self.g.nodes
            body = (nodes[i] for i in reachable(self.g, (function.outputs[node[2]],)))
            wanted = () if function.derivative is None else function.differentiated
            found = self.read[node[1], node[2]] = sorted({*wanted, *(one[1] for one in body if one[0] == Op.ARG)})
        return found

    def _node(self, i: int, node: tuple[Any, ...]) -> int:
        g, memo = self.g, self.memo
        op = node[0]
        if op == Op.VAR:
            return self.of_variable(node[1])
        if op == Op.TIME:
            return const(g, 1.0)
        if op <= Op.ARG:
            return const(g, 0.0)
        if op == Op.ADD:
            return add(g, memo[node[1]], memo[node[2]])
        if op == Op.SUB:
            return sub(g, memo[node[1]], memo[node[2]])
        if op in _CHOICES:
            return chosen(g, i, memo[node[-2]], memo[node[-1]])
        if op == Op.CALL:
            return self._call(node)
        total = const(g, 0.0)
        zero = total
        if op == Op.ROUTINE and node[1].condition >= 0:
            direction = [memo[a] for a in node[3:]]
            return zero if all(d == zero for d in direction) else _along_loop(g, node, direction)
        for k, operand in enumerate(operands(g, i)):
            d = memo[operand]
            if d != zero:
                total = add(g, total, mul(g, partial(g, i, k), d))
        return total

    def _call(self, node: tuple[int, ...]) -> int:
        function = self.functions[node[1]]
        args = node[3:]
        zero = const(self.g, 0.0)
        # arguments marked noDerivative move too: the derivative function takes care of them in its own way
        if all(self.memo[a] == zero if a in self.memo else not variables_of(self.g, a) for a in args):
            return zero
        if function.derivative is None:  # its body may call functions that have one
            leaf = {self.g.intern((Op.ARG, k)): a for k, a in enumerate(args)}
            return self(substitute(self.g, [function.outputs[node[2]]], leaf)[0])
        rates = [self.memo[args[k]] for k in function.differentiated]
        return self.g.intern((Op.CALL, function.derivative, node[2], *args, *rates))
