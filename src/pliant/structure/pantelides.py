"""Which equations to differentiate, and how often, so that the highest derivatives can be computed (index reduction).

Pantelides (SIAM J. Sci. Stat. Comput. 9, 1988, 213-231): the highest derivatives and the algebraic variables must have
a matching that covers every equation. As long as an equation cannot be matched, all equations reached from it by
alternating paths together have one unknown too few; differentiating them, and with them their unknowns, is necessary.
A finite number of differentiations is enough if and only if the equations can be matched with whole chains x, x', x''…
(Pantelides' extended system; Pryce, BIT 41, 2001, 364-394, transversal of finite value): tested first.

    inc[e]          variables of equation e, derivatives are variables of their own
    var_to_diff[v]  the derivative of v or -1
    eq_to_diff[e]   the differentiated equation of e or -1
    candidate       a variable without derivative; only these are matched
    coloured        reached by alternating paths from unmatched equations

Deviation: Pantelides goes from equation to equation, here a round matches as many equations as possible and then
differentiates everything coloured. The numbers of differentiations are the smallest possible and therefore the same
(Pryce: Pantelides finds the canonical offsets, in whatever order the equations come), but there are only as many rounds
as differentiations of one equation, each in nearly linear time. After a round d/dt e takes over, as v', the match v of
e; if v' has dropped out of d/dt e, the equation looks for a new partner.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from pliant.errors import ArgumentError
from pliant.structure.matching import augment, match


class SingularStructure(Exception):
    """No finite number of differentiations makes the system solvable; `equations` have too few unknowns."""

    def __init__(self, equations: Iterable[int]) -> None:
        self.equations = sorted(equations)
        super().__init__(f"structurally singular: equations {self.equations}")


class DerivativeGraph:
    """Equations, variables, the derivatives of both and the matching between the highest ones.

    `new_derivative(v)` makes the derivative of variable v and returns its id, the next free one. `differentiate(e)`
    makes the derivative of equation e and returns its incidence; all derivatives that it needs exist by then.
    """

    def __init__(
        self,
        inc: Sequence[Sequence[int]],
        var_to_diff: Sequence[int],
        new_derivative: Callable[[int], int],
        differentiate: Callable[[int], list[int]],
    ) -> None:
        self.inc: list[list[int]] = [list(row) for row in inc]
        self.var_to_diff = list(var_to_diff)
        self.eq_to_diff = [-1] * len(self.inc)
        self.diff_to_eq = [-1] * len(self.inc)
        self.n_original = len(self.inc)
        self.eq_to_var = [-1] * len(self.inc)
        self.var_to_eq = [-1] * len(self.var_to_diff)
        self._new_derivative = new_derivative
        self._differentiate = differentiate

    def derivative(self, v: int) -> int:
        """The derivative of variable v, made now if it does not exist."""
        if self.var_to_diff[v] < 0:
            new = self._new_derivative(v)
            if new != len(self.var_to_diff):
                raise ArgumentError(
                    f"new_derivative({v}) returned {new}, expected {len(self.var_to_diff)}",
                    hint="number new variables in the order in which they are made",
                )
            self.var_to_diff[v] = new
            self.var_to_diff.append(-1)
            self.var_to_eq.append(-1)
        return self.var_to_diff[v]

    def differentiated(self, e: int) -> int:
        """The derivative of equation e, made now if it does not exist."""
        if self.eq_to_diff[e] < 0:
            row = list(self._differentiate(e))
            self.eq_to_diff[e] = len(self.inc)
            self.inc.append(row)
            self.eq_to_diff.append(-1)
            self.diff_to_eq.append(e)
            self.eq_to_var.append(-1)
        return self.eq_to_diff[e]

    def original(self, e: int) -> tuple[int, int]:
        """The original equation of e and how often it was differentiated."""
        times = 0
        while self.diff_to_eq[e] >= 0:
            e = self.diff_to_eq[e]
            times += 1
        return e, times


def reduce_index(graph: DerivativeGraph, max_derivatives: int = 20) -> None:
    """Differentiate until the highest derivatives match all equations that are not differentiated further, in place.

    Raises SingularStructure if that cannot be reached, or not with `max_derivatives` of one equation. A system with too
    few equations passes: candidates without match show it.
    """
    _check_chains(graph)
    unmatched = list(range(graph.n_original))
    while True:
        candidates = _candidates(graph)
        unmatched = augment(candidates, graph.eq_to_var, graph.var_to_eq, unmatched)
        if not unmatched:
            return
        coloured = _coloured(candidates, graph.var_to_eq, unmatched)
        for e in unmatched:
            if not graph.inc[e]:
                raise SingularStructure([e])
        if any(graph.original(e)[1] >= max_derivatives for e in coloured):
            raise SingularStructure(_first_beyond(graph, candidates, unmatched, max_derivatives))
        unmatched = _differentiate(graph, candidates, coloured)


def _check_chains(graph: DerivativeGraph) -> None:
    """Match equations with whole chains of derivatives: each variable stands for the lowest one of its chain."""
    lowest = list(range(len(graph.var_to_diff)))
    is_derivative = [False] * len(lowest)
    for d in graph.var_to_diff:
        if d >= 0:
            is_derivative[d] = True
    for v in range(len(lowest)):
        if not is_derivative[v]:
            d = graph.var_to_diff[v]
            while d >= 0 and lowest[d] == d:  # the second condition ends cycles, x' = y and y' = x
                lowest[d] = v
                d = graph.var_to_diff[d]
    chains = [[lowest[v] for v in row] for row in graph.inc]
    eq_to_chain, chain_to_eq = match(chains, len(lowest))
    unmatched = [e for e, chain in enumerate(eq_to_chain) if chain < 0]
    if unmatched:
        raise SingularStructure(_coloured(chains, chain_to_eq, unmatched))


def _candidates(graph: DerivativeGraph) -> list[list[int]]:
    """For each equation that is not differentiated further, its variables without derivative."""
    diff = graph.var_to_diff
    return [[v for v in row if diff[v] < 0] if graph.eq_to_diff[e] < 0 else [] for e, row in enumerate(graph.inc)]


def _coloured(inc: Sequence[Sequence[int]], var_to_eq: Sequence[int], unmatched: Iterable[int]) -> list[int]:
    """Equations reached by alternating paths from `unmatched`, ascending; no path ends at an unmatched variable."""
    reached = list(unmatched)
    seen = set(reached)
    for e in reached:
        for v in inc[e]:
            other = var_to_eq[v]
            if other not in seen:
                seen.add(other)
                reached.append(other)
    return sorted(reached)


def _first_beyond(
    graph: DerivativeGraph, candidates: list[list[int]], unmatched: list[int], max_derivatives: int
) -> list[int]:
    """What is coloured from the first unmatched equation that reaches one differentiated too often."""
    for e in unmatched:
        coloured = _coloured(candidates, graph.var_to_eq, [e])
        if any(graph.original(other)[1] >= max_derivatives for other in coloured):
            return coloured
    raise AssertionError("no unmatched equation reaches one that is differentiated too often")


def _differentiate(graph: DerivativeGraph, candidates: list[list[int]], coloured: list[int]) -> list[int]:
    """Differentiate the coloured equations, hand their matches on; returns the new equations without match."""
    for v in sorted({v for e in coloured for v in candidates[e]}):
        graph.derivative(v)
    unmatched = []
    for e in coloured:
        new = graph.differentiated(e)
        v = graph.eq_to_var[e]
        graph.eq_to_var[e] = -1
        if v >= 0:
            graph.var_to_eq[v] = -1
            d = graph.var_to_diff[v]
            if d in graph.inc[new]:
                graph.eq_to_var[new], graph.var_to_eq[d] = d, new
                continue
        unmatched.append(new)
    return unmatched
