"""Taylor coefficients of generated models, against known series and oracles that do not differentiate."""

from __future__ import annotations

import math
import subprocess
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support_modelica import model_of, numeric, text_of
from support_taylor import Array, Circle, Subject, check_defect, on_circle, polynomial
from support_tools import tool
from test_codegen_text import BODIES, EVERYTHING

import pliant
from pliant.codegen.emit import generate
from pliant.frontend.reading import read_flat as read
from pliant.frontend.scalar.scalarize import scalarize
from pliant.solve.binding import runtime
from pliant.structure.options import StructureOptions
from pliant.structure.pipeline import sort_system

EXAMPLES = Path(__file__).parents[1] / "examples"
INCLUDE = Path(__file__).parents[1] / "runtime" / "include"


def series_of(body: str, x: Sequence[float], u: Any = (), t: float = 0.0, **options: Any) -> Array:
    return Subject(numeric(model_of(body, **options))).taylor(t, x, u)


FACTORIAL = np.array([math.factorial(k) for k in range(6)], dtype=float)


@pytest.mark.parametrize(
    ("equation", "start", "expected"),
    [
        ("x", 2.0, 2.0 / FACTORIAL),
        ("x^2", 1.0, np.ones(6)),
        ("1 + x^2", 0.0, np.array([0.0, 1.0, 0.0, 1.0 / 3.0, 0.0, 2.0 / 15.0])),
        ("-x^3/2", 1.0, np.array([1.0, -1 / 2, 3 / 8, -5 / 16, 35 / 128, -63 / 256])),  # 1/sqrt(1 + t)
        ("sqrt(1 - x^2)", 0.0, np.array([0.0, 1.0, 0.0, -1 / 6, 0.0, 1 / 120])),
        ("exp(-x)", 0.0, np.array([0.0, 1.0, -1 / 2, 1 / 3, -1 / 4, 1 / 5])),  # log(1 + t)
        ("cos(x)", 0.0, np.array([0.0, 1.0, 0.0, -1 / 6, 0.0, 1 / 24])),  # Gudermann's function
        ("2*time*x", 1.0, np.array([1.0, 0.0, 1.0, 0.0, 0.5, 0.0])),
        ("2.5*x^(3/5)", 1.0, np.array([1.0, 2.5, 1.875, 0.3125, -0.0390625, 0.01171875 / 1.0])),  # (1 + t)^2.5
    ],
)
def test_known_solutions(equation: str, start: float, expected: Array) -> None:
    found = series_of(f"  Real x(start = {start}, fixed = true);\nequation\n  der(x) = {equation};", [start])
    assert found[:, 0] == pytest.approx(expected, rel=1e-13, abs=1e-14)


FIELD = """  input Real a, b;
  parameter Real m = 1.3;
  Real x(start = 0.4, fixed = true), y(start = -0.2, fixed = true), w(start = 0.7, fixed = true);
equation
  der(x) = sin(y + time)*w - a*x/(1 + b^2) + m*tanh(x*y);
  der(y) = exp(-w^2)*a + sqrt(1 + x^2)*b^2 - atan(x*m);
  der(w) = w^1.4*b - log(2 + cos(x + y)) + x^3*y/(m + y^2);"""


def field(t: Any, x: Any, u: Any) -> list[Any]:
    (x, y, w), (a, b), m = x, u, 1.3
    return [
        np.sin(y + t) * w - a * x / (1 + b * b) + m * np.tanh(x * y),
        np.exp(-w * w) * a + np.sqrt(1 + x * x) * b * b - np.arctan(x * m),
        w**1.4 * b - np.log(2 + np.cos(x + y)) + x**3 * y / (m + y * y),
    ]


