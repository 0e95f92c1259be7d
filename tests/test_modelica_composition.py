"""Small models that are put together: inputs within connectors, excluded elements, branches that are chosen."""

from __future__ import annotations

import numpy as np
import pytest

import pliant


def test_inputs_within_connectors_and_records_are_those_of_the_model() -> None:
    text = (
        "package P\n record Pair\n  Real first, second;\n end Pair;\n connector Plug\n  input Real u;\n"
        "  output Real y;\n end Plug;\n connector Socket\n  Plug plug;\n end Socket;\n model M\n"
        "  input Pair given;\n  output Pair taken;\n"
        "  Socket socket;\n equation\n  taken = given;\n  socket.plug.y = 2*socket.plug.u;\n end M;\nend P;"
    )
    given = {"given.first": 3.0, "given.second": 4.0, "socket.plug.u": 5.0}
    result = pliant.load(text, name="P.M", path=[]).simulate(stop=1, inputs=given)
    assert [result[name][-1] for name in ("taken.first", "taken.second", "socket.plug.y")] == [3.0, 4.0, 10.0]


CHAIN = (
    "package P\n connector Pin\n  Real v;\n  flow Real i;\n end Pin;\n model Source\n  Pin p;\n equation\n  p.v = 3;\n"
    " end Source;\n model Load\n  Pin p;\n equation\n  p.i = 2*p.v;\n end Load;\n model Base\n"
    "  Source one;\n  Load load;\n"
    " equation\n  connect(one.p, load.p);\n end Base;\n model Both\n  extends Base;\n  Load more;\n equation\n"
    "  connect(one.p, more.p);\n end Both;\n"
)


@pytest.mark.parametrize(
    ("model", "current"),
    [
        ("extends Both;", -12.0),
        ("extends Both(break more);", -6.0),
        ("extends Both(break load);", -6.0),
        ("extends Both(break connect(one.p, load.p));", -6.0),
        ("extends Both(break more);\n  Load other;\nequation\n  connect(other.p, one.p);", -12.0),
    ],
)
def test_what_is_excluded_goes_with_its_connections(model: str, current: float) -> None:
    """Also from the bases of the base class (7.4)."""
    result = pliant.load(f"{CHAIN} model M\n  {model}\n end M;\nend P;", name="P.M", path=[]).simulate(stop=1)
    assert result["one.p.i"][-1] == current


@pytest.mark.parametrize("is_sampled", [False, True])
def test_a_variable_is_set_in_a_when_clause_of_one_branch_only(is_sampled: bool) -> None:
    """Whether it changes continuously follows from the branch that is chosen."""
    text = (
        f"model M\n  parameter Boolean sampled = {str(is_sampled).lower()};\n  Real x(start = 1, fixed = true);\n"
        "equation\n  if sampled then\n    when sample(0.25, 0.25) then\n      x = pre(x)/2;\n    end when;\n"
        "  else\n    der(x) = -x;\n  end if;\nend M;"
    )
    result = pliant.load(text, path=[]).simulate(stop=0.6, rtol=1e-9, points=[0.0, 0.1, 0.6])
    expected = [1.0, 1.0, 0.25] if is_sampled else np.exp([-0.0, -0.1, -0.6])
    np.testing.assert_allclose(result["x"], expected, rtol=1e-7)
