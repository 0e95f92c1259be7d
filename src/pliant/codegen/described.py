"""What a model says about its variables, as data of ``pl_model``: types, units, typical sizes, bounds, tangents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pliant.codegen.arrays import given
from pliant.codegen.c_text import c_string, filled
from pliant.codegen.places import Place, number
from pliant.codegen.plan import Target
from pliant.expr.build import sub, value_of, var

if TYPE_CHECKING:
    from pliant.codegen.emit import Emitter

Array = Callable[[str, str, Sequence[str]], None]  # type, name, elements
RANGES = {"x": ("nominal", "min", "max"), "u": ("nominal", "min", "max"), "p": ("min", "max")}
RANGES |= {"y": ("nominal", "min", "max")}
OPEN = {"nominal": 0.0, "min": float("-inf"), "max": float("inf")}  # what is not declared


def vectors(emitter: Emitter) -> dict[str, list[int]]:
    """The vectors of a model, by the letter that their fields begin with."""
    p = emitter.program
    return {"x": p.x, "u": p.u, "p": p.p, "y": emitter.y, "d": [one.variable for one in emitter.s.events.memories]}


def describe(emitter: Emitter, attribute: Callable[[int, str, float], float], array: Array) -> list[str]:
    """Arrays that say something; the fields of the struct besides them."""
    fields: list[str] = []
    for letter, members in vectors(emitter).items():
        variables = [emitter.variables[v] for v in members]
        if letter in "pyd" and members:
            array("const char *const", f"{letter}_name", [c_string(one.name) for one in variables])
            fields.append(f".n_{letter} = {len(members)}")
        if letter != "x" and any(one.type != "real" for one in variables):
            array("const int8_t", f"{letter}_type", [f"PL_TYPE_{one.type.upper()}" for one in variables])
        if letter != "d" and any(one.unit for one in variables):
            array("const char *const", f"{letter}_unit", [c_string(one.unit) for one in variables])
        for name in RANGES.get(letter, ()):
            if any(getattr(one, name) is not None for one in variables):
                numbers = [attribute(v, name, OPEN[name]) for v in members]
                if name == "nominal":
                    numbers = [abs(value) for value in numbers]  # 0: not entered
                array("const pl_real", f"{letter}_{name}", [number(value) for value in numbers])
    if emitter.s.events:
        fields += [".memory = model_memory", ".set_memory = model_set_memory", ".settle = model_settle"]
    if emitter.moving_nominals:
        fields.append(".nominal = model_nominal")
    there = ["PL_OF_RHS"]
    if emitter.outputs:
        fields.append(f".n_interface = {len(emitter.outputs)}")
        there.append("PL_OF_INTERFACE")
    if emitter.has_tangents:
        there += ["PL_OF_ROOTS", "PL_OF_OUTPUTS", "PL_BY_PARAMETERS"]
    return [*fields, f".tangents = {' | '.join(there)}", ".tangent = model_tangent"]


def moving_nominals(emitter: Emitter) -> list[Target]:
    """Typical sizes of the states that depend on parameters."""
    found: list[Target] = []
    size = given("size")
    for i, v in enumerate(emitter.program.x):
        e = emitter.variables[v].nominal
        if e is not None and value_of(emitter.g, e) is None:
            found.append((size.at(i), e))
    return found


def nominal_text(emitter: Emitter) -> list[str]:
    """The function of pl_model, behind the array that it begins with."""
    return [filled(NOMINAL, {"@n": len(emitter.program.x)})] if emitter.moving_nominals else []


def tangent_targets(emitter: Emitter) -> tuple[list[int], list[Place]]:
    """Expressions whose derivatives `tangent` gives, and where they go."""
    roots = [sub(emitter.g, left, right) for left, right in emitter.ahead.sides]
    values = [var(emitter.g, v) for v in emitter.y]
    sizes = {"df": len(emitter.program.f), "dg": len(roots), "dy": len(values)}
    places = [given(name).at(k) for name, n in sizes.items() for k in range(n)]
    return [*emitter.program.f, *roots, *values], places


def tangent_room(emitter: Emitter) -> int:
    """Numbers that are computed as intermediate values of those requested."""
    n = len(emitter.program.f)
    if emitter.has_tangents:
        return max(n + len(emitter.s.relations) + len(emitter.y), n + len(emitter.initial.conditions), 1)
    return max(n + len(emitter.initial.conditions), 1) if emitter.outputs else 0


def tangent_text(emitter: Emitter) -> str:
    """The function of pl_model."""
    words = {"@n_f": len(emitter.program.f), "@n_g": len(emitter.s.relations)}
    first, second = emitter.first_values("directional"), emitter.first_values("tangents")
    return filled(
        TANGENT,
        words
        | {"@interface": INTERFACE if emitter.outputs else "", "@tangents": TANGENTS if emitter.has_tangents else ""}
        | {"@first": first, "@second": second},
    )


TANGENT = """static pl_status model_tangent(void *self, int of, pl_real t, const pl_real *x, const pl_real *u,
                               const pl_direction *along, pl_real *out) {
    model *m = self;
    const pl_real *dx = along->dx ? along->dx : m->zero, *du = along->du ? along->du : m->zero;
@tangents    if (along->dp) return PL_ARGUMENT;
@first    if (of == PL_OF_RHS) return directional(m, t, x, u, along->dt, dx, du, out, NULL, NULL);
@interface    return PL_ARGUMENT;
}
"""

INTERFACE = """    if (of == PL_OF_INTERFACE)
        return directional(m, t, x, u, along->dt, dx, du, m->along, m->along + @n_f, out);
"""

TANGENTS = """    if (of == PL_OF_OUTPUTS || of == PL_OF_ROOTS || along->dp) {
        pl_real *df = m->along, *dg = df + @n_f, *dy = dg + @n_g;
        const pl_real *dp = along->dp ? along->dp : m->zero;
        if (of == PL_OF_RHS) df = out;
        if (of == PL_OF_ROOTS) dg = out;
        if (of == PL_OF_OUTPUTS) dy = out;
        if (out != df && out != dg && out != dy) return PL_ARGUMENT;
    @second    return tangents(m, t, x, u, along->dt, dx, du, dp, df, dg, dy);
    }
"""

NOMINAL = """static void model_nominal(void *self, pl_real *size) {
    memcpy(size, x_nominal, sizeof x_nominal);
    nominal_values(self, 0.0, NULL, NULL, size);
    for (int i = 0; i < @n; i++) size[i] = fabs(size[i]);
}
"""
