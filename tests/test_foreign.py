"""External C functions and objects: arguments of every kind, errors with their text, life of objects, bad sources."""

from __future__ import annotations

import gc
import logging
import math
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import pliant
from pliant.foreign import library

HEADER = """
#include <stddef.h>
typedef struct { double a; double v[2]; } Pair;
void *counter_new(const char *name, double gain, const double *data, size_t n, size_t m);
void counter_free(void *c);
double counter_value(void *c, double u);
double counter_rate(void *c, double u, double du);
void turned(const Pair *r, const char *s, Pair *q, int *n);
const char *upper(const char *s);
int how_many(int which);
"""
SOURCE = """
#include "counter.h"
#include "ModelicaUtilities.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
typedef struct { double gain; } Counter;
static int made, ended;
void *counter_new(const char *name, double gain, const double *data, size_t n, size_t m) {
    if (strcmp(name, "bad") == 0) ModelicaFormatError("there is no counter %s", name);
    Counter *c = malloc(sizeof *c);
    c->gain = 0;
    for (size_t i = 0; i < n * m; i++) c->gain += gain * data[i];
    __sync_fetch_and_add(&made, 1);
    ModelicaFormatMessage("made %s", name);
    return c;
}
void counter_free(void *c) { __sync_fetch_and_add(&ended, 1); free(c); }
double counter_value(void *c, double u) {
    if (u > 20) ModelicaFormatError("u = %g is too large", u);
    return ((Counter *)c)->gain * u;
}
double counter_rate(void *c, double u, double du) { (void)u; return ((Counter *)c)->gain * du; }
void turned(const Pair *r, const char *s, Pair *q, int *n) {
    q->a = 2 * r->a; q->v[0] = r->v[1]; q->v[1] = r->v[0]; *n = (int)strlen(s);
}
const char *upper(const char *s) {
    char *t = ModelicaAllocateString(strlen(s));
    for (size_t i = 0; s[i]; i++) t[i] = (char)toupper((unsigned char)s[i]);
    return t;
}
int how_many(int which) { return which ? ended : made; }
"""
ABOUT = 'annotation(Include="#include \\"counter.h\\"", Library="counter")'
PACKAGE = f"""
package P
  class Counter
    extends ExternalObject;
    function constructor
      input String name;
      input Real gain;
      input Real data[:, :];
      output Counter c;
      external "C" c = counter_new(name, gain, data, size(data, 1), size(data, 2)) {ABOUT};
    end constructor;
    function destructor
      input Counter c;
      external "C" counter_free(c) {ABOUT};
    end destructor;
  end Counter;
  record Pair
    Real a;
    Real v[2];
  end Pair;
  function value
    input Counter c;
    input Real u;
    output Real y;
    external "C" y = counter_value(c, u) {ABOUT};
    annotation(derivative(noDerivative=c) = rate);
  end value;
  function rate
    input Counter c;
    input Real u;
    input Real du;
    output Real y;
    external "C" y = counter_rate(c, u, du) {ABOUT};
  end rate;
  function turned
    input Pair r;
    input String s;
    output Pair q;
    output Integer n;
    external "C" turned(r, s, q, n) {ABOUT};
  end turned;
  function upper
    input String s;
    output String t;
    external "C" t = upper(s) {ABOUT};
  end upper;
  model All
    parameter Real gain = 0.2;
    parameter Integer n = if upper("abc") == "ABC" then 3 else 1;
    Counter c = Counter("first", gain, [1, 2; 3, 4]), d = Counter("second", 3, [1, 2; 3, 4]);
    Real x(start = 1, fixed = true), y, dy, z[n], v(start = 1), w, s;
    Pair r, q;
  equation
    der(x) = -value(c, x);
    y = value(d, time);
    dy = der(y);
    z = {{1, 2, 3}};
    r.a = x;
    r.v = {{time, x}};
    (q, s) = turned(r, "four");
    value(c, v) + v^3 = time + 3;
    w = der(v);
  end All;
  model TooFar
    Counter c = Counter("first", 1, [1]);
    Real x(start = 1, fixed = true);
  equation
    der(x) = value(c, 10*x);
  end TooFar;
  model NotTaken
    Counter c = Counter("first", 1, [1]);
    Real x(start = 1, fixed = true), y, z;
  equation
    der(x) = x;
    y = if noEvent(x < 1.9) then value(c, 10*x) else 0;
    z = if noEvent(x < 1.9) then value(c, 10*x) + 1 else 1;
  end NotTaken;
  model Bad
    Counter c = Counter("bad", 1, [1]);
    Real x(start = 1, fixed = true);
  equation
    der(x) = value(c, x);
  end Bad;
end P;
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a package and its resources."""
    folder = tmp_path_factory.mktemp("libraries")
    for name, file, text in (
        ("Resources/Include", "counter.h", HEADER),
        ("Resources/Source", "counter.c", SOURCE),
        ("", "package.mo", PACKAGE),
    ):
        place = folder / "P" / name
        place.mkdir(parents=True, exist_ok=True)
        (place / file).write_text(text)
    return folder


