"""Studies as users and foreign code strain them: FMUs, cases that hang, threads that cannot be ended."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support_fmus import CS, ME, fmu
from support_hostile import misbehaving
from test_batch_run import HOSTILE

import pliant

TEXT = """
model Decay
  parameter Real k = 1;
  parameter Integer n = 1;
  Real x(start = 1, fixed = true);
equation
  der(x) = -k*x*n;
end Decay;
"""


@pytest.fixture(scope="module")
def decay() -> pliant.Model:
    return pliant.load(TEXT)


# ----------------------------------------------------------------------------------------------------------- FMUs


@pytest.mark.parametrize("kind", [ME, CS])
@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_studies_of_fmus(version: str, kind: str, tmp_path: Path) -> None:
    table = pd.DataFrame({"mu": [1.0, 2.0, 3.0], "start(x0)": [2.0, 1.0, 0.5], "name": ["a", "b", "c"]})
    with pliant.load(fmu("vanderpol", version), kind=kind) as model:
        study = model.simulate_many(table, stop=1.0, save=tmp_path / "s")
        again = pliant.open_study(tmp_path / "s")
        final = model.simulate_many(table, stop=1.0, keep="final")
        for k in range(3):
            mu, x0 = float(table["mu"][k]), float(table["start(x0)"][k])
            alone = model.simulate(stop=1.0, parameters={"mu": mu}, start_values={"x0": x0})
            for name in alone.names:
                assert np.array_equal(study[k][name], alone[name])
                assert np.array_equal(again[k][name], alone[name])
            assert {name: final[k][name] for name in ("x0", "x1")} == pytest.approx(
                {name: alone.final[name] for name in ("x0", "x1")}, rel=1e-9
            )


@pytest.mark.parametrize(("phase", "kind", "version"), [("DERIVATIVES", ME, "2.0"), ("STEP", CS, "3.0")])
def test_fmus_that_hang_or_crash_end_their_cases_only(phase: str, kind: str, version: str) -> None:
    for act, error, words in (
        ("LOOP", pliant.CaseError, "ran out of time"),
        ("CRASH", pliant.FmuCrashError, "SIGSEGV"),
    ):
        with pliant.load(misbehaving(phase, act, version), kind=kind) as model:
            # the FMU misbehaves at 0.5 s: cases that end before are fine
            stops = [0.25, 1.0, 0.25, 1.0, 0.25]
            begin = time.monotonic()
            study = model.simulate_many(pd.DataFrame({"stop": stops}), points=3, case_timeout=0.5)
            assert time.monotonic() - begin < 10.0
            assert sorted(study.failures) == [1, 3]
            assert all(isinstance(study[k], error) and words in str(study[k]) for k in (1, 3))
            assert all(study[k].final["x"] == study[0].final["x"] for k in (0, 2, 4))


# ------------------------------------------------------------------------------------------------- cases that hang


def test_threads_whose_case_hangs_are_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pliant.batch.workers.threads.GRACE", 0.2)
    file, ending = tmp_path / "hostile.c", tmp_path / "end"
    text = HOSTILE.replace("p == 60", "p == 60 && t < 0.7").replace("p == 50", "p == -50")
    text = text.replace("for (volatile int i = 0;;) i++", f'while (access("{ending}", 0) != 0)')
    file.write_text(f"#include <unistd.h>\n{text}")
    model = pliant.native(file)
    design = pliant.design.grid({"p": np.arange(100.0)})
    begin = time.monotonic()
    try:
        study = model.simulate_many(design, stop=1.0, keep="final", case_timeout=0.3, workers=2, executor="threads")
        assert time.monotonic() - begin < 20.0
        left = threads_of_cases()
        assert left
    finally:
        ending.touch()  # nobody can end them, and they would keep the cores busy for all tests that follow
    assert sorted(study.failures) == [60, 70]
    assert isinstance(study[60], pliant.CaseError)
    assert "ran out of time" in str(study[60])
    assert all(study[k]["x"] == study[0]["x"] for k in range(100) if k not in (60, 70))
    for thread in left:
        thread.join(timeout=30.0)
    assert not threads_of_cases()


def threads_of_cases() -> list[threading.Thread]:
    return [one for one in threading.enumerate() if one.name == "pliant-case"]


HANGS_IN_KEEP = """
import pliant, sys, time
model = pliant.load({text!r})
def keep(result):
    while result["x"][-1] < 0.1:
        time.sleep(0.05)
    return result["x"][-1]
