"""Written folders against plan.simulate: the same numbers from every compiler.

Random models (linear and not, loops, sampled equations, when-clauses, reinit, initial()) in both precisions and
orders, both forms and styles, with every kind of monitor. The folder is built by its own Makefile with gcc and clang,
-O0 and -O2, and run by a program that knows the header only, from starts and with inputs (jumps at ends of steps among
them) and parameters that the plan has not seen; outputs, through loops and not, are read after every step. Asked: bit
for bit, where functions of libm or another start of an iteration are involved 1e-12 of the range in double. In addition
the folder's self-test must pass.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from support_tools import present

import pliant
import pliant.realtime.stages.step
from families import RIGHT, WRONG, Family, Outcome, all_right
from pliant.realtime.code.types import StepperOptions
from pliant.realtime.scenario import StepInputs, make_scenarios
from pliant.realtime.sparsing.linearise import Walker

COMPILERS = present("gcc", "clang")
STEPS = (0.01, 0.02, 0.003)
Array = NDArray[np.float64]

PROGRAM = r"""
#include "@N@.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double *numbers(FILE *file, size_t n) {
    double *out = malloc((n + 1) * sizeof *out);
    if (!out || fread(out, sizeof *out, n, file) != n) exit(3);
    return out;
}

static @N@_inputs inputs(const double *row, size_t n) {
    @N@_inputs u;
    memset(&u, 0, sizeof u);
    for (size_t j = 0; j < n; j++) ((@N@_real *)&u)[j] = (@N@_real)row[j];
    return u;
}

static void put(const @N@ *m, const @N@_inputs *u, FILE *file) {
    for (size_t i = 0; i < sizeof m->x / sizeof m->x[0]; i++) {
        const double value = (double)m->x[i];
        fwrite(&value, sizeof value, 1, file);
    }
#if HAS_D
    for (size_t i = 0; i < sizeof m->d / sizeof m->d[0]; i++) {
        const double value = (double)m->d[i];
        fwrite(&value, sizeof value, 1, file);
    }
#endif
    @N@_outputs y;
    @N@_get_outputs(m, u, &y);
    for (size_t i = 0; i < sizeof y / sizeof(@N@_real); i++) {
        const double value = (double)((const @N@_real *)&y)[i];
        fwrite(&value, sizeof value, 1, file);
    }
}

