"""All entries of a model, asked of FMUs of random models with known equations (``_fmu_maker.py``): FMI 2 and 3,
scalars and arrays, both kinds, directional derivatives and dependencies or none, parameters and inputs of every type.

linearize, jacobian, check_jacobian and steady_state against the formulas; simulate and simulate_many against SciPy
between the points where inputs change; what follows from a result (explain, files, tables); and co-simulation, which
refuses what needs equations.
"""

from __future__ import annotations

import contextlib
import pickle
import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import pliant
from families import RIGHT, WRONG, Family, Outcome
from families._fmu_maker import LITERALS, Plant, plant

STOP = 2.0
H = 0.02  # communication step
DIFFERENCES = {"differences": 1e-3, "directional": 1e-12}  # those forward have an error of first order
Given = dict[str, Any]


class Off(Exception):
    """What is not as it must be."""


def near(found: Any, wanted: Any, what: str, share: float = 1e-6) -> None:
    a, b = np.asarray(found, float), np.asarray(wanted, float)
    if a.shape != b.shape:
        raise Off(f"{what}: shape {a.shape}, not {b.shape}")
    error = float(np.abs(a - b).max(initial=0.0))
    if not error <= share * max(1.0, float(np.abs(b).max(initial=0.0))):
        raise Off(f"{what}: off by {error:.2g}")


def must(holds: bool, what: str) -> None:
    if not holds:
        raise Off(what)


# ------------------------------------------------------------------------------------------------ what is given


def values(p: Plant, r: np.random.Generator, tuned: bool = True) -> tuple[Given, Given]:
    """Parameters as they are given, and as numbers."""
    numbers = dict(p.parameters)
    given: Given = {}
    if r.random() < 0.7 and tuned:
        given["g"] = numbers["g"] = float(r.uniform(0.5, 2))
    if r.random() < 0.7:
        given["shift"] = numbers["shift"] = int(r.integers(-3, 4))
    if r.random() < 0.5:
        numbers["flag"] = bool(r.random() < 0.5)
        given["flag"] = numbers["flag"] if r.random() < 0.5 else int(numbers["flag"])
    if r.random() < 0.7:
        numbers["level"] = int(r.integers(1, 4))
        given["level"] = numbers["level"] if r.random() < 0.5 else LITERALS[numbers["level"] - 1]
    if r.random() < 0.5:
        given["label"] = numbers["label"] = str(r.choice(["", "a b", "\u00e4\u6f22", "x" * 40]))
    return given, numbers


def constants(r: np.random.Generator) -> tuple[Given, Given]:
    """Constant inputs as they are given, and as numbers."""
    numbers = {
        "u": float(r.uniform(-1, 1)), "k": int(r.integers(-3, 4)), "on": bool(r.random() < 0.5),
        "mode": int(r.integers(1, 4)),
    }  # fmt: skip
    given: Given = dict(numbers)
    if r.random() < 0.5:
        given["mode"] = LITERALS[numbers["mode"] - 1]
    return given, numbers


def moving(r: np.random.Generator, kind: str) -> tuple[Given, Callable[[float], Given], list[float]]:
    """Inputs that change, what they are at a time, and where they jump."""
    at = sorted(float(one) for one in r.choice(np.arange(4, 96), 3, replace=False) * H)
    times = [0.0, *at]
    k, on, mode = r.integers(-3, 4, 4), r.random(4) < 0.5, r.integers(1, 4, 4)
    level = r.uniform(-1, 1, 4)
    w = float(r.uniform(1, 4))
    how = "held" if kind == "co-simulation" else str(r.choice(["held", "table", "function", "segments"]))

    def u(t: float) -> float:
        if how == "function":
            return float(np.sin(w * t))
        if how == "table":
            return float(np.interp(t, [*times, STOP], [*level, level[-1]]))
        if how == "segments":
            i = int(np.searchsorted(times, t, side="right")) - 1
            return float(level[i] + 0.5 * (t - times[i]))
        return float(level[int(np.searchsorted(times, t, side="right")) - 1])

    given = {
        "u": {
            "held": lambda: pliant.Segments(times, [[float(one)] for one in level]),
            "segments": lambda: pliant.Segments(times, [[float(one), 0.5] for one in level]),
            "table": lambda: ([*times, STOP], [*level, level[-1]]),
            "function": lambda: lambda t: np.sin(w * t),
        }[how](),
        "k": (times, k.tolist()),
        "on": (times, on.tolist()),
        "mode": (times, mode.tolist()),
    }

    def at_time(t: float) -> Given:
        i = int(np.searchsorted(times, t, side="right")) - 1
        return {"u": u(t), "k": int(k[i]), "on": bool(on[i]), "mode": int(mode[i])}

    return given, at_time, at


