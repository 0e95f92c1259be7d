"""The rows of FIGURES.md about Jacobians by differences, their colours, and explanations.

python benchmarks/increments_figures.py            all of them, one to two minutes
python benchmarks/increments_figures.py --quick    fewer systems and tolerances, for a look

Error of an entry of a difference Jacobian: e_ij = |J_ij - R_ij| s_j / max_k |R_ik| s_k, R the exact one, s the sizes of
the states. Colours are those of the C runtime; no colouring needs fewer than the longest row has entries, so reaching
that proves a colouring optimal. Systems and patterns at random have fixed seeds.
"""

from __future__ import annotations

import argparse
import ctypes
import itertools
import math
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import increments as study
import numpy as np
import scipy.sparse as sp
from increments import CASES, METHODS, NOMINALS, ROOT, load, progress
from problems import problem
from stiff_vdp import SPREAD

import pliant
from pliant.solve.binding import runtime
from pliant.solve.binding.colouring import colour

Row = tuple[str, str, str, bool, str]
COMMAND = "python benchmarks/increments_figures.py"
MOST_STEPS, MOST_RATIO, MOST_ROBOT, MOST_SECONDS = 150, 1.15, 24, 2.0
TOLERANCES = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
PAIRS = ((1e-9, 1e-3, 1e-2), (1e-6, 1e-6, 1e-3))  # rtol, atol, largest error
WITHIN, WORST, SHARE = 1e-6, 1e-3, 0.99
DIFFERENCES = {"jacobian": "differences"}


# -- the stiff oscillator -----------------------------------------------------------------------------------------


def oscillator_in_c(nominal: float) -> pliant.Model:
    """Van der Pol's oscillator as C without derivatives and with the given nominal values."""
    file = problem("vdpol_stiff").c_file
    assert file is not None
    text = file.read_text("utf-8")
    before = ("x_nominal[N] = {1.0, 1.0}", ".jac_value = jac_value,")
    assert all(text.count(part) == 1 for part in before)
    text = text.replace(before[0], f"x_nominal[N] = {{{nominal!r}, {nominal!r}}}").replace(before[1], "")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "oscillator.c"
        copy.write_text(text.replace("static pl_status jac_value", "pl_status jac_value"), "utf-8")
        return pliant.native(copy)


def oscillator_in_python(nominal: float) -> pliant.Model:
    """The same as a Python function."""
    stiff = problem("vdpol_stiff")
    return pliant.ode(stiff.f, stiff.x0, names=["y1", "y2"], nominal=nominal)


OSCILLATORS: dict[str, Callable[[float], pliant.Model]] = {"C": oscillator_in_c, "Python": oscillator_in_python}


def oscillator_row() -> Row:
    """Steps of Radau5 on the stiff oscillator, whatever its nominal value."""
    progress("stiff Van der Pol, C and Python, nominal values 1e-3 to 1e7")
    most: dict[str, tuple[float, str]] = {}
    for kind, nominal in itertools.product(OSCILLATORS, NOMINALS):
        try:
            found = OSCILLATORS[kind](nominal).simulate(
                2e6, method="radau5", rtol=1e-9, atol=1e-3, points=2, options={"max_steps": 10_000}
            )
            assert found.stats.jacobian == "differences"
            steps, why = float(found.stats.n_steps), ""
        except pliant.SolverError as error:
            steps, why = math.inf, f": {type(error).__name__}"
        most[kind] = max(most.get(kind, (0.0, "")), (steps, f"nominal {nominal:g}{why}"))
    return (
        "stiff Van der Pol as C and as Python function without derivatives, Radau5, rtol 1e-9, atol 1e-3, "
        "nominal 1e-3 to 1e7, default increments",
        f"<= {MOST_STEPS} steps each",
        "; ".join(f"{kind}: at most {steps:g} ({where})" for kind, (steps, where) in most.items()),
        max(steps for steps, _ in most.values()) <= MOST_STEPS,
        COMMAND,
    )