def loaded(root: Path, name: str) -> pliant.Model:
    return pliant.load("\n", name=f"P.{name}", path=[root], frontend="pliant")


def test_arguments_objects_and_derivatives(root: Path) -> None:
    result = loaded(root, "All").simulate(stop=1.0, rtol=1e-9, parameters={"gain": 0.3})
    end = {name: result[name][-1] for name in ("x", "y", "dy", "z[3]", "q.a", "q.v[1]", "q.v[2]", "s", "v", "w")}
    assert end["x"] == pytest.approx(math.exp(-3.0), rel=1e-7)
    assert (end["y"], end["dy"], end["z[3]"], end["s"]) == pytest.approx((30.0, 30.0, 3.0, 4.0))
    assert (end["q.a"], end["q.v[1]"], end["q.v[2]"]) == pytest.approx((2 * end["x"], end["x"], 1.0))
    assert 3.0 * end["v"] + end["v"] ** 3 == pytest.approx(4.0)
    assert end["w"] == pytest.approx(1.0 / (3.0 + 3.0 * end["v"] ** 2))


def end_of(model: pliant.Model) -> float:
    return float(model.simulate(stop=1.0)["x"][-1])


def counts() -> tuple[int, int]:
    """Objects made and ended."""
    for one in library._known.values():
        if hasattr(one.library, "how_many"):
            return one.library.how_many(0), one.library.how_many(1)
    raise AssertionError("no library is loaded")


def test_objects_end_with_their_runs(root: Path) -> None:
    model = loaded(root, "All")
    expected = model.simulate(stop=1.0)["x"][-1]
    gc.collect()
    before = counts()
    with ThreadPoolExecutor(4) as pool:
        ends = list(pool.map(end_of, [model] * 4))
    gc.collect()
    after = counts()
    assert ends == [expected] * 4
    assert after[0] - before[0] == after[1] - before[1] == 8  # two for each run
    again = pickle.loads(pickle.dumps(model))
    assert again.simulate(stop=1.0)["x"][-1] == expected
    study = model.simulate_many([{"parameters": {"gain": g}} for g in (0.1, 0.2)], stop=1.0, keep="final")
    assert [one["x"] for one in study] == pytest.approx([math.exp(-1.0), math.exp(-2.0)], rel=1e-3)
    del model, again, study
    gc.collect()
    made, ended = counts()
    assert made == ended


def test_a_run_in_a_child_process(root: Path) -> None:
    model = loaded(root, "All")
    assert model.simulate(stop=1.0, timeout=60.0)["x"][-1] == pytest.approx(math.exp(-2.0), rel=1e-3)


def test_errors_carry_the_text(root: Path) -> None:
    with pytest.raises(pliant.ModelEvaluationError, match=r"P.value reports: u = .* is too large") as caught:
        loaded(root, "TooFar").simulate(stop=10.0)
    assert caught.value.span is not None
    assert "function value" in caught.value.span.text
    with pytest.raises(pliant.InitialValueError, match=r"constructor of `c` reports: there is no counter bad"):
        loaded(root, "Bad").simulate(stop=1.0)


def test_a_branch_that_is_not_taken_may_fail(root: Path) -> None:
    result = loaded(root, "NotTaken").simulate(stop=2.0)
    assert result["z"][-1] == 1.0


def test_messages_are_logged(root: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="pliant"):
        result = loaded(root, "TooFar").simulate(stop=0.01)
    assert "made first" in caplog.messages
    assert [one[1:] for one in result.log if one[3] == "made first"] == [("ok", "external", "made first")]


def test_what_cannot_carry_foreign_code_names_it(root: Path, tmp_path: Path) -> None:
    model = loaded(root, "All")
    with pytest.raises(pliant.NotSupportedError, match=r"P\.value"):
        model.export_fmu(tmp_path / "x.fmu")
    with pytest.raises(pliant.NotSupportedError, match=r"P\.value"):
        model.realtime(step=1e-3, stop=0.1)


