"""What is told about the structure of a model: numbers, reasons, loops, incidence, the page, errors."""

from __future__ import annotations

import json
import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest
from support_tools import tool

import pliant
from pliant.structure.page import page_data, render_page
from pliant.structure.report import COEFFICIENT, Structure

EXAMPLES = Path(__file__).parents[1] / "examples"
CIRCUIT = """
model Circuit
  parameter Real R1 = 1, R2 = 2, R3 = 3, L = 0.5;
  Real u0, u1, u2, u3, uL, i0, i1, i2, i3, iL(start = 0, fixed = true, unit = "A");
equation
  u0 = sin(time);
  u1 = R1*i1;
  u2 = R2*i2;
  u3 = R3*i3;
  uL = L*der(iL);
  u0 = u1 + u3;
  uL = u1 + u2;
  u3 = u2;
  i0 = i1 + iL;
  i1 = i2 + i3;
end Circuit;
"""
PENDULUM = """
model Pendulum
  parameter Real L = 1, g = 9.81;
  Real x(start = 0.8, fixed = true), y(start = -0.6), w(start = 0, fixed = true), z, T;
equation
  der(x) = w;
  der(y) = z;
  der(w) = T*x;
  der(z) = T*y - g;
  x^2 + y^2 = L^2;
end Pendulum;
"""
NONLINEAR = """
model Nonlinear
  Real x(start = 1), a, b, c;
equation
  der(x) = -a;
  a = x + 2*b;
  b = x - a^3;
  c + exp(c) = b;
end Nonlinear;
"""
DELAYED = """
model Counter
  Real x(start = 0, fixed = true);
  Real n;
equation
  der(x) = 1 - n;
  n = if terminal() then 1 else x;
end Counter;
"""
SNAKE = "'</script><script>alert(1)</script><!-- & \"x'"
NASTY = f"model Nasty\n  Real {SNAKE}(start = 1), b;\nequation\n  der({SNAKE}) = -b;\n  b = 2*{SNAKE};\nend Nasty;\n"


@pytest.fixture(scope="module")
def circuit() -> Structure:
    return pliant.inspect(CIRCUIT)


# ---------------------------------------------------------------------------------------------------- numbers


def test_numbers_of_the_circuit(circuit: Structure) -> None:
    assert (circuit.name, circuit.n_equations, circuit.n_after_aliases) == ("Circuit", 10, 9)
    assert (circuit.n_aliases, circuit.n_differentiated, circuit.index, circuit.n_states) == (1, 0, 1, 1)
    assert circuit.aliases in ({"u3": "u2"}, {"u2": "u3"})
    (state,) = circuit.states
    assert (state.name, state.unit) == ("iL", "A")
    assert "derivative" in state.reason
    assert [block.number for block in circuit.blocks] == [1, 2, 3, 4, 5]
    assert sum(block.size for block in circuit.blocks) == 9


def test_loop_of_the_circuit(circuit: Structure) -> None:
    (loop,) = circuit.loops
    assert (loop.kind, loop.size, loop.linear, loop.solved_by) == ("linear", 5, True, "f")
    assert len(loop.tearing) == len(loop.residuals) == 1
    assert loop.tearing[0] == loop.variables[-1]
    assert len(set(loop.variables)) == len(loop.equations) == 5
    residual = loop.residuals[0]
    assert residual.span is not None
    written = CIRCUIT.splitlines()[residual.span.line - 1].strip()
    assert written == residual.source + ";"
    assert str(residual).endswith(f"model.mo:{residual.span.line}")


def test_a_variable_torn_on_demand() -> None:
    (loop,) = pliant.inspect(CIRCUIT, tear=["i1"]).loops
    assert loop.tearing == ["i1"]
    (loop,) = pliant.inspect(CIRCUIT, options={"form": "dae"}).loops
    assert loop.solved_by == "solver"


def test_without_aliases() -> None:
    found = pliant.inspect(CIRCUIT, options={"aliases": False})
    assert (found.n_aliases, found.n_after_aliases, found.aliases) == (0, 10, {})


