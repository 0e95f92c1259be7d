"""Exit codes of all verbs: 0 fine, 1 an error of model or run, 2 usage, 3 the evidence does not hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support_cli import CliRunner

from pliant.cli import app
from pliant.cli.arguments import listed_names

MODEL = """
model M
  parameter Real k(min = 0) = 1;
  input Real u(start = 0);
  Real x(start = 1, fixed = true);
equation
  der(x) = u - k*x;
end M;
"""
SYSTEM = 'stop = 1\nstep = 0.1\n[inputs]\n"m.u" = 0\n[parts.m]\nfile = "m.mo"\n'
VERBS = {
    "simulate": ["m.mo", "--stop", "1"],
    "inspect": ["m.mo"],
    "jacobian": ["m.mo"],
    "realtime": ["m.mo", "--stop", "1", "--step", "0.1"],
    "export": ["m.mo", "-o", "m.fmu"],
    "cosim": ["s.toml"],
    "sweep": ["m.mo", "--cases", "c.csv", "--stop", "1"],
    "tour": [],
}
OPTIONS = ["--rtol=-1", "--rtol=x", "--atol=-1", "--option=none=1", "--option=max_order=x", "--option=max_order"]
PAIRS = ["--param=k", "--param=k=x", "--param=k=", "--param==1", "--param=k=-1", "--param=k=nan"]
PAIRS += ["--start-value=x", "--start-value=x=y", "--input=u=zz", "--input=u", "--input=u=nan", "--input=no.csv"]
FORMS = ["--form=none", "--nosuch"]
RUN = ["--stop=x", "--stop=nan", "--method=bfd", "--points=1", "--points=x", "--step=1", "--timeout=-1", "--save=r.xls"]
RUN += ["--plot-file=p.xyz", "--tearing=none", "--explain-plot=p.xyz", "--define=A=1", "--start=inf", "--start=2"]
PLAN = ["--accuracy=x", "--accuracy=-1", "--accuracy=x=y", "--accuracy=nan", "--scenarios=no.json", "--scenarios=m.mo"]
PLAN += ["--scenarios=list.json", "--scenarios=nan.json", "--order=3", "--order=1.5", "--theta=2", "--tolerance=-1"]
PLAN += ["--precision=half", "--option=points=x", "--option=nosuch=1", "--step=0", "--stop=0.1", "--measure-steps=x"]
PLAN += ["--option=form=xx", "--tearing=none"]
PART = ["--stop=-1", "--stop=x", "--step=0", "--scheme=euler", "--extrapolation=3", "--at-jump=no", "--rtol=-1"]
PART += ["--timeout=0", "--save=r.xls", "--graph=g.xyz", "--plot-file=p.xyz", "--steps-file=s.png", "--nosuch"]
SWEEP = [
    "--stop=x",
    "--cases=no.csv",
    "--cases=m.mo",
    "--workers=0",
    "--executor=gpu",
    "--case-timeout=-1",
    "--save=m.mo",
]
SWEEP += ["--table=t.doc", "--method=bfd", "--points=1"]
EXPORT = ["--fmi=1.0", "--kind=all", "--solver=euler", "--at-jump=no", "--rtol=x", "--rtol=2", "--platform=amiga"]
EXPORT += ["--output=m.zip", "--tearing=none", "--nosuch"]
USAGE = {
    "export": EXPORT,
    "simulate": [*RUN, *PAIRS, *OPTIONS, *FORMS],
    "inspect": [*FORMS, "--tearing=none"],
    "jacobian": [*PAIRS, *OPTIONS, *FORMS, "--at=x", "--at=nan", "--define=A"],
    "realtime": [*PLAN, *PAIRS, *FORMS],
    "cosim": PART,
    "sweep": [*SWEEP, *PAIRS, *OPTIONS, *FORMS],
    "tour": ["--nosuch"],
}
WRONG = {
    "export": ["--output=nowhere/m.fmu", "--name=N"],
    "simulate": ["--param=nosuch=1", "--input=nosuch=1", "--name=N", "--path=nowhere", "--output=nosuch"],
    "inspect": ["--tear=nosuch", "--name=N", "--html=nowhere/p.html"],
    "jacobian": ["--param=nosuch=1", "--start-value=nosuch=1", "--input=nosuch=1"],
    "realtime": ["--param=nosuch=1", "--accuracy=nosuch=0.1", "--report=nowhere/p.html", "--write=m.mo"],
    "cosim": ["--save=nowhere/r.csv"],
    "sweep": ["--param=nosuch=1", "--input=nosuch=1", "--keep=nosuch", "--report=nowhere/p.html"],
    "tour": ["--out=m.mo"],
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.mo").write_text(MODEL)
    (tmp_path / "s.toml").write_text(SYSTEM)
    (tmp_path / "c.csv").write_text("k\n1\n2\n")
    (tmp_path / "list.json").write_text("{}")
    (tmp_path / "nan.json").write_text('[{"parameters": {"k": NaN}}]')
    return tmp_path


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments))


def told(done: Any) -> str:
    assert done.exception is None or isinstance(done.exception, SystemExit), repr(done.exception)
    assert "Traceback" not in done.stderr
    return str(done.stderr)


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "tour"])
def test_fine(verb: str, folder: Path) -> None:
    done = run(verb, *VERBS[verb])
    assert done.exit_code == 0, told(done)


@pytest.mark.parametrize(("verb", "option"), [(verb, option) for verb in USAGE for option in USAGE[verb]])
def test_usage(verb: str, option: str, folder: Path) -> None:
    done = run(verb, *VERBS[verb], option)
    text = told(done)
    assert done.exit_code == 2, (done.exit_code, text)
    assert "try: " in text or "Usage: " in text
    assert not done.stdout


@pytest.mark.parametrize(("verb", "option"), [(verb, option) for verb in WRONG for option in WRONG[verb]])
def test_errors(verb: str, option: str, folder: Path) -> None:
    done = run(verb, *VERBS[verb], option)
    text = told(done)
    assert done.exit_code == 1, (done.exit_code, text)
    assert "try: " in text


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "tour"])
def test_files_that_are_not_there_or_wrong(verb: str, folder: Path) -> None:
    suffix = Path(VERBS[verb][0]).suffix
    (folder / f"broken{suffix}").write_text("what is this\n")
    (folder / f"binary{suffix}").write_bytes(bytes(range(256)))
    for name in ("none", "broken", "binary"):
        done = run(verb, f"{name}{suffix}", *VERBS[verb][1:])
        text = told(done)
        assert done.exit_code == 1, text
        assert name in text
    assert run(verb).exit_code == 2


def test_a_system_that_makes_no_sense_is_no_wrong_usage(folder: Path) -> None:
    (folder / "s.toml").write_text(SYSTEM.replace("step = 0.1", "step = 0"))
    assert run("cosim", "s.toml").exit_code == 1
    assert run("cosim", "s.toml", "--step", "0.1").exit_code == 0


def test_evidence_that_does_not_hold(folder: Path) -> None:
    swing = "model S\n Real x(start = 1, fixed = true), v(start = 0, fixed = true);\nequation\n"
    (folder / "s.mo").write_text(f"{swing} der(x) = v; der(v) = -9*x;\nend S;\n")
    assert run("realtime", "s.mo", "--stop", "5", "--step", "0.1").exit_code == 3
    assert run("realtime", "s.mo", "--stop", "5", "--step", "0.1", "--accuracy", "none").exit_code == 0


def test_usage_for_machines(folder: Path) -> None:
    for option in ("--param=k=x", "--method=bfd", "--save=r.xls"):
        done = run("simulate", "m.mo", "--stop", "1", "--json", option)
        assert done.exit_code == 2
        assert json.loads(done.stdout)["error"]["type"] == "ArgumentError"


def test_nothing_is_given_twice(folder: Path) -> None:
    done = run("simulate", "m.mo", "--stop", "1", "--param", "k=1", "--param", "k=2")
    assert done.exit_code == 2
    assert "k is given twice" in done.stderr


def interrupted(*_: Any, **__: Any) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("verb", VERBS)
def test_interrupted(verb: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("pliant.load", "pliant.inspect", "pliant.cosim.system.read_system", "pliant.tour.run_tour"):
        monkeypatch.setattr(place, interrupted)
    done = run(verb, *VERBS[verb])
    assert done.exit_code == 130, told(done)
    assert "interrupted" in told(done)


def test_every_verb_says_in_one_line_what_it_is_for() -> None:
    done = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "80", "TERMINAL_WIDTH": "80"})
    assert done.exit_code == 0
    rows = dict(line.split(None, 1) for line in done.stdout.partition("Commands:")[2].splitlines() if line.strip())
    assert set(rows) == {*VERBS, "check-library", "a2l"}  # theirs: test_check_library.py, test_realtime_rules.py
    for verb, text in rows.items():
        assert text.endswith(".")
        assert "..." not in text, verb
        assert text[0].isupper()


@pytest.mark.parametrize("verb", VERBS)
def test_unknown_files_and_folders(verb: str, folder: Path) -> None:
    (folder / "notes.txt").write_text("hello")
    for name in ("nothing.mo", "nothing", "notes.txt", "."):
        arguments = ["--out", "m.mo"] if verb == "tour" else [name, *VERBS[verb][1:]]
        done = run(verb, *arguments)
        assert "try: " in told(done), name
        assert done.exit_code in (1, 2), name


def test_names_with_commas(folder: Path) -> None:
    grid = "model G\n  Real v[2,2](each start = 1, each fixed = true);\nequation\n  der(v) = -v;\nend G;\n"
    (folder / "g.mo").write_text(grid)
    done = run("simulate", "g.mo", "--stop", "1", "--plot", "v[1,1], v[2,1],der(v[1,2])", "--plot-file", "p.svg")
    assert done.exit_code == 0, told(done)
    picture = (folder / "p.svg").read_text()
    assert all(name in picture for name in ("v[1,1]", "v[2,1]", "der(v[1,2])"))
    assert "v[2,2]" not in picture
    done = run("simulate", "g.mo", "--stop", "1", "--plot", "v[1,1", "--plot-file", "p.svg")
    assert done.exit_code == 2
    assert "']' is missing" in told(done)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (None, []),
        (" a , b,,", ["a", "b"]),
        ("v[1,1],w[2, 3]", ["v[1,1]", "w[2, 3]"]),
        ("der(v[1,1]),x", ["der(v[1,1])", "x"]),
        ("'a, b',c", ["'a, b'", "c"]),
        (r"'it\'s, so',c", [r"'it\'s, so'", "c"]),
        ('"a, b",c', ["a, b", "c"]),
        ("a.'[',b", ["a.'['", "b"]),
    ],
)
def test_lists_of_names(text: str | None, names: list[str]) -> None:
    assert listed_names("--plot", text) == names