INLINE = """
model M
  function f
    input Real x[:];
    input Integer n;
    input Boolean b;
    output Real y[size(x, 1)];
    output Real s;
    external "C" sums(x, size(x, 1), n, b, y, s) annotation(Include="
void sums(const double *x, size_t m, int n, int b, double *y, double *s) {
    *s = 0;
    for (size_t i = 0; i < m; i++) { y[i] = n * x[i]; *s += b ? y[i] * y[i] : 0; }
}");
  end f;
  function g
    input Real u;
    output Real v;
    external "C" annotation(Include="double g(double u) { return u * u * u + u; }");
  end g;
  parameter Real c = g(2);
  Real x(start = 1, fixed = true), y[3], s, z;
equation
  der(x) = -x*c/10;
  (y, s) = f({x, 2*x, time}, 2, true);
  g(z) = x + time;
end M;
"""


def test_arrays_outputs_and_a_loop_through_differences() -> None:
    result = pliant.load(INLINE, frontend="pliant").simulate(stop=1.0, rtol=1e-9)
    x, z = result["x"], result["z"]
    assert x[-1] == pytest.approx(math.exp(-1.0), rel=1e-7)
    np.testing.assert_allclose(result["s"], 4.0 * (5.0 * x**2 + result.time**2))
    np.testing.assert_allclose(z**3 + z, x + result.time, rtol=1e-8)


def inline(annotation: str, call: str = "broken(x)") -> str:
    return (
        f'model M\n  function f\n    input Real x;\n    output Real y;\n    external "C" y = {call} '
        f"annotation({annotation});\n  end f;\n  Real x(start = 1, fixed = true);\nequation\n  der(x) = f(x);\nend M;\n"
    )


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        ('Include="double broken(double x) { return x * ; }"', "cannot be used"),
        ('Include=""', "broken"),
        ('Library="nowhere_to_be_found"', "nowhere_to_be_found"),
        (
            'Include="double broken(double x) { return x; }\n'
            '__attribute__((constructor)) static void at_once(void) { __builtin_trap(); }"',
            "crashes while it is loaded",
        ),
    ],
)
def test_bad_sources(annotation: str, words: str) -> None:
    with pytest.raises(pliant.CompileError, match=r"M\.f") as caught:
        pliant.load(inline(annotation), frontend="pliant")
    assert words in str(caught.value)


def test_a_function_that_is_not_called_needs_no_code() -> None:
    text = inline('Library="nowhere_to_be_found"').replace("der(x) = f(x)", "der(x) = -x")
    assert pliant.load(text, frontend="pliant").simulate(stop=1.0)["x"][-1] == pytest.approx(math.exp(-1.0), rel=1e-3)


def test_a_function_without_end_ends_with_its_worker() -> None:
    text = inline('Include="double broken(double x) { for (;;) if (x < -1e9) break; return x; }"')
    with pytest.raises(pliant.CaseError, match="ran out of time"):
        raise pliant.load(text, frontend="pliant").simulate_many([{}], stop=1.0, case_timeout=0.5, workers=1)[0]


def test_lapack_through_scipy() -> None:
    text = """
model M
  function solve
    input Real A[:, size(A, 1)];
    input Real b[size(A, 1)];
    output Real x[size(A, 1)] = b;
    output Integer info;
  protected
    Real work[size(A, 1), size(A, 1)] = A;
    Integer pivot[size(A, 1)];
    external "FORTRAN 77" dgesv(size(A, 1), 1, work, size(A, 1), pivot, x, size(A, 1), info)
      annotation(Library="lapack");
  end solve;
  parameter Real A[3, 3] = [4, 1, 0; 2, 3, 1; 0, 5, 7];
  Real x[3];
equation
  x = solve(A, {time, 1, 2});
end M;
"""
    result = pliant.load(text, frontend="pliant").simulate(stop=1.0, points=3)
    found = [result[f"x[{k}]"][-1] for k in (1, 2, 3)]
    np.testing.assert_allclose(found, np.linalg.solve([[4, 1, 0], [2, 3, 1], [0, 5, 7]], [1, 1, 2]))


