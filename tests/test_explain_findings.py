"""The rules of `explain`: the culprit stands first, and nobody is accused in a healthy run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support_explain import Switch, emulate, incidents_of, make_record

from pliant.errors import ArgumentError, OutputError
from pliant.explain import KINDS, Explanation, Finding, RunRecord, explain
from pliant.explain.findings import densest, listing, number, percent, when
from pliant.explain.scales import _median_of_others

# -- models ------------------------------------------------------------------------------------------------------

NAMES = ("p", "T", "v", "s", "q", "w")
START = (1e5, 320.0, 0.0, 0.1, 1e-3, 1.0)
SIZES = (1e5, 300.0, 1.0, 0.1, 1e-3, 1.0)


def plant(t: float, x: np.ndarray, memory: dict[str, float]) -> list[float]:
    """Six states from 1e-3 to 1e5: a pressure, a temperature, a swinging mass, two decays."""
    p, T, v, s, q, w = x
    push = memory.get("push", 0.0)
    return [
        1e5 * (np.sin(t) - (p / 1e5 - 2.0)),
        -0.3 * (T - 300.0) + 20.0 * np.cos(2.0 * t),
        -25.0 * s - 0.2 * v + np.cos(3.0 * t) + push,
        v,
        1e-3 * np.exp(-t) - q,
        -5.0 * w,
    ]


def simulate_plant(stop: float = 5.0, **given: Any) -> RunRecord:
    return emulate(plant, START, stop, names=NAMES, **given)


def keep_state(t: float, x: np.ndarray, memory: dict[str, float]) -> np.ndarray:
    return x


def first(record: RunRecord) -> Finding:
    return explain(record).findings[0]


def assert_healthy(record: RunRecord) -> Explanation:
    found = explain(record)
    assert found.healthy, [f"{f.kind} {f.names}: {f.text}" for f in found.findings if f.serious]
    assert "Nothing stands out." in str(found)
    return found


# -- a wrong nominal ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", range(6))
@pytest.mark.parametrize("factor", [2e3, 1e6, 1e-5, 1e-8])
def test_wrong_nominal_is_first(place: int, factor: float) -> None:
    nominal = list(SIZES)
    nominal[place] *= factor
    found = first(simulate_plant(nominal=nominal))
    assert (found.kind, found.names) == ("nominal", (NAMES[place],))
    assert ("large" if factor > 1 else "small") in found.text
    assert NAMES[place] in found.suggestion


@pytest.mark.parametrize("factor", [1e4, 1e-6])
def test_wrong_nominal_is_first_among_missing_ones_and_with_atol_given(factor: float) -> None:
    nominal = [np.nan] * 6
    nominal[3] = 0.1 * factor
    assert first(simulate_plant(nominal=nominal)).names == ("s",)
    assert first(simulate_plant(nominal=nominal, atol=np.multiply(1e-6, SIZES))).names == ("s",)


def test_wrong_nominal_stands_above_newton_failures_that_it_causes() -> None:
    rows = [(1.0 + 0.01 * k, 1e-3, "newton", 1, 2.0) for k in range(90)]
    rows += [(1.5, 1e-3, "repaired", 1, 1e-6)]
    record = make_record(
        nominal=np.array([1.0, 1e6, 1.0]),
        newton_fails=np.array([0, 90, 0]),
        counters={"n_steps": 400, "n_newton_fails": 90, "n_jac": 100, "n_rediff": 1},
        incidents=incidents_of(rows),
        place=lambda name: f" (plant.mo, line {len(name)})",
    )
    found = explain(record)
    assert [f.kind for f in found.findings[:2]] == ["nominal", "newton"]
    assert "b (plant.mo, line 1) has the nominal value 1e6" in found.findings[0].text
    assert "pliant changed its difference increment" in found.findings[0].text
    assert "between t = 1 and 1.89" in found.findings[1].text
    assert "1,000,000 times smaller" in found.repaired[0] or "1e6 times smaller" in found.repaired[0]


def test_repaired_state_is_named_before_others_with_wrong_nominals() -> None:
    record = make_record(nominal=np.array([1e7, 1e4, 1e7]), incidents=incidents_of([(1.0, 0.1, "repaired", 1, 1e-3)]))
    assert first(record).names[0] == "b"


def test_nominals_that_fit_are_not_accused() -> None:
    assert_healthy(make_record(nominal=np.array([1e5, 1.0, 1.0]), largest=np.array([3e5, 50.0, 0.02])))


@pytest.mark.parametrize("largest", [0.0, 1e-16])
def test_state_at_rest_is_not_accused(largest: float) -> None:
    record = make_record(nominal=np.ones(3), largest=np.array([1.0, largest, 1.0]), first=np.array([1.0, 0.0, 1.0]))
    assert_healthy(record)


def test_run_without_steps_accuses_no_nominal() -> None:
    empty = {"time": np.zeros(0), "h": np.zeros(0), "order": np.zeros(0), "method": np.zeros(0, dtype=str)}
    record = make_record(
        nominal=np.full(3, 1e9), n_steps=0, counters={}, steps=empty, limits=np.zeros(3, dtype=np.int64), reached=0.0
    )
    found = explain(record)
    assert found.findings == ()
    assert "nothing to explain" in str(found)


# -- a tolerance -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", range(6))
@pytest.mark.parametrize("near_zero", [False, True])
def test_too_tight_atol_of_one_state_is_first(place: int, near_zero: bool) -> None:
    atol = np.multiply(1e-6, SIZES)
    atol[place] *= 1e-9
    found = first(simulate_plant(atol=atol, near_zero=near_zero))
    assert (found.kind, found.names) == ("tolerance", (NAMES[place],))
    assert f"raise the atol of {NAMES[place]}" in found.suggestion


def test_too_tight_atol_that_costs_is_a_fault_with_its_share() -> None:
    def decays(t: float, x: np.ndarray, memory: dict[str, float]) -> list[float]:
        return [-20.0 * x[0], np.cos(t), -0.1 * x[2]]

    for near_zero in (False, True):
        tight = emulate(decays, [1.0, 0.0, 1.0], 10.0, atol=[1e-60, 1e-6, 1e-6], near_zero=near_zero)
        usual = emulate(decays, [1.0, 0.0, 1.0], 10.0, atol=1e-6)
        assert sum(tight.limits) > 2 * sum(usual.limits)  # it does cost
        found = first(tight)
        assert found.names == ("x0",)
        assert found.score >= 3
        assert found.share > 0.5
        assert_healthy(usual)


def test_one_tiny_atol_for_all_names_the_state_that_decays() -> None:
    def decays(t: float, x: np.ndarray, memory: dict[str, float]) -> list[float]:
        return [1.0 - x[0], -30.0 * x[1], -0.1 * x[2]]

    record = emulate(decays, [2.0, 1.0, 1.0], 10.0, atol=1e-50, names=("a", "b", "c"), near_zero=True)
    found = first(record)
    assert (found.kind, found.names) == ("tolerance", ("b",))
    assert first(replace(record, near_zero=None)).names == ("b",)


def test_noise_with_a_tiny_atol_is_named() -> None:
    record = make_record(
        largest=np.array([1.0, 3e-15, 1.0]),
        atol=np.array([1e-6, 1e-20, 1e-6]),
        atol_given=True,
        limits=np.array([20, 370, 10]),
    )
    assert first(record).names == ("b",)


@pytest.mark.parametrize("rtol", [1e-10, 1e-12])
def test_too_tight_rtol_is_first(rtol: float) -> None:
    found = first(simulate_plant(stop=2.0, rtol=rtol, nominal=SIZES, most=500))
    assert found.names == ("rtol",)
    assert found.kind == "tolerance"
    assert "rtol = 1e-6" in found.suggestion


def test_tight_rtol_that_atol_makes_harmless_is_not_accused() -> None:
    assert_healthy(make_record(rtol=1e-12, atol=np.full(3, 1e-3), atol_given=True))


def test_state_below_its_atol_is_told_but_an_algebraic_one_is_not() -> None:
    given = {"largest": np.array([1.0, 1e-9, 1.0]), "first": np.array([1.0, 1e-9, 1.0])}
    found = first(make_record(**given))
    assert (found.kind, found.names) == ("tolerance", ("b",))
    assert "enter nominal = 1e-9" in found.suggestion
    assert_healthy(make_record(**given, algebraic=frozenset({"b"})))


def test_loose_rtol_is_told() -> None:
    assert first(make_record(rtol=0.1)).names == ("rtol",)


def test_large_states_without_nominal_are_not_accused() -> None:
    """A pressure's atol of 1e-8 is tiny beside 1e5 Pa, but the pressure never comes near zero."""
    record = make_record(
        nominal=np.array([np.nan, 1.0, 1.0]),
        largest=np.array([1e5, 1.0, 1.0]),
        first=np.array([1e5, 1.0, 1.0]),
        atol=np.array([1e-8, 1e-8, 2e-8]),
        limits=np.array([300, 50, 50]),
    )
    assert_healthy(record)
    assert_healthy(replace(record, atol=np.full(3, 1e-8), atol_given=True, near_zero=np.zeros(3, dtype=np.int64)))


