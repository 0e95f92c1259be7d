"""Names of C, of POSIX and of our own texts in every role that a model has for a name.

A case is a model with some 200 names, each in another role; the next case gives every name the next role, and so on.
What each role computes has a closed solution. Every fifth case is written as real-time code, compiled without warnings
beside all headers of C and POSIX, and run by its own self-test.
"""

from __future__ import annotations

import random
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from support_names import pool
from support_tools import present

import pliant
from families import RIGHT, WRONG, Family, Outcome
from pliant.codegen.names import plain

STOP = 1.0
BLOCKS = 5  # copies of every role in one model
N_NAMES = 1000
Solution = Callable[[np.ndarray], np.ndarray]

HEADERS = """assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdarg stdbool
    stddef stdint stdio stdlib string time uchar wchar wctype aio dirent dlfcn fcntl grp netdb netinet/in netinet/tcp
    poll pthread pwd regex sched search semaphore spawn strings sys/mman sys/resource sys/select sys/socket
    sys/stat sys/time sys/wait syslog termios unistd"""

# words of Modelica: as names they are quoted
MODELICA = """algorithm and annotation block break class connect connector constant constrainedby der discrete each else
    elseif elsewhen encapsulated end enumeration equation expandable extends external false final flow for
    function if import impure in initial inner input loop model not operator or outer output package parameter
    partial protected public pure record redeclare replaceable return stream then true type when while within Real
    Integer Boolean String time sin cos exp abs sample pre sqrt max min floor ceil div mod rem integer sign edge
    change reinit terminate assert initial terminal noEvent smooth homotopy delay size ndims scalar vector matrix
    transpose fill zeros ones identity diagonal linspace sum product outerProduct symmetric cross skew cat array
    log log10 tan asin acos atan atan2 sinh cosh tanh semiLinear cardinality spatialDistribution getInstanceName
    actualStream inStream rooted Clock hold previous interval shiftSample backSample superSample subSample noClock
    firstTick activeState ticksInState timeInState transition initialState StateSelect AssertionLevel
    ExternalObject print"""
ODD = (
    "'a*/b'", "'/*'", "'a b'", "'a_b'", "a_b", "A_b", "'a[1]'", "a_1", "'??/'", "'//'", "'%s%n'", "'\\\"'",
    "'\\\\'", "'\\n'", "'1'", "'@N@'", "'@VALUE@'", "'$when1'", "'der(x)'", "'pre(x)'", "x" * 64, "x" * 63 + "y",
    "x" * 63 + "z", "L" * 1000, "L" * 999 + "M", "'#define x'", "'{'", "'}'", "';'", "_", "__", "_x",
    "x_", "'x'", "x", "X",
)  # fmt: skip


class Model:
    """A text that grows by roles, and the solution of what they declare."""

    def __init__(self, names: Sequence[str], rng: random.Random) -> None:
        self.rng = rng
        self.names: Iterator[str] = iter(names)
        self.classes: list[str] = []
        self.declared: list[str] = []
        self.start: list[str] = []
        self.equations: list[str] = []
        self.solution: dict[str, Solution] = {}
        self.inputs: dict[str, float] = {}
        self.parameters: dict[str, float] = {}

    def name(self) -> str:
        return next(self.names)

    def unquoted(self) -> str:
        """A name for a function: the front end takes quoted ones for operators."""
        name = self.name()
        return name if name[0] != "'" else f"f{len(self.classes)}{plain(name)}"

    def number(self) -> float:
        return round(self.rng.uniform(0.3, 2.0), 3)

    def text(self, name: str) -> str:
        lines = [*self.classes, *self.declared, "initial equation", *self.start, "equation", *self.equations]
        return f"model {name}\n  " + "\n  ".join(lines) + f"\nend {name};\n"

    def expect(self, name: str, solution: Solution) -> None:
        self.solution[name] = solution


def state(m: Model) -> None:
    x, a, c = m.name(), m.number(), m.number()
    m.declared.append(f"Real {x}(start = {a}, fixed = true);")
    m.equations.append(f"der({x}) = -{c}*{x};")
    m.expect(x, lambda t: a * np.exp(-c * t))
    m.expect(f"der({x})", lambda t: -c * a * np.exp(-c * t))


