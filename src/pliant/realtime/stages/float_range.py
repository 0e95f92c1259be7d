"""Numbers of a model that do not fit into float: parameters, states, inputs, variables, and what is formed on the way.

A step in float that meets one of them ends in what is no number; here they are named from the runs in double, before
any code runs. Too large is beyond 3.4e38; a divisor or a factor below 1.2e-38 loses its digits (IEEE 754, binary32).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from pliant.codegen.program import Assign
from pliant.errors import PliantError
from pliant.expr.build import reachable, value_of
from pliant.expr.evaluate import evaluate
from pliant.ir import Op
from pliant.realtime.sparsing.linearise import Walker
from pliant.realtime.stages.outcome import Outcome
from pliant.realtime.stages.verdict import Line

LARGEST, SMALLEST = float(np.finfo(np.float32).max), float(np.finfo(np.float32).tiny)
POINTS = 3  # of each run, beside the extremes of all states
MOST = 4  # that are named


def float_line(outcome: Outcome) -> Line | None:
    """The verdict; None where all fits."""
    found = does_not_fit(outcome)
    return ("range of float", False if "beyond" in found else None, found) if found else None


def does_not_fit(outcome: Outcome) -> str:
    """In words; "" where all fits."""
    named = {words.split(" = ")[0]: words for words in _found(outcome)}  # each name once
    if not named:
        return ""
    more = f" and {len(named) - MOST} more" if len(named) > MOST else ""
    return f"{'; '.join(list(named.values())[:MOST])}{more}: precision='double', or other units"


def _found(outcome: Outcome) -> Iterator[str]:
    model = outcome.model
    for run in outcome.masked:
        yield from _words("parameter", dict(zip(model.names.p, run.parameters.tolist(), strict=False)))
        for j, name in enumerate(model.names.x):
            largest = float(np.abs(run.x[:, j]).max())
            yield from _words("state", {name: largest}, small=False)
    yield from _constants(outcome)
    yield from _on_the_way(outcome)


def _parts(outcome: Outcome) -> list[tuple[str, int]]:
    """What the model computes, and the variables or equations that it is for."""
    model, equations = outcome.model, outcome.model.equations
    if equations is None:
        return []
    program, variables = equations.program, equations.sorted.system.variables
    names = [(variables[one.target].name, one.expression) for one in program.statements if isinstance(one, Assign)]
    left = [f"der({name})" if i < program.n_states else "an equation" for i, name in enumerate(model.names.x)]
    return [*names, *zip(left, program.f, strict=True)]


def _constants(outcome: Outcome) -> Iterator[str]:
    """Numbers of the text itself that lose their digits, or all of their value."""
    for name, e in _parts(outcome):
        assert outcome.model.equations is not None
        g = outcome.model.equations.sorted.system.graph
        for i in reachable(g, [e]):
            value = value_of(g, i) if g.nodes[i][0] == Op.CONST else None
            if value is not None and abs(value) < 1.0:  # large ones are found on the way
                yield from _words("the constant of", {name: value})


def _words(kind: str, values: Mapping[str, float], small: bool = True) -> Iterator[str]:
    for name, value in values.items():
        if LARGEST < abs(value) < np.inf:
            yield f"{kind} {name} = {value:.3g} is beyond {LARGEST:.2g}"
        elif small and 0.0 < abs(value) < SMALLEST:
            yield f"{kind} {name} = {value:.3g} is below {SMALLEST:.2g}"


def _on_the_way(outcome: Outcome) -> Iterator[str]:
    """Products, powers and the like at some points of the runs, by the variable that they are for."""
    model, equations = outcome.model, outcome.model.equations
    if equations is None:
        return
    s = equations.sorted
    g, variables = s.system.graph, s.system.variables
    nodes = [(name, [i for i in reachable(g, [e]) if g.nodes[i][0] > Op.ARG]) for name, e in _parts(outcome)]
    walker = Walker(model, outcome.request.step)
    for run in outcome.masked:
        walker.begin(run.scenario, run.past)
        for k in sorted({int(k) for k in np.linspace(0, len(run.t) - 1, POINTS)}):
            t, x = float(run.t[k]), run.x[k + 1]
            try:
                walker.hold(run.memories[k])
                walker.refresh(t, x)
                walker.point.t = t
                known = walker.point.all_values(x)
                values = {v: known[one.name] for v, one in enumerate(variables) if one.name in known}
                for name, inner in nodes:
                    found = evaluate(g, inner, values, t, (), s.system.tables, s.relations)
                    worst = max((abs(float(one)) for one in found if np.isfinite(one)), default=0.0)
                    yield from _words("a part of", {name: worst}, small=False)
            except (PliantError, KeyError, OverflowError):  # not all of it can be evaluated here
                return
