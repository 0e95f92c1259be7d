"""Bad input: each a typed error that says where, names the culprit, and what to try."""

from __future__ import annotations

import math
import re
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import pliant
from pliant import (
    AccuracyError,
    ArgumentError,
    ConvergenceError,
    InitialValueError,
    ModelError,
    NonFiniteError,
    PliantError,
    SingularError,
    SolverError,
    StepLimitError,
    StepSizeError,
    UnknownNameError,
)

ADAPTIVE = ["auto", "bdf", "radau5", "dopri5"]
FIXED = ["euler", "rk4", "lieuler"]
IMPLICIT = ["auto", "bdf", "radau5", "lieuler"]


def how(method: str) -> dict[str, Any]:
    return {"method": method, **({"step": 0.05} if method in FIXED else {})}


@contextmanager
def refused(kind: type[PliantError], *words: str) -> Iterator[Any]:
    """The error has this type, its message holds the words, and it tells what to try or what is needed."""
    with pytest.raises(kind) as caught:
        yield caught
    error, text = caught.value, str(caught.value)
    missing = [word for word in words if not re.search(word, text)]
    assert not missing, f"{missing} not in: {text}"
    assert error.hint, f"nothing to try in: {text}"


def decay(t: float, x: Any) -> Any:
    return -x


def ab(f: Callable[..., Any] = decay, **more: Any) -> pliant.Model:
    return pliant.ode(f, [1.0, 2.0], names=["a", "b"], **more)


def is_ascending(result: pliant.Result) -> bool:
    return len(result) > 0 and bool(np.all(np.diff(result.time) >= 0))


# ------------------------------------------------------------------------------------------- NaN and infinity


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("method", [*ADAPTIVE, *FIXED])
def test_nonfinite_derivative_names_state_and_time(method: str, value: float) -> None:
    model = ab(lambda t, x: [-x[0], -x[1] if t <= 0.5 else value])
    with refused(NonFiniteError, "derivative of b", "NaN or infinite", r"t = 0\.[56]") as caught:
        model.simulate(2, **how(method))
    error = caught.value
    assert error.names == ("b",)
    assert error.time == pytest.approx(0.5, abs=0.051)
    assert is_ascending(error.result)
    assert error.result.time[-1] <= error.time + 1e-9
    assert not error.result.complete
    scale = 1e-4 if method in ADAPTIVE else 0.1
    assert error.result["a"][-1] == pytest.approx(math.exp(-error.result.time[-1]), rel=scale)


@pytest.mark.parametrize("method", [*ADAPTIVE, *FIXED])
def test_nonfinite_at_the_start(method: str) -> None:
    with refused(NonFiniteError, "derivative of b", "t = 3") as caught:
        ab(lambda t, x: [x[0], math.nan]).simulate(4, start=3, **how(method))
    assert caught.value.time == 3.0
    assert caught.value.result.complete is False


def test_a_nan_that_a_smaller_step_avoids_is_no_error() -> None:
    """sqrt(1 - x), x -> 1 from below: trial points beyond 1 are refused, the solution never gets there."""
    model = pliant.ode(lambda t, x: [math.sqrt(1 - x[0]) if x[0] <= 1 else math.nan], [0.0])
    result = model.simulate(1.9, rtol=1e-6)
    assert result.values[-1, 0] == pytest.approx(1 - (1 - 0.95) ** 2, abs=1e-5)


@pytest.mark.parametrize("method", ["auto", "bdf", "radau5"])
def test_nonfinite_jacobian(method: str) -> None:
    model = ab(jac=lambda t, x: np.array([[-1.0, 0.0], [math.nan, -1.0]]))
    with refused(NonFiniteError, "Jacobian", r"\bb\b", r"at t = [0-9]") as caught:
        model.simulate(1, method=method)
    assert caught.value.names == ("b",)


def test_nonfinite_root_function() -> None:
    model = ab(roots=pliant.Root(lambda t, x: math.nan if t > 0.3 else 1.0, name="valve"))
    with refused(NonFiniteError, "root function valve", r"t = 0\.3") as caught:
        model.simulate(1)
    assert is_ascending(caught.value.result)