def auto_row(rtol: float, atol: float, bound: float, quick: bool) -> Row:
    """The default method at 31 pairs of tolerances, C with all nominal values, Python with four of them."""
    progress(f"the same, auto, 31 pairs around rtol {rtol:g}, atol {atol:g}")
    stiff, found = problem("vdpol_stiff"), []
    chosen = {"C": NOMINALS, "Python": (1e-3, 1.0, 1e6, 1e7)}
    for kind, nominals in chosen.items():
        runs = finished = handed = 0
        worst = 0.0
        for nominal in nominals[::4] if quick else nominals:
            model = OSCILLATORS[kind](nominal)
            for s in SPREAD:
                runs += 1
                try:
                    result = model.simulate(stiff.t_end, rtol=s * rtol, atol=s * atol, points=2)
                except pliant.SolverError:
                    continue
                assert result.stats.jacobian == "differences"
                finished += 1
                handed += "radau5" in result.stats.method
                worst = max(worst, float(np.abs(result.values[-1] - stiff.reference).max()))
        found.append((kind, finished, runs, worst, handed))
    return (
        f"the same, auto, 31 pairs around rtol {rtol:g}, atol {atol:g} "
        "(C: nominal 1e-3 to 1e7, Python: 1e-3, 1, 1e6, 1e7)",
        f"all finish within {bound:g}",
        "; ".join(
            f"{kind}: {finished} of {runs} finish, largest error {worst:.1e}, {handed} handed over to Radau5"
            for kind, finished, runs, worst, handed in found
        ),
        all(finished == runs and worst <= bound for _, finished, runs, worst, _ in found),
        COMMAND,
    )


# -- the models of the study --------------------------------------------------------------------------------------


def simulate_with(name: str, method: str, rtol: float, source: str) -> pliant.Result:
    """A run at a tolerance; atol is pliant's default (rtol for Van der Pol's oscillator)."""
    atol = rtol if name == "VanDerPol" else None
    options = {"jacobian": source, "max_steps": 100_000}
    return load(name).simulate(
        CASES[name].stop, method=method, rtol=rtol, atol=atol, points=2, options=options, timeout=study.TIMEOUT
    )


def steps_with(name: str, method: str, rtol: float, source: str) -> float:
    """Its steps; inf: did not finish."""
    try:
        return simulate_with(name, method, rtol, source).stats.n_steps
    except pliant.SolverError:
        return math.inf


def step_ratios(name: str, method: str, quick: bool = False) -> dict[float, float]:
    """Steps of default differences over those with the exact Jacobian: geometric means over 9 tolerances within 2 %."""
    ratios = {}
    for rtol in TOLERANCES[::2] if quick else TOLERANCES:
        nearby = [rtol * (1.0 + 0.02 * k / 4.0) for k in ((-4, 0, 4) if quick else range(-4, 5))]
        logs = [
            np.log([steps_with(name, method, one, source) for one in nearby]) for source in ("differences", "exact")
        ]
        ratios[rtol] = float(np.exp(np.mean(logs[0]) - np.mean(logs[1])))
    return ratios


def study_pairs() -> list[tuple[str, str]]:
    """Models and methods; BDF finishes the stiff oscillator or not by chance, even with the exact Jacobian."""
    return [pair for pair in itertools.product(CASES, METHODS) if pair != ("VanDerPol", "bdf")]


def ratio_row(quick: bool) -> Row:
    """The worst of all ratios."""
    found = []
    for name, method in study_pairs():
        progress(f"default differences against the exact Jacobian: {name}, {method}")
        ratios = step_ratios(name, method, quick)
        found += [(ratio, f"{name}, {method}, rtol {rtol:.0e}") for rtol, ratio in ratios.items()]
    worst, where = max(found)
    return (
        "study models, rtol 1e-4 to 1e-8 (BDF not on Van der Pol): steps with default differences over those with the "
        "exact Jacobian, geometric means over 9 tolerances within 2 %",
        f"<= {MOST_RATIO}",
        f"worst {worst:.3f} ({where}), mean {np.exp(np.mean(np.log([ratio for ratio, _ in found]))):.3f}",
        worst <= MOST_RATIO,
        COMMAND,
    )


def evaluations_row() -> Row:
    """Evaluations of f per Jacobian against colours + 1; beside it what repairs after bad convergence cost.

    n_rhs_jac leaves out the repairs, n_rhs has them: each takes f and differences every column three times more.
    """
    progress("evaluations per Jacobian")
    above, repairs, where = [], [], []
    for (name, method), rtol in itertools.product(study_pairs(), TOLERANCES):
        stats = simulate_with(name, method, rtol, "differences").stats
        colours = load(name).jacobian(options=DIFFERENCES).colours
        above.append(stats.n_rhs_jac / stats.n_jac - colours)
        repairs.append(stats.n_rediff * (3 * colours + 1) / stats.n_jac)
        where.append(f"{name}, {method}, rtol {rtol:.0e}: {stats.n_rediff} for {stats.n_jac} Jacobians")
    worst = int(np.argmax(repairs))
    return (
        "evaluations of f per difference Jacobian, study models, rtol 1e-4 to 1e-8; repairs not counted",
        "<= colours + 1",
        f"colours + {max(above):.2f} at most, colours + {np.mean(above):.2f} on average; repairs add "
        f"{np.mean(repairs):.2f} on average, {repairs[worst]:.2f} at most ({where[worst]})",
        max(above) <= 1.0,
        COMMAND,
    )


