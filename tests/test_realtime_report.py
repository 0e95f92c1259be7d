"""The page of a real-time plan: whole, safe, the same every time, and its numbers against direct computations."""

from __future__ import annotations

import copy
import json
import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from support_tools import tool

import pliant
from pliant.realtime.build import make_plan
from pliant.realtime.plan import Plan
from pliant.realtime.report.data import (
    FILL,
    FILL_FULL,
    IN_DF,
    IN_L,
    KEPT,
    Extras,
    _peaks,
    number,
    numbers,
    page_data,
)
from pliant.realtime.report.page import PROGRAMS, render_report, seconds, to_json, write_report

ROOT = Path(__file__).parents[1]
FOLDER = Path(pliant.__file__).parent / "realtime" / "report"
SNAKE = "'</script><script>alert(1)</script><!-- & \"x'"
NASTY = f"""model Nasty
  Real {SNAKE}(start = 1), slow(start = 0, unit = "m"), fast(start = 0);
equation
  der({SNAKE}) = -{SNAKE} + sin(time);
  der(slow) = {SNAKE} - slow + 1e-6*fast;
  der(fast) = 100*(slow - fast);
end Nasty;
"""
LOOP = """model Loop
  Real x(start = 1), y, z;
equation
  der(x) = -x + 0.1*y;
  0 = -y - y^3 + x + 0.01*z;
  0 = -2*z - z^3 + 0.02*y + x;
end Loop;
"""


def plan_of(source: Any, step: float, stop: float, form: str = "auto", **options: Any) -> Plan:
    scenarios = options.pop("scenarios", None)
    model = pliant.load(source, options={"form": form})
    return make_plan(
        model._numeric,
        step=step,
        stop=stop,
        tolerance=0.02,
        theta=0.5,
        order=1,
        scenarios=scenarios,
        options={"points": 40, **options},
        report=lambda progress: None,
    )


@pytest.fixture(scope="module")
def pipe() -> Plan:
    return plan_of(ROOT / "examples" / "Pipe.mo", 0.1, 20.0)


@pytest.fixture(scope="module")
def nasty() -> Plan:
    return plan_of(NASTY, 0.01, 2.0, scenarios=[{"name": "<b>one"}, {"name": "two", "start_values": {"slow": 2.0}}])


@pytest.fixture(scope="module")
def loop() -> Plan:
    return plan_of(LOOP, 0.01, 1.0, form="dae")


def timing(deadline: float = 1e-3) -> SimpleNamespace:
    return SimpleNamespace(
        minimum=1.2e-5,
        median=1.25e-5,
        p999=1.4e-5,
        maximum=4.1e-5,
        overruns=3,
        n_steps=1_000_000,
        deadline=deadline,
        histogram_edges=np.array([1e-5, 2e-5, 3e-5, 5e-5]),
        histogram_counts=np.array([999_990, 0, 10]),
        notes=["no <priority>"],
    )


class Reader(HTMLParser):
    """Tags in balance, ids, texts of the scripts."""

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
            if key in ("src", "href", "action") or key.startswith("on"):
                self.links.append(f"{key}={value}")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data
        elif not self.open or self.open[-1] != "style":
            self.words += data


