"""Figures of FMUs: the host against plain C, warm and cold against FMPy, nominal values, hostile FMUs, many runs.

python benchmarks/figures.py fmi        all rows; needs FMPy (extra test)
python benchmarks/fmi.py                the same, printed only

Van der Pol (mu = 1), model exchange, 0 to 20 s, relative tolerance 1e-6, 500 points. CPU times are those of this
process and of all hosts together; pliant and its peer take turns in one process, the best of each are compared.
Where the environment variables PLIANT_REFERENCE_FMUS and PLIANT_CROSSCHECK_FMUS name folders, the FMUs in them run, too
(fmi_collections.py).
"""

from __future__ import annotations

import ctypes
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fmi_collections
from fmu_peers import CALLS, END, POINTS, RTOL, STOP, FmpyRunner, cpu_seconds, loop_nanoseconds, van_der_pol
from peers import ROOT

import pliant
from pliant.fmi.hosts.host import FmuHost
from pliant.fmi.hosts.instance import FmuInstance
from pliant.solve.binding import runtime
from pliant.solve.run.operating import Point

Row = tuple[str, str, str, bool | None, str]
COMMAND = "python benchmarks/figures.py fmi"
LARGEST_RATIO, MORE_NANOSECONDS = 1.3, 5.0
WARM, COLD, HOST_MS = 8.0, 2.0, 3.0
NOMINALS = tuple(10.0**k for k in range(-3, 8))
MOST_STEPS = 150
PEER_STEPS = 3000  # after which a run with PyFMI's rule is given up
LATE = 2.0  # seconds that an error may come after the time-out
GROWTH = 4.0  # megabytes
MANY = 200_000


def rows(quick: bool = False) -> list[Row]:
    """What, goal, reached, met, command."""
    warnings.simplefilter("ignore")
    return [
        *(right_side(version, 5 if quick else 15) for version in ("2.0", "3.0")),
        *warm_and_cold(5 if quick else 31),
        start_of_host(20 if quick else 200),
        nominals(),
        hostile(quick),
        many_runs(200 if quick else 5000),
        crowd(),
        *fmi_collections.rows(),
    ]


# -------------------------------------------------------------------------------------------------------- times


def right_side(version: str, rounds: int) -> Row:
    """One right-hand side inside the host and in a plain loop, in turns; the best of each."""
    from support_fmus import library

    loop, host = [], []
    with pliant.load(van_der_pol(version), kind="model-exchange") as model:
        point = Point(model._numeric, 0.0, {}, {}, {})
        instance = point.sim.instance
        assert isinstance(instance, FmuInstance)
        place = (0.0, point.x.ctypes.data, point.sim.u.ctypes.data)
        for _ in range(rounds):
            loop.append(loop_nanoseconds(library("vanderpol", version), version, "{vanderpol}", 2)[0])
            for _ in range(10):
                found = runtime.lib.pl_fmu_client_measure(ctypes.byref(instance.client), *place, CALLS // 10)
                host.append(1e9 * float(found))
    floor, ours = min(loop), min(host)
    return (
        f"FMI {version}: a right-hand side inside the host against a plain C loop with the same calls",
        f"<= {LARGEST_RATIO:g}x or + {MORE_NANOSECONDS:g} ns",
        f"{ours:.1f} ns against {floor:.1f} ns, {ours / floor:.2f}x",
        ours <= LARGEST_RATIO * floor or ours <= floor + MORE_NANOSECONDS,
        COMMAND,
    )


def hosts_of(model: pliant.Model) -> list[int]:
    """Processes of the hosts that live."""
    return [host.process.pid for host in model._numeric.pool._all]  # type: ignore[attr-defined]


def clock_of(pid: int) -> float:
    """CPU seconds of another process; the clock of a process is made of its number (clock_getcpuclockid)."""
    return time.clock_gettime((~pid << 3) | 2)


def warm_and_cold(repeats: int) -> list[Row]:
    """pliant and FMPy in turns."""
    path = van_der_pol("2.0")
    given: dict[str, Any] = {"stop": STOP, "rtol": RTOL, "points": POINTS + 1, "outputs": ["x0", "x1"]}
    peer = FmpyRunner(path)
    error = max(abs(float(peer.warm()[name][-1]) - end) for name, end in zip(("x0", "x1"), END, strict=True))

    def cold() -> None:
        with pliant.load(path, kind="model-exchange") as model:
            model.simulate(**given)

    with pliant.load(path, kind="model-exchange") as model:
        result = model.simulate(**given)
        own = max(abs(result.final[name] - end) for name, end in zip(("x0", "x1"), END, strict=True))
        model.simulate(**given)
        (pid,) = hosts_of(model)

        def both() -> float:
            return cpu_seconds() + clock_of(pid)

        warm = in_turns(lambda: model.simulate(**given), peer.warm, 5, repeats, both)
    chilly = in_turns(cold, peer.cold, 1, 4 * repeats, cpu_seconds)
    words = f"errors at the end {own:.0e} and {error:.0e}"
    return [
        (
            "Van der Pol FMU, warm, isolated, 500 points: CPU of both processes against FMPy's",
            f">= {WARM:g}x less",
            f"{warm[1] / warm[0]:.1f}x ({1e3 * warm[0]:.2f} ms against {1e3 * warm[1]:.2f} ms; {words})",
            warm[1] >= WARM * warm[0],
            COMMAND,
        ),
        (
            "the same cold: load, unzip, validate, start the host, run, remove",
            f">= {COLD:g}x faster",
            f"{chilly[1] / chilly[0]:.1f}x ({1e3 * chilly[0]:.1f} ms against {1e3 * chilly[1]:.1f} ms CPU)",
            chilly[1] >= COLD * chilly[0],
            COMMAND,
        ),
    ]


def in_turns(
    ours: Callable[[], object], peer: Callable[[], object], count: int, repeats: int, clock: Callable[[], float]
) -> tuple[float, float]:
    """CPU seconds of one call, the least of all turns: other work on the machine only adds to them."""
    found: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeats):
        for run, times in zip((ours, peer), found, strict=True):
            for _ in range(count):
                begin = clock()
                run()
                times.append(clock() - begin)
    return min(found[0]), min(found[1])