def test_nonfinite_root_function_at_the_start_has_a_result_too() -> None:
    with refused(NonFiniteError, "root function valve", "t = 0") as caught:
        ab(roots=pliant.Root(lambda t, x: math.nan, name="valve")).simulate(1)
    assert caught.value.result is not None


def test_nonfinite_update_names_the_time_of_the_event() -> None:
    model = ab(roots=pliant.Root(lambda t, x: t - 0.5, update=lambda t, x: [math.nan, 1.0]))
    with refused(NonFiniteError, r"\ba\b", r"t = 0\.5"):
        model.simulate(1)


# ------------------------------------------------------------------------------------------------ wrong sizes


@pytest.mark.parametrize(
    "value",
    [[1.0, 2.0, 3.0], np.ones(3), np.ones((2, 2)), 1.0, [1.0], np.ones(0)],
    ids=["list", "array", "matrix", "scalar", "short", "empty"],
)
def test_f_of_wrong_size(value: Any) -> None:
    with refused(ArgumentError, r"f\(t, x\)", "shape", "2 states"):
        ab(lambda t, x: value).simulate(1)


@pytest.mark.parametrize(
    "value",
    [None, "ab", ["a", "b"], [1j, 0.0], np.array([1j, 0.0]), [[1.0], [1.0, 2.0]], {"a": 1}],
    ids=["None", "text", "texts", "complex list", "complex array", "ragged", "dict"],
)
def test_f_that_returns_no_real_numbers(value: Any) -> None:
    with refused(ArgumentError, r"f\(t, x\)"):
        ab(lambda t, x: value).simulate(1)


def test_none_among_the_derivatives() -> None:
    """NumPy reads None as NaN: either error names what is wrong."""
    with refused(PliantError, r"derivative of b|f\(t, x\)"):
        ab(lambda t, x: [1.0, None]).simulate(1)


@pytest.mark.parametrize(
    ("x0", "words"),
    [
        ([], "vector"),
        ([[1.0, 2.0]], "vector"),
        ("ab", "real numbers"),
        ([True, False], "real numbers"),
        ([1j], "real numbers"),
        ([1.0, math.nan], "finite at index 1"),
        ([math.inf], "finite at index 0"),
    ],
)
def test_start_vector(x0: Any, words: str) -> None:
    with refused(ArgumentError, "x0", words):
        pliant.ode(decay, x0)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"names": ["a"]}, ["names", "1 ", "2 states"]),
        ({"nominal": [1.0, 2.0, 3.0]}, ["nominal", "3 ", "2 states"]),
        ({"nominal": [1.0, 0.0]}, ["nominal", "zero"]),
        ({"nominal": math.nan}, ["nominal", "finite"]),
        ({"jac": 3}, ["jac", "callable"]),
        ({"roots": 3}, [r"roots\[0\]", "callable"]),
        ({"roots": [decay, "b"]}, [r"roots\[1\]", "callable"]),
        ({"roots": pliant.Root(decay, direction=2)}, ["direction", "-1, 0 or 1"]),
        ({"roots": pliant.Root(decay, direction=True)}, ["direction", "-1, 0 or 1", "True"]),
        ({"nominal": True}, ["nominal", "numbers"]),
        ({"mass": np.eye(3)}, ["mass", r"\(3, 3\)", "2 x 2"]),
        ({"mass": [1.0, 1.0, 1.0]}, ["mass", "2 states"]),
        ({"mass": [[1.0, 2.0]]}, ["mass", r"\(1, 2\)"]),
        ({"mass": [math.nan, 1.0]}, ["mass", "finite"]),
        ({"mass": "x"}, ["mass"]),
        ({"mass": 3.0}, ["mass"]),
        ({"mass": [1j, 1.0]}, ["mass"]),
        ({"pattern": np.eye(3)}, ["pattern", r"\(3, 3\)"]),
        ({"pattern": [1, 1]}, ["pattern"]),
        ({"pattern": "x"}, ["pattern"]),
        ({"jac": lambda t, x: sp.eye_array(3)}, ["jac", r"\(3, 3\)"]),
    ],
)
def test_arguments_of_ode(more: dict[str, Any], words: list[str]) -> None:
    with refused(ArgumentError, *words):
        pliant.ode(decay, [1.0, 2.0], **more)