def solved(p: Plant, x0: Any, at: Callable[[float], Given], jumps: list[float], numbers: Given, t: Any) -> Any:
    """States at t."""
    out, x = np.empty((len(t), p.n)), np.asarray(x0, float)
    out[np.asarray(t) == 0.0] = x
    for start, end in pairwise([0.0, *jumps, STOP]):
        inner = (np.asarray(t) > start) & (np.asarray(t) <= end)
        late = np.nextafter(end, 0.0)

        def f(s: float, x: Any, start: float = start, late: float = late) -> Any:
            return p.f(x, at(min(max(s, start), late)), numbers)

        found = solve_ivp(f, (start, end), x, method="DOP853", rtol=1e-11, atol=1e-13, dense_output=True)
        if inner.any():
            out[inner] = found.sol(np.asarray(t)[inner]).T
        x = found.y[:, -1]
    return out


# ------------------------------------------------------------------------------------------------- the entries


def at_a_point(model: pliant.Model, p: Plant, r: np.random.Generator) -> None:
    """linearize, jacobian, check_jacobian."""
    given, numbers = values(p, r)
    inputs, _ = constants(r)
    x = r.uniform(-1, 1, p.n)
    by_name = dict(zip(p.states(), x.tolist(), strict=True))
    where: Any = by_name if r.random() < 0.5 else x
    more = {"x": where, "inputs": inputs, "parameters": given}
    t = float(r.uniform(0, 3))
    lin = model.linearize(t, **more)
    wanted, order = p.jacobian(x, numbers), [lin.states.index(name) for name in p.states()]
    near(lin.A[np.ix_(order, order)], wanted, "A")
    column = lin.inputs.index("u")
    near(lin.B[order, column], p.numbers["b"], "B")
    rows = [lin.outputs.index(name) for name in p.outputs()]
    near(lin.C[np.ix_(rows, order)], p.numbers["C"], "C")
    near(lin.D[rows, column], p.numbers["D"], "D")
    near(np.delete(lin.B, column, axis=1), np.zeros((p.n, len(lin.inputs) - 1)), "B of discrete inputs")
    near(lin.x[order], x, "x")
    for source in ("differences", *(("directional",) if p.derivatives else ())):
        found = model.jacobian(t, **more, options={"jacobian": source})
        near(found.matrix[np.ix_(order, order)], wanted, f"jacobian by {source}", DIFFERENCES[source])
    bad = [one.text for one in model.check_jacobian(t, **more).findings if one.grade == "bad"]
    must(not bad, f"check_jacobian: {bad[:1]}")


def at_rest(model: pliant.Model, p: Plant, r: np.random.Generator) -> None:
    """steady_state."""
    given, numbers = values(p, r)
    inputs, u = constants(r)
    found = model.steady_state(inputs, parameters=given)
    x = np.array([found[name] for name in p.states()])
    near(p.f(x, u, numbers), np.zeros(p.n), "rest", 1e-7)
    near([found[name] for name in p.outputs()], p.y(x, u, numbers), "outputs at rest")
    must(found["seen"] == u["mode"] and found["length"] == len(numbers["label"].encode()), "seen or length at rest")


