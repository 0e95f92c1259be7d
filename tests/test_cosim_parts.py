"""Parts: bit-identical in threads and after restore; loops of direct feed-through; records."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support_cosim import THROUGH, example, spring_damper, text_model, through_loop

import pliant
from pliant.cosim.graph import components
from pliant.cosim.model_part import ModelPart
from pliant.cosim.part import Part, PartSettings
from pliant.cosim.signals import Given, at, made_continuous, polynomial, shifted


def never() -> bool:
    return False


def begun(model: pliant.Model, u: list[float], names: list[str], **settings: Any) -> ModelPart:
    part = ModelPart("part", model._numeric)
    part.configure(PartSettings(0.0, stop=1.0, **settings))
    part.choose(names)
    part.begin(0.0, np.array(u))
    return part


# ------------------------------------------------------------------------------------------------------- identity


@pytest.mark.parametrize("at_jump", ["correct", "x2", "restart"])
def test_threads_change_nothing(at_jump: str) -> None:
    serial = spring_damper().simulate(stop=1, step=0.02, at_jump=at_jump, parallel=False)
    threads = spring_damper().simulate(stop=1, step=0.02, at_jump=at_jump, parallel=True)
    assert serial.values.tobytes() == threads.values.tobytes()
    first, second = serial.stats.as_dict(), threads.stats.as_dict()
    assert {k: v for k, v in first.items() if k != "seconds"} == {k: v for k, v in second.items() if k != "seconds"}


@pytest.mark.parametrize("method", ["bdf", "radau5", "auto"])
@pytest.mark.parametrize("name", ["spring_damper_right", "pendulum_part"])
def test_restore_goes_on_with_the_same_bits(name: str, method: str) -> None:
    model = example(name)
    part = begun(model, [0.3, -0.2], list(model._numeric.names.x), method=method)
    polynomials = [np.array([[0.1 * k, 1.0], [2.0 - k, 0.5 * k], [0.3, -0.1 * k]]) for k in range(6)]

    def go(first: int, last: int) -> list[bytes]:
        out = []
        for k in range(first, last):
            part.set_inputs(0.1 * k, polynomials[k])
            assert part.step(0.1 * (k + 1), never)
            out.append(part.outputs().tobytes())
        assert part.sim is not None
        return [*out, bytes(part.sim.count)]

    go(0, 3)
    token = part.save()
    straight = go(3, 6)
    part.restore(token)
    part.set_inputs(0.1 * 3, 5.0 * polynomials[3])  # another future in between
    part.step(0.1 * 4, never)
    other = part.outputs().tobytes()
    assert other != straight[0]
    part.restore(token)
    assert go(3, 6) == straight
    assert part.steps is not None
    assert len(part.steps["time"]) == part.sim.count.n_steps < part.stats.n_steps


def test_a_zero_jump_is_the_same_as_proceed() -> None:
    model, runs = example("pendulum_part"), []
    for how in ("correct", "proceed"):
        part = begun(model, [0.3, -0.2], ["theta", "omega"], at_jump=how)
        same = np.array([[0.3, -0.2], [0.0, 0.0], [0.0, 0.0]])
        for k in range(10):
            part.set_inputs(0.1 * k, same)
            part.step(0.1 * (k + 1), never)
        runs.append(part.outputs().tobytes())
    assert runs[0] == runs[1]


def test_model_part_has_the_protocol() -> None:
    assert isinstance(begun(example("pendulum_part"), [0, 0], []), Part)


def test_a_part_of_ones_own() -> None:
    """Anything with the methods of Part can be added."""

    class Renamed(ModelPart):
        calls = 0

        def step(self, t_next: float, cancelled: Any) -> bool:
            self.calls += 1
            return super().step(t_next, cancelled)

    part = Renamed("x", example("spring_damper_right")._numeric)
    coupling = pliant.Coupling()
    coupling.add("right", part)
    result = coupling.simulate(stop=1, step=0.1, inputs={"right.x1": 1.0, "right.v1": 0.0})
    assert part.calls == 10
    assert result["right.x"][-1] != 0.0


# ------------------------------------------------------------------------------------------------- feed-through


def test_direct_inputs_are_structural() -> None:
    spring = example("pendulum_spring")._numeric.known.feedthrough
    assert spring["dx"] == {0, 2}
    assert spring["dy"] == {1, 3}
    assert spring["pull1"] == {0, 1, 2, 3}
    pendulum = example("pendulum_part")._numeric.known.feedthrough
    assert "s" not in pendulum
    assert pendulum["der(omega)"] == {0, 1}


@pytest.mark.parametrize("names", [["pull1", "lift2"], ["pull1", "dx", "d"]])
def test_sensitivity_against_the_formula(names: list[str]) -> None:
    """Exact for outputs, differences for the others."""
    u = np.array([0.2, 0.9, -0.3, 0.8])
    part = begun(example("pendulum_spring"), u.tolist(), names)

    def exact(v: Any) -> dict[str, Any]:
        dx, dy = 1 + v[2] - v[0], v[1] - v[3]
        d = np.sqrt(dx * dx + dy * dy)
        f = 10 * (d - 1)
        return {"pull1": f * dx / d, "lift2": -f * dy / d, "dx": dx, "d": d}

    found = part.sensitivity(u)
    for k, name in enumerate(names):
        assert part.outputs(u)[k] == pytest.approx(exact(u)[name])
        for j in range(4):
            moved = u.astype(complex)
            moved[j] += 1e-30j
            assert found[k, j] == pytest.approx(exact(moved)[name].imag / 1e-30, abs=1e-8)


@pytest.mark.parametrize("gain", [-2.0, 0.5, 3.0])
@pytest.mark.parametrize("scheme", ["jacobi", "gauss-seidel"])
def test_feedthrough_loop_is_solved(gain: float, scheme: str) -> None:
    """y1 = x1 + g y2, y2 = x2 + g y1 has a solution unless g^2 = 1; passing values on diverges for |g| > 1."""
    coupling = through_loop(gain)
    assert coupling.loops == (("a.y -> b.u", "b.y -> a.u"),)
    result = coupling.simulate(stop=1, step=0.05, scheme=scheme, rtol=1e-9)
    x1, x2 = np.exp(-result.time), 2 * np.exp(-result.time)
    exact = (x1 + gain * x2) / (1 - gain**2)
    assert result["a.y"] == pytest.approx(exact, abs=1e-6)
    assert result["a.u"] == pytest.approx(result["b.y"], rel=1e-9)


def test_relaxed_fixed_point() -> None:
    newton, relaxed = (through_loop(0.5).simulate(stop=1, step=0.05, loops=how) for how in ("newton", "relaxation"))
    assert relaxed["a.y"] == pytest.approx(newton["a.y"], abs=1e-8)


def test_a_master_without_iteration_blows_up() -> None:
    with pytest.raises(pliant.AccuracyError, match="loops='newton'"):
        through_loop(-2.0).simulate(stop=1, step=0.05, loops="none")
    result = through_loop(-2.0).simulate(stop=1, step=0.05, loops="none", watch=False)
    assert np.abs(result["a.y"]).max() > 1e3


def test_feedthrough_into_the_dynamics_is_stable() -> None:
    """A controller that acts on the derivative of what it drives: loop gain beyond 1."""
    plant = text_model(
        "model Plant\n input Real F;\n Real v(start = 1, fixed = true);\n output Real a;\nequation\n"
        " a = F - v;\n der(v) = a;\nend Plant;\n"
    )
    control = text_model(
        "model Control\n input Real a;\n output Real F;\n Real s(start = 0, fixed = true);\nequation\n"
        " F = -3*a;\n der(s) = a;\nend Control;\n"
    )

    def run(**arguments: Any) -> pliant.Result:
        coupling = pliant.Coupling()
        coupling.add("plant", plant)
        coupling.add("control", control)
        coupling.connect("plant.a", "control.a")
        coupling.connect("control.F", "plant.F")
        return coupling.simulate(stop=4, step=0.05, **arguments)

    good = run(extrapolation=1, rtol=1e-8)
    assert good["plant.v"] == pytest.approx(np.exp(-good.time / 4), abs=1e-3)  # a = -v/4
    with np.errstate(over="ignore"):
        try:
            bad = run(loops="none", extrapolation=0)["plant.v"]
            assert np.abs(bad).max() > 1e3
        except pliant.SolverError:
            pass  # or the solver gives up before


def test_a_part_that_feeds_itself() -> None:
    coupling = pliant.Coupling()
    coupling.add("a", text_model(THROUGH), parameters={"gain": -4.0})
    coupling.connect("a.y", "a.u")
    result = coupling.simulate(stop=1, step=0.1)
    assert result["a.y"] == pytest.approx(result["a.x"] / 5, abs=1e-9)


RELAY = """
model Relay
  input Real u;
  Real x(start = 0, fixed = true);
