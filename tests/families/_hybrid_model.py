"""Hybrid models with closed forms between their events: what they are made of, and their text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

Expr = tuple[Any, ...]


@dataclass(eq=False)
class Relation:
    """lhs < rhs and its kind, where time or a state is on the left."""

    op: str
    left: str  # "time" or a state
    right: Expr


@dataclass(eq=False)
class Branch:
    """One branch of a when-clause: its conditions (several: a vector) and its statements."""

    conditions: list[Expr]
    body: list[Any]


@dataclass(eq=False)
class When:
    """when ... elsewhen ... end when"""

    branches: list[Branch]
    number: int = -1


@dataclass(eq=False)
class Set:
    """target = value or target := value"""

    target: str
    value: Expr


@dataclass(eq=False)
class If:
    """if ... elseif ... else ... end if"""

    branches: list[tuple[Expr, list[Any]]]
    otherwise: list[Any]


@dataclass(eq=False)
class Reinit:
    """reinit(state, value)"""

    state: str
    value: Expr


@dataclass(eq=False)
class Stop:
    """terminate(message), or assert(condition, message)"""

    message: str
    condition: Expr | None = None


@dataclass(eq=False)
class State:
    """ramp: x' = slope; decay: x' = -rate*(x - slope); ball: x' = v, v' = slope."""

    name: str
    kind: str
    start: float
    slope: Expr
    rate: float = 0.0
    partner: str = ""  # of a ball: its velocity


@dataclass(eq=False)
class Model:
    """A hybrid model: states, discrete variables with types and start values, and what sets them, in order."""

    states: list[State] = field(default_factory=list)
    types: dict[str, str] = field(default_factory=dict)
    starts: dict[str, Any] = field(default_factory=dict)
    parts: list[tuple[str, Any]] = field(
        default_factory=list
    )  # ("standing", Set) ("equation", When) ("algorithm", list)
    clocks: list[tuple[Fraction, Fraction]] = field(default_factory=list)
    stop: float = 2.0
    velocities: dict[str, float] = field(default_factory=dict)


# --------------------------------------------------------------------------------------------------- the text

_WORDS = {"int": "Integer", "bool": "Boolean", "real": "discrete Real"}


def literal(value: Any) -> str:
    """A number as Modelica writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"({value!r})" if value < 0 else repr(value)


def text_of(e: Expr, model: Model) -> str:
    """An expression as Modelica text."""
    kind = e[0]
    if kind == "num":
        return literal(e[1])
    if kind in ("var", "state"):
        return str(e[1])
    if kind == "time":
        return "time"
    if kind in ("pre", "edge", "change", "pre_state"):
        return f"{kind.removesuffix('_state')}({e[1]})"
    if kind == "initial":
        return "initial()"
    if kind == "tick":
        first, interval = model.clocks[e[1]]
        return f"sample({float(first)!r}, {float(interval)!r})"
    if kind == "rel":
        return f"{e[1].left} {e[1].op} {text_of(e[1].right, model)}"
    if kind == "not":
        return f"not ({text_of(e[1], model)})"
    if kind == "if":
        return "(if " + f"{text_of(e[1], model)} then {text_of(e[2], model)} else {text_of(e[3], model)})"
    left, right = (text_of(one, model) for one in e[1:3])
    return f"({left} {kind} {right})"


def _lines(body: list[Any], sign: str, model: Model, indent: str) -> Iterator[str]:
    for one in body:
        if isinstance(one, Set):
            yield f"{indent}{one.target} {sign} {text_of(one.value, model)};"
        elif isinstance(one, Reinit):
            yield f"{indent}reinit({one.state}, {text_of(one.value, model)});"
        elif isinstance(one, Stop):
            if one.condition is None:
                yield f'{indent}terminate("{one.message}");'
            else:
                yield f'{indent}assert({text_of(one.condition, model)}, "{one.message}");'
        elif isinstance(one, If):
            word = "if"
            for condition, inner in one.branches:
                yield f"{indent}{word} {text_of(condition, model)} then"
                yield from _lines(inner, sign, model, indent + "  ")
                word = "elseif"
            if one.otherwise:
                yield f"{indent}else"
                yield from _lines(one.otherwise, sign, model, indent + "  ")
            yield f"{indent}end if;"
        else:
            word = "when"
            for branch in one.branches:
                listed = ", ".join(text_of(condition, model) for condition in branch.conditions)
                yield f"{indent}{word} " + (f"{{{listed}}}" if len(branch.conditions) > 1 else listed) + " then"
                yield from _lines(branch.body, sign, model, indent + "  ")
                word = "elsewhen"
            yield f"{indent}end when;"


def modelica(model: Model) -> str:
    """The model's text."""
    out = ["model M"]
    for state in model.states:
        out.append(f"  Real {state.name}(start = {state.start!r}, fixed = true);")
        if state.kind == "ball":
            out.append(f"  Real {state.partner}(start = {model.velocities[state.partner]!r}, fixed = true);")
    for name, type_ in model.types.items():
        out.append(f"  {_WORDS[type_]} {name}(start = {literal(model.starts[name]).strip('()')}, fixed = true);")
    out.append("equation")
    for state in model.states:
        slope = text_of(state.slope, model)
        if state.kind == "ramp":
            out.append(f"  der({state.name}) = {slope};")
        elif state.kind == "decay":
            out.append(f"  der({state.name}) = -{state.rate!r}*({state.name} - {slope});")
        else:
            out.append(f"  der({state.name}) = {state.partner}; der({state.partner}) = {slope};")
    for kind, content in model.parts:
        out.append("algorithm" if kind == "algorithm" else "equation")
        body = content if kind == "algorithm" else [content]
        out += _lines(body, ":=" if kind == "algorithm" else "=", model, "  ")
    out.append("end M;")
    return "\n".join(out) + "\n"


def assigned(body: list[Any]) -> list[str]:
    """Variables that statements set, each once."""
    found: dict[str, None] = {}
    for one in body:
        if isinstance(one, Set):
            found[one.target] = None
        elif isinstance(one, If):
            for inner in [*(branch for _, branch in one.branches), one.otherwise]:
                found |= dict.fromkeys(assigned(inner))
        elif isinstance(one, When):
            for branch in one.branches:
                found |= dict.fromkeys(assigned(branch.body))
    return list(found)