def check_field(found: Array, f: Callable[[Any, Any, Any], list[Any]], t: float, u: Any, n: int) -> None:
    """Coefficients of f along the found polynomial, with numpy's own functions."""
    for i in range(n):

        def along(s: Circle, i: int = i) -> Circle:
            x = [polynomial(found[:, j])(s) for j in range(n)]
            return np.asarray(f(t + s, x, [polynomial(c)(s) for c in np.transpose(u)])[i], dtype=complex)

        expected = on_circle(along, 4, radius=0.1)
        assert found[1:, i] == pytest.approx(expected / np.arange(1.0, 6.0), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("degree", range(5))
def test_inputs_of_every_degree(degree: int) -> None:
    rng = np.random.default_rng(degree)
    u = rng.uniform(-1.0, 1.0, (degree + 1, 2))
    x = [0.4, -0.2, 0.7]
    found = series_of(FIELD, x, u, t=0.35)
    check_field(found, field, 0.35, u, 3)


LINEAR = """  input Real a;
  Real x(start = 1, fixed = true), p, q, r;
equation
  der(x) = p*r - x;
  p + 2*x*q - r = a; q - 3*p + x^2*r = x; p + q + (2 + x)*r = time;"""
NONLINEAR = """  input Real a;
  Real x(start = 1, fixed = true), p(start = 1), q(start = 0.5);
equation
  der(x) = p*q - x;
  p + 0.3*p^3 + q = 1 + a*x; q + 0.5*sin(q + p) = x*time + 0.2;"""
SCALAR = """  input Real a;
  Real x(start = 1, fixed = true), p(start = 1);
equation
  der(x) = p - x;
  p + 0.3*exp(p*x) = 2 + a;"""


def linear(t: Any, x: Any, u: Any) -> list[Any]:
    (x,), (a,), one = x, u, np.ones_like(t)
    matrix = np.array([[one, 2 * x, -one], [-3 * one, one, x * x], [one, one, 2 + x]]).transpose(2, 0, 1)
    p, _, r = np.linalg.solve(matrix, np.array([a, x, t]).T[:, :, None])[:, :, 0].T
    return [p * r - x]


def nonlinear(t: Any, x: Any, u: Any) -> list[Any]:
    (x,), (a,), one = x, u, np.ones_like(t)
    p, q = 0.8 * one, 0.2 * one
    for _ in range(60):
        r = np.array([p + 0.3 * p**3 + q - 1 - a * x, q + 0.5 * np.sin(q + p) - x * t - 0.2])
        c = 0.5 * np.cos(q + p)
        matrix = np.array([[1 + 0.9 * p * p, one], [c, 1 + c]]).transpose(2, 0, 1)
        dp, dq = np.linalg.solve(matrix, r.T[:, :, None])[:, :, 0].T
        p, q = p - dp, q - dq
    return [p * q - x]


def scalar(t: Any, x: Any, u: Any) -> list[Any]:
    (x,), (a,) = x, u
    p = np.ones_like(t)
    for _ in range(60):
        e = 0.3 * np.exp(p * x)
        p = p - (p + e - 2 - a) / (1 + x * e)
    return [p - x]


LOOPS = {"linear": (LINEAR, linear), "nonlinear": (NONLINEAR, nonlinear), "scalar": (SCALAR, scalar)}


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("form", ["ode", "dae"])
def test_loops(name: str, form: str) -> None:
    """z' and higher of loops by the implicit function theorem; with the unknowns in x their coefficients, too."""
    body, f = LOOPS[name]
    model = model_of(body, form=form)
    subject = Subject(numeric(model))
    u = np.array([[0.3], [0.4], [-0.2], [0.0], [0.0], [0.0]])
    if subject.n > 1:
        result = model.simulate(stop=1e-9, inputs={"a": 0.3}, rtol=1e-12)
        x = np.array([result[v][0] for v in subject.model.names.x])
    else:
        x = np.array([1.0])
    found = check_defect(subject, 0.0, x, u)
    check_field(found, f, 0.0, u, 1)


@pytest.mark.parametrize("name", ["everything", "everything as dae", "sparse loop", "torn loop"])
def test_bodies_with_everything(name: str) -> None:
    body, options = BODIES[name]
    model = model_of(body, **options)
    subject = Subject(numeric(model))
    result = model.simulate(stop=0.01, rtol=1e-11)
    x = np.array([result[v][-1] for v in subject.model.names.x])
    u = np.array([[1.0], [0.5], [-0.7]])[:, : subject.n_u]
    subject.settle(0.01, x, np.ascontiguousarray(u[0]))
    check_defect(subject, 0.01, x, u)


@cache
def example(name: str) -> pliant.Model:
    return pliant.load(EXAMPLES / f"{name}.mo")


WITHOUT = {"pendulum": "chosen during", "crane": "chosen during", "resistor_grid": "unknowns"}


@pytest.mark.parametrize("name", sorted(file.stem for file in EXAMPLES.glob("*.mo")))
def test_examples(name: str) -> None:
    model = example(name)
    if name in WITHOUT:
        taken = numeric(model).with_taylor()
        assert not taken.has_taylor
        assert any("Taylor" in note and WITHOUT[name] in note for note in taken.generated.notes)
        assert taken.with_taylor() is taken
        return
    subject = Subject(numeric(model))
    stop = 0.13  # not where the reference of the robot begins to move
    result = model.simulate(stop=stop, rtol=1e-10)
    x = np.array([result[v][-1] for v in subject.model.names.x])
    x += np.random.default_rng(2).uniform(-1e-2, 1e-2, len(x)) * (np.abs(x) + 1e-2)  # nothing at rest
    subject.settle(stop, x, np.zeros(1))
    check_defect(subject, stop, x, np.zeros((1, 1)), 1e-4)


# ----------------------------------------------------------------------------------------- the function itself


def test_first_order_is_f() -> None:
    rng = np.random.default_rng(3)
    subject = Subject(numeric(model_of(FIELD)))
    for _ in range(20):
        x, u = rng.uniform(0.1, 1.0, 3), rng.uniform(-1.0, 1.0, (5, 2))
        assert np.array_equal(subject.taylor(0.2, x, u)[1], subject.rhs(0.2, x, u[0]))


@pytest.mark.parametrize("source", ["field", "dae", "Robot"])
def test_early_return(source: str) -> None:
    """Lower orders give the same bits, read no input beyond theirs and write no row beyond theirs."""
    bodies = {"field": lambda: model_of(FIELD), "dae": lambda: model_of(LINEAR, form="dae")}
    model = bodies.get(source, lambda: example(source))()
    subject = Subject(numeric(model))
    x = np.array([0.4, 0.2, 0.7, 0.1])[: subject.n]
    if source == "Robot":
        result = model.simulate(stop=0.01, rtol=1e-8)
        x = np.array([result[v][-1] for v in subject.model.names.x])
    u = np.random.default_rng(1).uniform(-1.0, 1.0, (6, max(subject.n_u, 1)))
    whole = subject.taylor(0.3, x, u)
    assert np.isfinite(whole).all()
    for order in range(5):
        assert np.array_equal(subject.taylor(0.3, x, u, order), whole[: order + 1])


def test_orders_that_do_not_exist() -> None:
    subject = Subject(numeric(model_of(FIELD)))
    x, u, out = np.zeros(3), np.zeros((9, 2)), np.zeros((9, 3))
    assert [subject.status(k, 0.0, x, u, out) for k in (-1, 6)] == [runtime.ARGUMENT] * 2


def test_result_may_begin_with_x() -> None:
    subject = Subject(numeric(model_of(FIELD)))
    u = np.ones((5, 2))
    out = np.zeros((6, 3))
    out[0] = (0.4, -0.2, 0.7)
    assert subject.status(5, 0.1, out[0], u, out) == runtime.OK
    assert np.array_equal(out, subject.taylor(0.1, (0.4, -0.2, 0.7), u))


def test_branches_that_do_not_hold_do_no_harm() -> None:
    """sqrt and division by zero in the other branch."""
    body = """  Real x(start = 0, fixed = true);
equation
  der(x) = noEvent(if x > 0 then sqrt(x) + 1/x else 1 + x);"""
    assert series_of(body, [0.0])[:, 0] == pytest.approx([0.0, 1.0, 0.5, 1 / 6, 1 / 24, 1 / 120])


def test_what_does_not_exist_is_not_finite() -> None:
    found = series_of("  Real x(start = 0, fixed = true);\nequation\n  der(x) = 1 + sqrt(x);", [0.0])
    assert found[1, 0] == 1.0
    assert not np.isfinite(found[2:]).any()


def test_relations_hold_their_branch() -> None:
    """Between events the branch does not change, whatever x is."""
    body = """  Real x(start = 1, fixed = true);
equation
  der(x) = if x > 0.5 then x else -2*x;"""
    subject = Subject(numeric(model_of(body)))
    subject.settle(0.0, np.array([1.0]), np.zeros(1))
    assert subject.taylor(0.0, [0.2])[:, 0] == pytest.approx(0.2 / FACTORIAL)
    subject.settle(0.0, np.array([0.1]), np.zeros(1))
    assert subject.taylor(0.0, [0.2])[:, 0] == pytest.approx(0.2 * (-2.0) ** np.arange(6) / FACTORIAL)


def test_parameters_are_read() -> None:
    model = numeric(model_of("  parameter Real k = 1;\n  Real x(start = 1);\nequation\n  der(x) = k*x;")).with_taylor()
    subject = Subject(model)
    subject.self = model.instance(np.array([3.0]))
    assert subject.taylor(0.0, [1.0])[:, 0] == pytest.approx(3.0 ** np.arange(6) / FACTORIAL)


def test_names_of_the_function_are_free() -> None:
    body = """  input Real u_taylor;
  Real order(start = 1, fixed = true), x_taylor(start = 1, fixed = true), T1(start = 1, fixed = true), ended;
equation
  der(order) = ended; der(x_taylor) = order*u_taylor; der(T1) = x_taylor; ended = order*T1;"""
    subject = Subject(numeric(model_of(body)))
    found = subject.taylor(0.0, [1.0, 1.0, 1.0], [[2.0], [1.0]])
    check_field(found, lambda t, x, u: [x[0] * x[2], x[0] * u[0], x[1]], 0.0, np.array([[2.0], [1.0]]), 3)


def test_a_large_model_is_split_and_stops_early() -> None:
    """Several C functions; values cross between them."""
    n = 90
    lines = [f"  der(x[{i}]) = sin(x[{i % n + 1}])*x[{(i + 6) % n + 1}] - u*x[{i}]^2;" for i in range(1, n + 1)]
    body = f"  input Real u;\n  Real x[{n}](each start = 0.5, each fixed = true);\nequation\n" + "\n".join(lines)
    subject = Subject(numeric(model_of(body)))
    assert "taylor_3(" in subject.model.generated.text
    x, u = np.random.default_rng(5).uniform(0.1, 1.0, n), np.array([[0.4], [0.3], [-0.2]])
    found = check_defect(subject, 0.0, x, u)
    for order in (1, 2, 4):
        assert np.array_equal(subject.taylor(0.0, x, u, order), found[: order + 1])


def test_too_large_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pliant.codegen.taylor.LARGEST", 100)
    made = generate(sorted_body(EVERYTHING), taylor=True)
    assert not made.has_taylor
    assert "more than 100 operations" in made.notes[-1]
    assert "taylor" not in made.text


# --------------------------------------------------------------------------------------------------- text


def sorted_body(body: str, **options: Any) -> Any:
    chosen = StructureOptions(**options)
    return sort_system(scalarize(read(text_of(body), None, []), fold_parameters=chosen.fold_parameters), chosen)


def test_plain_models_know_nothing_of_it() -> None:
    plain = generate(sorted_body(FIELD)).text
    assert "taylor" not in plain
    both = sorted_body(FIELD)
    generate(both, taylor=True)
    assert generate(sorted_body(FIELD)).text == plain
    assert generate(sorted_body(FIELD), taylor=True).text == generate(sorted_body(FIELD), taylor=True).text


def test_the_model_with_it_is_the_same_model() -> None:
    model = model_of(FIELD)
    other = pliant.Model(numeric(model).with_taylor(), structure=model.structure)
    one, two = (m.simulate(stop=0.5, inputs={"a": 0.3, "b": 0.1}) for m in (model, other))
    assert all(np.array_equal(one[name], two[name]) for name in ("x", "y", "w"))
    assert numeric(model).with_taylor() is other._numeric
    assert not numeric(model).has_taylor


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_no_warnings(compiler: str, tmp_path: Path) -> None:
    tool(compiler)
    flags = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Wconversion", "-Wno-sign-conversion", "-Wno-float-conversion"]
    for k, (body, options) in enumerate(BODIES.values()):
        made = generate(sorted_body(body, **options), str(options.get("form", "auto")), taylor=True)
        source = tmp_path / f"m{k}.c"
        source.write_text(made.text)
        command = [compiler, *flags, "-Werror", "-c", f"-I{INCLUDE}", str(source), "-o", str(tmp_path / "m.o")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[:2000]


DRIVER = r"""
#include <stdlib.h>

/* all orders, with memory of exactly the promised size */
int main(void) {
    const pl_model *m = &pliant_model;
    size_t n = (size_t)m->n_x, n_u = (size_t)m->n_u;
    void *self = malloc(m->memory_size);
    pl_real *x = malloc(n * sizeof *x);
    if (m->open(self) != PL_OK) return 1;
    m->initial->start(self, x);
    for (int order = 0; order <= 5; order++) {
        size_t rows = (size_t)order + (m->mass.start != NULL);
        pl_real *u = malloc((rows * n_u + 1) * sizeof *u), *out = malloc((size_t)(order + 1) * n * sizeof *out);
        for (size_t k = 0; k < rows * n_u; k++) u[k] = 0.5;
        if (m->taylor(self, order, 0.1, x, u, out) != PL_OK) return 2;
        free(u), free(out);
    }
    free(self), free(x);
    return 0;
}
"""


@pytest.mark.parametrize("name", ["everything", "everything as dae", "sparse loop", "torn loop"])
def test_no_undefined_behaviour(name: str, tmp_path: Path) -> None:
    body, options = BODIES[name]
    source, program = tmp_path / "m.c", tmp_path / "m"
    source.write_text(
        generate(sorted_body(body, **options), str(options.get("form", "auto")), taylor=True).text + DRIVER
    )
    flags = ["-std=c99", "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    command = ["gcc", *flags, f"-I{INCLUDE}", str(source), "-o", str(program), "-lm"]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    if built.returncode:
        pytest.skip(f"no sanitizers: {built.stderr[:200]}")
    done = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:2000]