int main(int argc, char **argv) {
    static @N@ m;
    @N@_parameters p;
    @N@_real x[@NX@];
    if (argc != 3) return 2;
    FILE *in = fopen(argv[1], "rb"), *out = fopen(argv[2], "wb");
    if (!in || !out) return 2;
    const double *size = numbers(in, 5); /* steps, inputs, parameters, another x?, guarded? */
    const size_t n = (size_t)size[0], n_u = (size_t)size[1], n_p = (size_t)size[2];
    const double *given = numbers(in, n_p), *first = numbers(in, @NX@), *start = numbers(in, n_u);
    const double *before = numbers(in, n * n_u), *after = numbers(in, n * n_u);
    @N@_default_parameters(&p);
    for (size_t k = 0; k < n_p; k++) ((@N@_real *)&p)[k] = (@N@_real)given[k];
    for (size_t i = 0; i < @NX@; i++) x[i] = (@N@_real)first[i];
    const @N@_inputs u0 = inputs(start, n_u);
    if (size[3] != 0 ? @N@_init_at(&m, &p, &u0, x) : @N@_init(&m, &p, &u0)) return 4;
    put(&m, &u0, out);
    for (size_t k = 0; k < n; k++) {
        const @N@_inputs u = inputs(before + k * n_u, n_u), v = inputs(after + k * n_u, n_u);
#if HAS_GUARDED
        if (size[4] != 0)
            (void)@N@_step_guarded_jump(&m, &u, &v);
        else
#endif
        if (memcmp(&u, &v, sizeof u) == 0)
            @N@_step(&m, &u);
        else
            @N@_step_jump(&m, &u, &v);
        put(&m, &v, out);
    }
    return fclose(out) != 0;
}
"""


@dataclass
class Random:
    """A random model: its text, and what it is made of."""

    step: float
    n_states: int
    declared: list[str] = field(default_factory=list)
    equations: list[str] = field(default_factory=list)
    discrete: list[str] = field(default_factory=list)
    uses_libm: bool = False
    iterates: bool = False  # loops whose unknowns begin somewhere

    @property
    def text(self) -> str:
        """Modelica."""
        return "\n".join(["model Random", *self.declared, "equation", *self.equations, "end Random;"])


def _linear(r: np.random.Generator, one: Random) -> list[str]:
    """Right sides of a stable linear system with inputs, as sums."""
    n = one.n_states
    A = np.round(r.uniform(-1, 1, (n, n)) * (r.random((n, n)) < 0.6), 3)
    A -= np.diag(np.round(np.abs(A).sum(axis=1) + r.uniform(0.1, 8, n), 3))
    out = []
    for i in range(n):
        terms = [f"({float(A[i, j])!r})*x{j}" for j in range(n) if A[i, j]]
        out.append(" + ".join([*terms, f"({round(float(r.uniform(-1, 1)), 3)})*u{int(r.integers(2))}"]))
    return out


def _continuous(r: np.random.Generator, one: Random, right: list[str]) -> None:
    """Nonlinear terms and loops."""
    n = one.n_states

    def x() -> str:
        return f"x{int(r.integers(n))}"

    def add(term: str) -> None:
        right[int(r.integers(n))] += f" + {term}"

    if r.random() < 0.5:
        a = x()
        add(f"p0*{a}*abs({a})*(-0.1)")
    if r.random() < 0.4:
        add(f"0.2*{x()}*{x()}/(1 + {x()}^2)")
    if r.random() < 0.4:
        add(f"(if {x()} > 0.1 then 0.3*u0 else -0.2)")
    if r.random() < 0.4:
        add("0.05*time")
    if r.random() < 0.4:
        one.uses_libm = True
        add(str(r.choice(["0.1*sin(30*time)", "0.1*cos(20*time + p1)", "exp(-0.5*time)", f"0.1*tanh({x()} + u1)"])))
    if r.random() < 0.4:
        one.declared += ["  Real a;", "  Real b;"]
        one.equations += [f"  a + p0*b = {x()} + u0;", f"  3*a - (1 + {x()}^2)*b = {x()};"]
        one.iterates = True  # its unknowns are part of x in the form dae
        add("0.2*a")
    if r.random() < 0.4:
        one.declared.append("  Real z(start = 0.1);")
        one.equations.append(f"  z + 0.2*z^3 = {x()} + 0.5*u1;")
        one.iterates = True
        add("0.3*z")


def _hybrid(r: np.random.Generator, one: Random, right: list[str]) -> None:
    """Sampled equations and when-clauses."""
    n = one.n_states
    for k in range(int(r.integers(0, 3))):
        first, period = (repr(round(int(r.integers(low, 5)) * one.step, 9)) for low in (0, 1))
        one.discrete.append(f"d{k}")
        one.declared.append(f"  discrete Real d{k}(start = {round(float(r.uniform(-1, 1)), 3)}, fixed = true);")
        value = f"0.5*pre(d{k}) + 0.3*u{k} + p1*x{int(r.integers(n))}"
        one.equations.append(f"  when sample({first}, {period}) then d{k} = {value}; end when;")
        right[int(r.integers(n))] += f" + 0.4*d{k}"
    if r.random() < 0.4:
        one.discrete.append("n")
        one.declared.append("  discrete Real n(start = 0, fixed = true);")
        one.equations.append(
            f"  when u0 > 0.2 then n = pre(n) + 1; reinit(x{n - 1}, 0.5*pre(x{n - 1}) + 0.1); end when;"
        )
    if r.random() < 0.3:
        one.discrete.append("first")
        one.declared.append("  discrete Real first(start = 0, fixed = true);")
        one.equations.append(f"  when {{initial(), x0 > 0.3}} then first = u1 + x{n - 1}; end when;")
        right[0] += " + 0.1*first"


def make(seed: int) -> tuple[Random, np.random.Generator]:
    """A random model."""
    r = np.random.default_rng(seed)
    one = Random(float(r.choice(STEPS)), int(r.integers(1, 6)))
    one.declared += [
        "  input Real u0(start = 0.25);",
        "  input Real u1(start = -0.5);",
        "  parameter Real p0 = 0.7;",
        "  parameter Real p1 = 0.3;",
        *(f"  Real x{i}(start = {round(float(r.uniform(-1, 1)), 3)}, fixed = true);" for i in range(one.n_states)),
    ]
    right = _linear(r, one)
    _continuous(r, one, right)
    _hybrid(r, one, right)
    one.equations += [f"  der(x{i}) = {e};" for i, e in enumerate(right)]
    loops = "".join(f" + {name}" for name in ("a", "z") if any(f" {name}" in line for line in one.declared))
    one.declared.append("  output Real y;")
    one.equations.append(f"  y = x{int(r.integers(one.n_states))} - 0.3*u1{loops};")
    return one, r


def signal(r: np.random.Generator, step: float, n: int) -> tuple[list[float], list[float]]:
    """A table with slopes and jumps, some of them at ends of steps."""
    times, values = [0.0], [float(r.uniform(-1, 1))]
    for k in sorted(r.choice(np.arange(1, n), int(r.integers(1, 5)), replace=False).tolist()):
        t = float(k * step) if r.random() < 0.7 else float((k + r.uniform(-0.4, 0.4)) * step)
        before = values[-1] if r.random() < 0.5 else float(r.uniform(-1, 1))
        times += [t, t]
        values += [before, float(r.uniform(-1, 1))]
    return [*times, n * step], [*values, values[-1]]


@dataclass
class Run:
    """What plan.simulate and the program are given."""

    n: int
    inputs: dict[str, Any]
    parameters: dict[str, float]
    start_values: dict[str, float]
    kind: str


def steps_of(plan: pliant.Plan, run: Run) -> StepInputs:
    """Inputs as the steps get them."""
    scenario = make_scenarios({"inputs": run.inputs, "parameters": run.parameters}, run.n * plan.step)[0]
    walker = Walker(plan.outcome.model, plan.step)
    walker.begin(scenario)
    return walker.inputs


def programs(plan: pliant.Plan, folder: Path) -> dict[str, Path]:
    """The folder built by its own Makefile in every way, each with the program around it."""
    code = plan.code
    name = code.name
    words = {"@N@": name, "@NX@": str(code.n_x)}
    text = PROGRAM
    for old, new in words.items():
        text = text.replace(old, new)
    head = f"#define HAS_D {int(bool(code.memories))}\n#define HAS_GUARDED {int(code.options.fallback)}\n"
    (folder / "around.c").write_text(head + text)
    _run([COMPILERS[0], "-c", "-std=c99", "-o", str(folder / "around.o"), str(folder / "around.c")])
    found = {}
    for compiler in COMPILERS:
        for level in ("-O0", "-O2"):
            make = ["make", "-B", "-C", str(folder), f"{name}.o", f"CC={compiler}", f"CFLAGS={level} -Wall -Werror"]
            _run(make)
            out = folder / f"around_{compiler}{level}"
            _run([compiler, "-o", str(out), str(folder / "around.o"), str(folder / f"{name}.o"), "-lm"])
            found[f"{compiler} {level}"] = out
    done = _run(["make", "-C", str(folder), "test", f"CC={COMPILERS[-1]}"])
    assert "all checks passed" in done, done
    return found


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stdout[-800:]}{done.stderr[-800:]}")
    return done.stdout


def by_program(program: Path, plan: pliant.Plan, run: Run, steps: StepInputs) -> dict[str, Array]:
    """States and discrete variables after the start and after each step."""
    code = plan.code
    p = [run.parameters.get(name, code.start.parameters[name]) for name in code.p_names]
    x = [run.start_values.get(name, code.start.x[i]) for i, name in enumerate(code.x_names)]
    size = [run.n, len(code.u_names), len(p), bool(run.start_values), run.kind == "guarded"]
    parts = [size, p, x, steps.start, steps.before.ravel(), steps.after.ravel()]
    with tempfile.TemporaryDirectory() as place:
        given, out = Path(place) / "in", Path(place) / "out"
        np.concatenate([np.asarray(one, dtype=float) for one in parts]).tofile(given)
        _run([str(program), str(given), str(out)])
        rows = np.fromfile(out).reshape(run.n + 1, -1)
    return {name: rows[:, k] for k, name in enumerate((*code.x_names, *code.memories, *code.y_names))}


def planned(one: Random, r: np.random.Generator) -> tuple[pliant.Plan, dict[str, Any]]:
    """A plan with random options, of scenarios that the runs below do not see again."""
    n = int(r.integers(30, 80))
    options = {
        "precision": str(r.choice(["double", "double", "float"])),
        "monitor": str(r.choice(["flag", "fallback", "off"])),
        "form": str(r.choice(["ode", "dae"])),
        "reference": False,
        "certificate": False,
    }
    scenario = {"inputs": {f"u{k}": signal(r, one.step, n) for k in range(2)}}
    style = str(r.choice(["straight-line", "tables"]))
    model = pliant.load(one.text, options={"form": options["form"]})

    def styled(**given: Any) -> StepperOptions:
        return StepperOptions(**given, style=style)

    with patch.object(pliant.realtime.stages.step, "StepperOptions", styled):
        plan = model.realtime(
            step=one.step, stop=n * one.step, order=int(r.integers(1, 3)), scenarios=[scenario], options=options
        )
        assert plan.code.style == style
    return plan, options | {"style": style, "order": plan.code.options.order}


def check(seed: int) -> Outcome:
    """One folder, four builds, three runs."""
    one, r = make(seed)
    plan, options = planned(one, r)
    with tempfile.TemporaryDirectory() as place:
        builds = programs(plan, plan.write(Path(place) / "folder"))
        for what in ("inputs", "parameters", "states"):
            n = int(r.integers(20, 100))
            run = Run(n, {f"u{k}": signal(r, one.step, n) for k in range(2)}, {}, {}, "")
            if what == "parameters":
                run.parameters = {
                    "p0": float(np.float32(r.uniform(0.3, 1.2))),
                    "p1": float(np.float32(r.uniform(0, 1))),
                }
            if what == "states":
                run.start_values = {f"x{i}": float(np.float32(r.uniform(-1, 1))) for i in range(one.n_states)}
            if options["monitor"] == "fallback" and r.random() < 0.5:
                run.kind = "guarded"
            wrong = compare(one, plan, run, builds, what)
            if wrong:
                return Outcome(seed, WRONG, f"{wrong}; {options}")
    return Outcome(seed, RIGHT)


def compare(one: Random, plan: pliant.Plan, run: Run, builds: dict[str, Path], what: str) -> str:
    """What differs, or nothing."""
    result = plan.simulate(
        stop=run.n * one.step,
        inputs=run.inputs,
        parameters=run.parameters,
        start_values=run.start_values,
        kind=run.kind,
    )
    names = [*(f"x{i}" for i in range(one.n_states)), *one.discrete, "y"]
    exact = not one.uses_libm and not (one.iterates and what == "states")
    share = 0.0 if exact else 1e-12 if plan.code.precision == "double" else 1e-5
    steps = steps_of(plan, run)
    for build, program in builds.items():
        found = by_program(program, plan, run, steps)
        for name in names:
            room = share * max(float(np.ptp(result[name])), 1e-3 * float(np.abs(result[name]).max()))
            away = np.abs(found[name] - result[name])
            if not (away <= room).all():
                k = int(np.argmax(~(away <= room)))
                return f"{what}, {build}: {name} after step {k} is {found[name][k]!r}, not {result[name][k]!r}"
    return ""


def judge(outcomes: Sequence[Outcome]) -> tuple[str, bool]:
    """Every case right; with which compilers."""
    text, met = all_right(outcomes)
    return f"{text} with {' and '.join(COMPILERS)}", met


FAMILY = Family(
    name="code_folder",
    what="written folders, built by their own Makefile with gcc and clang at -O0 and -O2, against plan.simulate",
    goal="bit for bit in double without libm functions, else 1e-12 of range",
    count=100,
    part=1,
    check=check,
    judge=judge,
)