def test_robertson_with_the_usual_tolerances_is_healthy() -> None:
    def robertson(t: float, y: np.ndarray, memory: dict[str, float]) -> list[float]:
        slow, fast, square = 0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * y[1] ** 2
        return [-slow + fast, slow - fast - square, square]

    assert_healthy(emulate(robertson, [1.0, 0.0, 0.0], 1e4))
    # The tolerances of CVODE's own example.
    assert_healthy(emulate(robertson, [1.0, 0.0, 0.0], 1e4, atol=[1e-8, 1e-14, 1e-6]))


def test_species_that_vanish_are_healthy() -> None:
    def chain(t: float, x: np.ndarray, memory: dict[str, float]) -> list[float]:
        return [-3.0 * x[0], 3.0 * x[0] - 30.0 * x[1], 30.0 * x[1]]

    record = emulate(chain, [1.0, 0.0, 0.0], 10.0)
    found = assert_healthy(record)
    assert found.findings[0].kind in ("limits", "jacobian")
    assert found.limiting[0]["steps"] == record.limits.max()


def test_healthy_plant() -> None:
    assert_healthy(simulate_plant(nominal=SIZES))
    assert_healthy(simulate_plant(atol=np.multiply(1e-6, SIZES)))
    assert_healthy(simulate_plant(atol=1e-6))