def algebraic(m: Model) -> None:
    y, z, a = m.name(), m.name(), m.number()
    m.declared.append(f"Real {y}; output Real {z};")
    m.equations.append(f"{y} = {a}*sin(time); {z} = {y}^2 + {a};")
    m.expect(y, lambda t: a * np.sin(t))
    m.expect(z, lambda t: a**2 * np.sin(t) ** 2 + a)


def linear_loop(m: Model) -> None:
    x, y, a = m.name(), m.name(), m.number()
    m.declared.append(f"Real {x}, {y};")
    m.equations.append(f"{x} + {a}*{y} = cos(time); {a}*{x} - {y} = 1;")
    m.expect(x, lambda t: (np.cos(t) + a) / (1 + a**2))
    m.expect(y, lambda t: (a * np.cos(t) - 1) / (1 + a**2))


def nonlinear_loop(m: Model) -> None:
    x, y, a = m.name(), m.name(), m.number()
    m.declared.append(f"Real {x}(start = {a}), {y};")
    m.equations.append(f"{x}^3 + {y} = ({a} + sin(time))^3 + {a} + sin(time); {y} = {x} + 0*{x}^2;")
    m.expect(x, lambda t: a + np.sin(t))
    m.expect(y, lambda t: a + np.sin(t))


def state_set(m: Model) -> None:
    """A point on a circle: which coordinate is the state changes on the way."""
    x, y, vx, vy, force = (m.name() for _ in range(5))
    m.declared.append(
        f"Real {x}(start = 1, fixed = true), {y}(start = 0), {vx}, {vy}(start = 3, fixed = true), {force};"
    )
    m.equations.append(f"der({x}) = {vx}; der({y}) = {vy}; der({vx}) = -{force}*{x}; der({vy}) = -{force}*{y};")
    m.equations.append(f"{x}^2 + {y}^2 = 1;")
    m.expect(x, lambda t: np.cos(3 * t))
    m.expect(y, lambda t: np.sin(3 * t))
    m.expect(force, lambda t: 9 + 0 * t)


def parameters(m: Model) -> None:
    p, q, k, y, a, b = m.name(), m.name(), m.name(), m.name(), m.number(), m.number()
    m.declared.append(f"parameter Real {p} = 1; parameter Real {q} = 2*{p}; constant Real {k} = {b}; Real {y};")
    m.equations.append(f"{y} = {p}*time + {q} + {k};")
    m.parameters[p] = a
    m.expect(y, lambda t: a * t + 2 * a + b)


def free_parameter(m: Model) -> None:
    p, x, a = m.name(), m.name(), m.number()
    m.declared.append(f"parameter Real {p}(start = 1, fixed = false); Real {x}(start = 1, fixed = true);")
    m.start.append(f"{p}*{x} = {a};")
    m.equations.append(f"der({x}) = {p};")
    m.expect(x, lambda t: 1 + a * t)


def driven(m: Model) -> None:
    u, y, a = m.name(), m.name(), m.number()
    m.declared.append(f"input Real {u}(start = 0); output Real {y};")
    m.equations.append(f"{y} = {u}*time + {u};")
    m.inputs[u] = a
    m.expect(y, lambda t: a * t + a)


def sampled(m: Model) -> None:
    d, n, b, y, a = m.name(), m.name(), m.name(), m.name(), m.number()
    m.declared.append(f"discrete Real {d}(start = 0, fixed = true); Integer {n}(start = 0, fixed = true);")
    m.declared.append(f"Boolean {b}(start = false, fixed = true); Real {y};")
    m.equations.append(
        f"when sample(0.25, 0.5) then {d} = pre({d}) + {a}; {n} = pre({n}) + 2; {b} = not pre({b}); end when;"
    )
    m.equations.append(f"{y} = {d} + {n} + (if {b} then 1 else 0);")

    def ticks(t: np.ndarray) -> np.ndarray:
        return (t >= 0.25).astype(float) + (t >= 0.75)

    m.expect(d, lambda t: a * ticks(t))
    m.expect(n, lambda t: 2 * ticks(t))
    m.expect(b, lambda t: ticks(t) % 2)
    m.expect(y, lambda t: (a + 2) * ticks(t) + ticks(t) % 2)


def switching(m: Model) -> None:
    b, y, d = m.name(), m.name(), m.name()
    m.declared.append(f"Boolean {b}; Real {y}; discrete Real {d}(start = 1, fixed = true);")
    m.equations.append(f"{b} = time > 0.4; {y} = if {b} then 2 else 1;")
    m.equations.append(f"when {b} then {d} = 3*pre({d}); end when;")
    m.expect(y, lambda t: 1.0 + (t > 0.4))
    m.expect(d, lambda t: 1.0 + 2.0 * (t > 0.4))


