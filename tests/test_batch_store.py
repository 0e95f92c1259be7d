"""Studies in folders: written as results arrive, gone on with after any end, readable without pliant."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pliant

TEXT = """
model Decay
  parameter Real k = 1;
  Real x(start = 1, fixed = true), y;
equation
  der(x) = -k*x;
  y = 2*x;
  assert(x > 0.01, "too small");
end Decay;
"""
DESIGN = pliant.design.grid({"k": np.linspace(0.5, 6.0, 60)})


@pytest.fixture(scope="module")
def decay() -> pliant.Model:
    return pliant.load(TEXT)


def rate(result: pliant.Result) -> float:
    return float(result["x"][-1])


def words(result: pliant.Result) -> str:
    return "text"


@pytest.mark.parametrize("keep", [None, "final", ["y"], rate], ids=["all", "final", "names", "function"])
def test_a_folder_holds_what_memory_holds(decay: pliant.Model, keep: Any, tmp_path: Path) -> None:
    memory = decay.simulate_many(DESIGN, stop=1.0, keep=keep)
    decay.simulate_many(DESIGN, stop=1.0, keep=keep, save=tmp_path / "s")
    folder = pliant.open_study(tmp_path / "s")
    assert len(folder) == 60
    assert folder.complete
    assert sorted(folder.failures) == sorted(memory.failures)
    assert memory.failures
    for k in range(0, 60, 7):
        one, other = memory[k], folder[k]
        if isinstance(one, Exception):
            assert type(one) is type(other)
            assert one.message == other.message
            assert one.hint == other.hint
        elif keep is None or isinstance(keep, list):
            assert np.array_equal(one.time, other.time)
            assert np.array_equal(one["y"], other["y"])
        elif keep == "final":
            assert {name: one[name] for name in other} == other
        else:
            assert one == other
    a, b = memory.table(), folder.table()
    assert np.array_equal(a["k"], b["k"])
    assert a["error"].isna().tolist() == b["error"].isna().tolist()


def test_readable_without_pliant(decay: pliant.Model, tmp_path: Path) -> None:
    study = decay.simulate_many(DESIGN, stop=1.0, keep=["y"], save=tmp_path / "s")
    final = pd.read_parquet(tmp_path / "s" / "final").sort_values("case")
    cases = pd.read_parquet(tmp_path / "s" / "cases.parquet")
    curves = pd.read_parquet(tmp_path / "s" / "curves")
    assert list(final["case"]) == list(range(60))
    assert cases["k"].tolist() == DESIGN.values[:, 0].tolist()
    assert len(curves) == 500 * (60 - study.n_failed)
    assert json.loads((tmp_path / "s" / "manifest.json").read_text())["n"] == 60


def test_the_same_call_goes_on(decay: pliant.Model, tmp_path: Path) -> None:
    first = decay.simulate_many(DESIGN, stop=1.0, keep="final", save=tmp_path / "s")
    parts = sorted((tmp_path / "s" / "final").glob("*.parquet"))
    before = [one.stat().st_mtime_ns for one in parts]
    again = decay.simulate_many(DESIGN, stop=1.0, keep="final", save=tmp_path / "s")
    assert sorted((tmp_path / "s" / "final").glob("*.parquet")) == parts
    assert [one.stat().st_mtime_ns for one in parts] == before
    assert list(map(str, again)) == list(map(str, first))


SCRIPT = """
import sys, numpy as np, pliant
model = pliant.load('''{text}''')
design = pliant.design.grid({{"k": np.linspace(0.5, 4.0, 30000)}})
print("begin", flush=True)
study = model.simulate_many(design, stop=1.0, keep="final", save=sys.argv[1], executor="{executor}", workers=2)
print("done", study.n_done, study.n_failed, flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_killed_and_started_again(executor: str, tmp_path: Path) -> None:
    script = tmp_path / "sweep.py"
    script.write_text(textwrap.dedent(SCRIPT).format(text=TEXT, executor=executor))
    folder = tmp_path / "s"
    command = [sys.executable, str(script), str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    end = time.monotonic() + 60
    while time.monotonic() < end and process.poll() is None and not list(folder.glob("final/part-*")):
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert "done 30000" in done.stdout
    final = pd.read_parquet(folder / "final")
    assert sorted(final["case"]) == list(range(30000))  # none missing, none twice
    good = final[final["error"].isna()].sort_values("case")
    exact = np.exp(-np.linspace(0.5, 4.0, 30000)[good["case"]])
    assert np.allclose(good["x"], exact, rtol=1e-4)


def test_other_studies_are_refused(decay: pliant.Model, tmp_path: Path) -> None:
    folder = tmp_path / "s"
    decay.simulate_many(DESIGN, stop=1.0, keep="final", save=folder)
    with pytest.raises(pliant.ArgumentError, match="other cases"):
        decay.simulate_many(pliant.design.grid({"k": np.linspace(0.5, 5.0, 60)}), stop=1.0, keep="final", save=folder)
    with pytest.raises(pliant.ArgumentError, match="number of cases"):
        decay.simulate_many(DESIGN[:5], stop=1.0, keep="final", save=folder)
    with pytest.raises(pliant.ArgumentError, match=r"arguments \(stop was 1\.0\)"):
        decay.simulate_many(DESIGN, stop=2.0, keep="final", save=folder)
    with pytest.raises(pliant.ArgumentError, match="arguments"):
        decay.simulate_many(DESIGN, stop=1.0, save=folder)
    other = pliant.load(TEXT.replace("2*x", "3*x"))
    with pytest.raises(pliant.ArgumentError, match="another model"):
        other.simulate_many(DESIGN, stop=1.0, keep="final", save=folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"pliant": "0.0.1"}))
    with pytest.raises(pliant.ArgumentError, match=r"0\.0\.1"):
        decay.simulate_many(DESIGN, stop=1.0, keep="final", save=folder)
    (folder / "manifest.json").write_text(json.dumps(manifest | {"format": 99}))
    with pytest.raises(pliant.ArgumentError, match="another version"):
        pliant.open_study(folder)


