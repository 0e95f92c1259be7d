"""`result.explain()` on real runs: a planted fault comes first, by name; healthy runs accuse nobody."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import pliant
from pliant.explain import Explanation

EXAMPLES = Path(__file__).parents[1] / "examples"
METHODS = ("auto", "bdf", "radau5", "dopri5")
NAMES = ("p", "T", "v", "s", "q", "w")
SIZES = (1e5, 300.0, 1.0, 0.1, 1e-3, 1.0)
START = (1e5, 320.0, 0.0, 0.1, 1e-3, 1.0)


def plant(t: float, x: Any) -> list[float]:
    """A fast pressure, a temperature, a swinging mass (v, s), a small and a decaying state."""
    p, T, v, s, q, w = x
    return [
        200.0 * (1e5 * (1.0 + 0.3 * np.sin(t)) - p),
        -0.3 * (T - 300.0) + 20.0 * np.cos(2.0 * t),
        -25.0 * s - 0.2 * v + np.cos(3.0 * t),
        v,
        1e-3 * np.exp(-t) - q,
        -5.0 * w,
    ]


def explained(model: pliant.Model, stop: float, **given: Any) -> Explanation:
    """The explanation of a run, finished or not; everything it offers must work."""
    result: pliant.Result | None
    try:
        result = model.simulate(stop=stop, **given)
    except pliant.SolverError as error:
        result = error.result
    assert result is not None
    why = result.explain()
    json.dumps(why.as_dict(), allow_nan=False)
    assert all((str(why), why._repr_html_(), repr(why)))
    return why


def culprit(why: Explanation) -> tuple[str, str]:
    first = why.findings[0]
    assert first.serious, str(why)
    assert first.suggestion
    return first.kind, first.names[0]


def assert_healthy(why: Explanation) -> None:
    assert why.healthy, [(f.kind, f.names, f.text) for f in why.findings if f.serious]


# -- wrong nominals ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("place", range(6))
def test_wrong_nominal_is_named_first(method: str, place: int) -> None:
    for factor in (1e3, 1e9, 1e-4, 1e-9):
        for atol in (None, np.multiply(1e-8, SIZES)):
            nominal = np.array(SIZES)
            nominal[place] *= factor
            model = pliant.ode(plant, START, names=NAMES, nominal=nominal)
            assert culprit(explained(model, 5.0, method=method, atol=atol)) == ("nominal", NAMES[place])


def test_nominal_a_thousand_times_too_small_is_named_where_the_start_shows_it() -> None:
    model = pliant.ode(lambda t, x: [1e3 * np.cos(t), -x[1]], [1e3, 1.0], names=["a", "b"], nominal=[1.0, 1.0])
    assert culprit(explained(model, 5.0)) == ("nominal", "a")


def test_nominal_that_fits_the_start_but_not_a_peak_is_not_accused() -> None:
    model = pliant.ode(lambda t, x: [x[0] * (1.0 - 0.2 * t)], [1.0], names=["a"], nominal=[1.0])
    why = explained(model, 10.0)  # up to exp(2.5)
    assert_healthy(why)
    steep = pliant.ode(lambda t, x: [3.0 * x[0] * (1.0 - 0.2 * t)], [1.0], names=["a"], nominal=[1.0])
    why = explained(steep, 10.0)  # up to exp(7.5) = 1800
    assert float(why.record.largest[0]) > 1000
    assert_healthy(why)


def test_wrong_nominal_of_the_thesis_model_is_named_first() -> None:
    why = explained(pliant.load(EXAMPLES / "increments" / "VanDerPol.mo"), 2e6, method="radau5")
    assert culprit(why) == ("nominal", "y1")
    assert why.findings[0].names == ("y1", "y2")
    assert "VanDerPol.mo, line 15" in why.findings[0].text


def test_wrong_nominal_of_an_algebraic_unknown_is_named_first() -> None:
    text = """
model Loop
  Real x(start = 1, fixed = true);
  Real y(start = 0.5);
  Real z(start = 0.3, nominal = 1e7);