def start_of_host(repeats: int) -> Row:
    """From nothing to a host that has loaded the binary."""
    with pliant.load(van_der_pol("2.0"), kind="model-exchange") as model:
        settings = model._numeric.pool.settings  # type: ignore[attr-defined]
        wall, cpu = [], []
        for _ in range(repeats):
            begin, used = time.perf_counter(), time.process_time()
            host = FmuHost(settings)
            wall.append(1e3 * (time.perf_counter() - begin))
            cpu.append(1e3 * (time.process_time() - used + clock_of(host.process.pid)))
            host.close()
    both, half = statistics.median(cpu), statistics.median(wall)
    text = f"{both:.2f} ms CPU of both processes; wall time {min(wall):.2f} ms at best, median {half:.2f} ms"
    return "start of a host, with the binary loaded, CPU", f"<= {HOST_MS:g} ms", text, both <= HOST_MS, COMMAND


# ------------------------------------------------------------------------------------------------ nominal values


def nominals() -> Row:
    """Stiff Van der Pol with good and bad nominal values, pliant's increments and PyFMI's rule."""
    from support_fmus import fmu

    own, peer = {}, {}
    with pliant.load(fmu("stiff", "2.0")) as model:
        for nominal in NOMINALS:
            own[nominal] = steps_of(model, nominal, "default")
            peer[nominal] = steps_of(model, nominal, "pyfmi")
    given_up = [f"{nominal:g}" for nominal, steps in peer.items() if steps is None]
    most = max((steps or 10**9) for steps in own.values())
    few = [steps for steps in peer.values() if steps is not None]
    text = f"at most {most} steps; PyFMI's rule: {min(few)} to {max(few)}"
    text += f", more than {PEER_STEPS} at {', '.join(given_up)}" if given_up else ""
    what = "stiff Van der Pol FMU, nominal 1e-3 .. 1e7, Radau5, rtol 1e-9, atol 1e-3"
    return what, f"<= {MOST_STEPS} steps each", text, most <= MOST_STEPS, COMMAND


def steps_of(model: pliant.Model, nominal: float, rule: str) -> int | None:
    """Of Radau5 to 2e6 s; None: given up."""
    options = {"increments": rule, "max_steps": PEER_STEPS, "jacobian": "differences"}
    try:
        result = model.simulate(
            stop=2e6,
            method="radau5",
            rtol=1e-9,
            atol=1e-3,
            points=2,
            parameters={"nominal": nominal},
            options=options,
        )
    except pliant.SolverError:
        return None
    return result.stats.n_steps


# ------------------------------------------------------------------------------------------------- bad ends


def hostile(quick: bool) -> Row:
    """Every FMU of the register: in a process of its own, so that a death would be seen."""
    command = [sys.executable, __file__, "--hostile", *(["--quick"] if quick else [])]
    place = tempfile.mkdtemp(prefix="pliant-hostile-")
    environment = os.environ | {"TMPDIR": place}
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=environment)
    lines = done.stdout.splitlines()
    bad = [line for line in lines if line.startswith("BAD ")]
    total = sum(line.startswith(("BAD ", "OK ")) for line in lines)
    finished = bool(lines) and lines[-1] == "END"
    left = left_behind(place)
    shutil.rmtree(place, ignore_errors=True)
    text = f"{total - len(bad)} of {total} as they must"
    text += "".join(f"; {line[4:120]}" for line in bad[:5])
    text += "" if finished else "; the process died"
    text += f"; left behind: {', '.join(sorted(left))}" if left else ", nothing left behind"
    what = "hostile and degenerate FMUs of tests/support_hostile.py"
    goal = "0 dead, 0 hanging, 0 silently wrong, each error typed and in time, nothing left behind"
    return what, goal, text, finished and not bad and not left and total > 0, COMMAND