def test_f_must_be_callable() -> None:
    with refused(ArgumentError, "f is not callable"):
        pliant.ode(3.0, [1.0])  # type: ignore[arg-type]


@pytest.mark.parametrize(("names", "words"), [(["a", "a"], "twice"), (["a", "time"], "time")])
def test_names(names: list[str], words: str) -> None:
    with refused(ModelError, words):
        pliant.ode(decay, [1.0, 2.0], names=names)


def test_mass_without_a_differential_equation() -> None:
    with refused(ModelError, "mass matrix is zero"):
        ab(mass=np.zeros((2, 2)))


@pytest.mark.parametrize("method", ["dopri5", "euler", "rk4"])
def test_explicit_methods_refuse_a_mass_matrix(method: str) -> None:
    with refused(ArgumentError, method, "mass matrix", "radau5"):
        ab(mass=[2.0, 1.0]).simulate(1, **how(method))


@pytest.mark.parametrize(
    "value",
    [np.ones(2), np.ones((3, 3)), None, "x", [[1.0], [1.0, 2.0]], [["a", "b"], ["c", "d"]], 1j * np.eye(2)],
    ids=["vector", "3x3", "None", "text", "ragged", "texts", "complex"],
)
def test_jac_of_wrong_shape_or_kind(value: Any) -> None:
    with refused(ArgumentError, r"jac\(t, x\)", "2 x 2|real"):
        ab(jac=lambda t, x: value).simulate(1)


@pytest.mark.parametrize("make", [np.array, sp.csc_array, sp.csr_array], ids=["dense", "csc", "csr"])
def test_jac_outside_the_pattern_names_the_entry(make: Any) -> None:
    model = ab(jac=lambda t, x: make([[-1.0, 5.0], [0.0, -1.0]]), pattern=np.eye(2))
    with refused(ArgumentError, r"f\(a\)", "d b", "row 0, column 1", "pattern"):
        model.simulate(1)


def test_update_of_wrong_size() -> None:
    model = ab(roots=pliant.Root(lambda t, x: t - 0.5, update=lambda t, x: [1.0], name="hit"))
    with refused(ArgumentError, "update", "hit", r"\(1,\)", r"\b2\b"):
        model.simulate(1)


def test_root_function_that_returns_a_vector() -> None:
    model = ab(roots=pliant.Root(lambda t, x: x, name="hit"))
    with refused(ArgumentError, "hit"):
        model.simulate(1)