# -- events ------------------------------------------------------------------------------------------------------


def relay(band: float) -> Switch:
    """Pushes v towards 0.1 from both sides: slides along it if the band is narrow."""

    def distance(t: float, x: np.ndarray, memory: dict[str, float]) -> float:
        side = memory.get("side", 1.0)
        return float(x[2] - 0.1 - side * band)

    def flip(t: float, x: np.ndarray, memory: dict[str, float]) -> np.ndarray:
        memory["side"] = -memory.get("side", 1.0)
        memory["push"] = 20.0 * memory["side"]
        return x

    return Switch("relay.on", distance, flip)


CLOCK = Switch("clock", lambda t, x, memory: np.sin(4.0 * t + 1.0), keep_state)
LEVEL = Switch("level", lambda t, x, memory: x[0] - 2.2e5, keep_state)


@pytest.mark.parametrize("band", [1e-2, 1e-4])
def test_chattering_root_is_first_among_healthy_ones(band: float) -> None:
    record = simulate_plant(stop=10.0, nominal=SIZES, switches=(CLOCK, relay(band), LEVEL), most=3000)
    counts = {name: sum(name in roots for _, roots in record.events) for name in record.roots}
    assert counts["relay.on"] > 200
    found = first(record)
    assert (found.kind, found.names[0]) == ("chatter", "relay.on")
    assert "clock" not in found.names
    assert "hysteresis" in found.suggestion


def test_chatter_in_a_short_part_of_the_run_is_found() -> None:
    ends = np.sort(np.concatenate([np.linspace(0.01, 10, 200), 3.0 + 1e-6 * np.arange(300)]))
    h = np.diff(np.append(0.0, ends))
    steps = {"time": ends, "h": h, "order": np.full(500, 2), "method": np.full(500, "bdf")}
    events = [(3.0 + 1e-6 * k, ("valve.open",)) for k in range(0, 300, 3)] + [(7.0, ("stop",)), (8.0, ())]
    found = first(make_record(n_steps=500, steps=steps, events=events, roots=("valve.open", "stop")))
    assert found.names == ("valve.open",)
    assert "100 events between t = 3 and 3.0003" in found.text
    assert found.share == pytest.approx((297 + 99) / (500 + 102), abs=0.01)