def left_behind(place: str) -> set[str]:
    """Folders of FMUs in a temporary folder, and processes that hosts working there have started, or are."""
    found = {path.name for path in Path(place).glob("pliant-fmu-*")}
    mark = f"PLIANT_FMU_HOST={place}/".encode()
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            try:
                if mark in (path / "environ").read_bytes():
                    found.add(f"process {path.name}")
            except OSError:
                continue
    return found


def judge(one: Any) -> str:
    """What is wrong with how one FMU of the register ends; empty: nothing."""
    path = one.make()
    begin, limit = time.perf_counter(), float(one.options.get("call_timeout", 10.0)) + LATE
    try:
        with pliant.load(path, kind=one.kind, options=dict(one.options) or None) as model:
            result = model.simulate(stop=1.0) if one.kind == "co-simulation" else model.simulate(stop=1.0, rtol=1e-8)
            off = [name for name, value in one.right.items() if not abs(result.final[name] - value) <= 1e-4]
    except pliant.PliantError as error:
        names = {kind.__name__ for kind in type(error).__mro__}
        if not one.error:
            return f"raised {type(error).__name__}: {error.message[:100]}"
        if not names & set(one.error):
            return f"{type(error).__name__} instead of {one.error[0]}"
        took = time.perf_counter() - begin
        return f"took {took:.1f} s" if took > limit else ""
    if off:
        return f"silently wrong: {off[0]}"
    return "" if one.runs else "ran"


def judge_all(quick: bool) -> None:
    """One line for each."""
    os.environ.setdefault("PLIANT_CACHE", tempfile.mkdtemp(prefix="pliant-fmus-"))
    from support_hostile import register

    warnings.simplefilter("ignore")
    for one in register():
        if one.quick or not quick:
            wrong = judge(one)
            print(f"BAD {one.name}: {wrong}".replace("\n", " ") if wrong else f"OK {one.name}", flush=True)
    print("END", flush=True)


def many_runs(count: int) -> Row:
    """One FMU again and again."""
    with pliant.load(van_der_pol("3.0"), kind="model-exchange") as model:
        for _ in range(100):
            model.simulate(stop=1.0, points=20)
        before = standing(model)
        for _ in range(count):
            model.simulate(stop=1.0, points=20)
        after = standing(model)
    more = {name: after[name] - before[name] for name in before}
    text = f"{count} runs: " + ", ".join(f"{name} {value:+g}" for name, value in more.items())
    met = more["MB here"] < GROWTH and more["MB of the host"] < GROWTH and not any(list(more.values())[2:])
    return "many runs of one FMU", "memory, descriptors, processes, files flat", text, met, COMMAND


def standing(model: pliant.Model) -> dict[str, float]:
    """What is in use now."""
    hosts = hosts_of(model)
    return {
        "MB here": round(resident("self"), 1),
        "MB of the host": round(resident(str(hosts[0])), 1),
        "descriptors": len(list(Path("/proc/self/fd").iterdir())),
        "descriptors of the host": len(list(Path(f"/proc/{hosts[0]}/fd").iterdir())),
        "processes": len(hosts),
        "files": sum(1 for place in (tempfile.gettempdir(), "/dev/shm") for _ in Path(place).glob("pliant-fmu-*")),
    }


def resident(pid: str) -> float:
    """Megabytes in memory."""
    return float(Path(f"/proc/{pid}/status").read_text().split("VmRSS:")[1].split()[0]) / 1e3


CROWD = """
import resource, sys, time
import pliant
begin, cpu = time.perf_counter(), time.process_time()
with pliant.load(sys.argv[1], kind="model-exchange") as model:
    unit = model.variables["v[{count}]"].unit
    print(time.perf_counter() - begin, time.process_time() - cpu, unit,
          resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3)
"""


def crowd() -> Row:
    """Very many variables."""
    os.environ.setdefault("PLIANT_CACHE", tempfile.mkdtemp(prefix="pliant-fmus-"))
    from support_hostile_xml import crowd as crowded

    found = []
    for version in ("2.0", "3.0"):
        command = [sys.executable, "-c", CROWD.replace("{count}", str(MANY)), str(crowded(version, MANY))]
        runs = [subprocess.run(command, capture_output=True, text=True, check=True).stdout.split() for _ in range(3)]
        found.append((version, min(float(run[1]) for run in runs), runs[0][2], max(float(run[3]) for run in runs)))
    text = ", ".join(f"FMI {v}: {seconds:.2f} s CPU, {size:.0f} MB" for v, seconds, _, size in found)
    met = all(seconds <= 2.0 and size <= 300.0 and unit == f"u{MANY % 1000}" for _, seconds, unit, size in found)
    return "200 000 variables: load, read the last one's unit", "<= 2 s, <= 300 MB", text, met, COMMAND


if __name__ == "__main__":
    if "--hostile" in sys.argv:
        judge_all("--quick" in sys.argv)
    else:
        for row in rows("--quick" in sys.argv):
            print(*row[:4], sep=" | ", flush=True)