# -- accuracy of differences on badly scaled systems --------------------------------------------------------------

FAMILIES = 8


def families(z: np.ndarray, y: np.ndarray, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, ...]:
    """Values and derivatives by z and by y of all families of terms, one row each."""
    sine, growth, bend, none = np.sin(b * z), np.exp(b * z), np.tanh(3.0 * z), np.zeros(z.shape)
    values = (z, z * z, z**3, sine, growth, z * y, z / (1.0 + z * z), bend)
    first = (
        none + 1.0,
        2.0 * z,
        3.0 * z * z,
        b * np.cos(b * z),
        b * growth,
        y,
        (1.0 - z * z) / (1.0 + z * z) ** 2,
        3.0 / np.cosh(3.0 * z) ** 2,
    )
    second = (none, none, none, none, none, z, none, none)
    return a * np.array(values), a * np.array(first), a * np.array(second)


@dataclass(frozen=True)
class System:
    """x_i' = S_i/T_i sum of terms of x/S: sizes S from 1e-12 to 1e12, times T from 1e-6 to 1e6."""

    size: np.ndarray
    rate: np.ndarray  # S/T
    row: np.ndarray  # of each term
    column: np.ndarray
    other: np.ndarray  # second factor of products
    family: np.ndarray
    a: np.ndarray
    b: np.ndarray

    def terms(self, x: np.ndarray) -> list[np.ndarray]:
        """Values and derivatives of the terms."""
        z = x / self.size
        pick = np.arange(len(self.row))
        return [part[self.family, pick] for part in families(z[self.column], z[self.other], self.a, self.b)]

    def f(self, t: float, x: np.ndarray) -> np.ndarray:
        """The right-hand side."""
        return self.rate * np.bincount(self.row, self.terms(x)[0], len(self.size))

    def jacobian(self, x: np.ndarray) -> np.ndarray:
        """The exact Jacobian times the sizes: in units of nominal change."""
        _, first, second = self.terms(x)
        out = np.zeros((len(self.size), len(self.size)))
        np.add.at(out, (self.row, self.column), first)
        np.add.at(out, (self.row, self.other), second)
        return self.rate[:, None] * out


def random_system(rng: np.random.Generator) -> System:
    """8 to 20 states, 2 to 4 terms in each row."""
    n = int(rng.integers(8, 21))
    size, pace = 10.0 ** rng.uniform(-12, 12, n), 10.0 ** rng.uniform(-6, 6, n)
    row = np.repeat(np.arange(n), rng.integers(2, 5, n))
    m = len(row)
    column = np.concatenate([rng.choice(n, int(np.sum(row == i)), replace=False) for i in range(n)])
    return System(
        size,
        size / pace,
        row,
        column,
        rng.integers(0, n, m),
        rng.integers(0, FAMILIES, m),
        rng.uniform(0.3, 3.0, m) * rng.choice([-1, 1], m),
        rng.uniform(0.3, 2.0, m),
    )


def entry_errors(rng: np.random.Generator, given: str, zeros: float, rtol: float = 1e-6) -> tuple[np.ndarray, int]:
    """Errors of the entries of one system, and the rows left out."""
    system = random_system(rng)
    n = len(system.size)
    x = system.size * rng.uniform(0.2, 2.0, n) * rng.choice([-1, 1], n)
    x[rng.random(n) < zeros] = 0.0
    model = pliant.ode(system.f, x, nominal=system.size if given == "nominal" else None)
    found = model.jacobian(rtol=rtol, atol=rtol * system.size if given == "atol" else None)
    assert found.source == "differences"
    exact, generic = system.jacobian(x), system.jacobian(1.1 * system.size)
    largest = np.abs(exact).max(axis=1)
    kept = largest > 1e-6 * np.abs(generic).max(axis=1)
    errors = np.abs(found.matrix * system.size - exact)[kept] / largest[kept, None]
    return errors.ravel(), int(np.sum(~kept))