# --------------------------------------------------------------------------------- arguments of simulate


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"rtol": math.nan}, ["rtol", "finite"]),
        ({"rtol": math.inf}, ["rtol", "finite"]),
        ({"rtol": -1e-3}, ["rtol", "between 0 and 1"]),
        ({"rtol": 1.0}, ["rtol", "between 0 and 1"]),
        ({"rtol": "x"}, ["rtol", "number"]),
        ({"atol": math.nan}, ["atol", "a ", "finite"]),
        ({"atol": [1e-6, math.inf]}, ["atol of b", "finite"]),
        ({"atol": [1e-6, -1.0]}, ["atol of b", "negative"]),
        ({"atol": [1.0, 2.0, 3.0]}, ["atol", r"\(3,\)", "2 states"]),
        ({"atol": "x"}, ["atol"]),
        ({"rtol": 0.0, "atol": 0.0}, ["rtol and atol", "zero"]),
        ({"rtol": 0.0, "atol": [1e-6, 0.0]}, ["rtol and atol", "zero"]),
        ({"start": 2.0}, ["stop = 1", "before", "start = 2"]),
        ({"start": math.nan}, ["start", "finite"]),
        ({"stop": math.inf}, ["stop", "finite"]),
        ({"stop": math.nan}, ["stop", "finite"]),
        ({"stop": None}, ["stop", "number"]),
        ({"method": "bdff"}, ["bdff", "did you mean 'bdf'"]),
        ({"method": "gear"}, ["gear", "radau5"]),
        ({"method": None}, ["None", "radau5"]),
        ({"method": "euler"}, ["euler", "step"]),
        ({"method": "rk4"}, ["rk4", "step"]),
        ({"method": "lieuler"}, ["lieuler", "step"]),
        ({"method": "rk4", "step": 0.0}, ["step", "positive"]),
        ({"method": "rk4", "step": math.nan}, ["step", "finite"]),
        ({"method": "bdf", "step": 0.1}, ["bdf", "own steps", "max_step"]),
        ({"points": 1}, ["points", "at least 2"]),
        ({"points": [0.0, 2.0]}, ["points", "0 to 2", "0 to 1"]),
        ({"points": [-1.0, 1.0]}, ["points", "-1 to 1"]),
        ({"points": [0.5, 0.2]}, ["points", "ascend"]),
        ({"points": [0.5, math.nan]}, ["points", "finite"]),
        ({"points": []}, ["points"]),
        ({"points": "x"}, ["points", "array of times"]),
        ({"points": 10**15}, ["points", "memory"]),
        ({"timeout": 0.0}, ["timeout", "positive"]),
        ({"timeout": math.nan}, ["timeout", "finite"]),
        ({"start_values": {"a": math.nan}}, ["start_values", "'a'", "finite"]),
        ({"start_values": {"a": "x"}}, ["start_values", "'a'", "number"]),
        ({"outputs": 3}, ["outputs"]),
        ({"options": {"maxstep": 1.0}}, ["maxstep", "max_step"]),
        ({"options": {"nonsense": 1.0}}, ["nonsense", "max_step"]),
        ({"options": {"max_step": -1.0}}, ["max_step", "positive"]),
        ({"options": {"max_step": "x"}}, ["max_step", "positive"]),
        ({"options": {"first_step": math.nan}}, ["first_step"]),
        ({"options": {"max_order": 6}}, ["max_order", "between 1 and 5"]),
        ({"options": {"max_order": "x"}}, ["max_order"]),
        ({"options": {"max_order": 2.5}}, ["max_order"]),
        ({"options": {"max_steps": -1}}, ["max_steps"]),
        ({"options": {"max_steps": "x"}}, ["max_steps"]),
        ({"options": {"root_samples": -1}}, ["root_samples"]),
        ({"options": {"linear": "band"}}, ["linear", "sparse", "band"]),
        ({"options": {"linear": "sparse"}}, ["sparse", "pattern"]),
        ({"options": {"jacobian": "exact"}}, ["jacobian", "differences"]),
        ({"method": "lieuler", "step": 0.1, "options": {"mask": np.ones((3, 3))}}, ["mask", r"\(3, 3\)", r"\(2, 2\)"]),
        ({"options": 3}, ["options"]),
        ({"options": 0}, ["options"]),
        ({"progress": 3}, ["progress"]),
        ({"stop": True}, ["stop", "number", "True"]),
        ({"stop": "5"}, ["stop", "number", "'5'"]),
        ({"start": np.False_}, ["start", "number"]),
        ({"rtol": True}, ["rtol", "number", "True"]),
        ({"atol": True}, ["atol", "one number or one per state", "True"]),
        ({"atol": [True, 1e-6]}, ["atol"]),
        ({"atol": ["1e-6", "1e-6"]}, ["atol", "one number"]),
        ({"points": True}, ["points", "whole number", "True"]),
        ({"points": 3.5}, ["points", "whole number"]),
        ({"points": ["0", "1"]}, ["points", "array of times"]),
        ({"method": "rk4", "step": True}, ["step", "number", "True"]),
        ({"timeout": True}, ["timeout", "number", "True"]),
        ({"start_values": {"a": True}}, ["start_values", "'a'", "True"]),
        ({"start_values": [1.0, 2.0]}, ["start_values", "by name"]),
        ({"parameters": 3}, ["parameters", "by name"]),
        ({"options": {"max_step": True}}, ["max_step", "positive number", "True"]),
        ({"options": {"max_order": True}}, ["max_order", "whole number", "True"]),
        ({"options": {"curvature": True}}, ["curvature", "True"]),
    ],
    ids=lambda value: str(value)[:45] if isinstance(value, dict) else "",
)
def test_arguments_of_simulate(more: dict[str, Any], words: list[str]) -> None:
    with refused(ArgumentError, *words):
        ab().simulate(**({"stop": 1.0} | more))


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"start_values": {"aa": 1.0}}, ["start_values", "'aa'", "did you mean 'a'"]),
        ({"parameters": {"p": 1.0}}, ["parameters", "'p'", "none"]),
        ({"inputs": {"u": 1.0}}, ["inputs", "'u'", "none"]),
        ({"outputs": ["aa"]}, ["outputs", "'aa'", "did you mean 'a'"]),
    ],
)
def test_unknown_names_suggest_the_nearest(more: dict[str, Any], words: list[str]) -> None:
    with refused(UnknownNameError, *words) as caught:
        ab().simulate(1, **more)
    assert isinstance(caught.value, KeyError)


