"""Subscripts of parts of names: random nested arrays of records and components, against numpy."""

import numpy as np
import pytest

import pliant

RANDOM = np.random.default_rng(7)
LEVELS = ("r", "a", "b", "v")


def drawn(depth):
    """Sizes of each part of a name: arrays of arrays ... of vectors."""
    shapes = [tuple(RANDOM.integers(1, 4, RANDOM.integers(0, 3))) for _ in range(depth + 1)]
    return shapes if any(shapes[:-1]) and shapes[-1] else drawn(depth)


def subscript(n, *, open_index):
    """Text of a subscript of a dimension, and what numpy takes for it."""
    k = int(RANDOM.integers(1, n + 1))
    low = int(RANDOM.integers(1, k + 1))
    vector = [int(one) for one in RANDOM.permutation(n)[:2] + 1]
    choices = [
        (str(k), k - 1),
        ("end", n - 1),
        (":", list(range(n))),
        (f"{low}:{k}", list(range(low - 1, k))),
        ("1:end", list(range(n))),
        (f"end:-1:{k}", list(range(n - 1, k - 2, -1))),
        ("{" + ", ".join(map(str, vector)) + "}", [one - 1 for one in vector]),
    ]
    if open_index:
        choices.append(("one", 0))
        if k > 1:
            choices.append((f"{{{k}, one}}", [k - 1, 0]))
    return choices[RANDOM.integers(len(choices))]


def reference(shapes, *, open_index=False):
    """A name with random subscripts, and the places that it means in the array of all values."""
    text, places = [], []
    for name, shape in zip(LEVELS[: len(shapes) - 1] + LEVELS[-1:], shapes, strict=True):
        given = int(RANDOM.integers(0, len(shape) + 1))
        chosen = [subscript(n, open_index=open_index) for n in shape[:given]]
        text.append(name + ("[" + ", ".join(one for one, _ in chosen) + "]" if chosen else ""))
        places += [place for _, place in chosen] + [list(range(n)) for n in shape[given:]]
    return ".".join(text), places


def taken(values, places):
    kept = [len(one) for one in places if isinstance(one, list)]
    return values[np.ix_(*(one if isinstance(one, list) else [one] for one in places))].reshape(kept)


def literal(values):
    return "{" + ", ".join(map(literal, values)) + "}" if np.ndim(values) else repr(float(values))


def dims(shape):
    return "[" + ", ".join(map(str, shape)) + "]" if len(shape) else ""


def classes(kind, shapes, prefix=""):
    """Classes inside of each other, the innermost with the vector v."""
    text = f"{kind} C0 {prefix} Real v{dims(shapes[-1])}; end C0; "
    inner = list(zip(LEVELS[1 : len(shapes) - 1], shapes[1:-1], strict=True))
    for k, (name, shape) in enumerate(reversed(inner)):
        text += f"{kind} C{k + 1} C{k} {name}{dims(shape)}; end C{k + 1}; "
    return text, f"C{len(inner)}"


def modifier(shapes, values):
    names = [*LEVELS[1 : len(shapes) - 1], "v"]
    text = literal(values)
    return "(" + "(".join(names) + " = " + text + ")" * len(names)


def found(result, name, shape):
    if not shape:
        return np.array(result[name][-1])
    at = np.ndindex(*shape)
    return np.array([result[f"{name}[{','.join(str(k + 1) for k in one)}]"][-1] for one in at]).reshape(shape)


@pytest.mark.parametrize("kind", ["record", "model"])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_random_parts_of_names_are_those_of_numpy(kind, depth):
    shapes = drawn(depth)
    whole = [n for shape in shapes for n in shape]
    values = np.arange(1.0, np.prod(whole) + 1).reshape(whole)
    text, outer = classes(kind, shapes, prefix="parameter" if kind == "model" else "")
    text = f"model M {text} model Marker Real y = time; end Marker; Integer one = if time > -1 then 1 else 2; "
    text += f"{outer} r{dims(shapes[0])}{modifier(shapes, values)}; "
    if kind == "record":
        text += f"parameter {outer} p{dims(shapes[0])}{modifier(shapes, values)}; "
    wanted, known, bodies, outputs = {}, 0, "", ""
    for k in range(10):
        name, places = reference(shapes, open_index=True)
        wanted[f"x{k}"] = taken(values, places)
        text += f"Real x{k}{dims(wanted[f'x{k}'].shape)} = {name}; "
        if kind == "record":
            outputs += f"output Real x{k}{dims(wanted[f'x{k}'].shape)}; "
            bodies += f"x{k} := {name}; "
            wanted[f"y{k}"] = wanted[f"x{k}"]
            text += f"Real y{k}{dims(wanted[f'x{k}'].shape)}; "
        name, places = reference(shapes)
        part = taken(values, places)
        if part.size:
            known += 1
            constant = f"p{name[1:]}" if kind == "record" else name
            text += f"Marker m{k} if sum(abs({constant} - {literal(part)})) < 0.5; "
    if kind == "record":
        text += f"function f input {outer} r{dims(shapes[0])}; input Integer one; {outputs} algorithm {bodies} end f; "
        text += "equation (" + ", ".join(f"y{k}" for k in range(10)) + ") = f(r, one); "
    result = pliant.load(text + " end M;").simulate(stop=0.1)
    for name, value in wanted.items():
        assert np.array_equal(found(result, name, value.shape), value), name
    assert known == sum(f"m{k}.y" in result.names for k in range(10)) > 0


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_assigned_parts_of_names_are_those_of_numpy(depth):
    shapes = drawn(depth)
    whole = [n for shape in shapes for n in shape]
    values = np.zeros(whole)
    text, outer = classes("record", shapes)
    body = ""
    for _ in range(12):
        name, places = reference(shapes, open_index=True)
        grid = np.ix_(*(one if isinstance(one, list) else [one] for one in places))
        new = RANDOM.integers(1, 99, [len(one) for one in places if isinstance(one, list)]).astype(float)
        values[grid] = new.reshape(values[grid].shape)
        body += f"{name} := {literal(new)}; "
    ones = modifier(shapes, np.zeros(whole))
    text = f"""model M {text}
      function f input Integer one; output {outer} r{dims(shapes[0])}{ones}; algorithm {body} end f;
      Integer one = if time > -1 then 1 else 2;
      {outer} r{dims(shapes[0])}; {outer} q{dims(shapes[0])} = f(one); parameter {outer} p{dims(shapes[0])} = f(1);
      algorithm {body} end M;"""
    result = pliant.load(text).simulate(stop=0.1)
    for root in "rqp":
        for at in np.ndindex(*whole):
            name, rest = [], [k + 1 for k in at]
            for part, shape in zip((root, *LEVELS[1 : len(shapes) - 1], "v"), shapes, strict=True):
                name.append(part + (f"[{','.join(map(str, rest[: len(shape)]))}]" if shape else ""))
                rest = rest[len(shape) :]
            assert result[".".join(name)][-1] == values[at], ".".join(name)