cases = pliant.design.grid({{"k": [1.0, 5.0, 2.0]}})
if sys.argv[1] == "interrupt":
    print("ready", flush=True)
limit = 0.3 if sys.argv[1] == "late" else None
try:
    study = model.simulate_many(cases, stop=1.0, keep=keep, workers=1, case_timeout=limit)
except pliant.SimulationInterrupted as error:
    study = error.result
print(sorted(study.failures), study.n_done, study.stats.seconds > 0)
"""


@pytest.mark.parametrize(("how", "told"), [("late", "[1] 3 True"), ("interrupt", "[] ")])
def test_programs_end_although_a_thread_hangs(how: str, told: str, tmp_path: Path) -> None:
    script = tmp_path / "study.py"
    script.write_text(HANGS_IN_KEEP.format(text=TEXT))
    with subprocess.Popen([sys.executable, script, how], stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        if how == "interrupt":
            assert program.stdout.readline() == "ready\n"
            time.sleep(1.0)
            program.send_signal(signal.SIGINT)
        out, _ = program.communicate(timeout=60)
    assert program.returncode == 0
    assert out.startswith(told)
    assert out.rstrip().endswith("True")


# ------------------------------------------------------------------------------------------------------- arguments


@pytest.mark.parametrize("others", [{}, {"inputs": {}}])
def test_whole_numbers_are_checked_before_the_first_case(decay: pliant.Model, others: dict[str, Any]) -> None:
    cases = [{"parameters": {"n": 2}}, {"parameters": {"n": 1.5}, **others}]
    with pytest.raises(pliant.ArgumentError, match=r"case 1: parameters\['n'\] must be a whole number, not 1.5"):
        decay.simulate_many(cases, stop=1.0)


def test_a_class_is_no_executor(decay: pliant.Model) -> None:
    import concurrent.futures

    with pytest.raises(pliant.ArgumentError, match="executor must be"):
        decay.simulate_many([{}], stop=1.0, executor=concurrent.futures.ThreadPoolExecutor)


def test_whole_numbers_beyond_reals(decay: pliant.Model) -> None:
    study = decay.simulate_many([{}, {}], stop=1.0, keep=lambda result: {"a": 10**400, "b": 2})
    assert study[0] == {"a": 10**400, "b": 2}
    assert study.table()["b"].tolist() == [2.0, 2.0]


def test_pictures_of_studies_that_failed_say_so(decay: pliant.Model) -> None:
    study = decay.simulate_many([{"parameters": {"k": -1e6}}] * 2, stop=1.0)
    assert len(study.failures) == 2
    with pytest.raises(pliant.ArgumentError, match="every case of the study failed"):
        study.plot("fan")


def test_ctrl_c_of_the_command_writes_what_is_done(tmp_path: Path) -> None:
    (tmp_path / "m.mo").write_text(TEXT)
    (tmp_path / "c.csv").write_text("k,stop\n1,1\n2,1\n3,1e12\n")
    command = [
        sys.executable,
        "-m",
        "pliant.cli",
        "sweep",
        "m.mo",
        "--cases",
        "c.csv",
        "--table",
        "t.csv",
        "--workers",
        "1",
    ]
    command += ["--save", "s", "--option", "max_step=0.01", "--option", "max_steps=4000000000000"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as program:
        end = time.monotonic() + 60.0
        while program.poll() is None and not list(tmp_path.glob("s/final/*.parquet")) and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(0.1)
        # the third case never ends: what is done before is written all the same
        assert sum(len(pd.read_parquet(one)) for one in tmp_path.glob("s/final/*.parquet")) == 2
        program.send_signal(signal.SIGINT)
        _, told = program.communicate(timeout=60)
    assert program.returncode == 130, told
    table = pd.read_csv(tmp_path / "t.csv")
    assert table["x"][0] == pytest.approx(np.exp(-1.0), rel=1e-4)
    assert np.isnan(table["x"][2])