equation
  der(x) = if u > 0.3 then 1 else -2;
end Relay;
"""


def test_events_inside_macro_steps() -> None:
    """The relation switches where the input polynomial crosses, not at communication points."""
    swing = text_model(
        "model Swing\n Real s(start = 0, fixed = true), c(start = 1, fixed = true);\nequation\n"
        " der(s) = 3*c;\n der(c) = -3*s;\nend Swing;\n"
    )
    coupling = pliant.Coupling()
    coupling.add("swing", swing)
    coupling.add("relay", text_model(RELAY))
    coupling.connect("swing.s", "relay.u")
    result = coupling.simulate(stop=2, step=0.02, extrapolation=2, rtol=1e-8)
    up, down = np.arcsin(0.3) / 3, (np.pi - np.arcsin(0.3)) / 3
    exact = -2 * up + (down - up) - 2 * (2 - down)
    assert result["relay.x"][-1] == pytest.approx(exact, abs=1e-4)
    times = [event.time for event in result.parts["relay"].events]
    assert times == pytest.approx([up, down], abs=1e-4)


NONLINEAR = """
model Curve
  parameter Real a = 1, b = 0;
  input Real u;
  output Real y;
equation
  y = a*u^3 + b;
end Curve;
"""


def test_nonlinear_loop_and_parts_without_states() -> None:
    coupling = pliant.Coupling()
    coupling.add("p", text_model(NONLINEAR), parameters={"a": -1.0, "b": 2.0})
    coupling.add("q", text_model(NONLINEAR), parameters={"a": 1.0, "b": 0.1})
    coupling.connect("p.y", "q.u")
    coupling.connect("q.y", "p.u")
    result = coupling.simulate(stop=1, step=0.5)
    y, z = result["p.y"][-1], result["q.y"][-1]
    assert y == pytest.approx(2 - z**3, abs=1e-8)
    assert z == pytest.approx(0.1 + y**3, abs=1e-8)


def test_start_values_that_depend_on_the_inputs_around_a_loop() -> None:
    text = (
        "model Rest\n parameter Real g = 1;\n input Real u;\n Real x;\n output Real y = g*x;\ninitial equation\n"
        " der(x) = 0;\nequation\n der(x) = -x + u + 1;\nend Rest;\n"
    )
    coupling = pliant.Coupling()
    coupling.add("a", text_model(text), parameters={"g": -2.0})
    coupling.add("b", text_model(text), parameters={"g": 3.0})
    coupling.connect("a.y", "b.u")
    coupling.connect("b.y", "a.u")
    result = coupling.simulate(stop=0.1, step=0.01)
    # x1 = 3 x2 + 1, x2 = -2 x1 + 1
    assert result["a.x"][0] == pytest.approx(4 / 7, abs=1e-8)
    assert result["b.x"][0] == pytest.approx(-1 / 7, abs=1e-8)


def test_components_in_order() -> None:
    assert components([[1], [0], [1], []]) == [[0, 1], [2], [3]]


# ------------------------------------------------------------------------------------------------- polynomials


def test_polynomials_interpolate_and_shift() -> None:
    times, samples = [0.7, 0.4, 0.0], [np.array([v**2 - v]) for v in (0.7, 0.4, 0.0)]
    for n in (1, 2, 3):
        c = polynomial(times[:n], samples[:n], 0.7)
        for t, sample in zip(times[:n], samples[:n], strict=True):
            assert at(c, t - 0.7) == pytest.approx(sample)
    assert at(polynomial(times, samples, 0.4), 0.5) == pytest.approx(0.9**2 - 0.9)
    assert at(shifted(c, 0.2), 0.1) == pytest.approx(at(c, 0.3))
    smooth = made_continuous(c, np.array([5.0]), 0.25)
    assert at(smooth, 0.0) == pytest.approx(5.0)
    assert at(smooth, 0.25) == pytest.approx(at(c, 0.25))


def test_given_inputs_are_followed() -> None:
    parabola = Given("u", lambda t: 3 - t + 2 * t * t)
    assert at(parabola.coefficients(0.5, 1.5)[:, None], 0.4) == pytest.approx(3 - 0.9 + 2 * 0.81)
    pieces = Given("u", pliant.Segments([0.0, 1.0], [[1.0, 2.0, 3.0], [0.0, 0.0, 4.0]]))
    assert pieces.limits(1.0) == (6.0, 0.0)
    assert pieces.coefficients(0.5, 1.0).tolist() == [2.75, 5.0, 3.0]
    with pytest.raises(pliant.ArgumentError, match="degree 3"):
        Given("u", pliant.Segments([0.0], [[0.0, 0.0, 0.0, 1.0]]))
    table = Given("u", ([0, 1, 1, 2], [0, 1, 5, 6]))
    assert table.breaks(0.5, 1.5).tolist() == [1.0, 1.0]
    assert table.limits(1.0) == (1.0, 5.0)
    assert table.coefficients(1.0, 1.5).tolist() == [5.0, 1.0, 0.0]


# ----------------------------------------------------------------------------------------------------- records


def test_result_has_the_variables_of_all_parts() -> None:
    coupling = spring_damper()
    result = coupling.simulate(stop=1, step=0.1)
    assert result.time == pytest.approx(np.linspace(0, 1, 11))
    assert {"left.x", "left.v", "right.x1", "left.der(v)"} <= set(result.names)
    assert result["right.x1"] == pytest.approx(result["left.x"])
    assert result["left.der(x)"] == pytest.approx(result["left.v"])
    assert result.unit("left.x") == "m"
    assert result.complete
    assert result.stats.n_steps == sum(part.stats.n_steps for part in result.parts.values())
    assert result.manifest["connections"][0] == "left.x -> right.x1"
    assert result.manifest["parts"]["left"]["model"] == "SpringDamperLeft"
    assert result.communication == pytest.approx(result.time)


def test_last_step_may_be_shorter_and_points_thin_out() -> None:
    result = spring_damper().simulate(stop=1, step=0.3)
    assert result.time == pytest.approx([0, 0.3, 0.6, 0.9, 1.0])
    thin = spring_damper().simulate(stop=1, step=0.01, points=5)
    assert thin.time == pytest.approx([0, 0.25, 0.5, 0.75, 1.0])
    assert len(thin.communication) == 101


def test_result_can_be_saved(tmp_path: Any) -> None:
    result = spring_damper().simulate(stop=1, step=0.1)
    back = pliant.load_result(result.save(tmp_path / "r.csv"))
    assert back["left.x"] == pytest.approx(result["left.x"])


def test_a_coupling_can_be_simulated_again() -> None:
    coupling = spring_damper()
    first, second = (coupling.simulate(stop=1, step=0.1) for _ in range(2))
    assert first.values.tobytes() == second.values.tobytes()


def test_pictures(tmp_path: Any) -> None:
    from pliant.cosim.plot import layers, plot_strategies

    coupling = through_loop(0.5)
    coupling.plot(tmp_path / "graph.png")
    results = {how: coupling.simulate(stop=1, step=0.1, at_jump=how) for how in ("restart", "correct")}
    figure = plot_strategies(results, "a", tmp_path / "steps.svg")
    assert len(figure.axes) == 4
    assert (tmp_path / "graph.png").stat().st_size > 1000
    assert layers(["a", "b", "c"], [("a", "c"), ("b", "c"), ("c", "a")]) == [["a", "b"], ["c"]]
    with pytest.raises(pliant.ArgumentError, match="no part 'z'"):
        plot_strategies(results, "z")


def test_through_is_what_it_says() -> None:
    part = begun(text_model(THROUGH), [2.0], ["y", "x"])
    assert part.feedthrough().tolist() == [[True], [False]]
    assert part.sensitivity(np.array([2.0])).tolist() == [[0.5], [0.0]]


@pytest.mark.parametrize("degree", [0, 1, 2])
@pytest.mark.parametrize("scheme", ["jacobi", "gauss-seidel"])
def test_parts_without_states_pass_on_what_is_held(scheme: str, degree: int) -> None:
    """A gain behind a sampled controller changes at ticks only: it was extrapolated, and 5 % off."""
    law = "when sample(0, 0.1) then s = pre(s) + 0.1*(1 - x); u = 0.5*s + (1 - x); end when;"
    memory = "discrete Real s(start = 0, fixed = true);"
    whole = pliant.load(
        f"model W Real x(start = 0, fixed = true); {memory} discrete Real u(start = 0, fixed = true);"
        f" equation der(x) = 2*u - x; {law} end W;"
    ).simulate(stop=2, points=21)
    coupling = pliant.Coupling()
    coupling.add("gain", pliant.load("model G input Real u, k; output Real y = k*u; end G;"))
    coupling.add(
        "plant", pliant.load("model P input Real g; Real x(start = 0, fixed = true); equation der(x) = g - x; end P;")
    )
    output = "discrete output Real u(start = 0, fixed = true);"
    coupling.add("law", pliant.load(f"model K input Real x; {output} {memory} equation {law} end K;"))
    for source, target in (("plant.x", "law.x"), ("law.u", "gain.u"), ("gain.y", "plant.g")):
        coupling.connect(source, target)
    run = coupling.simulate(stop=2, step=0.1, scheme=scheme, extrapolation=degree, inputs={"gain.k": 2.0})
    assert run["plant.x"] == pytest.approx(whole["x"], abs=1e-4)
    assert run["law.u"] == pytest.approx(whole["u"], abs=1e-4)