def accuracy_row(quick: bool) -> Row:
    """Difference Jacobians against exact ones."""
    progress("difference Jacobians of badly scaled systems")
    cases = (("nothing", 0.0, "nothing given"), ("nominal", 0.3, "nominal"), ("atol", 0.3, "atol"))
    count, parts, met, out = 50 if quick else 3000, [], True, 0
    for seed, (given, zeros, word) in enumerate(cases):
        rng = np.random.default_rng(seed)
        found = [entry_errors(rng, given, zeros) for _ in range(count)]
        errors = np.concatenate([one for one, _ in found])
        out += sum(rows for _, rows in found)
        share, worst = float(np.mean(errors <= WITHIN)), float(errors.max())
        met &= share >= SHARE and worst <= WORST
        parts.append(
            f"{word} {100 * share:.2f} %, worst {worst:.1e}, {np.sum(errors > WORST)} of {errors.size} above 1e-3"
        )
    return (
        f"difference Jacobian against the exact one, {count} random smooth systems each (8 to 20 states of 1e-12 to "
        "1e12; polynomials, products, sin, exp, tanh, rational; 30 % of the states 0 where nominal or atol is given): "
        "share of entries within 1e-6 of the row's largest, in units of the states' sizes; rows left out whose entries "
        "all but vanish at the point (largest below 1e-6 of its size elsewhere)",
        "99 %, worst 1e-3",
        f"{'; '.join(parts)}; {out} rows left out",
        met,
        COMMAND,
    )


# -- colours ------------------------------------------------------------------------------------------------------


