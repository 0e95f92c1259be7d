"""Every error of the tree carries a hint, and the hint fits the method, the options and the model in use."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import pliant
from pliant import errors
from pliant.frontend.rumoca.rules import RULES
from pliant.solve import advice

SOURCE = Path(pliant.__file__).parent
TREE = {name for name, one in vars(errors).items() if isinstance(one, type) and issubclass(one, errors.PliantError)}
#: file and line of code -> why this error needs no hint of its own; keep it short
EXEMPT: dict[tuple[str, str], str] = {}


# ------------------------------------------------------------------------------------------------------- in the source


@cache
def nodes_of(text: str) -> list[ast.AST]:
    """Calls and classes of a file."""
    return [node for node in ast.walk(ast.parse(text)) if isinstance(node, (ast.Call, ast.ClassDef))]


def names_of_errors() -> set[str]:
    """The tree, and classes made from it elsewhere."""
    found = set(TREE)
    for path in SOURCE.rglob("*.py"):
        for node in nodes_of(path.read_text()):
            if isinstance(node, ast.ClassDef) and any(called(base) in found for base in node.bases):
                found.add(node.name)
    return found


def called(node: ast.expr) -> str:
    """The last part of a dotted name; ``type(error)`` stands for the class of an error that is raised again."""
    if isinstance(node, ast.Call) and called(node.func) == "type":
        return "PliantError"
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def constructions(text: str, names: set[str]) -> Iterator[ast.Call]:
    for node in nodes_of(text):
        is_error = isinstance(node, ast.Call) and called(node.func) in names
        if is_error and (len(node.args) == 1 or node.keywords or called(node.func) in TREE - {"PliantError"}):
            yield node


def without_hint(text: str, names: set[str]) -> list[ast.Call]:
    def has_hint(call: ast.Call) -> bool:
        given = [one.value for one in call.keywords if one.arg == "hint"]
        return bool(given) and not (isinstance(given[0], ast.Constant) and not str(given[0].value or "").strip())

    return [call for call in constructions(text, names) if not has_hint(call)]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("raise ModelError('m')", 1),
        ("raise errors.ModelError('m', hint='')", 1),
        ("raise SolverError(f'{x}', time=1.0, **common)", 1),
        ("x = type(error)(f'{place}: {error.message}')", 1),
        ("raise ModelError('m', hint='h')", 0),
        ("raise ValueError('m')", 0),
    ],
)
def test_the_check_of_hints_can_fail(text: str, count: int) -> None:
    assert len(without_hint(text, TREE)) == count


def test_every_error_in_the_source_has_a_hint() -> None:
    names, missing, seen = names_of_errors(), [], 0
    for path in sorted(SOURCE.rglob("*.py")):
        text, file = path.read_text(), str(path.relative_to(SOURCE))
        seen += len(list(constructions(text, names)))
        for call in without_hint(text, names):
            line = text.splitlines()[call.lineno - 1].strip()
            if (file, line) not in EXEMPT:
                missing.append(f"{file}:{call.lineno}: {line}")
    assert seen > 400
    assert not missing, "\n".join(missing)


def test_every_translated_message_has_a_hint() -> None:
    assert len(RULES) > 50
    assert not [rule.message for rule in RULES if not rule.hint.strip()]


# ---------------------------------------------------------------------------------------------------------- at run time

ADAPTIVE = ["auto", "bdf", "radau5", "dopri5"]
FIXED = ["euler", "rk4", "lieuler"]


def how(method: str) -> dict[str, Any]:
    return {"method": method, **({"step": 0.01} if method in FIXED else {})}


def error_of(call: Callable[[], Any]) -> errors.PliantError:
    with pytest.raises(errors.PliantError) as caught:
        call()
    return caught.value


def stiff() -> pliant.Model:
    return pliant.ode(lambda t, x: [-1e3 * (float(x[0]) - math.cos(t))], [0.0])


def growing() -> pliant.Model:
    return pliant.ode(lambda t, x: x * x, [1.0])


def square_root() -> pliant.Model:
    return pliant.ode(lambda t, x: [math.sqrt(1.0 - t) if t < 1.0 else math.nan], [1.0])


MODELICA = "model M\n  Real x(start = 1, fixed = true);\nequation\n  der(x) = x^2;\nend M;\n"
TWICE = "model M\n  Real x;\ninitial equation\n  x = 1;\n  x = 2;\nequation\n  der(x) = -x;\nend M;\n"

#: what is done, and what must not be suggested because it is in use already
CASES: dict[str, tuple[Callable[[], Any], tuple[str, ...]]] = {
    **{
        f"steps-{m}": (lambda m=m: stiff().simulate(stop=10, options={"max_steps": 5}, **how(m)), (f"method={m!r}",))
        for m in ADAPTIVE + FIXED
    },
    **{f"growing-{m}": (lambda m=m: growing().simulate(stop=2, **how(m)), (f"method={m!r}",)) for m in ADAPTIVE},
    **{f"nan-{m}": (lambda m=m: square_root().simulate(stop=2, **how(m)), (f"method={m!r}",)) for m in ADAPTIVE},
    **{
        f"timeout-{m}": (lambda m=m: stiff().simulate(stop=1e6, timeout=1e-3, **how(m)), (f"method={m!r}",))
        for m in [*ADAPTIVE, "lieuler"]
    },
    **{
        f"unstable-{m}": (lambda m=m: stiff().simulate(stop=100, **how(m)), (f"method={m!r}",))
        for m in ("euler", "rk4")
    },
    "modelica-growing": (lambda: pliant.load(MODELICA).simulate(stop=2), ("roots", "jac", "method='auto'")),
    "rounding": (lambda: stiff().simulate(stop=1, rtol=1e-17), ("method='auto'",)),
    "contradiction": (lambda: pliant.load(TWICE).simulate(stop=1), ("start value",)),
    "fixed-step-missing": (lambda: stiff().simulate(stop=1, method="rk4"), ("method",)),
    "step-not-wanted": (lambda: stiff().simulate(stop=1, method="bdf", step=0.1), ("method='bdf'",)),
    "unknown-method": (lambda: stiff().simulate(stop=1, method="bfd"), ("bfd",)),
    "dense-too-large": (
        lambda: pliant.ode(lambda t, x: -x, np.ones(400_000)).simulate(stop=1, options={"linear": "dense"}),
        ("'linear': 'dense'",),
    ),
    "sparse-without-pattern": (lambda: stiff().simulate(stop=1, options={"linear": "sparse"}), ("sparse'",)),
    "unknown-option": (lambda: stiff().simulate(stop=1, options={"max_stepp": 1}), ("max_stepp'",)),
    "unknown-variable": (lambda: stiff().simulate(stop=1)["y"], ()),
    "unknown-input": (lambda: stiff().simulate(stop=1, inputs={"u": 1.0}), ()),
    "sizes": (lambda: pliant.load("model M\n  Real x[2] = {1, 2} + {1, 2, 3};\nend M;\n"), ()),
    "product": (lambda: pliant.load("model M\n  Real x = {1, 2} * {1, 2, 3};\nend M;\n"), ()),
    "no-file": (lambda: pliant.load("nowhere.mo"), ()),
    "no-value": (lambda: pliant.load("model M\n  parameter Real p;\n  Real x = p;\nend M;\n").simulate(stop=1), ()),
    "too-few-equations": (lambda: pliant.load("model M\n  Real x;\n  Real y = 2*x;\nend M;\n").simulate(stop=1), ()),
    "pickled-lambda": (lambda: __import__("pickle").dumps(pliant.ode(lambda t, x: -x, [1.0])), ("lambda",)),
    "no-scheme": (lambda: pliant.Coupling().simulate(stop=1, step=0.1), ()),
    "realtime-step": (lambda: pliant.load(MODELICA).realtime(step=-1.0, stop=1), ()),
    "save": (lambda: stiff().simulate(stop=0.1).save("x.xyz"), (".xyz",)),
}


@pytest.mark.parametrize("case", CASES)
def test_hints_fit_the_situation(case: str) -> None:
    call, in_use = CASES[case]
    error = error_of(call)
    assert error.hint.strip(), error
    assert str(error).endswith(f"\n  try: {error.hint}")
    suggested = [one for one in in_use if one in error.hint]
    assert not suggested, error


def test_conditions_that_contradict_each_other_are_named() -> None:
    error = error_of(CASES["contradiction"][0])
    assert "contradict" in error.hint
    assert "x = 1" in error.hint
    assert "x = 2" in error.hint


def doubted(model: pliant.Model, method: str, jacobian: str = "auto") -> str:
    """The hint where Newton's iteration fails, for a request of which only these parts count."""
    options = SimpleNamespace(jacobian=jacobian)
    request: Any = SimpleNamespace(method=method, step=0.1, rtol=1e-6, options=options)
    return advice.convergence_hint(model._numeric, request)


def test_a_jacobian_of_the_user_is_doubted_only_where_it_is_used() -> None:
    own = pliant.ode(lambda t, x: -x, [1.0], jac=lambda t, x: [[-1.0]])
    for method in ("auto", "bdf", "radau5"):
        assert "'jacobian': 'differences'" in doubted(own, method)
        assert "'jacobian'" not in doubted(own, method, "differences")
        assert "'jacobian'" not in doubted(pliant.ode(lambda t, x: -x, [1.0]), method)
        assert "'jacobian'" not in doubted(pliant.load(MODELICA), method)
        assert f"method={method!r}" not in doubted(own, method)
    assert "0.1" in doubted(own, "lieuler")
