"""Written steps keep the rules of production code, on every kind of model; their description for calibration tools."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest
from support_tools import tool
from test_runtime_c import compiler
from typer.testing import CliRunner

import pliant
from pliant.cli import app
from pliant.errors import ArgumentError
from pliant.realtime.target.addresses import link_a2l

MODELS = {
    "delayed": """
model Delayed
  parameter Real T = 0.013;
  input Real u(start = 0);
  output Real y = delay(u, T);
  Real x(start = 1, fixed = true), w;
  discrete Real s(start = 0, fixed = true);
equation
  w = 0.5*delay(w, 0.02) + delay(x*x, 0.0004);
  der(x) = y - x + w - delay(s, 0.1);
  when sample(0, 0.04) then
    s = pre(s) + delay(x, T);
  end when;
end Delayed;
""",
    "linear": """
model Linear
  parameter Real k(unit = "N/m") = 100 "stiffness \\"k\\", 5 °";
  parameter Real v[2,2] = {{1, 2}, {3, 4}};
  input Real u(start = 0, unit = "Ohm");
  output Real y = x[1] + u + v[1,2];
  Real x[2](start = {1, 0}, each fixed = true);
  Real 'my state'(start = 1, fixed = true);
equation
  der(x[1]) = x[2];
  der(x[2]) = -k*x[1] - 5*x[2] + u;
  der('my state') = -'my state';
end Linear;
""",
    "events": """
model Events
  input Real u(start = 0);
  parameter Real limit = 0.4;
  Real x(start = 0, fixed = true), i(start = 0, fixed = true);
  discrete Real n(start = 0, fixed = true);
  Boolean on(start = false, fixed = true);
equation
  der(x) = (if on then 1 else -1)*(1 + u) - x;
  der(i) = max(x, 0.1) - abs(i) + exp(-i^2);
  on = if pre(on) then x < limit else x < -limit;
  when sample(0, 0.1) then
    n = pre(n) + 1;
  end when;
  when x > 0.3 then
    reinit(i, 0);
  end when;
end Events;
""",
    "rates": """
model Rates
  input Real u(start = 0);
  parameter Real k = 2;
  Real x(start = 0, fixed = true), y(start = 1, fixed = true);
  discrete Real a(start = 0, fixed = true), b(start = 0, fixed = true), c(start = 0, fixed = true);
  Boolean high(start = false, fixed = true);
equation
  der(x) = a - x + u;
  der(y) = -30*(y - b) + c;
  when sample(0, 0.04) then
    a = k*(b - x) + pre(a)/2;
  end when;
  when sample(0.02, 0.2) then
    b = pre(b) + 0.1*(1 - y) - 0.01*pre(a);
  end when;
  when {high, y > 2} then
    c = pre(c) + 1;
  end when;
  high = x > 0.5;
end Rates;
""",
    "loop": """
model Loop
  Real x(start = 1, fixed = true), a(start = 0.5), b(start = 0.5);
equation
  der(x) = -a;
  a + b^3 = x;
  a - 2*b = sin(time) - tanh(b);