def test_run_given_up_for_chatter_names_the_root() -> None:
    ends = np.linspace(0.01, 2.0, 60)
    events = [(2.0 + 1e-14 * k, ("contact",)) for k in range(40)]
    steps = {"time": ends, "h": np.full(60, ends[1] - ends[0]), "order": np.full(60, 3), "method": np.full(60, "bdf")}
    record = make_record(n_steps=60, steps=steps, events=events, roots=("contact",), reached=2.0, complete=False)
    found = explain(record)
    assert [f.kind for f in found.findings[:2]] == ["chatter", "stopped"]
    assert found.findings[0].names == ("contact",)


def test_few_events_are_healthy() -> None:
    events = [(float(t), ("door",)) for t in (1, 2, 3.5, 3.6, 9)]
    found = assert_healthy(make_record(events=events, roots=("door",)))
    assert found.find("events")[0].names == ("door",)
    assert found.events == [{"root": "door", "events": 5, "first": 1.0, "last": 9.0}]


def test_bouncing_ball_is_healthy() -> None:
    def bounce(t: float, x: np.ndarray, memory: dict[str, float]) -> np.ndarray:
        return np.array([1e-12, -0.9 * x[1]])

    floor = Switch("floor", lambda t, x, memory: float(x[0]), bounce)
    fall = lambda t, x, memory: [x[1], -9.81]  # noqa: E731
    record = emulate(fall, [1.0, 0.0], 6.0, switches=(floor,))
    assert len(record.events) > 10
    assert_healthy(record)


def test_oscillation_with_many_steps_between_its_events_is_healthy() -> None:
    ends = np.linspace(0, 10, 10001)[1:]
    steps = {"time": ends, "h": np.full(10000, 1e-3), "order": np.full(10000, 5), "method": np.full(10000, "bdf")}
    events = [(0.03 * k, ("x > 0",)) for k in range(1, 330)]
    assert_healthy(make_record(n_steps=10000, steps=steps, events=events, roots=("x > 0",)))


# -- the course of the run ---------------------------------------------------------------------------------------


def test_newton_failures_name_state_and_time() -> None:
    rows = [(4.2 + 1e-3 * k, 1e-4, "newton", 2, 1.5) for k in range(50)]
    record = make_record(
        newton_fails=np.array([0, 0, 50]),
        counters={"n_steps": 400, "n_newton_fails": 50, "n_jac": 60},
        incidents=incidents_of(rows),
        jacobian="differences",
        colours=3,
    )
    found = first(record)
    assert (found.kind, found.names) == ("newton", ("c",))
    assert "between t = 4.2 and 4.249" in found.text
    assert "jac=" in found.suggestion
    tiny = replace(record, largest=np.array([1.0, 3e-5, 1.0]))
    assert "enter nominal = 1e-5 for b" in first(tiny).suggestion
    assert explain(record).failing == [
        {
            "state": "c",
            "error": 0,
            "error_first": None,
            "error_last": None,
            "newton": 50,
            "newton_first": pytest.approx(4.2),
            "newton_last": pytest.approx(4.249),
        }
    ]


def test_error_failures_are_trouble_only_when_they_are_many() -> None:
    def run(n: int) -> RunRecord:
        rows = [(0.02 * k, 1e-4, "error", 0, 3.0) for k in range(n)]
        counters = {"n_steps": 400, "n_error_fails": n}
        return make_record(error_fails=np.array([n, 0, 0]), counters=counters, incidents=incidents_of(rows))

    assert_healthy(run(40))
    assert (first(run(300)).kind, first(run(300)).names) == ("error", ("a",))


def test_jacobian_share_follows_the_measured_cost() -> None:
    counters = {"n_steps": 400, "n_rhs": 1100, "n_rhs_jac": 100, "n_jac": 10, "n_factor": 0, "n_solve": 0}
    cost = lambda: {"rhs": 1e-6, "jacobian": 1e-3}  # noqa: E731
    found = explain(make_record(counters=counters, cost=cost, jacobian="differences", colours=10))
    (jacobian,) = found.find("jacobian")
    assert jacobian.share == pytest.approx(10e-3 / 11e-3)
    assert "one every 40 steps" in jacobian.text
    assert "pattern=" in jacobian.suggestion
    assert found.healthy

    def refuse() -> dict[str, float]:
        raise RuntimeError("no")

    assert explain(make_record(counters=counters, cost=refuse)).find("jacobian")[0].share == 0.0