def test_parts_of_names_in_connections_and_on_left_sides():
    text = """model M
      connector P Real v; flow Real i; end P;
      model R P p[2]; Real w[2]; equation p[1].v - p[2].v = p[1].i; p[1].i + p[2].i = 0; w[1] = time; end R;
      model G P p; equation p.v = 0; end G;
      model V parameter Real k = 1; P p; equation p.v = k; end V;
      R r[2]; G g; V v[2](k = {1, 2});
      equation connect(r.p[1], v.p); r.w[2] = {5, 6};
      for i in 1:2 loop connect(r[i].p[2], g.p); end for; end M;"""
    result = pliant.load(text).simulate(stop=1)
    assert [result[name][-1] for name in ("r[1].p[1].i", "r[2].p[1].i", "g.p.i")] == [1, 2, 3]
    assert [result[f"r[{k}].w[{n}]"][-1] for k in (1, 2) for n in (1, 2)] == [1, 5, 1, 6]


def test_sizes_that_differ_between_components_are_an_error():
    text = """model A parameter Integer n; B b[n]; end A; model B Real y = time; end B;
      model M A a[2](n = {1, 2}); Real s = sum(a.b[1].y); end M;"""
    with pytest.raises(pliant.ModelError, match="sizes of `b` differ"):
        pliant.load(text, name="M")


@pytest.mark.parametrize(
    ("clause", "wanted"),
    [
        ("equation when sample(0.1, 0.1) then v[1:2] = {time, 2*time}; v[3:4] = {3, 4}; end when;", [0.9, 1.8, 3, 4]),
        ("equation when time > 0.5 then v[{4, 2}] = {1, 2}; v[{1, 3}] = {3, 4}; end when;", [3, 2, 4, 1]),
        ("equation when time > 0.5 then (v[1], v[3:4]) = f(2); v[2] = 1; end when;", [2, 1, 2, 4]),
        ("equation when Clock(0.1) then v[1:2] = {1, 2}*sample(time); v[3:4] = {3, 4}; end when;", [0.9, 1.8, 3, 4]),
        ("equation when time > 0.5 then for i in 1:3 loop v[i + 1] = i; end for; v[1] = 7; end when;", [7, 1, 2, 3]),
        ("equation when time > 0.5 then v[1:3] = {1, 2, 3}; elsewhen time > 0.7 then v[{3, 1, 2}] = {4, 5, 6};"
         " end when; when time > 0.2 then v[4] = 9; end when;", [5, 6, 4, 9]),
        ("algorithm when sample(0.1, 0.1) then v[i] := time; end when;", [0.2, 0.5, 0.7, 0.9]),
        ("algorithm when sample(0.1, 0.1) then r[i].a := time; end when; equation v = r.a;", [0.2, 0.5, 0.7, 0.9]),
    ],
)  # fmt: skip
def test_parts_of_arrays_that_events_set(clause, wanted):
    text = f"""model M
      record R Real a; end R;
      function f input Real x; output Real m; output Real r[2]; algorithm m := x; r := {{x, 2*x}}; end f;
      {"R r[4](a(each start = 0, each fixed = true));" if "r[i]" in clause else ""}
      Real v[4]{"" if "Clock" in clause or "r[i]" in clause else "(each start = 0, each fixed = true)"};
      Integer i = 1 + integer(4*time - 0.1); {clause} end M;"""
    result = pliant.load(text).simulate(stop=0.95)
    assert [result[f"v[{k}]"][-1] for k in (1, 2, 3, 4)] == pytest.approx(wanted)