end Loop;
""",
}
OPTIONS: dict[str, dict[str, object]] = {
    "double": {},
    "float": {"precision": "float"},
    "fallback": {"monitor": "fallback"},
    "plain": {"monitor": "off"},
}
PAIRS = [("linear", "double"), ("linear", "float"), ("events", "fallback"), ("events", "float"), ("loop", "double")]
PAIRS += [
    ("delayed", "float"),
    ("loop", "plain"),
    ("events", "order2"),
    ("rates", "float"),
    ("rates", "fallback"),
    ("delayed", "fallback"),
]


@cache
def plan_of(model: str, kind: str) -> pliant.Plan:
    order = 2 if kind == "order2" else 1
    options = OPTIONS.get(kind, {})
    return pliant.load(MODELS[model]).realtime(step=0.02, stop=1.0, accuracy=None, order=order, options=options)


@pytest.fixture(params=PAIRS, ids="-".join)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return plan_of(*request.param).write(tmp_path / "code")


def test_cppcheck_finds_nothing(folder: Path) -> None:
    words = [tool("cppcheck"), "--enable=warning,portability,performance", "--std=c99", "--error-exitcode=1", "-q"]
    ran = subprocess.run([*words, str(folder)], check=False, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_gcc_finds_nothing(folder: Path) -> None:
    words = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Wsign-conversion", "-Wshadow", "-Werror", "-c"]
    for file in folder.glob("*.c"):
        ran = subprocess.run(
            [tool("gcc"), *words, file.name, "-o", f"{file.stem}.o"],
            check=False,
            capture_output=True,
            text=True,
            cwd=folder,
        )
        assert ran.returncode == 0, ran.stderr[:3000]


def test_text_for_the_target(folder: Path) -> None:
    """No assembler, no union, no allocation, no jump, nothing that is not used."""
    name = next(file.stem for file in folder.glob("*.a2l"))
    text = re.sub(r"/\*.*?\*/", "", (folder / f"{name}.c").read_text(), flags=re.DOTALL)
    for word in ("asm", "__asm__", "union", "goto", "malloc", "setjmp", "alloca"):
        assert not re.search(rf"\b{word}\b", text), word
    words = ["-std=c99", "-Wunused", "-Wunused-function", "-Wunreachable-code", "-Werror", "-c"]
    for command in filter(None, (shutil.which("clang"), tool("gcc"))):
        call = [command, *words, f"{name}.c", "-o", "x.o"]
        ran = subprocess.run(call, check=False, capture_output=True, text=True, cwd=folder)
        assert ran.returncode == 0, ran.stderr[:3000]


def test_sections_can_be_chosen(folder: Path) -> None:
    name = next(file.stem for file in folder.glob("*.a2l"))
    words = [f'-DPL_{one}=__attribute__((section(".my_{one.lower()}")))' for one in ("CONSTANTS", "CALIBRATION")]
    subprocess.run([compiler(), "-std=c99", *words, "-c", f"{name}.c", "-o", "x.o"], check=True, cwd=folder)
    seen = subprocess.run([tool("objdump"), "-h", "x.o"], check=True, capture_output=True, text=True, cwd=folder).stdout
    assert ".my_constants" in seen
    assert ".my_calibration" in seen


# ------------------------------------------------------------------------------------------------------- A2L


def values_of(text: str) -> dict[str, tuple[str, int, str]]:
    """Identifier -> (symbol, offset, address) of all blocks."""
    out = {}
    for kind, name, body in re.findall(r"/begin (MEASUREMENT|CHARACTERISTIC) (\S+) (.*?)/end \1", text, re.DOTALL):
        link = re.search(r'SYMBOL_LINK "(\w+)" (\d+)', body)
        address = re.search(r"ECU_ADDRESS (\w+)" if kind == "MEASUREMENT" else r" VALUE (\w+) ", body)
        assert link
        assert address
        out[name] = (link[1], int(link[2]), address[1])
    return out


@pytest.mark.parametrize(
    "pair", [("linear", "double"), ("linear", "float"), ("events", "fallback"), ("events", "order2")]
)
def test_addresses_are_those_of_the_variables(pair: tuple[str, str], tmp_path: Path) -> None:
    """The program itself prints where its variables are, before anything moves them."""
    plan = plan_of(*pair)
    folder = plan.write(tmp_path / "code")
    n, code = plan.code.name, plan.code
    text = (folder / f"{n}.a2l").read_text("ascii")
    found = values_of(text)
    assert len(set(found)) == len(re.findall(r"/begin (?:MEASUREMENT|CHARACTERISTIC) ", text))
    places = {f"{n}_instance.x[{k}]": name for k, name in enumerate(code.x_names)}
    places |= {f"{n}_instance.d[{k}]": name for k, name in enumerate(code.memories) if not name.startswith("$")}
    checks = "".join(
        f'printf("%s %lu\\n", "{k}", (unsigned long)((char *)&{place} - (char *)&{place.split(".")[0]}));'
        for k, place in enumerate(places)
    )
    source = f'#include "{n}.h"\n#include <stdio.h>\n{n} {n}_instance;\nint main(void) {{ {checks} return 0; }}\n'
    (folder / "where.c").write_text(source)
    subprocess.run([compiler(), "-std=c99", "where.c", "-o", "where"], check=True, cwd=folder)
    ran = subprocess.run([str(folder / "where")], check=True, capture_output=True, text=True)
    offsets = dict(zip(places.values(), (int(line.split()[1]) for line in ran.stdout.splitlines()), strict=True))
    by_name = {name: found.get(name) or found[re.sub(r"\W", "_", name).strip("_")] for name in offsets}
    assert {name: by_name[name][:2] for name in offsets} == {
        name: (f"{n}_instance", offset) for name, offset in offsets.items()
    }
    subprocess.run(["make", "-s", "all"], check=True, cwd=folder)
    target = link_a2l(folder / f"{n}.a2l", folder / "example_main", tmp_path / "linked.a2l")
    linked = values_of(target.read_text("ascii"))
    listing = subprocess.run([tool("nm"), str(folder / "example_main")], check=True, capture_output=True, text=True)
    symbols = {one.split()[2]: int(one.split()[0], 16) for one in listing.stdout.splitlines() if len(one.split()) == 3}
    assert all(int(address, 16) == symbols[symbol] + offset for symbol, offset, address in linked.values())
    assert values_of(text).keys() == linked.keys()


def test_names_units_and_descriptions(tmp_path: Path) -> None:
    text = (plan_of("linear", "double").write(tmp_path / "code") / "Linear.a2l").read_text("ascii")
    assert '/begin CHARACTERISTIC k "stiffness \\"k\\", 5 ?" VALUE 0x0 one_value 0 unit_' in text
    assert "/begin CHARACTERISTIC v[1][2] " in text
    assert "/begin MEASUREMENT my_state \"'my state'\" FLOAT64_IEEE" in text
    assert 'IDENTICAL "%.9" "N/m"' in text
    for word in ("PROJECT", "MODULE", "MEASUREMENT", "CHARACTERISTIC", "GROUP", "COMPU_METHOD", "RECORD_LAYOUT"):
        assert text.count(f"/begin {word}") == text.count(f"/end {word}") > 0


def test_calibration_reaches_the_step(tmp_path: Path) -> None:
    """What a tool writes into X_calibration is what the next start uses."""
    folder = plan_of("linear", "double").write(tmp_path / "code")
    source = """#include "Linear.h"