equation
  der(x) = -y + sin(time);
  y + 0.1*y^3 + 0.2*z = x;
  exp(z) + z = 1 + y^2;
end Loop;
"""
    wrong, right = (pliant.load(one, options={"form": "dae"}) for one in (text, text.replace("1e7", "1")))
    assert culprit(explained(wrong, 5.0)) == ("nominal", "z")
    assert_healthy(explained(right, 5.0))


NATIVE = """
#include "pliant.h"
#include <math.h>
static const char *const x_name[] = {"fast", "slow", "tiny"};
static const pl_real x_start[] = {1.0, 1.0, 1e-6};
static const pl_real x_nominal[] = {FAST, SLOW, TINY};
static pl_status rhs(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *f) {
    (void)self, (void)u;
    f[0] = -1e4 * (x[0] - cos(t));
    f[1] = -0.1 * x[1];
    f[2] = 1e-6 * sin(t) - x[2];
    return PL_OK;
}
const pl_model pliant_model = {.abi = PL_ABI, .n_x = 3, .name = "three", .x_name = x_name,
                               .x_start = x_start, .x_nominal = x_nominal, .rhs = rhs};
"""


def test_wrong_nominal_of_a_c_model_is_named_first(tmp_path: Path) -> None:
    file = tmp_path / "three.c"
    file.write_text(NATIVE)
    right = {"FAST": 1.0, "SLOW": 1.0, "TINY": 1e-6}
    assert_healthy(explained(pliant.native(file, defines=right), 10.0))
    for name, size in right.items():
        model = pliant.native(file, defines=right | {name: 1e5 * size})
        assert culprit(explained(model, 10.0)) == ("nominal", name.lower())


# -- tolerances ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_one_tight_atol_is_named_first(method: str) -> None:
    model = pliant.ode(plant, START, names=NAMES)
    for place, name in enumerate(NAMES):
        atol = np.multiply(1e-8, SIZES)
        atol[place] = 1e-14 * SIZES[place]
        assert culprit(explained(model, 5.0, method=method, atol=atol)) == ("tolerance", name)


@pytest.mark.parametrize("method", METHODS)
def test_tight_rtol_is_named_first(method: str) -> None:
    model = pliant.ode(plant, START, names=NAMES, nominal=SIZES)
    assert culprit(explained(model, 5.0, method=method, rtol=1e-12)) == ("tolerance", "rtol")
    assert_healthy(explained(model, 5.0, method=method, rtol=1e-9))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("atol", [1e-16, 0.0])
def test_one_tiny_atol_for_all_is_named_first(method: str, atol: float) -> None:
    model = pliant.ode(lambda t, x: -x + np.sin(t), [1.0], names=["y"])
    why = explained(model, 20.0, method=method, atol=atol)
    assert culprit(why) == ("tolerance", "y")
    assert "zero" in why.findings[0].text
    assert why.findings[0].suggestion.startswith("raise atol to")


def test_one_tiny_atol_for_all_makes_one_finding() -> None:
    why = explained(pliant.ode(plant, START, names=NAMES), 5.0, atol=1e-16)
    assert culprit(why) == ("tolerance", "w")  # decays to zero
    assert len(why.find("tolerance")) == 1
    assert {"s", "v"} < set(why.findings[0].names)


def test_atol_zero_at_a_start_value_of_zero() -> None:
    model = pliant.ode(lambda t, x: [x[1], -x[0]], [1.0, 0.0], names=["x", "v"])
    with pytest.raises(pliant.AccuracyError) as caught:
        model.simulate(stop=1.0, atol=0.0)
    assert caught.value.result is not None
    why = caught.value.result.explain()
    assert culprit(why) == ("tolerance", "v")
    assert "atol of about 1e-8" in why.findings[0].suggestion


@pytest.mark.parametrize("method", ["rk4", "euler", "lieuler"])
def test_tolerances_do_not_matter_to_fixed_steps(method: str) -> None:
    model = pliant.ode(lambda t, x: [x[1], -x[0]], [1.0, 0.5], names=["x", "v"])
    assert_healthy(explained(model, 5.0, method=method, step=0.01, rtol=1e-12, atol=1e-16))


def test_a_model_without_states_limits_nothing() -> None:
    why = explained(pliant.load("model N\n  Real y;\nequation\n  y = sin(time);\nend N;\n"), 5.0)
    assert_healthy(why)
    assert "$" not in str(why)


def test_atol_below_the_rounding_of_a_start_value() -> None:
    model = pliant.ode(lambda t, x: [x[1], -x[0]], [1.0, 0.0], names=["x", "v"])
    why = explained(model, 1.0, rtol=0.0, atol=1e-17)
    assert culprit(why) == ("tolerance", "x")
    assert why.findings[0].names == ("x",)


def test_atol_zero_at_an_event_that_sets_zero() -> None:
    floor = pliant.Root(lambda t, x: x[0], direction=-1, update=lambda t, x: [0.0, -0.8 * x[1]], name="floor")
    ball = pliant.ode(lambda t, x: [x[1], -9.81], [1.0, -1.0], names=["h", "v"], roots=floor)
    assert culprit(explained(ball, 2.0, atol=0.0)) == ("tolerance", "h")


def test_atol_zero_far_from_zero_is_not_accused() -> None:
    model = pliant.ode(lambda t, x: [1e5 * (2.0 + np.sin(t)) - x[0], x[0] - x[1]], [1e5, 2e5], names=["a", "b"])
    assert_healthy(explained(model, 10.0, atol=0.0))


# -- chatter -------------------------------------------------------------------------------------------------------

RELAYS = """
model Relays
  Real x[3](each start = 1, each fixed = true);
  Real bad(start = 0.2, fixed = true);
