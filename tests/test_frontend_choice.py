"""The choice of a front end: for load, inspect and the command line."""

import pickle

import numpy as np
import pytest
from support_cli import CliRunner

import pliant
from pliant.cli import app

TEXT = """model Ball
  parameter Real e = 0.7; parameter Integer n = 2;
  Real h(start = 1, fixed = true), v(fixed = true), x[n](each start = 1, each fixed = true);
equation
  der(h) = v; der(v) = -9.81;
  for k in 1:n loop der(x[k]) = -k*x[k]; end for;
  when h < 0 then reinit(v, -e*pre(v)); end when;
end Ball;
"""


def test_both_give_the_same() -> None:
    first, second = (pliant.load(TEXT, frontend=one).simulate(stop=1.2) for one in ("pliant", "rumoca"))
    assert set(first.names) == set(second.names)
    for name in ("h", "v", "x[2]"):
        np.testing.assert_allclose(first[name], second[name], atol=1e-6)


@pytest.mark.parametrize("frontend", ["pliant", "rumoca"])
def test_models_are_pickled(frontend: str) -> None:
    model = pliant.load(TEXT, frontend=frontend)
    again = pickle.loads(pickle.dumps(model))
    assert again.simulate(stop=0.3)["h"][-1] == model.simulate(stop=0.3)["h"][-1]


def test_inspect() -> None:
    found = [pliant.inspect(TEXT, frontend=one) for one in ("pliant", "rumoca")]
    assert [s.name for s in found[0].states] == [s.name for s in found[1].states]


def test_an_unknown_one() -> None:
    for call in (pliant.load, pliant.inspect):
        with pytest.raises(pliant.ArgumentError, match="no front end 'dymola'"):
            call(TEXT, frontend="dymola")


def test_it_is_for_modelica_only(tmp_path) -> None:
    (tmp_path / "m.c").write_text("int x;")
    with pytest.raises(pliant.ArgumentError, match="frontend are for Modelica"):
        pliant.load(tmp_path / "m.c", frontend="pliant")


def test_command_line(tmp_path) -> None:
    file = tmp_path / "ball.mo"
    file.write_text(TEXT)
    for frontend in ("pliant", "rumoca"):
        done = CliRunner().invoke(app, ["inspect", str(file), "--frontend", frontend, "--json"])
        assert done.exit_code == 0, done.output
    done = CliRunner().invoke(app, ["inspect", str(file), "--frontend", "nothing"])
    assert done.exit_code == 2
    assert "no front end" in done.output