def test_state_set_of_the_pendulum() -> None:
    found = pliant.inspect(PENDULUM)
    assert (found.index, found.n_states, found.n_differentiated) == (3, 2, 2)
    (chosen,) = found.sets
    assert chosen.n_states == 2
    assert sorted(map(sorted, chosen.candidates)) == [["w", "z"], ["x", "y"]]
    assert {s.name for s in found.not_states} >= {"x", "y", "w", "z"}
    assert all(s.reason for s in found.states + found.not_states)
    assert any(e.origin == "derivative" for loop in found.loops for e in loop.residuals)


def test_nonlinear_blocks() -> None:
    found = pliant.inspect(NONLINEAR)
    (loop,) = found.loops
    assert (loop.kind, loop.linear, loop.size) == ("nonlinear", False, 2)
    single = [block for block in found.blocks if block.kind == "nonlinear" and block.size == 1]
    assert [block.variables for block in single] == [["c"]]
    assert "1 nonlinear loop" in str(found)
    assert "1 nonlinear equation" in str(found)


@pytest.mark.parametrize(("text", "linear"), [(CIRCUIT, True), (NONLINEAR, False)])
def test_a_loop_too_large_to_be_torn(text: str, linear: bool) -> None:
    found = pliant.inspect(text, options={"largest_torn": 1})
    (loop,) = found.loops
    assert (loop.kind, loop.linear, loop.solved_by) == ("sparse", linear, "solver")
    assert "not torn" in str(found)
    assert render_page(found)


# -------------------------------------------------------------------------------------------------- incidence


@pytest.mark.parametrize("text", [CIRCUIT, PENDULUM, NONLINEAR], ids=["circuit", "pendulum", "nonlinear"])
def test_incidence(text: str) -> None:
    found = pliant.inspect(text)
    before, after = found.incidence_before, found.incidence_after
    n = found.n_after_aliases
    assert len(before.pairs) == len(after.pairs) == len(set(after.pairs))
    assert sorted(before.equations) == sorted(after.equations) == list(range(n))
    assert sorted(before.variables) == sorted(after.variables)
    assert len(after.rows) == len(after.columns) == n
    named = {(before.rows[r], before.columns[c]) for r, c in before.pairs}
    assert named == {(after.rows[r], after.columns[c]) for r, c in after.pairs}
    assert not before.blocks
    assert sum(size for _, size in after.blocks) == n
    block_of = [k for k, (_, size) in enumerate(after.blocks) for _ in range(size)]
    assert all(block_of[c] <= block_of[r] for r, c in after.pairs), "block lower triangular"
    for block, (first, size) in zip(found.blocks, after.blocks, strict=True):
        steps = range(first, first + size - block.n_torn)
        assert all(c <= r for r, c in after.pairs if r in steps and c in steps), "causal, given the torn variables"
        assert all((k, k) in set(after.pairs) for k in steps)
        assert after.columns[first : first + size] == block.variables


def test_coefficients(circuit: Structure) -> None:
    kinds = {}
    for e, row in enumerate(circuit.coefficients):
        for v, kind in row.items():
            kinds[circuit.equation(e).source, circuit.name_of(v)] = COEFFICIENT[kind]
    assert kinds["u1 = R1*i1", "u1"] == "a number"
    assert kinds["u1 = R1*i1", "i1"] == "a parameter expression"
    pendulum = pliant.inspect(PENDULUM)
    found = {
        (pendulum.equation(e).source, pendulum.name_of(v)): COEFFICIENT[kind]
        for e, row in enumerate(pendulum.coefficients)
        for v, kind in row.items()
        if pendulum.equation(e).origin == "equation"
    }
    assert found["x^2 + y^2 = L^2", "x"].startswith("nonlinear")
    assert found["der(w) = T*x", "T"].startswith("varies")


def test_nothing_is_worked_out_before_it_is_asked_for() -> None:
    found = pliant.inspect(CIRCUIT)
    assert not {"blocks", "coefficients", "incidence_before", "incidence_after", "aliases"} & set(vars(found))


# ------------------------------------------------------------------------------------------------------ words