def test_options_as_an_object() -> None:
    options = pliant.SolverOptions(max_order=1, at_jump="restart")
    as_mapping = ab().simulate(stop=1, options={"max_order": 1, "at_jump": "restart"})
    assert ab().simulate(stop=1, options=options).stats.n_steps == as_mapping.stats.n_steps
    with refused(ArgumentError, "max_order", "whole number"):
        ab().simulate(stop=1, options=pliant.SolverOptions(max_order=True))


def test_booleans_are_for_boolean_variables() -> None:
    model = pliant.load(
        "model M\n parameter Integer n = 2; parameter Real k = 1; Real x(start = 1); Boolean b(start = false);\n"
        "equation\n der(x) = if b then -k*n*x else 0;\n when time > 5 then b = not pre(b); end when;\nend M;\n"
    )
    assert model.simulate(stop=1, start_values={"b": True}, parameters={"n": np.int64(3)}).final["x"] < 0.1
    for name, value in (("k", True), ("n", True), ("n", 2.5), ("k", "1")):
        with refused(ArgumentError, name):
            model.simulate(stop=1, parameters={name: value})
    for name, value in (("x", True), ("b", 0.5), ("b", "true")):
        with refused(ArgumentError, name):
            model.simulate(stop=1, start_values={name: value})


def test_stop_equal_to_start_is_one_instant() -> None:
    result = ab().simulate(1, start=1, points=2)
    assert result.stats.n_steps == 0
    assert list(result.time) == [1.0, 1.0]
    assert list(result.values[0]) == [1.0, 2.0]


# ------------------------------------------------------------------------------------ singular, inconsistent


@pytest.mark.parametrize("method", IMPLICIT)
def test_algebraic_equation_without_its_unknown(method: str) -> None:
    model = pliant.ode(lambda t, x: [-x[0], x[0] - 1.0], [1.0, 1.0], mass=[1, 0], names=["x", "z"])
    with refused(SingularError, "singular", r"\bz\b", "t = 0", "equation") as caught:
        model.simulate(1, **how(method))
    assert caught.value.names == ("z",)
    assert caught.value.time == 0.0


@pytest.mark.parametrize("method", IMPLICIT)
def test_two_equations_that_say_the_same(method: str) -> None:
    def f(t: float, x: Any) -> list[float]:
        return [-x[0], x[1] + x[2] - x[0], 2 * (x[1] + x[2] - x[0]), -x[3]]

    model = pliant.ode(f, [1.0, 0.5, 0.5, 1.0], mass=[1, 0, 0, 1], names=["x", "z1", "z2", "w"])
    with refused(SingularError, "z1", "z2") as caught:
        model.simulate(1, **how(method))
    assert set(caught.value.names) == {"z1", "z2"}


