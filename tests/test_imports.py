"""`import pliant` loads what is needed: its cost in processor time, heavy packages, and the names loaded when used."""

from __future__ import annotations

import ast
import pickle
import statistics
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import pliant

HEAVY = ("numpy", "scipy", "matplotlib", "pyarrow", "pandas", "rich", "typer", "rumoca", "threadpoolctl")
ROUNDS = 9
LIMIT = 0.1  # seconds of processor time above numpy's own import
HELP_LIMIT = 0.3  # seconds

USED = "import resource; u = resource.getrusage(resource.RUSAGE_SELF); print(u.ru_utime + u.ru_stime)"


def fresh(code: str) -> str:
    """What a new process prints."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def processor_time(code: str) -> float:
    return float(fresh(f"{code}\n{USED}").split()[-1])


# Neighbours on the machine make a process dearer, never cheaper, and pairs measured at once suffer alike: the least
# of several on one side, the median difference of pairs on the other; either is proof.
def test_import_costs_little_more_than_numpy() -> None:
    pairs = [(processor_time("import pliant"), processor_time("import numpy")) for _ in range(ROUNDS)]
    least = min(ours for ours, _ in pairs) - min(numpy for _, numpy in pairs)
    typical = statistics.median(ours - numpy for ours, numpy in pairs)
    assert min(least, typical) <= LIMIT, pairs


def test_help_is_quick() -> None:
    """Processor time: waiting for neighbours is not the program's. What it does is nearly all computing."""
    code = """
        import sys
        from pliant.cli import app
        sys.argv = ["pliant", "--help"]
        try:
            app()
        except SystemExit as end:
            assert not end.code
        """
    taken = [processor_time(textwrap.dedent(code)) for _ in range(ROUNDS)]
    assert min(taken) <= HELP_LIMIT, taken


def loaded(code: str) -> set[str]:
    text = fresh(f"{code}\nimport sys\nprint(*sorted({{m.partition('.')[0] for m in sys.modules}}))")
    return set(text.splitlines()[-1].split()) & set(HEAVY)


@pytest.mark.parametrize(
    ("code", "needed"),
    [
        ("import pliant", set()),
        ("import pliant; dir(pliant); pliant.__version__", set()),
        ("import pliant.cli", {"typer", "rich"}),
        ("import pliant; pliant.load", {"numpy"}),
    ],
)
def test_nothing_heavy_is_loaded_before_it_is_used(code: str, needed: set[str]) -> None:
    assert loaded(code) <= needed


def test_a_simulation_loads_numpy_alone() -> None:
    code = (
        "import pliant\n"
        "model = pliant.load('model M Real x(start = 1, fixed = true); equation der(x) = -x; end M;\\n')\n"
        "assert abs(model.simulate(stop=1.0)['x'][-1] - 0.3678794) < 1e-4"
    )
    assert loaded(code) <= {"numpy"}


def test_without_the_package_rumoca() -> None:
    """It is an extra: models are read, simulated and checked without it, and what needs it says how to have it."""
    fresh(
        """
        import pickle, sys
        sys.modules["rumoca"] = None
        import pliant
        text = "model M\\n  Real x(start = 1, fixed = true);\\nequation\\n  der(x) = -x;\\nend M;\\n"
        model = pickle.loads(pickle.dumps(pliant.load(text)))
        assert len(model.simulate_many([{}, {}], stop=1.0)) == 2
        assert pliant.inspect(text).n_equations == 1
        for call in (pliant.load, pliant.inspect):
            try:
                call(text, frontend="rumoca")
            except pliant.ModelError as error:
                assert "rumoca is not installed" in str(error), error
                assert "pip install 'pliant[rumoca]'" in error.hint, error.hint
            else:
                raise AssertionError("it was read")
        """
    )


# --------------------------------------------------------------------------------------------------- lazy names


def imports_for_checkers() -> dict[str, str]:
    """Name -> module of what `pliant/__init__.py` imports for type checkers."""
    tree = ast.parse(Path(pliant.__file__).read_text(encoding="utf-8"))
    blocks = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    assert len(blocks) == 1
    found = [node for node in blocks[0].body if isinstance(node, ast.ImportFrom)]
    return {alias.name: node.module or "" for node in found for alias in node.names}