def test_summary(circuit: Structure) -> None:
    text = str(circuit)
    assert text.startswith("Circuit: 10 equations, index 1, 1 state\n9 equations to solve: 1 alias eliminated\n")
    assert "5 blocks: 4 explicit, 1 linear loop" in text
    assert re.search(r"residual  .*  model\.mo:\d+", text)
    assert "Circuit" in repr(circuit)


def test_as_dict(circuit: Structure) -> None:
    told = circuit.as_dict()
    assert json.loads(json.dumps(told)) == told == pliant.inspect(CIRCUIT).as_dict()
    assert told["loops"] == [loop.number for loop in circuit.loops]
    block = told["blocks"][told["loops"][0] - 1]
    assert block["tearing"] == circuit.loops[0].tearing
    assert set(block["equations"][0]) == {"number", "text", "source", "origin", "file", "line"}


def test_equations_of_components_have_full_names() -> None:
    found = pliant.inspect(
        """
model Tank
  Real level(start = 1), flow_out;
equation
  der(level) = -flow_out;
  flow_out = 2*level + sin(level);
end Tank;
model Two
  Tank a, b;
end Two;
"""
    )
    words = [str(equation) for block in found.blocks for equation in block.equations]
    assert len(words) == len(set(words)) == found.n_after_aliases
    assert any(word.startswith("flow_out = 2*level + sin(level)  [a.flow_out = ") for word in words)


@pytest.mark.usefixtures("terminal_refused")
def test_models_that_cannot_be_simulated() -> None:
    found = pliant.inspect(DELAYED)
    assert found.refusals
    assert "Cannot be simulated yet" in str(found)
    assert "refusals" in render_page(found)


def test_model_structure_and_code() -> None:
    model = pliant.load(CIRCUIT)
    assert model.structure.n_states == 1
    assert model.structure is model.structure
    assert "pliant_model" in model.code
    function = pliant.ode(lambda t, x: -x, [1.0])
    native = pliant.native(EXAMPLES / "rc_input.c")
    for other in (function, native):
        with pytest.raises(pliant.NotSupportedError, match="equations are not known"):
            _ = other.structure
        with pytest.raises(pliant.NotSupportedError, match="no C text"):
            _ = other.code
    with pytest.raises(pliant.NotSupportedError, match="equations are not known"):
        pliant.inspect(EXAMPLES / "rc_input.c")


# ------------------------------------------------------------------------------------------------------- page


