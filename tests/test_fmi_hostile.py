"""FMUs that crash, hang, end their process or return wrong numbers: each gives a typed error, and leaves nothing."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support_fmi_left import descriptors, folders, hosts, nothing_left
from support_fmus import CS, ME, fmu
from support_hostile import Hostile, misbehaving, register

import pliant
from pliant import errors

TESTS = Path(__file__).parent
EVERYTHING = bool(os.environ.get("PLIANT_ALL_HOSTILE"))  # otherwise every second one


def chosen() -> list[Hostile]:
    """Those whose binary does harm, and that are part of the tests; a part of them here, by their number."""
    found = [one for one in register() if one.stage == "simulate" and one.quick and one.kind != CS]
    return [one for one in found if not one.name.startswith(("XML", "archive"))][:: 1 if EVERYTHING else 2]


def simulate(one: Hostile) -> tuple[pliant.Result | None, BaseException | None, float]:
    """The result or the error, and how long that took."""
    path, begin = one.make(), time.perf_counter()
    options: Any = {name: int(v) if name == "memory_limit" else v for name, v in one.options.items()}
    try:
        with pliant.load(path, kind=one.kind, options=options) as model, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = model.simulate(stop=model.fmu.default_experiment.stop or 1.0, points=50, timeout=20)
        return result, None, time.perf_counter() - begin
    except errors.PliantError as error:
        return None, error, time.perf_counter() - begin


@pytest.mark.parametrize("one", chosen(), ids=lambda one: one.name)
def test_nothing_dies_but_the_host(one: Hostile) -> None:
    with nothing_left():
        result, error, seconds = simulate(one)
    assert seconds < one.options.get("call_timeout", 0.0) + 2.0 + 3.0  # the last: other tests at work
    if error is None:
        assert one.runs or not one.error
        assert result is not None
        assert all(np.isfinite(result[name]).all() for name in result.names)
        return
    assert isinstance(error, tuple(getattr(errors, name) for name in one.error)), error
    assert one.says in str(error)
    assert error.hint  # type: ignore[attr-defined]
    if isinstance(error, (errors.FmuCrashError, errors.FmuTimeoutError)) and one.call:
        if f"after {error.call}" in str(error):  # damage that shows later
            return
        assert error.call == one.call
        assert one.call in str(error)


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_a_crash_in_the_midst_of_a_run_keeps_what_came_before(version: str) -> None:
    with pliant.load(misbehaving("DERIVATIVES", "CRASH", version), kind=ME) as model:
        with pytest.raises(pliant.FmuCrashError) as caught:
            model.simulate(stop=1.0, points=None)
        error = caught.value
        assert "SIGSEGV" in str(error)
        assert error.time == pytest.approx(0.5, abs=0.3)
        assert error.result is not None
        assert not error.result.complete
        with pytest.raises(pliant.FmuCrashError):  # the model lives, and its next host dies of the same
            model.simulate(stop=1.0)


def test_stack_overflow_is_told_apart() -> None:
    with (
        pliant.load(misbehaving("DERIVATIVES", "OVERFLOW", "2.0"), kind=ME) as model,
        pytest.raises(pliant.FmuCrashError, match="overflowed its stack in fmi2GetDerivatives"),
    ):
        model.simulate(stop=1.0)


def test_a_spinning_fmu_is_interrupted_by_either_time_out() -> None:
    path = misbehaving("DERIVATIVES", "LOOP", "2.0")
    for options, timeout in (({"call_timeout": 0.3}, None), ({"call_timeout": 60.0}, 0.3)):
        begin = time.perf_counter()
        with (
            nothing_left(),
            pliant.load(path, kind=ME, options=options) as model,
            pytest.raises(pliant.FmuTimeoutError, match="fmi2GetDerivatives") as caught,
        ):
            model.simulate(stop=1.0, timeout=timeout)
        assert time.perf_counter() - begin < 0.3 + 2.0 + 3.0  # the last: other tests at work
        assert isinstance(caught.value, pliant.SimulationTimeout)
        assert caught.value.call == "fmi2GetDerivatives"


def test_a_process_that_stands_still_between_calls_is_noticed() -> None:
    with nothing_left(), pliant.load(fmu("vanderpol", "2.0"), kind=ME, options={"call_timeout": 0.3}) as model:
        model.simulate(stop=1.0)
        (host,) = hosts()
        stop = threading.Timer(0.2, os.kill, (host, signal.SIGSTOP))
        stop.start()
        with pytest.raises(pliant.FmuTimeoutError):
            model.simulate(stop=1000.0, method="rk4", step=1e-5, points=2)
        stop.join()


def test_what_an_fmu_leaves_in_its_folder_is_removed_and_nothing_else(tmp_path: Path) -> None:
    """Links are not followed, depth does not matter, and what was made unreadable goes, too."""
    from pliant.fmi.hosts.folders import remove_folder

    other, one, deep = tmp_path / "other", tmp_path / "one", tmp_path / "deep"
    (other / "inside").mkdir(parents=True)
    (other / "inside").chmod(0o500)
    one.symlink_to(other)
    remove_folder(str(one))
    assert not one.is_symlink()
    assert (other / "inside").stat().st_mode & 0o777 == 0o500
    deep.mkdir()
    place, here = os.open(deep, os.O_RDONLY), Path.cwd()
    name = "folder" * 40
    for _ in range(25):  # longer than a path may be
        os.mkdir(name, dir_fd=place)
        place, before = os.open(name, os.O_RDONLY, dir_fd=place), place
        os.close(before)
    os.symlink(other, "link", dir_fd=place)
    os.fchmod(place, 0)
    os.close(place)
    deep.chmod(0)
    remove_folder(str(deep))
    assert not deep.exists()
    assert (other / "inside").is_dir()
    assert Path.cwd() == here


def test_single_values_die_and_hang_as_runs_do() -> None:
    for act, error in (("CRASH", pliant.FmuCrashError), ("LOOP", pliant.FmuTimeoutError)):
        path = misbehaving("EXIT_INITIALISATION", act, "3.0")
        with (
            nothing_left(),
            pliant.load(path, kind=ME, options={"call_timeout": 0.3}) as model,
            pytest.raises(error, match="fmi3ExitInitializationMode"),
        ):
            model.linearize()


PROGRAM = """
import os, sys, threading
sys.path.insert(0, {tests!r})
import pliant
model = pliant.load({path!r}, kind="model-exchange", options={{"call_timeout": 60.0}})
def go():
    model.simulate(stop=1.0)
