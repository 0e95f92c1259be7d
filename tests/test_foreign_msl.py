"""C code of the Modelica Standard Library: tables from files and of two dimensions, random numbers, files, matrices.

Skipped unless MODELICAPATH is set. Nothing of the library is in this repository.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from test_frontend_support import needs_msl

import pliant

pytestmark = needs_msl
DATA = """#1
double time(5,3)
0 0 1
1 2 3
1 4 3
2 5 1
3 1 1
double plane(3,3)
0 1 2
1 5 6
2 7 9
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tables") / "data.txt"
    path.write_text(DATA)
    return path


def run(body: str, **given: float) -> pliant.Result:
    model = pliant.load(f"model T\n{body}\nend T;\n")
    return model.simulate(stop=2.9, rtol=1e-8, parameters=given)


def test_a_table_from_a_file_is_that_in_the_model(file: Path) -> None:
    result = run(f"""
  Modelica.Blocks.Sources.CombiTimeTable a(tableOnFile = true, tableName = "time", fileName = "{file}", columns = 2:3);
  Modelica.Blocks.Sources.CombiTimeTable b(table = [0, 0, 1; 1, 2, 3; 1, 4, 3; 2, 5, 1; 3, 1, 1], columns = 2:3);
  Real x(start = 0, fixed = true);
equation
  der(x) = a.y[1];""")
    np.testing.assert_allclose(result["a.y[1]"], result["b.y[1]"], atol=1e-12)
    np.testing.assert_allclose(result["a.y[2]"], result["b.y[2]"], atol=1e-12)
    assert result["x"][-1] == pytest.approx(1.0 + 4.5 + 0.9 * 5.0 - 0.5 * 4.0 * 0.9**2)


def test_two_dimensions_and_derivatives(file: Path) -> None:
    result = run(f"""
  Modelica.Blocks.Tables.CombiTable2Ds a(tableOnFile = true, tableName = "plane", fileName = "{file}",
    smoothness = Modelica.Blocks.Types.Smoothness.ContinuousDerivative);
  Real d;
equation
  a.u1 = 1 + time/3;
  a.u2 = 1.5;
  d = der(a.y);""")
    slope = np.gradient(result["a.y"], result.time)
    np.testing.assert_allclose(result["d"][2:-2], slope[2:-2], atol=1e-3)


@pytest.mark.parametrize(
    ("table", "name", "words"),
    [("nothing", "data.txt", "not found in file"), ("time", "missing.txt", "Not possible to open file")],
)
def test_files_that_are_not_there(file: Path, table: str, name: str, words: str) -> None:
    with pytest.raises(pliant.ModelError, match=words):
        run(f"""
  Modelica.Blocks.Sources.CombiTimeTable a(tableOnFile = true, tableName = "{table}",
    fileName = "{file.parent / name}");""")


def test_matrices() -> None:
    result = run("""
  parameter Real A[3, 3] = [4, 1, 0; 1, 3, 1; 0, 1, 2];
  parameter Real values[3, 2] = Modelica.Math.Matrices.eigenValues(A);
  Real x[3];
equation
  x = Modelica.Math.Matrices.solve(A, {time, 1, 2});""")
    matrix = np.array([[4, 1, 0], [1, 3, 1], [0, 1, 2]])
    np.testing.assert_allclose([result[f"x[{k}]"][-1] for k in (1, 2, 3)], np.linalg.solve(matrix, [2.9, 1, 2]))
    found = sorted(result[f"values[{k},1]"][-1] for k in (1, 2, 3))
    np.testing.assert_allclose(found, np.sort(np.linalg.eigvals(matrix)))