class Reader(HTMLParser):
    """Tags in balance, attributes, texts of the scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.scripts: list[str] = []
        self.words = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "input", "link", "img", "br"):
            self.open.append(tag)
        if tag == "script":
            self.scripts.append("")
        for key, value in attrs:
            if key == "id":
                self.ids.append(value or "")
            if key in ("src", "href", "action", "onclick"):
                self.links.append(f"{key}={value}")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data
        else:
            self.words += data


def read_page(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert not reader.open
    assert not reader.links
    assert len(reader.ids) == len(set(reader.ids))
    return reader


@pytest.mark.parametrize("text", [CIRCUIT, PENDULUM, NONLINEAR, NASTY], ids=["circuit", "pendulum", "non", "nasty"])
def test_page_is_whole(text: str) -> None:
    found = pliant.inspect(text)
    page = render_page(found)
    reader = read_page(page)
    data, program = reader.scripts
    assert json.loads(data) == json.loads(json.dumps(page_data(found)))
    assert f"{found.n_equations}equations given" in reader.words
    assert not re.search(r"https?:|@import|url\(", page), "nothing from outside"
    for name in re.findall(r"\$\(\"([\w-]+)\"\)", program):
        assert name in reader.ids
    for key in set(re.findall(r"\bdata\.([a-z_]+)", program)) - {"grid", "cells_before", "cells_after"}:
        assert key in json.loads(data), key
    assert "innerHTML" not in program
    assert "eval(" not in program


def test_page_data(circuit: Structure) -> None:
    data = page_data(circuit)
    n = circuit.n_after_aliases
    assert sorted(data["rows"]) == sorted(data["columns"]) == list(range(n))
    dots = {(e, v) for e, row in enumerate(data["entries"]) for v in row}
    assert dots == set(circuit.incidence_before.pairs)
    assert [len(row) for row in data["entries"]] == [len(kinds) for kinds in data["classes"]]
    text, source, file, line, origin = data["equations"][1]
    assert (text, source, data["files"][file], data["origins"][origin]) == (
        "u1 = R1*i1",
        "u1 = R1*i1",
        "model.mo",
        "equation",
    )
    assert CIRCUIT.splitlines()[line - 1].strip() == "u1 = R1*i1;"
    (loop,) = data["loops"]
    assert data["variables"][loop["tearing"][0][1]] == loop["tearing"][0][0]


def test_names_cannot_break_out_of_the_page() -> None:
    found = pliant.inspect(NASTY)
    assert any("</script>" in state.name for state in found.states), "the test needs a nasty name"
    page = render_page(found)
    assert page.count("</script>") == 2
    assert "alert(1)" not in read_page(page).words
    assert SNAKE.strip("'") in json.loads(read_page(page).scripts[0])["states"][0][0]


def test_large_models_get_a_reduced_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pliant.structure.page.GRID", 4)
    found = pliant.inspect(CIRCUIT)
    page = render_page(found, full=5)
    data = json.loads(read_page(page).scripts[0])
    assert "too many to show one by one" in page
    assert data["reduced"] is True
    assert data["grid"] == 4
    assert "entries" not in data
    for cells in (data["cells_before"], data["cells_after"]):
        assert sum(cells[1::2]) == len(found.incidence_before.pairs)
        assert all(0 <= cell < 16 for cell in cells[::2])
    assert [(block["first"], block["size"]) for block in data["blocks"]] == [found.incidence_after.blocks[1]]


def test_page_file(circuit: Structure, tmp_path: Path) -> None:
    assert circuit.write_page(tmp_path / "a.html").read_text("utf-8") == render_page(circuit)
    with pytest.raises(pliant.OutputError, match="could not be written"):
        circuit.write_page(tmp_path / "none" / "a.html")


def test_program_of_the_page_can_be_parsed() -> None:
    file = Path(pliant.__file__).parent / "structure" / "page.js"
    program = file.read_text("utf-8")
    bare = re.sub(r"\"(\\.|[^\"\\\n])*\"|//[^\n]*", "", program)
    for first, last in ("()", "[]", "{}"):
        assert bare.count(first) == bare.count(last)
    done = subprocess.run([tool("node"), "--check", str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# ----------------------------------------------------------------------------------------------------- errors


def test_singular_models_are_explained() -> None:
    with pytest.raises(pliant.SingularModelError) as caught:
        pliant.inspect(
            "model Wrong\n  Real x(start = 1), y, z, w;\nequation\n  der(x) = -x + y;\n  y = 2*x;\n"
            "  y = 3*x + time;\n  z + w = x;\nend Wrong;\n"
        )
    message = caught.value.message
    assert "one equation too many: these 3 equations\n    der(x) = -x + y  model.mo:4\n" in message
    assert "contain only 2 unknowns\n    x  model.mo:2\n    y  model.mo:2\n" in message
    assert "one equation missing: these 2 unknowns\n    z  model.mo:2\n    w  model.mo:2\n" in message
    assert message.endswith("stand in only one equation\n    z + w = x  model.mo:7")
    assert "listed first" in caught.value.hint


def test_singular_arrays_name_their_elements() -> None:
    with pytest.raises(pliant.SingularModelError) as caught:
        pliant.inspect(
            "model A\n  Real x[3], s, q;\nequation\n  for i in 1:3 loop\n    x[i] = i*s + time;\n  end for;\n"
            "  x[1] = x[2] + 1;\n  s = x[1]*2;\nend A;\n"
        )
    message = caught.value.message
    assert "x[i] = i*s + time  [x[2] = time + 2*s]  model.mo:5" in message
    assert "this unknown\n    q  model.mo:2\n  stands in no equation" in message