def test_both_lists_of_lazy_names_agree() -> None:
    later = {name: module for module, names in pliant._LATER.items() for name in names}
    assert (
        later | {name: module.rpartition(".")[0] for name, module in pliant._MODULES.items()} == imports_for_checkers()
    )
    assert set(later) <= set(pliant.__all__)


def test_dir_and_star_give_every_public_name() -> None:
    names = fresh("import pliant; print(*dir(pliant))").split()
    assert set(pliant.__all__) | {"__version__"} <= set(names)
    starred = fresh("from pliant import *; print(*globals())").split()
    assert set(pliant.__all__) <= set(starred)


def test_every_public_name_comes_as_first_use() -> None:
    """Each name alone, in an order that nobody chose for the imports to work."""
    for name in pliant.__all__:
        assert getattr(pliant, name) is not None
    code = "import pliant\nfor name in reversed(pliant.__all__):\n    assert getattr(pliant, name) is not None, name"
    fresh(code)


def test_names_that_do_not_exist() -> None:
    with pytest.raises(AttributeError, match="module 'pliant' has no attribute 'no_such_name'"):
        pliant.no_such_name  # noqa: B018
    assert not hasattr(pliant, "no_such_name")
    fresh("import pliant; assert not hasattr(pliant, 'np')")


def test_classes_pickle_by_name() -> None:
    for name in pliant.__all__:
        one = getattr(pliant, name)
        if isinstance(one, type):
            assert pickle.loads(pickle.dumps(one)) is one
    code = f"import pickle; print(pickle.loads({pickle.dumps(pliant.SolverOptions(max_order=3))!r}).max_order)"
    assert fresh(code).strip() == "3"


def test_checkers_do_not_see_the_lazy_way() -> None:
    """A module-level `__getattr__` would make a type checker accept every name."""
    tree = ast.parse(Path(pliant.__file__).read_text(encoding="utf-8"))
    assert not [node for node in tree.body if getattr(node, "name", "") == "__getattr__"]
    hidden = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "not TYPE_CHECKING"]
    assert [getattr(node, "name", "") for one in hidden for node in one.body] == ["__getattr__"]


# ------------------------------------------------------------------------------------------ packages that are not there

WITHOUT = """
    import sys
    for name in {names!r}:
        sys.modules[name] = None  # an import then raises ImportError
    import numpy as np, pliant
    model = pliant.ode(lambda t, x: [-x[0]], [1.0], names=["x"])
    result = model.simulate(stop=1.0)
    """


@pytest.mark.parametrize(
    ("package", "call"),
    [
        ("pyarrow", "result.save('r.parquet')"),
        ("pyarrow", "pliant.load_result('r.parquet')"),
        ("matplotlib", "result.plot('x', file='r.png')"),
        ("matplotlib", "result.explain().plot(file='r.png')"),
        ("pandas", "result.to_pandas()"),
    ],
)
def test_a_missing_package_is_named_with_its_installation(
    package: str, call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if "load_result" in call:
        pliant.ode(lambda t, x: [-x[0]], [1.0]).simulate(stop=1.0).save("r.parquet")
    code = textwrap.dedent(WITHOUT.format(names=(package,))) + textwrap.dedent(f"""
        try:
            {call}
        except pliant.OutputError as error:
            print(error.message, '|', error.hint)
        """)
    told = fresh(code)
    assert package in told.partition("|")[0]
    assert f"pip install {package}" in told.partition("|")[2]


def test_csv_goes_without_arrow(tmp_path: Path) -> None:
    """Arrow reads large tables fast; without it they are read line by line, to the same numbers."""
    table = tmp_path / "u.csv"
    table.write_text("time,u\n0,1\n0.5,2.5\n1,3\n", encoding="utf-8")
    code = f"""
        from pliant.solve.signals.given import read_inputs
        found = read_inputs({str(table)!r})
        print(sorted(found), list(map(float, found["u"].times)), list(map(float, found["u"].values)))
        result.save({str(tmp_path / "r.csv")!r}); print(pliant.load_result({str(tmp_path / "r.csv")!r})["x"][-1])
        """
    given = [
        fresh(textwrap.dedent(WITHOUT.format(names=names)) + textwrap.dedent(code)) for names in (("pyarrow",), ())
    ]
    assert given[0] == given[1]
    assert "[0.0, 0.5, 1.0]" in given[0]