#include <stdio.h>
int main(void) {
    Linear_parameters *given = (Linear_parameters *)(size_t)&Linear_calibration, p;
    given->k = 250.0;
    Linear_default_parameters(&p);
    printf("%g\\n", p.k);
    return 0;
}
"""
    (folder / "tool.c").write_text(source)
    words = [compiler(), "-std=c99", '-DPL_CALIBRATION=__attribute__((section(".data")))', "tool.c", "Linear.c", "-lm"]
    subprocess.run([*words, "-o", "tool"], check=True, cwd=folder)
    ran = subprocess.run([str(folder / "tool")], check=True, capture_output=True, text=True)
    assert ran.stdout == "250\n"


def test_command_line_and_what_goes_wrong(tmp_path: Path) -> None:
    folder = plan_of("linear", "double").write(tmp_path / "code")
    subprocess.run(["make", "-s", "example_main"], check=True, cwd=folder)
    file, elf = folder / "Linear.a2l", folder / "example_main"
    ran = CliRunner().invoke(app, ["a2l", str(file), "--elf", str(elf), "-o", str(tmp_path / "x.a2l")])
    assert ran.exit_code == 0, ran.output
    assert "ECU_ADDRESS 0x0\n" not in (tmp_path / "x.a2l").read_text()
    with pytest.raises(ArgumentError, match="no symbols"):
        link_a2l(folder / "Linear.c", elf)
    (tmp_path / "one.a2l").write_text('SYMBOL_LINK "Linear_instance" 0')
    (tmp_path / "far.a2l").write_text('SYMBOL_LINK "Linear_instance" 100000')
    unlinked = folder / "Linear.o"
    for source, program, instance, what in (
        ("one.a2l", elf, "other", "has no variable other"),
        ("one.a2l", elf, "main", "has no variable main"),  # a function
        ("one.a2l", elf, "a b", "no name of a variable"),
        ("one.a2l", unlinked, None, "not linked"),
        ("far.a2l", elf, None, "bytes, an instance of the step more"),
    ):
        with pytest.raises(ArgumentError, match=what):
            link_a2l(tmp_path / source, program, tmp_path / "never.a2l", instance=instance)
    ran = CliRunner().invoke(app, ["a2l", str(file), "--elf", str(elf), "--instance", "nope"])
    assert ran.exit_code == 2
    assert not (tmp_path / "never.a2l").exists()
    with pytest.raises(pliant.CompileError, match="no little-endian ELF"):
        link_a2l(file, file)
    ran = CliRunner().invoke(app, ["a2l", str(tmp_path / "none.a2l"), "--elf", str(elf)])
    assert ran.exit_code == 2