def read_page(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert not reader.open
    assert not reader.links
    assert len(reader.ids) == len(set(reader.ids))
    return reader


def strict(text: str) -> Any:
    """JSON as browsers read it: without NaN and Infinity."""

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    return json.loads(text, parse_constant=refuse)


def summed(differences: list[int]) -> np.ndarray:
    return np.cumsum(differences)


def decoded(coded: list[Any]) -> list[np.ndarray]:
    low, high, *rest = coded
    return [low + (high - low) * summed(one) / 9999 for one in rest]


# ------------------------------------------------------------------------------------------------------ page


@pytest.mark.parametrize("name", ["pipe", "nasty", "loop"])
@pytest.mark.parametrize("full", [False, True])
def test_page_is_whole(name: str, full: bool, request: pytest.FixtureRequest) -> None:
    plan = request.getfixturevalue(name)
    code = SimpleNamespace(operations={"f": 12, "step": 99}, memory={"instance": 800}, style="straight-line")
    extras = Extras(timing(), code, plan.baselines()) if full else Extras()
    page = render_report(plan, extras)
    reader = read_page(page)
    data, program = reader.scripts
    found = strict(data)
    assert found == page_data(plan, extras)
    bare = page.replace("http://www.w3.org/2000/svg", "")  # the name of a language, nothing is fetched
    assert not re.search(r"https?:|@import|url\((?!#)", bare), "nothing from outside"
    for key in re.findall(r"\$\(\"([\w-]+)\"\)", program):
        assert key in reader.ids, key
    for key in set(re.findall(r"\bdata\.([a-z_]+)", program)):
        assert key in found, key
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", program)
    assert f"{plan.full_entries} → {plan.entries}" in reader.words
    for item in plan.evidence.items:
        assert item.name in reader.words
        assert item.text in reader.words
    for line in plan.evidence.not_checked:
        assert line in reader.words
    assert ("plan.measure()" in reader.words) is not full
    assert ("explicit Euler" in reader.words) is full


def test_page_is_the_same_every_time(pipe: Plan) -> None:
    again = plan_of(ROOT / "examples" / "Pipe.mo", 0.1, 20.0)
    assert render_report(pipe, Extras()) == render_report(pipe, Extras()) == render_report(again, Extras())


def test_names_cannot_break_out_of_the_page(nasty: Plan) -> None:
    assert any("</script>" in name for name in nasty.names), "the test needs a nasty name"
    page = render_report(nasty, Extras(timing()))
    assert page.count("</script>") == 2
    reader = read_page(page)
    assert "alert(1)" not in reader.scripts[1]
    assert list(nasty.names) == strict(reader.scripts[0])["names"]
    assert "<b>one" in reader.words, "escaped, so it is text"
    assert "no <priority>" in reader.words
    assert "b" not in reader.ids


def test_page_is_small_enough(pipe: Plan) -> None:
    assert len(render_report(pipe, Extras())) < 600_000


def test_file(pipe: Plan, tmp_path: Path) -> None:
    file = write_report(pipe, tmp_path / "a.html", timing=timing(), baselines=None)
    assert file.read_text("utf-8") == render_report(pipe, Extras(timing()))
    with pytest.raises(pliant.OutputError, match="no folder"):
        write_report(pipe, tmp_path / "none" / "a.html")
    with pytest.raises(pliant.OutputError, match="cannot write"):
        write_report(pipe, tmp_path)


def test_page_bears_numbers_that_are_not_finite(nasty: Plan) -> None:
    plan = Plan(copy.copy(nasty.outcome), evidence=copy.deepcopy(nasty.evidence))
    n = plan.outcome.frame.n
    plan.evidence.predicted = [np.full(n, np.inf)] * 2
    plan.evidence.measured = [np.full(n, np.nan)] * 2
    plan.evidence.reference = [None, None]
    plan.evidence.reference_exact = [None, None]
    plan.evidence.window = plan.evidence.lyapunov = None
    broken = [copy.copy(one) for one in plan.outcome.masked]
    for one in broken:
        one.x = one.x.copy()
        one.x[5:, 0] = np.nan
    plan.outcome.masked = broken
    late = timing()
    late.maximum, late.deadline = np.inf, None
    data = strict(read_page(render_report(plan, Extras(late))).scripts[0])
    assert data["bias"]["predicted"] == [None] * n
    assert data["bias"]["measured"] == [None] * n
    assert data["windows"] is None
    assert data["timing"]["maximum"] is None
    at = data["runs"]["states"].index(0)
    exact, masked = data["runs"]["each"][0]["curves"][at][0][2:4]
    assert exact is not None
    assert masked is None


def test_checks_that_do_not_hold_are_told_first(nasty: Plan) -> None:
    plan = Plan(nasty.outcome, evidence=copy.deepcopy(nasty.evidence))
    item = plan.evidence.items[0]
    plan.evidence.items[0] = type(item)(item.name, False, item.text)
    words = read_page(render_report(plan, Extras())).words
    assert f"do not hold: {item.name}." in words
    assert words.index("do not hold") < words.index("Pattern")
    assert "✗ does not hold" in words
    assert "do not hold:" not in read_page(render_report(nasty, Extras())).words


def test_json_and_numbers() -> None:
    assert number(np.nan) is None
    assert number(-np.inf) is None
    assert number(1.23456789, 3) == 1.23
    assert repr(number(2.0)) == "2"
    assert numbers([0.1 + 0.2, np.inf]) == [0.3, None]
    assert to_json(["</script>"]) == '["\\u003c/script>"]'
    with pytest.raises(ValueError):
        to_json(float("nan"))
    assert [seconds(v) for v in (2.0, 1e-3, 4.56e-5, 3e-9, None)] == ["2 s", "1 ms", "45.6 µs", "3 ns", "–"]


# ------------------------------------------------------------------------------------------------------ data


@pytest.mark.parametrize("name", ["pipe", "loop"])
def test_pattern(name: str, request: pytest.FixtureRequest) -> None:
    plan = request.getfixturevalue(name)
    o, frame = plan.outcome, plan.outcome.frame
    data = page_data(plan, Extras())["pattern"]
    n = data["n"]
    places, kinds = summed(data["places"]), np.array(data["kinds"])
    Df = {(int(i), int(j)) for i, j in zip(frame.rows, frame.columns, strict=True)}

    def where(kind: int) -> set[tuple[int, int]]:
        return {(int(p) // n, int(p) % n) for p in places[(kinds & kind) != 0]}

    assert where(IN_DF) == Df
    assert where(KEPT) == {(int(i), int(j)) for i, j in np.argwhere(plan.mask)}
    assert where(IN_L) == {(int(i), int(j)) for i, j in np.argwhere(frame.mass)}
    assert where(FILL) == set(o.elimination.fill)
    assert where(FILL_FULL) == set(o.full.fill)
    assert len(where(KEPT) | where(IN_L) | set(o.elimination.pivots)) == plan.entries
    # values and reasons go with the entries of Df in the order of their places
    entries = [(int(p) // n, int(p) % n) for p, kind in zip(places, kinds, strict=True) if kind & IN_DF]
    assert len(data["low"]) == len(data["high"]) == len(data["reason"]) == len(entries)
    for k, (i, j) in enumerate(entries):
        values = o.points.Df[:, i, j]
        assert data["low"][k] == pytest.approx(values.min(), rel=1e-3)
        assert data["high"][k] == pytest.approx(values.max(), rel=1e-3)
        assert data["reasons"][data["reason"][k]] == plan.why(plan.names[i], plan.names[j])
    assert sorted(data["sparsed"]["rows"]) == sorted(data["full"]["columns"]) == list(range(n))
    assert data["algebraic"] == [k for k in range(n) if not frame.mass[k].any()]


@pytest.mark.parametrize("name", ["pipe", "loop", "nasty"])
def test_eigenvalues(name: str, request: pytest.FixtureRequest) -> None:
    plan = request.getfixturevalue(name)
    frame, points = plan.outcome.frame, plan.outcome.points
    data = page_data(plan, Extras())["eigen"]
    assert len(data["points"]) <= 120
    times = [(one["scenario"], one["time"]) for one in data["points"]]
    assert times == sorted(times)
    largest = []
    for one in data["points"]:
        (p, *_) = [
            k
            for k, origin in enumerate(points.origins)
            if origin.scenario == one["scenario"] and origin.time == pytest.approx(one["time"], rel=1e-5)
        ]
        Df = points.Df[p]
        J = frame.masked(points.values[p], plan.outcome.states)
        B, E = frame.mass - frame.tau * Df, frame.tau * (Df - J)
        exact = np.linalg.eigvals(np.linalg.solve(B, frame.mass))
        sparsed = np.linalg.eigvals(np.linalg.solve(B + E, frame.mass + E))
        before, after = (1.0 - np.array(one[k][::2]) + 1j * np.array(one[k][1::2]) for k in ("before", "after"))
        for mine, theirs in ((before, exact), (after, sparsed)):
            assert np.abs(mine[:, None] - theirs[None, :]).min(axis=0).max() < 1e-4
            assert np.abs(mine[:, None] - theirs[None, :]).min(axis=1).max() < 1e-4
        limit = (1.0 - data["theta"]) * np.maximum(1.0 - np.abs(before), 0.0) + data["slack"]
        largest.append(float((np.abs(after - before) / limit).max()))
    assert largest[data["first"]] == pytest.approx(max(largest), rel=1e-2)
    assert data["slack"] == pytest.approx(points.slack, rel=1e-4)


def test_eigenvalues_near_one_keep_their_margin(pipe: Plan) -> None:
    one = page_data(pipe, Extras())["eigen"]["points"][0]
    d, im = np.array(one["before"][::2]), np.array(one["before"][1::2])
    margin = np.sort((2 * d - d * d - im * im) / (1 + np.hypot(1 - d, im)))
    assert margin == pytest.approx(np.sort(pipe.outcome.points.margin[0]), rel=1e-3)


def test_runs(nasty: Plan) -> None:
    o, frame = nasty.outcome, nasty.outcome.frame
    data = page_data(nasty, Extras())["runs"]
    assert data["states"] == sorted(range(frame.n), key=lambda i: (-nasty_error(nasty, i), i))
    for k, run in enumerate(data["each"]):
        times = np.concatenate([[0.0], o.exact[k].t])
        here = np.searchsorted(times, np.array(run["times"]) - 1e-6)
        assert len(here) <= 400
        assert run["accurate"]
        for i, (curves, errors) in zip(data["states"], run["curves"], strict=True):
            exact, masked, accurate = decoded(curves)
            fine = 1e-4 * (curves[1] - curves[0]) + 1e-5 * abs(curves[0])
            assert exact == pytest.approx(o.exact[k].x[here, i], abs=fine)
            assert masked == pytest.approx(o.masked[k].x[here, i], abs=fine)
            assert accurate == pytest.approx(true_nasty(nasty, times[here], 2.0 * k)[i], abs=fine + 1e-5)
            measured, predicted = decoded(errors)
            true = 100 * (o.masked[k].x - o.exact[k].x)[:, i] / frame.scale[i]
            assert np.abs(measured).max() == pytest.approx(np.abs(true).max(), rel=1e-3, abs=1e-12)
            assert np.abs(predicted).max() == pytest.approx(np.abs(true).max(), rel=0.1, abs=1e-3)


def nasty_error(plan: Plan, i: int) -> float:
    return max(float(one[i]) for one in plan.evidence.measured)


def true_nasty(plan: Plan, times: np.ndarray, slow: float) -> np.ndarray:
    """Solution by SciPy, in the order of the plan's names."""

    def f(t: float, x: np.ndarray) -> list[float]:
        return [-x[0] + np.sin(t), x[0] - x[1] + 1e-6 * x[2], 100 * (x[1] - x[2])]

    found = solve_ivp(f, (0.0, 2.0), [1.0, slow, 0.0], "Radau", times, rtol=1e-9, atol=1e-11).y
    return np.array([found[{"slow": 1, "fast": 2}.get(name, 0)] for name in plan.names])


def test_thinning_hides_no_peak() -> None:
    error = np.zeros((1000, 2))
    error[517, 0], error[203, 1] = -3.0, 2.0
    found = _peaks(error, np.arange(0, 1000, 50))
    assert found[:, 0].min() == -3.0
    assert found[:, 1].max() == 2.0
    assert np.count_nonzero(found) == 2


@pytest.mark.parametrize("name", ["pipe", "loop"])
def test_criteria(name: str, request: pytest.FixtureRequest) -> None:
    plan = request.getfixturevalue(name)
    frame, points = plan.outcome.frame, plan.outcome.points
    data = page_data(plan, Extras())["criteria"]
    assert data["singular"] == (name == "loop")
    series = data["series"]
    for k, time in enumerate(data["times"]):
        p = int(np.argmin([abs(origin.time - time) for origin in points.origins]))
        Df = points.Df[p]
        E = frame.tau * (Df - frame.masked(points.values[p], plan.outcome.states))
        B = frame.mass - frame.tau * Df
        change = np.trace(np.linalg.solve(B + E, frame.mass + E)) - np.trace(np.linalg.solve(B, frame.mass))
        assert series["d_1"][k] == pytest.approx(abs(change), rel=2e-3, abs=1e-9)
        assert series["d_r"][k] >= series["d_1"][k] * (1 - 2e-3) - 1e-9
        assert series["d_S printed"][k] == pytest.approx(2 * series["d_S"][k], rel=2e-3, abs=1e-9)


def test_timing_is_told(pipe: Plan) -> None:
    data = page_data(pipe, Extras(timing()))["timing"]
    assert data["edges"] == [10, 20, 30, 50]
    assert data["counts"] == [999_990, 0, 10]
    assert (data["maximum"], data["deadline"]) == (41, 1000)
    words = read_page(render_report(pipe, Extras(timing()))).words
    for told in ("41 µs", "14 µs", "1 ms", "3 of 1\u202f000\u202f000", "took 4.1 % of the deadline"):
        assert told in words


# --------------------------------------------------------------------------------------------------- program

ASKED = """
const out = {
  ticks: new Scale(0.5, 12, false).ticks(5), decades: new Scale(0.002, 30, true).ticks(9),
  texts: new Scale(-1, 1, false).ticks(4).map((v, k, all) => new Scale(-1, 1, false).text(v, all)),
  half: new Scale(0.001, 10, true).to(0.1), numbers: [show(0.00001234), show(1234567), show(-2.5), show(null), show(0)],
  curves: curves([0, 9999, [1, 2, -3], null]),
};
console.log(JSON.stringify(out));
"""


def test_program_computes_scales_and_curves(tmp_path: Path) -> None:
    node = tool("node")
    page = "const window = {addEventListener() {}}, document = {getElementById: () => ({textContent: '{}'})};\n"
    file = tmp_path / "asked.js"
    file.write_text(page + (FOLDER / PROGRAMS[0]).read_text("utf-8").replace('"use strict";', "") + ASKED, "utf-8")
    told = json.loads(subprocess.run([node, str(file)], capture_output=True, text=True, check=True).stdout)
    assert told["ticks"] == [5, 10]
    assert told["decades"] == [0.001, 0.01, 0.1, 1, 10, 100]
    assert told["texts"] == ["−1.0", "−0.5", "0", "0.5", "1.0"]
    assert told["half"] == pytest.approx(0.5)
    assert told["numbers"] == ["1.234e−5", "1.235e6", "−2.5", "–", "0"]
    assert told["curves"] == [[1, 3, 0], None]


def test_program_can_be_parsed(tmp_path: Path) -> None:
    program = "\n".join((FOLDER / name).read_text("utf-8") for name in PROGRAMS)
    bare = re.sub(r"\"(\\.|[^\"\\\n])*\"|`[^`]*`|/\([^\n]*?\)/|//[^\n]*", "", program)
    for first, last in ("()", "[]", "{}"):
        assert bare.count(first) == bare.count(last)
    file = tmp_path / "page.js"
    file.write_text(program, "utf-8")
    subprocess.run([tool("node"), "--check", str(file)], check=True)