print(os.getpid(), flush=True)
worker = threading.Thread(target=go, daemon=True)
if {thread}:
    worker.start()
    worker.join()
go()
"""


def spinning(thread: bool) -> tuple[subprocess.Popen[str], int]:
    """A Python process whose FMU spins, and its host."""
    path = misbehaving("DERIVATIVES", "LOOP", "2.0")
    text = PROGRAM.format(tests=str(TESTS), path=str(path), thread=thread)
    process = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for _ in range(300):
        found = hosts(process.pid)
        if found:
            time.sleep(0.2)
            return process, found[0]
        time.sleep(0.05)
    raise AssertionError(process.communicate())


@pytest.mark.parametrize("thread", [False, True])
def test_the_host_dies_with_its_parent(thread: bool) -> None:
    process, host = spinning(thread)
    process.kill()
    process.communicate()
    for _ in range(100):
        if not alive(host):
            break
        time.sleep(0.02)
    assert not alive(host)
    from pliant.fmi.hosts.folders import sweep

    sweep(again=True)  # what the next process does
    assert folders(process.pid) == []


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_ctrl_c_ends_the_host_and_leaves_nothing() -> None:
    process, host = spinning(False)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=20)
    assert "SimulationInterrupted" in said
    assert not alive(host)
    assert folders(process.pid) == []


def test_many_runs_leave_nothing() -> None:
    def used() -> tuple[int, int, int]:
        pages = [int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in hosts()]
        return len(pages), sum(pages), descriptors()

    with nothing_left(), pliant.load(fmu("vanderpol", "2.0")) as model:
        for _ in range(30):
            model.simulate(stop=1.0, points=5)
        before, folders_before = used(), len(folders())
        for _ in range(200):
            model.simulate(stop=1.0, points=5)
        after = used()
        assert after[0] == before[0] == 1
        assert after[1] <= before[1] + 16  # pages
        assert (after[2], len(folders())) == (before[2], folders_before)


def test_threads_in_random_order() -> None:
    """Runs, values, crashes and ends of models side by side: each thread gets what it would get alone."""
    good, bad = fmu("vanderpol", "3.0"), misbehaving("EVENT", "ABORT", "2.0")
    with nothing_left():
        model, crashing = pliant.load(good, kind=ME), pliant.load(bad, kind=ME)
        alone = model.simulate(stop=2.0, points=11)["x0"].tolist()
        slope = model.linearize().A.tolist()
        wrong: list[object] = []

        def work(seed: int) -> None:
            chance = random.Random(seed)
            for _ in range(5):
                kind = chance.choice(["run", "run", "value", "crash"])
                if kind == "run" and model.simulate(stop=2.0, points=11)["x0"].tolist() != alone:
                    wrong.append("other numbers")
                elif kind == "value" and model.linearize().A.tolist() != slope:
                    wrong.append("another slope")
                elif kind == "crash":
                    try:
                        crashing.simulate(stop=1.0)
                        wrong.append("no crash")
                    except pliant.FmuCrashError:
                        pass

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(5)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        assert wrong == []
        assert model.simulate(stop=2.0, points=11)["x0"].tolist() == alone  # hosts do not die with threads
        model.close()
        crashing.close()


def test_what_is_printed_belongs_to_the_log(capfd: pytest.CaptureFixture[str]) -> None:
    with pliant.load(fmu("noisy", "2.0"), kind=ME) as model:
        result = model.simulate(stop=1.0)
    printed = [text for _, status, _, text in result.log if status == "printed"]
    assert printed
    assert capfd.readouterr().out == ""


def test_a_process_that_left_its_group_does_not_outlive_a_killed_parent(tmp_path: Path) -> None:
    """It is found by its environment: by the host's parent, or, where that was killed, by the next sweep."""
    path = misbehaving("EXIT_INITIALISATION", "DAEMON", "2.0")
    text = (
        f"import os, signal, pliant\nmodel = pliant.load({str(path)!r}, kind='model-exchange')\n"
        "model.simulate(stop=0.1)\nkept = model._numeric.loaded.unpacked\n"
        "print(kept.workplace, kept.folder, sep='\\n', flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    folder, unpacked = map(Path, done.stdout.splitlines())
    assert folder.is_dir(), done.stderr
    assert unpacked.is_dir()
    assert marked(folder) != []
    from pliant.fmi.hosts.folders import sweep

    sweep(again=True)
    assert not folder.exists()
    assert not unpacked.exists()
    assert marked(folder) == []


def marked(folder: Path) -> list[str]:
    """Processes that hosts in a folder have started."""
    found = []
    for place in Path("/proc").iterdir():
        if place.name.isdecimal():
            try:
                words = (place / "environ").read_bytes()
            except OSError:
                continue
            if f"PLIANT_FMU_HOST={folder}/".encode() in words:
                found.append(place.name)
    return found


def test_memory_limit() -> None:
    path = misbehaving("DERIVATIVES", "HOG", "3.0")
    with (
        pliant.load(path, kind=ME, options={"memory_limit": 256 * 2**20}) as model,
        pytest.raises(pliant.FmuCrashError) as caught,
    ):
        model.simulate(stop=1.0)
    assert "memory_limit" in caught.value.hint