def a_run(model: pliant.Model, p: Plant, r: np.random.Generator, kind: str) -> None:
    """simulate, and what is made from its result."""
    given, numbers = values(p, r)
    inputs, at, jumps = moving(r, kind)
    first = r.uniform(-1, 1, p.n) if r.random() < 0.6 else None
    starts: Given = {}
    if first is not None:
        named = p.arrays and r.random() < 0.5
        starts = {"x": first.tolist()} if named else dict(zip(p.states(), first.tolist(), strict=True))
    more: Given = {"step": H, "points": None} if kind == "co-simulation" else {"rtol": 1e-8, "points": 41}
    result = model.simulate(stop=STOP, inputs=inputs, parameters=given, start_values=starts, **more)
    share = 1e-5 if kind == "model-exchange" else 2e-2
    x = solved(p, p.numbers["x0"] if first is None else first, at, jumps, numbers, result.time)
    for i, name in enumerate(p.states()):
        near(result[name], x[:, i], name, share)
    clear = np.array([all(abs(t - one) > 1e-9 for one in jumps) for t in result.time])
    if kind == "model-exchange":  # at communication points inputs may be those before or after
        y = np.array([p.y(one, at(t), numbers) for one, t in zip(x, result.time, strict=True)])
        for o, name in enumerate(p.outputs()):
            near(result[name][clear], y[clear, o], name, share)
        near(result["seen"][clear], [at(t)["mode"] for t in result.time[clear]], "seen")
        must(bool(str(result.explain())), "explain says nothing")
    with tempfile.TemporaryDirectory() as folder:
        result.save(Path(folder) / "r.csv")
        again = pickle.loads(pickle.dumps(result))
        near(again[p.states()[0]], result[p.states()[0]], "a pickled result", 0.0)
        must(len(result.to_pandas()) == len(result.time), "to_pandas")


def many(model: pliant.Model, p: Plant, r: np.random.Generator, kind: str) -> None:
    """simulate_many: each case as alone."""
    cases, wanted = [], []
    for _ in range(4):
        given, numbers = values(p, r)
        inputs, u = constants(r)
        x0 = r.uniform(-1, 1, p.n)
        starts = dict(zip(p.states(), x0.tolist(), strict=True))
        cases.append({"parameters": given, "inputs": inputs, "start_values": starts})
        x = solved(p, x0, lambda _, u=u: u, [], numbers, np.array([STOP]))[0]
        wanted.append((x, p.y(x, u, numbers)))
    more: Given = {"step": H} if kind == "co-simulation" else {"rtol": 1e-8}
    study = model.simulate_many(cases, stop=STOP, keep="final", workers=2, progress=False, **more)
    must(not study.failures, f"simulate_many: {next(iter(study.failures.values()), '')}")
    share = 1e-5 if kind == "model-exchange" else 2e-2
    for one, (x, y) in zip(study, wanted, strict=True):
        near([one[name] for name in p.states()], x, "states of many runs", share)
        near([one[name] for name in p.outputs()], y, "outputs of many runs", share)
    must(len(study.table()) == len(cases), "table of many runs")


def refusals(model: pliant.Model) -> None:
    """What co-simulation cannot do is said."""
    for call in (model.linearize, model.jacobian, model.check_jacobian, model.steady_state):
        with contextlib.suppress(pliant.NotSupportedError):
            call()
            raise Off(f"{call.__name__} of a co-simulation FMU")


def check(seed: int) -> Outcome:
    """One FMU."""
    p = plant(seed)
    path = p.path()
    r = np.random.default_rng(seed + 10**6)
    what = f"FMI {p.version}, {'arrays' if p.arrays else 'scalars'}"
    kind = "model-exchange"
    try:
        with pliant.load(path, kind=kind) as model:
            must(set(p.states()) <= set(model.variables), "names")
            for entry in (at_a_point, at_rest):
                entry(model, p, r)
            a_run(model, p, r, kind)
            many(model, p, r, kind)
            at_a_point(model, p, r)
        kind = "co-simulation"
        with pliant.load(path, kind=kind) as model:
            a_run(model, p, r, kind)
            many(model, p, r, kind)
            refusals(model)
    except Off as off:
        return Outcome(seed, WRONG, f"{what}, {kind}: {off}")
    return Outcome(seed, RIGHT)


FAMILY = Family(
    name="fmu_entries",
    what="random models as FMUs of others: all entries, FMI 2 and 3, both kinds, parameters and inputs of all types",
    goal="all right",
    count=200,
    part=1,
    check=check,
    seed=9000,
)