def test_singular_on_the_way() -> None:
    """0 = (1 - t) z - (1 - t) becomes empty at t = 1, and lieuler steps exactly there."""
    model = pliant.ode(lambda t, x: [-1.0, x[0] * (x[1] - 1.0)], [1.0, 1.0], mass=[1, 0], names=["x", "z"])
    with refused(SingularError, "z cannot be determined", "t = 1") as caught:
        model.simulate(2, method="lieuler", step=0.125)
    assert caught.value.result.time[-1] == pytest.approx(1.0, abs=0.01)


def test_structurally_singular_pattern() -> None:
    model = pliant.ode(
        lambda t, x: [-x[0], x[0] - 1.0], [1.0, 1.0], mass=[1, 0], pattern=[[1, 0], [1, 0]], names=["x", "z"]
    )
    with refused(SingularError, "structurally singular", r"\bz\b") as caught:
        model.simulate(1)
    assert caught.value.names == ("z",)


def constrained(z: float) -> pliant.Model:
    return pliant.ode(lambda t, x: [-x[0], x[0] - x[1]], [1.0, z], mass=[1, 0], names=["x", "z"])


@pytest.mark.parametrize("method", IMPLICIT)
def test_inconsistent_start(method: str) -> None:
    with refused(InitialValueError, "z = 3", "1 would be consistent", "t = 0", "'initial': 'solve'"):
        constrained(3.0).simulate(1, **how(method))


@pytest.mark.parametrize("method", IMPLICIT)
def test_inconsistent_start_repaired(method: str) -> None:
    result = constrained(3.0).simulate(1, options={"initial": "solve"}, **how(method))
    assert result["z"][0] == pytest.approx(1.0, abs=1e-9)
    assert result["x"][0] == 1.0
    np.testing.assert_allclose(result["z"], result["x"], rtol=1e-5)


def test_start_within_the_tolerance_is_consistent() -> None:
    assert constrained(1.0 + 1e-9).simulate(1).complete


@pytest.mark.parametrize("method", IMPLICIT)
def test_no_consistent_start_exists(method: str) -> None:
    model = pliant.ode(lambda t, x: [-x[0], x[1] ** 2 + 1], [1.0, 3.0], mass=[1, 0], names=["x", "z"])
    with refused(InitialValueError, "no consistent", r"\bz\b", "start values"):
        model.simulate(1, options={"initial": "solve"}, **how(method))


# ------------------------------------------------------------------------------------------- f that raises


class BoomError(Exception):
    """The user's own."""


def users_function(t: float, x: Any) -> Any:
    if t > 0.3:
        raise BoomError("over")
    return -x


@pytest.mark.parametrize("method", [*ADAPTIVE, *FIXED])
def test_exception_passes_through(method: str) -> None:
    with pytest.raises(BoomError, match=r"^over$") as caught:
        pliant.ode(users_function, [1.0]).simulate(1, **how(method))
    assert type(caught.value) is BoomError
    assert caught.value.__cause__ is None
    frames = [frame.name for frame in traceback.extract_tb(caught.tb)]
    assert frames[-1] == "users_function"
    result = caught.value.pliant_result  # type: ignore[attr-defined]
    assert is_ascending(result)
    assert 0.2 < result.time[-1] <= 0.3
    assert not result.complete


def raise_boom(*_: object) -> Any:
    raise BoomError("at once")


@pytest.mark.parametrize(
    "make",
    [
        lambda: pliant.ode(raise_boom, [1.0]),
        lambda: pliant.ode(raise_boom, [1.0, 1.0], mass=[1, 0]),
        lambda: pliant.ode(decay, [1.0], jac=lambda t, x: raise_boom() if t > 0 else [[-1.0]]),
        lambda: pliant.ode(decay, [1.0], roots=raise_boom),
        lambda: pliant.ode(decay, [1.0], roots=pliant.Root(lambda t, x: t - 0.5, update=raise_boom)),
    ],
    ids=["f", "f of a DAE", "jac", "root", "update"],
)
def test_exception_anywhere_passes_through_with_the_result(make: Callable[[], pliant.Model]) -> None:
    model = make()
    with pytest.raises(BoomError, match="at once") as caught:
        model.simulate(1)
    assert traceback.extract_tb(caught.tb)[-1].name == "raise_boom"
    assert isinstance(caught.value.pliant_result, pliant.Result)  # type: ignore[attr-defined]