equation
  for i in 1:3 loop
    der(x[i]) = if x[i] > 0.2*i then -x[i] else -2*x[i];
  end for;
  der(bad) = if GUARD(bad > 0.1) then -1 else 1;
end Relays;
"""


@pytest.mark.parametrize("method", METHODS)
def test_relay_is_named_by_its_relation(method: str) -> None:
    why = explained(pliant.load(RELAYS.replace("GUARD", "")), 3.0, method=method)
    assert culprit(why) == ("chatter", "0.1 < bad")
    assert why.find("stopped")[0].names == ("0.1 < bad",)
    assert why.events[0]["root"] == "0.1 < bad"


def test_no_event_is_never_accused_of_chatter() -> None:
    why = explained(pliant.load(RELAYS.replace("GUARD", "noEvent")), 3.0, options={"max_steps": 20_000})
    assert not why.find("chatter")
    assert why.findings[0].names[0] == "bad"


@pytest.mark.parametrize("method", METHODS)
def test_one_bad_root_among_several(method: str) -> None:
    relay = pliant.Root(lambda t, x: x[0], update=lambda t, x: [x[0], -np.sign(x[0]), x[2]], name="relay")
    half = pliant.Root(lambda t, x: x[2] - 0.5, name="half")
    clock = pliant.Root(lambda t, x: np.sin(3.0 * t), name="clock")
    model = pliant.ode(
        lambda t, x: [x[1] + 0.3 * np.sin(t), 0.0, -x[2]],
        [1.0, -1.0, 1.0],
        names=["x", "u", "z"],
        roots=[half, relay, clock],
    )
    assert culprit(explained(model, 5.0, method=method)) == ("chatter", "relay")


def test_bouncing_ball_past_its_rest_and_before() -> None:
    floor = pliant.Root(lambda t, x: x[0], direction=-1, update=lambda t, x: [0.0, -0.8 * x[1]], name="floor")
    ball = pliant.ode(lambda t, x: [x[1], -9.81], [1.0, 0.0], names=["h", "v"], roots=floor)
    with pytest.raises(pliant.ChatterError) as caught:
        ball.simulate(stop=10.0)
    assert caught.value.result is not None
    assert culprit(caught.value.result.explain()) == ("chatter", "floor")
    assert_healthy(explained(ball, 2.0))


def test_useful_switching_is_not_chatter() -> None:
    off = pliant.Root(lambda t, x: x[0] - 21.0, direction=1, update=lambda t, x: [x[0], 0.0], name="off")
    on = pliant.Root(lambda t, x: x[0] - 19.0, direction=-1, update=lambda t, x: [x[0], 1.0], name="on")
    room = pliant.ode(lambda t, x: [10.0 * x[1] - 0.2 * (x[0] - 5.0), 0.0], [15.0, 1.0], roots=[off, on])
    for method in METHODS:
        assert_healthy(explained(room, 50.0, method=method))


# -- healthy runs --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["Pipe", "car_axis", "circuit", "crane", "dc_drive", "heat_rod", "pendulum"])
def test_examples_accuse_nobody(name: str) -> None:
    assert_healthy(explained(pliant.load(EXAMPLES / f"{name}.mo"), 5.0))


@pytest.mark.parametrize("name", ["DoubleWishbone", "HydraulicCircuit", "LockValve"])
@pytest.mark.parametrize("method", ["bdf", "radau5"])
def test_models_of_the_study_accuse_nobody(name: str, method: str) -> None:
    assert_healthy(explained(pliant.load(EXAMPLES / "increments" / f"{name}.mo"), 5.0, method=method))


@pytest.mark.parametrize("method", METHODS)
def test_healthy_functions_accuse_nobody(method: str) -> None:
    assert_healthy(explained(pliant.ode(plant, START, names=NAMES, nominal=SIZES), 5.0, method=method))
    assert_healthy(explained(pliant.ode(plant, START, names=NAMES), 5.0, method=method, atol=1e-8))
    decay = pliant.ode(lambda t, x: [-x[0], -10.0 * x[1], 0.0], [1.0, 1.0, 0.0], nominal=[1.0, 1.0, 1e5])
    assert_healthy(explained(decay, 50.0, method=method))
    swing = pliant.ode(lambda t, x: [x[1], -x[0]], [1.0, 0.0])
    assert_healthy(explained(swing, 20.0, method=method, atol=1e-12))


def test_chosen_states_say_what_they_stand_for() -> None:
    why = explained(pliant.load(EXAMPLES / "pendulum.mo"), 5.0)
    first = why.find("limits")[0]
    assert first.names[0].startswith("$set")
    assert "(one of vx, vy)" in first.text or "(one of x, y)" in first.text


# -- runs that fail ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["auto", "radau5", "dopri5"])
def test_nan_names_the_state_and_is_no_newton_failure(method: str) -> None:
    def f(t: float, x: Any) -> list[float]:
        return [-x[0], float(np.sqrt(1.0 - t)) if t <= 1.0 else float("nan"), x[0] - x[2]]

    why = explained(pliant.ode(f, [1.0, 0.0, 0.0], names=["a", "b", "c"]), 3.0, method=method)
    assert culprit(why) == ("stopped", "b")
    assert why.find("refused")[0].names[0] == "b"
    assert not why.find("newton")
    assert "0 Newton failures" in why.summary
    assert "refused point" in why.summary


def test_step_limit_says_how_much_is_left() -> None:
    model = pliant.ode(lambda t, x: [x[1], -1e4 * x[0]], [1.0, 0.0], names=["y", "z"])
    with pytest.raises(pliant.StepLimitError) as caught:
        model.simulate(stop=100.0, options={"max_steps": 300})
    assert caught.value.result is not None
    why = caught.value.result.explain()
    assert culprit(why)[0] == "stopped"
    steps = caught.value.result.steps
    assert steps is not None
    left = (100.0 - steps["time"][-1]) / np.median(steps["h"])
    said = why.findings[0].text.split("some ")[1].split(" more")[0].replace(",", "")
    assert float(said) == pytest.approx(left, rel=0.05)


def test_blow_up_names_the_state() -> None:
    model = pliant.ode(lambda t, x: [x[0] ** 2, -x[1]], [1.0, 1.0], names=["y", "z"])
    assert culprit(explained(model, 3.0)) == ("stopped", "y")


# -- odds and ends -------------------------------------------------------------------------------------------------


def test_nothing_to_explain() -> None:
    result = pliant.ode(lambda t, x: -x, [1.0]).simulate(stop=0.0)
    assert "nothing to explain" in str(result.explain())


def test_a_file_cannot_be_explained(tmp_path: Path) -> None:
    pliant.ode(lambda t, x: -x, [1.0]).simulate(stop=1.0).save(tmp_path / "r.csv")
    with pytest.raises(pliant.ArgumentError, match="read from a file"):
        pliant.Result.load(tmp_path / "r.csv").explain()


def test_explaining_twice_and_out_of_order_says_the_same() -> None:
    model = pliant.ode(lambda t, x: [x[1], -x[0]], [1.0, 0.0], nominal=[1.0, 1e7])
    one, other = model.simulate(stop=5.0), model.simulate(stop=50.0, rtol=1e-9)
    first, _, again = one.explain(), other.explain(), one.explain()
    assert first.limiting == again.limiting
    assert first.failing == again.failing
    assert [f.text for f in first.findings if f.kind != "jacobian"] == [
        f.text for f in again.findings if f.kind != "jacobian"
    ]


def test_five_thousand_states() -> None:
    n = 5000
    band = sparse.diags([np.ones(n - 1), np.ones(n), np.ones(n - 1)], [-1, 0, 1])

    def rod(t: float, x: Any) -> Any:
        out = np.zeros(n)
        out[1:-1] = 100.0 * (x[:-2] - 2.0 * x[1:-1] + x[2:])
        return out

    start = 1.0 + np.sin(np.linspace(0.0, 40.0 * np.pi, n))
    nominal = np.ones(n)
    nominal[1234] = 1e6
    begin = time.perf_counter()
    why = pliant.ode(rod, start, pattern=band, nominal=nominal).simulate(stop=10.0).explain()
    assert culprit(why) == ("nominal", "x[1234]")
    assert time.perf_counter() - begin < 10.0


def test_a_long_run_is_explained_within_a_second() -> None:
    text = "model Swing\n  Real x(start = 1, fixed = true), v(start = 0, fixed = true);\n"
    text += "equation\n  der(x) = v;\n  der(v) = -x;\nend Swing;\n"
    with pytest.raises(pliant.StepLimitError) as caught:
        pliant.load(text).simulate(stop=1e9, options={"max_steps": 300_000})
    result = caught.value.result
    assert result is not None
    begin = time.perf_counter()
    str(result.explain())
    assert time.perf_counter() - begin < 1.0


def test_slow_functions_are_not_called_for_every_column_again() -> None:
    calls = 0

    def slow(t: float, x: Any) -> Any:
        nonlocal calls
        calls += 1
        time.sleep(0.004)
        return -x

    result = pliant.ode(slow, np.ones(150)).simulate(stop=0.01, rtol=1e-3)
    before = calls
    why = result.explain()
    assert calls - before < 20
    assert why.find("jacobian")[0].share > 0.5  # one Jacobian takes 150 evaluations


def test_an_explained_result_keeps_no_matrices() -> None:
    n = 300
    matrix = -np.eye(n)
    model = pliant.ode(lambda t, x: matrix @ x, np.ones(n), jac=lambda t, x: matrix)
    result = model.simulate(stop=0.1, points=2)
    assert result.record is not None
    assert result.record(result).cost()["factor"] > 0.0
    # The block that was measured with lies ready for the next run, once.
    (plan,) = model._numeric.plans.values()
    assert len(plan.ready) == 1
    result.explain()
    assert len(plan.ready) == 1


def test_threads_may_explain_one_result() -> None:
    result = pliant.ode(lambda t, x: [x[1], -x[0]], [1.0, 0.0], nominal=[1.0, 1e7]).simulate(stop=20.0)
    said: list[tuple[str, ...]] = []

    def ask() -> None:
        for _ in range(10):
            said.append(result.explain().findings[0].names)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert said == [("x[1]",)] * 40


def test_long_and_odd_names() -> None:
    long = "plant.pump[3].housing." + "inner." * 20 + "T"
    model = pliant.ode(lambda t, x: [-x[0], -x[1]], [1.0, 1.0], names=[long, "ϑ_$1^2"], nominal=[1e8, 1.0])
    why = explained(model, 3.0)
    assert culprit(why) == ("nominal", long)
    table = str(why).splitlines()[-6:]
    assert all(len(line) <= 110 for line in table)


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_timeline_of_a_real_run(tmp_path: Path, kind: str) -> None:
    why = explained(pliant.load(RELAYS.replace("GUARD", "")), 3.0)
    file = tmp_path / f"t.{kind}"
    figure = why.plot(file=file)
    assert file.stat().st_size > 2000
    assert "0.1 < bad" in [label.get_text() for label in figure.axes[2].get_yticklabels()]


def test_command_line(tmp_path: Path) -> None:
    model = tmp_path / "Relays.mo"
    model.write_text(RELAYS.replace("GUARD", ""))
    command = [sys.executable, "-m", "pliant.cli", "simulate", str(model), "--stop", "3", "--explain"]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, timeout=60, check=False)
    told = json.loads(done.stdout)
    assert done.returncode == 1
    assert told["explanation"]["findings"][0]["names"] == ["0.1 < bad"]
    picture = tmp_path / "t.png"
    done = subprocess.run(
        [*command, "--explain-plot", str(picture)], capture_output=True, text=True, timeout=60, check=False
    )
    assert "0.1 < bad chatters" in done.stdout + done.stderr
    assert picture.read_bytes().startswith(b"\x89PNG")


PWM = """model PWM
  Real x(start = 0, fixed = true), sum(start = 0, fixed = true);
  Real duty = 5*(0.5 - x) + sum;
  Real carrier = 2*abs(mod(time, 1e-2)/1e-2 - 0.5);
  Boolean on = LAW;
