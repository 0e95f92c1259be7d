"""Operators on arrays of records, arrays of external objects, derivatives of elements at ticks, sizes from bindings."""

import pytest

import pliant

RECORDS = """model M
  record R Real a; Real b[2]; end R;
  function f input R r[:]; output R q[size(r, 1)];
  algorithm for i in 1:size(r, 1) loop q[i].a := r[i].a*2; q[i].b := r[i].b + {1, i}; end for; end f;
  R r[2](a(each start = 1CLAUSE), b(each start = 0CLAUSE));
equation when WHEN then r = f(BEFORE(r)); end when; end M;"""


@pytest.mark.parametrize(
    ("when", "before", "clause"), [("sample(0.1, 0.1)", "pre", ", each fixed = true"), ("Clock(0.1)", "previous", "")]
)
def test_values_before_of_arrays_of_records(when, before, clause):
    text = RECORDS.replace("WHEN", when).replace("BEFORE", before).replace("CLAUSE", clause)
    result = pliant.load(text).simulate(stop=0.35)
    n = 4 if before == "previous" else 3
    assert [result[f"r[{k}].a"][-1] for k in (1, 2)] == [2**n, 2**n]
    assert [result[f"r[2].b[{k}]"][-1] for k in (1, 2)] == [n, 2 * n]


def test_derivatives_of_elements_in_a_discretised_partition():
    whole = "der(x) = {x[2], -x[1] - 0.5*x[2] + sample(0, c)};"
    parts = "der(x[1]) = x[2]; der(x[2]) = -x[1] - 0.5*x[2] + sample(0, c);"
    loop = "for i in 1:2 loop der(x[i]) = (if i == 1 then x[2] else -x[1] - 0.5*x[2] + sample(0, c)); end for;"
    head = 'Real x[2](start = {1, 0}); Clock c = Clock(Clock(0.1), solverMethod = "ImplicitEuler"); equation'
    finals = [pliant.load(f"model M {head} {body} end M;").simulate(stop=0.96) for body in (whole, parts, loop)]
    first, *others = [[one[f"x[{k}]"][-1] for k in (1, 2)] for one in finals]
    assert first != [1, 0]
    assert others == [pytest.approx(first), pytest.approx(first)]


def test_sizes_from_a_value_that_depends_on_time():
    text = """model M record R Real v[:]; end R; model A Real v[:]; end A;
      R q(v = {time, 5}); A a(v = {3*time, time, 1}); end M;"""
    result = pliant.load(text).simulate(stop=1)
    assert [result[name][-1] for name in ("q.v[1]", "q.v[2]", "a.v[1]", "a.v[3]")] == [1, 5, 3, 1]


def test_arrays_of_external_objects():
    text = """model M
      class O extends ExternalObject;
        function constructor input Real k; output O o;
          external "C" o = made_one(k) annotation(Include = "#include <stdlib.h>
    static void *made_one(double k) { double *p = malloc(16); p[0] = k; return p; }"); end constructor;
        function destructor input O o;
          external "C" unmade_one(o) annotation(Include = "#include <stdlib.h>
    static void unmade_one(void *o) { free(o); }"); end destructor;
      end O;
      function get input O o; input Real x; output Real y;
        external "C" y = got_one(o, x)
        annotation(Include = "static double got_one(void *o, double x) { return ((double *)o)[0]*x; }"); end get;
      model B O o; Real z = get(o, time); end B;
      O a[2] = {O(3), O(4)}; O b[2, 2] = {{O(10*i + j) for i in 1:2} for j in 1:2}; B c[2](o = {O(5), O(6)});
      Real z[4] = {get(a[2], time), get(b[1, 2], time), get(a[1], time), sum(get(a[i], time) for i in 1:2)};
    end M;"""
    result = pliant.load(text).simulate(stop=1)
    assert [result[f"z[{k}]"][-1] for k in (1, 2, 3, 4)] == [4, 21, 3, 7]
    assert [result[f"c[{k}].z"][-1] for k in (1, 2)] == [5, 6]


def test_a_wrong_number_of_external_objects_is_an_error():
    text = """model M class O extends ExternalObject;
        function constructor output O o; external "C" o = f(); end constructor;
        function destructor input O o; external "C" g(o); end destructor; end O;
      O a[3] = {O(), O()}; end M;"""
    with pytest.raises(pliant.ModelError, match="3"):
        pliant.load(text)