def test_folders_that_are_none(decay: pliant.Model, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("x")
    for place, what in (("file", "is a file"), ("full", "not empty")):
        with pytest.raises(pliant.ArgumentError, match=what):
            decay.simulate_many(DESIGN, stop=1.0, keep="final", save=tmp_path / place)
    with pytest.raises(pliant.ArgumentError, match="no folder"):
        pliant.open_study(tmp_path / "nowhere")
    with pytest.raises(pliant.ArgumentError, match="no study"):
        pliant.open_study(tmp_path / "full")
    assert (tmp_path / "full" / "thesis.tex").read_text() == "x"


def test_a_full_disk_keeps_what_is_written(
    decay: pliant.Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = 0
    sync = os.fsync

    def full(descriptor: int) -> None:
        nonlocal calls
        calls += 1
        if calls > 2:  # the cases and the manifest are there
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(pliant.OutputError, match="No space"):
        decay.simulate_many(DESIGN, stop=1.0, keep="final", save=tmp_path / "s")
    monkeypatch.undo()
    assert not list((tmp_path / "s").rglob(".*"))
    study = decay.simulate_many(DESIGN, stop=1.0, keep="final", save=tmp_path / "s")
    assert study.complete


def test_what_does_not_fit_into_a_table(decay: pliant.Model, tmp_path: Path) -> None:
    study = decay.simulate_many(DESIGN[:3], stop=1.0, keep=words, save=tmp_path / "s")
    assert all(isinstance(one, pliant.ArgumentError) for one in study)
    assert "does not fit into a table" in str(study[0])


def test_pictures_and_page(decay: pliant.Model, tmp_path: Path) -> None:
    study = decay.simulate_many(DESIGN, stop=1.0)
    for kind in ("fan", "pairs", "parallel", "failures"):
        study.plot(kind, file=tmp_path / f"{kind}.png")
        assert (tmp_path / f"{kind}.png").stat().st_size > 5000
    page = study.report(tmp_path / "s.html").read_text()
    assert page.count("data:image/png") == 4
    assert "too small" in page
    assert "Study of Decay" in page
    with pytest.raises(pliant.ArgumentError, match="picture"):
        study.plot("pie")
    with pytest.raises(pliant.UnknownNameError, match="zz"):
        study.plot("fan", "zz")
    final = decay.simulate_many(DESIGN, stop=1.0, keep="final")
    with pytest.raises(pliant.ArgumentError, match="no curves"):
        final.plot("fan")
    with pytest.raises(pliant.OutputError, match="no folder"):
        study.report(tmp_path / "no" / "s.html")