def patterns(n: int = 120) -> dict[str, sp.csr_array]:
    """Patterns whose least number of colours is that of their longest row."""
    rng = np.random.default_rng(0)
    found: dict[str, sp.csr_array] = {}
    for below, above in ((0, 0), (1, 1), (2, 3), (0, 7), (10, 4)):
        offsets = range(-below, above + 1)
        found[f"band {below}, {above}"] = sp.diags_array([1.0] * len(offsets), offsets=offsets, shape=(n, n)).tocsr()
    for width in (1, 2, 4, 9):
        blocks = [np.ones((width, width))] * (n // width)
        found[f"blocks of {width}"] = sp.block_diag(blocks).tocsr()
    sizes = [3, 1, 7, 12, 5, 2, 40, 20, 30]
    found["blocks of many sizes"] = sp.block_diag([np.ones((k, k)) for k in sizes]).tocsr()
    arrow = np.eye(n, dtype=bool)
    arrow[:, 0] = True
    found["arrow, full column"] = sp.csr_array(arrow)
    found["arrow, full row"] = sp.csr_array(arrow.T)
    found["arrow, both"] = sp.csr_array(arrow | arrow.T)
    for name in list(found):
        pattern = found[name]
        m = pattern.shape[0]
        found[f"{name}, renumbered"] = pattern[rng.permutation(m)][:, rng.permutation(m)]
    return found


def colours_of_pattern(pattern: sp.csr_array) -> tuple[int, int]:
    """Colours that pliant takes for a Python function with this pattern, and the evaluations of its Jacobian."""
    values = sp.csr_array(pattern, dtype=float)
    found = pliant.ode(lambda t, x: values @ x, np.ones(values.shape[0]), pattern=values).jacobian()
    return found.colours, found.evaluations


def colours_row() -> Row:
    """Least colours on known patterns and the pipe; the robot."""
    progress("colours")
    more, all_patterns = [], patterns()
    for name, pattern in all_patterns.items():
        colours, evaluations = colours_of_pattern(pattern)
        if colours != int(np.diff(pattern.indptr).max()) or evaluations > colours + 1:
            more.append(f"{name}: {colours} colours, {evaluations} evaluations")
    pipe, robot = (
        pliant.load(ROOT / "examples" / f"{name}.mo").jacobian(options=DIFFERENCES) for name in ("Pipe", "Robot")
    )
    longest = int(pipe.pattern.sum(axis=1).max())
    good = len(all_patterns) - len(more)
    return (
        "colours on banded, arrow and block-diagonal patterns, also renumbered, and on the pipe, against the longest "
        "row; robot",
        f"least possible; robot <= {MOST_ROBOT}",
        f"{good} of {len(all_patterns)} patterns with the least number{''.join('; ' + one for one in more)}; "
        f"pipe {pipe.colours}, at least {longest}; robot {robot.colours}; evaluations of one Jacobian: "
        f"pipe {pipe.evaluations}, robot {robot.evaluations}",
        not more
        and pipe.colours == longest
        and robot.colours <= MOST_ROBOT
        and all(one.evaluations <= one.colours + 1 for one in (pipe, robot)),
        COMMAND,
    )


def large_patterns(n: int = 100_000) -> dict[str, sp.csc_array]:
    """With about five entries in each row, all with a diagonal."""
    rng, i = np.random.default_rng(0), np.arange(n)
    four = np.repeat(i, 4)
    side = 400  # a grid of 400 x 250 points
    parts = [(i, i)]
    for step, inside in (
        (1, (i % side < side - 1) & (i < n - 1)),
        (-1, i % side > 0),
        (side, i < n - side),
        (-side, i >= side),
    ):
        parts.append((i[inside], i[inside] + step))
    places = {
        "random rows": (np.concatenate([i, four]), np.concatenate([i, rng.integers(0, n, 4 * n)])),
        "random columns": (np.concatenate([i, rng.integers(0, n, 4 * n)]), np.concatenate([i, four])),
        "grid": (np.concatenate([a for a, _ in parts]), np.concatenate([b for _, b in parts])),
        "band": (np.repeat(i, 5), np.clip(np.repeat(i, 5) + np.tile(np.arange(-2, 3), n), 0, n - 1)),
    }
    found = {}
    for name, (rows, columns) in places.items():
        pattern = sp.csc_array(sp.coo_array((np.ones(len(rows)), (rows, columns)), shape=(n, n)))
        pattern.sum_duplicates()
        pattern.sort_indices()
        found[name] = pattern
    return found


def seconds_of_colours(pattern: sp.csc_array) -> tuple[float, int]:
    """Seconds of the runtime's colouring, the pattern brought into its form included, and its colours."""
    places = pattern.tocoo()
    begin = time.process_time()
    found = colour(*pattern.shape, places.coords[0], places.coords[1])
    return time.process_time() - begin, found.n_colours


def seconds_to_plan(pattern: sp.csc_array) -> float:
    """Seconds of all that the runtime plans for a model with this pattern: colours and elimination order."""
    model = pliant.ode(lambda t, x: -x, np.ones(pattern.shape[0]), pattern=pattern)._numeric
    wanted = runtime.LinearOptionsStruct(
        storage=runtime.STORAGE["auto"], source=runtime.SOURCES["differences"], lu=runtime.SPARSE_LU
    )
    layout, work = runtime.LinearLayoutStruct(), np.empty(runtime.lib.pl_linear_work_size(model.address), np.uint8)
    begin = time.process_time()
    status = runtime.lib.pl_linear_plan(model.address, ctypes.byref(wanted), ctypes.byref(layout), work.ctypes.data)
    assert status == runtime.OK
    return time.process_time() - begin


def speed_row() -> Row:
    """Colouring of 100 000 columns."""
    progress("colouring 100 000 columns")
    found: dict[str, tuple[float, int]] = {}
    plan: dict[str, float] = {}
    for name, pattern in large_patterns().items():
        plan[name] = seconds_to_plan(pattern)
        found[name] = min(seconds_of_colours(pattern) for _ in range(2))
    return (
        "colouring 100 000 columns with about 500 000 entries: CPU time",
        f"<= {MOST_SECONDS:g} s",
        "; ".join(f"{name} {seconds:.2f} s ({colours} colours)" for name, (seconds, colours) in found.items())
        + f"; whole plan of a model, with its elimination order: {', '.join(f'{one:.2f}' for one in plan.values())} s",
        max(seconds for seconds, _ in found.values()) <= MOST_SECONDS,
        COMMAND,
    )


# -- explanations -------------------------------------------------------------------------------------------------

PLANT = ("p", "T", "v", "s", "q", "w")
PLANT_START = (1e5, 320.0, 0.0, 0.1, 1e-3, 1.0)
PLANT_SIZE = np.array([1e5, 300.0, 1.0, 0.1, 1e-3, 1.0])


def plant(t: float, x: np.ndarray) -> list[float]:
    """A pressure, a temperature, a swinging mass (speed and position), two small lags."""
    p, T, v, s, q, w = x
    return [
        1e5 * (math.sin(t) + 2.0) - p,
        -0.3 * (T - 300.0) + 20.0 * math.cos(2.0 * t),
        -25.0 * s - 0.2 * v + math.cos(3.0 * t),
        v,
        1e-3 * math.sin(2.0 * t) - q,
        math.cos(t) - 5.0 * w,
    ]


def first_named(model: pliant.Model, **given: Any) -> tuple[str, str]:
    """Kind and first name of the first finding."""
    found = model.simulate(5.0, points=2, **given).explain().findings
    return (found[0].kind, found[0].names[0]) if found and found[0].names else ("nothing", "")


def relay(band: float) -> pliant.Model:
    """A heated room with little hysteresis; another root function fires now and then."""

    def f(t: float, x: np.ndarray) -> list[float]:
        return [30.0 * x[1] - 3.0 * (x[0] - x[2]), 0.0, 0.1 * (x[0] - x[2]) - 0.05 * (x[2] - 5.0), math.cos(3.0 * t)]

    def switch(at: float, direction: int, value: float) -> pliant.Root:
        def update(t: float, x: np.ndarray) -> list[float]:
            return [x[0], value, x[2], x[3]]

        return pliant.Root(lambda t, x: x[0] - at, direction=direction, update=update, name="relay")

    roots = [switch(20.0 + band, 1, 0.0), switch(20.0 - band, -1, 1.0), pliant.Root(lambda t, x: x[3], name="clock")]
    names, nominal = ["T", "on", "wall", "angle"], [10.0, 1.0, 10.0, 1.0]
    return pliant.ode(f, [15.0, 1.0, 10.0, 0.1], names=names, nominal=nominal, roots=roots)


def explain_row() -> Row:
    """One fault at a time, and none."""
    progress("explanations")
    tries: dict[str, list[bool]] = {"wrong nominal": [], "chattering root": [], "too tight tolerance": []}
    accused = []
    for method in ("auto", "radau5", "bdf"):
        for k, name in enumerate(PLANT):
            for factor in (1e6, 1e4, 1e-6):
                sizes = PLANT_SIZE * np.where(np.arange(len(PLANT)) == k, factor, 1.0)
                model = pliant.ode(plant, PLANT_START, names=PLANT, nominal=sizes)
                tries["wrong nominal"].append(first_named(model, method=method) == ("nominal", name))
            for factor in (1e-6, 1e-9):
                atol = 1e-6 * PLANT_SIZE * np.where(np.arange(len(PLANT)) == k, factor, 1.0)
                model = pliant.ode(plant, PLANT_START, names=PLANT, nominal=PLANT_SIZE)
                found = first_named(model, method=method, atol=atol)
                tries["too tight tolerance"].append(found == ("tolerance", name))
        for band in (0.1, 0.01, 0.001):
            tries["chattering root"].append(first_named(relay(band), method=method) == ("chatter", "relay"))
        for model in (pliant.ode(plant, PLANT_START, names=PLANT, nominal=PLANT_SIZE), relay(3.0)):
            accused.append(not model.simulate(5.0, method=method, points=2).explain().healthy)
    parts = [f"{name} {sum(found)} of {len(found)}" for name, found in tries.items()]
    return (
        "explain on a plant with one wrong nominal (each of 6 states, 1e6 and 1e4 times too large, 1e6 too small) or "
        "one too tight tolerance (1e6 and 1e9 times), and on a relay with a narrow band; auto, Radau5, BDF: culprit "
        "named first",
        "all",
        f"{', '.join(parts)}; without a fault {sum(accused)} of {len(accused)} runs accuse somebody",
        all(all(found) for found in tries.values()) and not any(accused),
        COMMAND,
    )


def rows(quick: bool = False) -> list[Row]:
    """All figures: (what, goal, reached, met, command)."""
    return [
        oscillator_row(),
        *(auto_row(*pair, quick) for pair in PAIRS),
        ratio_row(quick),
        accuracy_row(quick),
        evaluations_row(),
        colours_row(),
        speed_row(),
        explain_row(),
    ]


def main() -> None:
    """Print all."""
    parser = argparse.ArgumentParser(description="Figures of difference Jacobians, colouring and explanations.")
    parser.add_argument("--quick", action="store_true", help="fewer systems and tolerances")
    for row in rows(parser.parse_args().quick):
        print(f"{row[0]}\n    goal {row[1]}, reached {row[2]}: {'yes' if row[3] else 'NO'}")


if __name__ == "__main__":
    main()