def test_order_held_low_is_found_for_bdf_only() -> None:
    ends = np.linspace(0, 10, 4001)[1:]
    steps = {"time": ends, "h": np.full(4000, 2.5e-3), "order": np.full(4000, 2), "method": np.full(4000, "bdf")}
    assert first(make_record(n_steps=4000, steps=steps)).kind == "order"
    assert_healthy(make_record(n_steps=4000, steps={**steps, "method": np.full(4000, "lieuler")}))


def test_slow_part_is_told_with_its_bounds() -> None:
    ends = np.concatenate([np.linspace(0.1, 8.0, 80), np.linspace(8.001, 8.1, 400), np.linspace(8.2, 10.0, 20)])
    steps = {"time": ends, "h": np.diff(np.append(0, ends)), "order": np.full(500, 4), "method": np.full(500, "bdf")}
    record = make_record(n_steps=500, steps=steps)
    (slow,) = explain(record).find("slow")
    assert not slow.serious
    assert "60 % of the steps lie between t = 8.0" in slow.text
    rows = [(8.02 + 1e-4 * k, 1e-5, "error", 1, 5.0) for k in range(300)]
    steps["h"] = np.minimum(steps["h"], 5e-4)
    (slow,) = explain(make_record(n_steps=500, steps=steps, incidents=incidents_of(rows))).find("slow")
    assert slow.serious
    assert slow.names == ("b",)


@pytest.mark.parametrize(
    ("kind", "rows", "serious"), [("refused", 2, False), ("refused", 30, True), ("singular", 1, True)]
)
def test_refused_points_and_singular_matrices(kind: str, rows: int, serious: bool) -> None:
    incidents = incidents_of([(5.0 + k * 1e-3, 1e-3, kind, 1, 0.0) for k in range(rows)])
    (found,) = explain(make_record(incidents=incidents)).find(kind)
    assert found.names == ("b",)
    assert found.serious == serious


def test_handovers_are_trouble_when_the_method_goes_to_and_fro() -> None:
    def run(n: int) -> Explanation:
        rows = [(0.5 * k, 1e-3, "handover", 1, 0.0) for k in range(1, n + 1)]
        return explain(make_record(method="auto", used="bdf -> radau5", incidents=incidents_of(rows)))

    assert run(1).healthy
    assert "bdf -> radau5" in run(1).find("handover")[0].text
    assert run(12).findings[0].kind == "handover"


def test_run_that_ended_early_tells_what_happened_last() -> None:
    rows = [(1.0, 0.1, "error", 0, 2.0)] + [(4.999 + 1e-5 * k, 1e-9, "newton", 2, 3.0) for k in range(10)]
    record = make_record(reached=5.0, complete=False, incidents=incidents_of(rows))
    found = explain(record)
    assert (found.findings[0].kind, found.findings[0].names) == ("stopped", ("c",))
    assert "Newton failures" in found.findings[0].text
    assert "ended early at t = 5" in found.summary


# -- robustness and the report -----------------------------------------------------------------------------------


def test_no_states_one_state_and_many_states() -> None:
    nothing = np.zeros(0)
    explain(make_record(states=(), atol=nothing, nominal=nothing, largest=nothing, first=nothing))
    one = explain(make_record(states=("x",)))
    assert one.healthy
    assert one.findings[0].names == ("x",)
    n = 5000
    limits = np.arange(n)
    many = explain(make_record(states=tuple(f"cell[{i}].T" for i in range(n)), limits=limits))
    assert many.healthy
    assert many.findings[0].names[0] == "cell[4999].T"
    assert "and 4991 more" in str(many)


def test_unknown_places_and_strange_numbers_do_not_break_it() -> None:
    rows = [(1.0, 0.1, kind, index, np.nan) for kind in KINDS for index in (-1, 99)]
    record = make_record(
        largest=np.array([np.inf, np.nan, 0.0]),
        nominal=np.array([0.0, -1.0, np.inf]),
        incidents=incidents_of(rows),
        incidents_lost=7,
        rtol=0.0,
        seconds=float("nan"),
        counters={"n_steps": 400, "n_jac": float("nan"), "n_rediff": 2},
    )
    text = str(explain(record))
    assert "7 incidents more" in text
    json.dumps(explain(record).as_dict(), allow_nan=False)