def test_sizes_follow_arguments_through_functions() -> None:
    text = """
model M
  function below
    input Integer n;
    output Real c[mod(n, 2)];
    output Real d[integer(n/2)];
  algorithm
    if n == 3 then
      c[1] := 3;
      d := {5};
    else
      d := fill(7, integer(n/2));
    end if;
  end below;
  function above
    input Integer n;
    output Real c[mod(n, 2)];
    output Real d[integer(n/2)];
  algorithm
    (c, d) := below(n);
  end above;
  parameter Integer n = 3, k = 4;
  Real c[mod(n, 2)], d[integer(n/2)], e[mod(k, 2)], f[integer(k/2)];
equation
  (c, d) = above(n);
  (e, f) = above(k);
end M;
"""
    result = pliant.load(text).simulate(stop=1.0)
    assert [result[name][-1] for name in ("c[1]", "d[1]", "f[1]", "f[2]")] == [3.0, 5.0, 7.0, 7.0]


def test_a_function_without_end_is_ended_in_a_process_of_its_own() -> None:
    text = """function spin input Real x; output Real y;
  external "C" y = spin(x) annotation(Include = "
    static double spin(double x) { volatile double k = 0; while (x > 0.5) k = k + 1; return x; }");
end spin;
model M Real y = spin(s); Real s(start = 0, fixed = true); equation der(s) = y + 1; end M;"""
    with pytest.raises(pliant.SimulationTimeout):
        pliant.load(text).simulate(stop=1.0, timeout=0.5, options={"process": "child"})


OBJECT = """
model M
  class Scale
    extends ExternalObject;
    function constructor input Real k; output Scale o; external "C" o = scale_new(k) annotation(Include="
#include <stdlib.h>
static void *scale_new(double k) { double *p = malloc(sizeof *p); *p = k; return p; }");
    end constructor;
    function destructor input Scale o; external "C" scale_free(o) annotation(Include="
#include <stdlib.h>
static void scale_free(void *o) { free(o); }");
    end destructor;
  end Scale;
  function scaled input Scale o; input Real u; output Real y; external "C" y = scale_of(o, u) annotation(Include="
static double scale_of(void *o, double u) { return *(double *)o * u; }");
  end scaled;
  parameter Real k = 2;
  Scale o = Scale(k);
  parameter Real z = scaled(o, 5);
  Real s(start = scaled(o, 3), fixed = true), x(start = 0);
  output Real y = z*x;
equation
  der(s) = 0;
  der(x) = z - x;
end M;
"""


def test_parameters_of_objects_follow_what_the_objects_are_made_of() -> None:
    model = pliant.load(OBJECT)
    final = model.simulate(stop=0.1, parameters={"k": 7.0}).final
    assert model.steady_state(parameters={"k": 7.0})["x"] == pytest.approx(35.0)
    assert final["s"] == 21.0
    runs = model.simulate_many([{"parameters": {"k": k}} for k in (1.0, 2.0, 1.0)], stop=0.1)
    assert [one.final["s"] for one in runs] == [3.0, 6.0, 3.0]
    assert model.steady_state()["x"] == pytest.approx(10.0)
    assert sorted(model.linearize(parameters={"k": 7.0}).C[0]) == pytest.approx([0.0, 35.0])


def test_strings_of_parameters_are_known_where_they_are_needed() -> None:
    text = """
model M
  function length input String s; output Integer n; external "C" n = length_of(s) annotation(Include="
#include <string.h>
static int length_of(const char *s) { return (int)strlen(s); }");
  end length;
  parameter Real k = 2, free = 3;
  parameter String s = "k = " + String(k), shown = "free = " + String(free);
  Real y = if s == "k = 2" then length(s) + free else 0;
equation
  assert(free > 0, shown);
end M;
"""
    model = pliant.load(text)
    assert model.simulate(stop=0.1, points=3, parameters={"free": 4.0})["y"][-1] == 9.0
    with pytest.raises(pliant.PliantError, match="the parameter k cannot be changed: a text that"):
        model.simulate(stop=0.1, parameters={"k": 3.0})


def test_objects_are_made_by_components_only() -> None:
    text = """model M
  class Box
    extends ExternalObject;
    function constructor input Real x; output Box b; external "C" b = box_(x); end constructor;
    function destructor input Box b; external "C" unbox_(b); end destructor;
  end Box;
  function content input Box b; output Real y; external "C" y = content_(b); end content;
  function f input Real x; output Real y; protected Box b = Box(x); algorithm y := content(b); end f;
  Real y = f(time);
end M;
"""
    with pytest.raises(pliant.NotSupportedError, match="makes an external object, which only components") as caught:
        pliant.load(text)
    assert caught.value.span is not None
    assert caught.value.span.line == 8