def function(m: Model) -> None:
    f, u, v, out, local, i, y, a = (m.unquoted(), *(m.name() for _ in range(6)), m.number())
    m.classes.append(
        f"function {f} input Real {u}; input Real {v}; output Real {out}; protected Real {local}; algorithm "
        f"{local} := {u}*{v}; {out} := 0; for {i} in 1:3 loop {out} := {out} + {i}*{local}; end for; end {f};"
    )
    m.declared.append(f"Real {y};")
    m.equations.append(f"{y} = {f}(time, {v} = {a});")
    m.expect(y, lambda t: 6 * a * t)


def record(m: Model) -> None:
    kind, first, second, y, a = m.name(), m.name(), m.name(), m.name(), m.number()
    m.classes.append(f"record {kind} Real {first}; Real {second}; end {kind};")
    m.declared.append(f"{kind} {y};")
    m.equations.append(f"{y}.{first} = {a}*time; {y}.{second} = {y}.{first}^2;")
    m.expect(f"{y}.{first}", lambda t: a * t)
    m.expect(f"{y}.{second}", lambda t: a**2 * t**2)


def array(m: Model) -> None:
    y, n, i = m.name(), m.name(), m.name()
    m.declared.append(f"parameter Integer {n} = 3; Real {y}[{n}](each start = 1, each fixed = true);")
    m.equations.append(f"for {i} in 1:{n} loop der({y}[{i}]) = -{i}*{y}[{i}]; end for;")
    for k in range(1, 4):
        m.expect(f"{y}[{k}]", lambda t, k=k: np.exp(-k * t))


def component(m: Model) -> None:
    kind, connector, port, effort, flow, own, one, two, a = (*(m.name() for _ in range(8)), m.number())
    m.classes.append(f"connector {connector} Real {effort}; flow Real {flow}; end {connector};")
    m.classes.append(
        f"model {kind} parameter Real {own} = 1; {connector} {port}; equation "
        f"{port}.{effort} - {own}*time = 2*{port}.{flow}; end {kind};"
    )
    m.declared.append(f"{kind} {one}; {kind} {two}({own} = {a});")
    m.equations.append(f"connect({one}.{port}, {two}.{port});")
    m.expect(f"{one}.{port}.{effort}", lambda t: (1 + a) / 2 * t)
    m.expect(f"{one}.{port}.{flow}", lambda t: (a - 1) / 4 * t)


def enumeration(m: Model) -> None:
    kind, first, second, now, y = (m.name() for _ in range(5))
    m.classes.append(f"type {kind} = enumeration({first}, {second});")
    m.declared.append(f"{kind} {now}; Real {y};")
    m.equations.append(f"{now} = if time > 0.6 then {kind}.{second} else {kind}.{first};")
    m.equations.append(f"{y} = if {now} == {kind}.{second} then 5 else 4;")
    m.expect(y, lambda t: 4.0 + (t > 0.6))


ROLES = (
    state, algebraic, linear_loop, nonlinear_loop, state_set, parameters, free_parameter, driven, sampled, switching,
    function, record, array, component, enumeration,
)  # fmt: skip
REALTIME = (
    state,
    algebraic,
    linear_loop,
    nonlinear_loop,
    parameters,
    driven,
    sampled,
    switching,
    function,
    record,
    array,
)


@cache
def _slots(roles: tuple[Callable[[Model], None], ...]) -> int:
    """Names that one copy of all roles takes."""
    taken = 0

    def count() -> Iterator[str]:
        nonlocal taken
        while True:
            taken += 1
            yield f"x{taken}"

    probe = Model([], random.Random(0))
    probe.names = count()
    for role in roles:
        role(probe)
    return taken


def quoted(word: str) -> str:
    """The word as a name of Modelica."""
    return f"'{word}'" if word in MODELICA.split() else word