@pytest.mark.parametrize("points", [11, 500, None])
@pytest.mark.parametrize("where", ["f", "root", "f is NaN", "root is NaN"])
@pytest.mark.parametrize("method", [*ADAPTIVE, *FIXED])
def test_every_row_of_a_partial_result_is_right(method: str, where: str, points: int | None) -> None:
    def bad(t: float) -> float:
        if t > 0.3 and "NaN" not in where:
            raise BoomError
        return math.nan if t > 0.3 else 1.0

    in_f, in_root = where.startswith("f"), where.startswith("root")
    model = pliant.ode(
        lambda t, x: -x * (bad(t) if in_f else 1.0),
        [1.0],
        names=["a"],
        roots=(lambda t, x: bad(t)) if in_root else None,
    )
    with pytest.raises((BoomError, NonFiniteError)) as caught:
        model.simulate(1, points=points, **how(method))
    error = caught.value
    result = error.result if isinstance(error, NonFiniteError) else error.pliant_result
    assert is_ascending(result)
    assert 0.15 < result.time[-1] <= 0.3
    assert len(result) > (2 if points == 11 else 4)
    atol = 1e-5 if method in ADAPTIVE else 0.02
    np.testing.assert_allclose(result["a"], np.exp(-result.time), rtol=0, atol=atol)


def test_the_same_model_runs_after_an_exception() -> None:
    fail = [True]

    def f(t: float, x: Any) -> Any:
        if fail[0] and t > 0.3:
            raise BoomError
        return -x

    model = pliant.ode(f, [1.0])
    with pytest.raises(BoomError):
        model.simulate(1)
    fail[0] = False
    assert model.simulate(1).values[-1, 0] == pytest.approx(math.exp(-1), abs=1e-5)


def test_x_is_read_only_inside_f() -> None:
    def f(t: float, x: Any) -> Any:
        x[0] = 2.0
        return -x

    with pytest.raises(ValueError, match="read-only"):
        pliant.ode(f, [1.0]).simulate(1)


# -------------------------------------------------------------------------------------- steps that collapse


@pytest.mark.parametrize("method", ADAPTIVE)
def test_blow_up(method: str) -> None:
    """x' = x^2, x(0) = 1: x = 1/(1 - t)."""
    with refused(SolverError, "t = (1|0.9999)", "step size") as caught:
        pliant.ode(lambda t, x: x * x, [1.0]).simulate(2, method=method)
    assert isinstance(caught.value, (StepSizeError, AccuracyError, ConvergenceError))
    assert caught.value.time == pytest.approx(1.0, abs=1e-3)
    result = caught.value.result
    assert result.time[-1] <= caught.value.time
    middle = result.time < 0.9
    np.testing.assert_allclose(result.values[middle, 0], 1 / (1 - result.time[middle]), rtol=1e-3)


@pytest.mark.parametrize("method", ADAPTIVE)
def test_step_limit(method: str) -> None:
    with refused(StepLimitError, "max_steps = 5", "t = 0") as caught:
        ab().simulate(100, method=method, options={"max_steps": 5})
    assert caught.value.result.stats.n_steps == 5


@pytest.mark.parametrize("rtol", [1e-17, 1e-200, 0.0])
@pytest.mark.parametrize("method", ADAPTIVE)
def test_tolerance_below_rounding(method: str, rtol: float) -> None:
    with refused(AccuracyError, "tolerance of a", "rounding", "rtol"):
        ab().simulate(1, method=method, rtol=rtol, atol=1e-300 if rtol == 0.0 else 0.0)


def test_tight_but_possible_tolerances() -> None:
    result = ab().simulate(1, method="radau5", rtol=1e-13, atol=1e-15)
    assert result["a"][-1] == pytest.approx(math.exp(-1), rel=1e-11)