equation
  der(x) = 30*((if on then 1 else 0) - x);
  der(sum) = 20*(0.5 - x);
end PWM;
"""


@pytest.mark.parametrize(
    "law",
    ["carrier < 0.3", "carrier < duty", "mod(time, 1e-2) < 1e-2*duty", "sin(628.3185307179587*time) < duty - 0.5"],
)
def test_pulse_width_modulation_is_meant(law: str) -> None:
    why = explained(pliant.load(PWM.replace("LAW", law)), 3.0)
    assert "chatter" not in [one.kind for one in why.findings]
    (events,) = [one for one in why.findings if one.kind == "events"]
    assert "meant" in events.suggestion or not events.suggestion


def test_sliding_along_a_function_of_time_is_chatter() -> None:
    text = """model Sliding
  Real x(start = 0, fixed = true), r = 0.3*sin(3*time);
  Boolean on(start = true, fixed = true);
equation
  der(x) = if on then 2 else -2;
  on = x < r - 1e-3 or (pre(on) and x < r + 1e-3);
end Sliding;
"""
    assert explained(pliant.load(text), 2.0).findings[0].kind == "chatter"


def test_a_carrier_may_be_an_integrator_with_reset() -> None:
    text = PWM.replace(
        "  Real carrier = 2*abs(mod(time, 1e-2)/1e-2 - 0.5);\n", "  Real carrier(start = 0, fixed = true);\n"
    )
    text = text.replace(
        "equation\n", "equation\n  der(carrier) = 100;\n  when carrier > 1 then reinit(carrier, 0); end when;\n"
    )
    why = explained(pliant.load(text.replace("LAW", "carrier < duty")), 3.0)
    assert "chatter" not in [one.kind for one in why.findings]


def test_a_reset_that_a_switch_delays_is_chatter() -> None:
    """x slides along 0.3; s grows only while x lies above it, and is no carrier."""
    text = """model Sliding
  Real x(start = 0, fixed = true), s(start = 0, fixed = true);
  Boolean on(start = true, fixed = true);
equation
  der(x) = if on then 2 else -2;
  der(s) = if on then 0 else 1;
  when s > 5e-4 then reinit(s, 0); end when;
  on = x < 0.3 - 1e-3 or (pre(on) and x < 0.3 + 1e-3);
end Sliding;
"""
    assert explained(pliant.load(text), 2.0).findings[0].kind == "chatter"