def names_of(seed: int) -> list[str]:
    """A name for the model and names for all else; the cases of a batch have the same names, each one role further."""
    n_roles = _slots(ROLES)
    batch, turn = divmod(seed, n_roles)
    rng = random.Random(batch)
    wanted = BLOCKS * n_roles
    names = list(dict.fromkeys([*rng.sample(ODD, 12), *map(quoted, rng.sample(pool(), wanted))]))[:wanted]
    rng.shuffle(names)
    others = [word for word in pool() if word not in names and quoted(word) == word]  # no quoted name, as of functions
    return [random.Random(seed).choice(others), *names[turn:], *names[:turn]]


def build(seed: int, roles: Sequence[Callable[[Model], None]]) -> tuple[str, Model]:
    """Text and solution of a case."""
    names = names_of(seed)
    model = Model(names[1:], random.Random(seed))
    for _ in range(BLOCKS):
        for role in roles:
            role(model)
    return model.text(names[0]), model


def differences(model: Model, result: pliant.Result, t: np.ndarray, tolerance: float) -> list[str]:
    """Names whose values are not the solution's; times of events, where both sides are right, left out."""
    steady = np.all([np.abs(t - at) > 1e-6 for at in (0.25, 0.4, 0.6, 0.75)], axis=0)
    wrong = []
    for name, solution in model.solution.items():
        error = np.abs(np.asarray(result[name], dtype=float) - solution(t))[steady]
        if not error.max() <= tolerance * (1.0 + np.abs(solution(t)).max()):
            wrong.append(f"{name[:40]} is wrong by {error.max():.2g}")
    return wrong


def simulated(seed: int) -> list[str]:
    """One model, loaded, simulated and compared."""
    text, model = build(seed, ROLES)
    form = ("auto", "dae")[seed % 2]
    loaded = pliant.load(text, options={"form": form})
    result = loaded.simulate(stop=STOP, points=101, rtol=1e-8, inputs=model.inputs, parameters=model.parameters)
    return differences(model, result, np.asarray(result.time), 1e-5)


def written(seed: int) -> list[str]:
    """One model, written as real-time code; every header that a program may include comes before its own."""
    text, model = build(seed, REALTIME)
    loaded = pliant.load(text)
    scenario = {"inputs": model.inputs, "parameters": model.parameters}
    options = {"monitor": ("flag", "fallback", "off")[seed % 3], "reference": False}
    plan = loaded.realtime(step=1e-2, stop=STOP, order=1 + seed % 2, scenarios=[scenario], options=options)
    with tempfile.TemporaryDirectory() as place:
        folder = plan.write(Path(place) / "code")
        flags = "CFLAGS=-O1 -Wall -Wextra -Werror -pedantic"
        done = subprocess.run(["make", "-C", folder, flags, "all", "test"], capture_output=True, text=True, check=False)
        if done.returncode:
            return [(done.stderr + done.stdout)[:2000]]
        return _beside_headers(folder, plan.code.name)


def _beside_headers(folder: Path, name: str) -> list[str]:
    """The header after all others, in C and in C++; the example, too."""
    lines = [f"#if __has_include(<{header}.h>)\n#include <{header}.h>\n#endif" for header in HEADERS.split()]
    example = (folder / "example_main.c").read_text() if (folder / "example_main.c").is_file() else ""
    for compiler, standard, flags, suffix in (
        ("gcc", "c99", ["-D_XOPEN_SOURCE=700"], "c"),
        ("gcc", "gnu2x", ["-D_GNU_SOURCE"], "c"),
        ("g++", "gnu++17", ["-D_GNU_SOURCE"], "cpp"),
    ):
        if compiler not in present("gcc", "g++"):
            continue
        body = example if suffix == "c" else f'#include "{name}.h"\nint main() {{ return (int){name}_state_size(); }}\n'
        path = folder / f"all_headers.{suffix}"
        path.write_text("\n".join([*lines, body]))
        command = [compiler, f"-std={standard}", *flags, "-w", "-fsyntax-only", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            return [f"{compiler} {standard}: {done.stderr[:1500]}"]
    return []


def check(seed: int) -> Outcome:
    """A case; every fifth also as real-time code."""
    wrong = simulated(seed)
    if not wrong and seed % 5 == 0:
        wrong = written(seed)
    return Outcome(seed, WRONG if wrong else RIGHT, "; ".join(wrong))


FAMILY = Family(
    name="names",
    what=f"{N_NAMES} names of C, POSIX and pliant's own texts in every role",
    goal="all compile and compute what they should",
    count=-(-N_NAMES // (BLOCKS * _slots(ROLES))) * _slots(ROLES),
    part=1,
    check=check,
)