def test_report_and_dict() -> None:
    record = simulate_plant(nominal=[1e5, 300.0, 1.0, 0.1, 1e4, 1.0])
    found = explain(record)
    lines = str(found).splitlines()
    assert max(map(len, lines)) <= 100
    body = [line for line in lines if line.strip()]
    start = next(k for k, line in enumerate(body) if line.startswith(" 1. "))
    assert start <= 2  # right below the summary
    assert body[start].startswith(" 1. q has the nominal value 10,000")
    assert "states that limit the step" in str(found)
    assert "failures by state" in str(found)
    plain = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert plain["findings"][0]["names"] == ["q"]
    assert plain["findings"][0]["serious"] is True
    assert "<ol>" in found._repr_html_()
    assert "nominal: q" in repr(found)


def test_words() -> None:
    assert [number(x) for x in (0.0, 12300.0, 1e-6, 1.2345e-7, 2e8)] == ["0", "12,300", "1e-6", "1.23e-7", "2e8"]
    assert [percent(x) for x in (0.0, 0.001, 0.5, 0.999, 1.0)] == [
        "0 %",
        "less than 1 %",
        "50 %",
        "more than 99 %",
        "100 %",
    ]
    assert listing(("a",)) == "a"
    assert listing(("a", "b", "c")) == "a, b and c"
    assert listing(tuple("abcdefg")) == "a, b, c, d and 3 more"
    assert when(np.array([2.0, 1.0])) == "between t = 1 and 2"
    assert densest(np.array([0.0, 5.0, 5.1, 5.2, 9.0]), 0.6) == (5.0, 5.2)


def test_median_of_others_against_the_definition() -> None:
    rng = np.random.default_rng(3)
    for n in (2, 3, 6, 7):
        values = rng.random(n)
        expected = [np.median(np.delete(values, i)) for i in range(n)]
        np.testing.assert_allclose(_median_of_others(values, np.ones(n, dtype=bool)), expected)


# -- the timeline ------------------------------------------------------------------------------------------------


def test_timeline_has_steps_order_and_lanes(tmp_path: Path) -> None:
    record = simulate_plant(stop=3.0, nominal=SIZES, switches=(CLOCK, relay(1e-2)), most=1500)
    methods = np.where(record.steps["time"] < 1.0, "bdf", "radau5")
    record = replace(record, steps={**record.steps, "method": methods})
    figure = explain(record).plot(file=tmp_path / "timeline.png")
    assert (tmp_path / "timeline.png").read_bytes()[:4] == b"\x89PNG"
    upper, middle, lower = figure.axes
    assert upper.get_yscale() == "log"
    assert [line.get_label() for line in upper.lines] == ["bdf", "radau5"]
    labels = [text.get_text() for text in lower.get_yticklabels()]
    assert labels == ["error test failed", "Newton failed", "new Jacobian", "relay.on", "clock"]
    assert upper.get_xlim() == pytest.approx((0.0, record.reached), abs=0.01 * record.reached)
    assert middle.get_ylabel() == "order"


def test_timeline_of_many_roots_and_steps_stays_small() -> None:
    n = 100_000
    ends = np.linspace(0, 10, n + 1)[1:]
    steps = {"time": ends, "h": np.full(n, 1e-4), "order": np.full(n, 5), "method": np.full(n, "bdf")}
    events = [(float(k), (f"root[{k}]",)) for k in range(10)]
    rows = [(float(t), 1e-4, "error", 0, 2.0) for t in ends[::10]]
    figure = explain(make_record(n_steps=n, steps=steps, events=events, incidents=incidents_of(rows))).plot(show=False)
    labels = [text.get_text() for text in figure.axes[2].get_yticklabels()]
    assert labels[-1] == "3 other roots"
    assert len(labels) == 3 + 8
    assert len(figure.axes[0].lines[0].get_xdata()) <= 8000


def test_timeline_refuses_what_makes_no_sense(tmp_path: Path) -> None:
    found = explain(make_record())
    with pytest.raises(ArgumentError, match="names no format"):
        found.plot(file=tmp_path / "t.nothing")
    with pytest.raises(ArgumentError, match="log"):
        found.plot(log="y")
    with pytest.raises(OutputError, match="cannot write"):
        found.plot(file=tmp_path / "missing" / "t.png")
    empty = {"time": np.zeros(0), "h": np.zeros(0), "order": np.zeros(0), "method": np.zeros(0, dtype=str)}
    figure = explain(make_record(n_steps=0, steps=empty)).plot(show=False, log="x")
    assert figure.axes[0].texts[0].get_text() == "no steps"
