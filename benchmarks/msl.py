"""Models of the Modelica Standard Library: simulated, against rumoca's own simulation; FullRobot to C.

MODELICAPATH=... python benchmarks/msl.py [part of a name ...] [--quick]
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pliant
from pliant.codegen.emit import generate
from pliant.compiling.compiler import find_compiler, flags_for
from pliant.compiling.folders import runtime_folder
from pliant.frontend.reading import read_flat as read
from pliant.frontend.scalar.scalarize import scalarize
from pliant.structure.pipeline import sort_system

ROBOT = "Modelica.Mechanics.MultiBody.Examples.Systems.RobotR3.FullRobot"
NOT_MEASURED = "not measured: set MODELICAPATH"
RTOL = 1e-8

# name -> stop; the first four were asked for
EXAMPLES = {
    "Mechanics.MultiBody.Examples.Elementary.DoublePendulum": 3.0,
    "Electrical.Analog.Examples.CauerLowPassAnalog": 60.0,
    "Mechanics.Rotational.Examples.First": 1.0,
    "Thermal.HeatTransfer.Examples.TwoMasses": 1.0,
    "Electrical.Analog.Examples.CauerLowPassOPV": 60.0,
    "Electrical.Analog.Examples.ChuaCircuit": 10.0,
    "Electrical.Analog.Examples.CompareTransformers": 0.5,
    "Electrical.Analog.Examples.HeatingRectifier": 0.5,
    "Mechanics.Rotational.Examples.FirstGrounded": 1.0,
    "Mechanics.Rotational.Examples.CompareBrakingTorque": 1.0,
    "Mechanics.Translational.Examples.Oscillator": 1.0,
    "Mechanics.MultiBody.Examples.Elementary.Pendulum": 5.0,
    "Mechanics.MultiBody.Examples.Elementary.PendulumWithSpringDamper": 5.0,
    "Mechanics.MultiBody.Examples.Elementary.SpringDamperSystem": 5.0,
    "Mechanics.MultiBody.Examples.Elementary.PointGravity": 5.0,
    "Blocks.Examples.PID_Controller": 1.0,
}
AGREED = 1e-4


def library() -> bool:
    """Is the Modelica Standard Library there?"""
    roots = os.environ.get("MODELICAPATH", "").split(os.pathsep)
    return any((Path(root) / "Modelica" / "package.mo").is_file() for root in roots if root)


# ------------------------------------------------------------------------------------------------ agreement


@dataclass
class Agreement:
    """End values of one example against rumoca's, and both against a converged solution."""

    name: str
    compared: int = 0
    worst: float = np.inf  # rumoca against pliant
    variable: str = ""
    ours: float = np.inf  # pliant against the converged solution
    peers: float = np.inf  # rumoca against it
    sure: float = np.inf  # BDF against Radau5, both at rtol 1e-11: how well the converged solution is known
    failure: str = ""

    @property
    def agrees(self) -> bool:
        return self.worst <= AGREED

    @property
    def peer_is_off(self) -> bool:
        """They differ, and it is rumoca that is far from the converged solution."""
        return not self.agrees and self.ours <= AGREED and self.sure <= 0.1 * AGREED and self.peers > 3 * self.ours


def simulate_peer(name: str, stop: float) -> Any:
    """rumoca's own simulation."""
    import rumoca

    roots = [root for root in os.environ["MODELICAPATH"].split(os.pathsep) if root]
    text = f"model P\n  extends {name};\nend P;\n"
    model = rumoca.Session(roots=roots).loads(text, model="P", filename="/pliant-nowhere/P.mo")
    return model.simulate(t=stop, config=rumoca.SimConfig(rtol=RTOL, atol=1e-10))


def scale(values: NDArray[np.float64], largest: float) -> float:
    """What an end value is compared to; below 1e-9 of the model's largest number there is rounding only."""
    return float(max(abs(values[-1]), 1e-3 * np.abs(values).max(), 1e-9 * largest, 1e-12))


def agreement(name: str, stop: float) -> Agreement:
    """Every variable that both know, at the end."""
    found = Agreement(name)
    full = f"Modelica.{name}"
    try:
        model = pliant.load("\n", name=full)
        result = model.simulate(stop=stop, rtol=RTOL)
        exact = model.simulate(stop=stop, rtol=1e-11, method="radau5")
        other = model.simulate(stop=stop, rtol=1e-11, method="bdf")
    except pliant.PliantError as error:
        found.failure = f"pliant: {type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
        return found
    try:
        peer = simulate_peer(full, stop)
    except BaseException as error:  # rumoca panics with an exception of its own
        if isinstance(error, KeyboardInterrupt):
            raise
        found.failure = f"rumoca: {type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
        return found
    common = [one for one in peer.names if one in result]
    largest = max(float(np.abs(result[one]).max()) for one in common)
    found.compared = len(common)
    size = np.array([scale(exact[one], largest) for one in common])
    a, b, c, d = (np.array([float(np.asarray(run[one])[-1]) for one in common]) for run in (result, peer, exact, other))
    errors = np.abs(b - a) / size
    found.worst, found.variable = float(errors.max()), common[int(np.argmax(errors))]
    found.ours, found.peers, found.sure = (float((np.abs(v - c) / size).max()) for v in (a, b, d))
    return found


def agreements(wanted: list[str], quick: bool = False) -> list[Agreement]:
    """The table of all examples."""
    rows = []
    print(f"{'end values at rtol 1e-8':64} {'compared':>8} {'differ':>8} {'pliant':>8} {'rumoca':>8} {'known to':>8}")
    for k, (name, stop) in enumerate(EXAMPLES.items()):
        if (wanted and not any(part in name for part in wanted)) or (quick and k >= 4):
            continue
        row = agreement(name, stop)
        rows.append(row)
        if row.failure:
            print(f"{name:64} {row.failure}", flush=True)
        else:
            mark = "" if row.agrees else f"  {row.variable}{': rumoca is off' if row.peer_is_off else ''}"
            print(
                f"{name:64} {row.compared:8d} {row.worst:8.1e} {row.ours:8.1e} {row.peers:8.1e} {row.sure:8.1e}{mark}",
                flush=True,
            )
    return rows


# ---------------------------------------------------------------------------------------------------- robot


@dataclass
class Robot:
    """FullRobot, structure and code."""

    folded: bool
    states: int
    loops: list[tuple[int, int]] = field(default_factory=list)  # unknowns, tears
    structure: float = np.inf  # CPU seconds of scalarizing, sorting and writing C
    compile: float = np.inf  # CPU seconds of the C compiler

    @property
    def largest(self) -> tuple[int, int]:
        return max(self.loops)


def compile_seconds(text: str) -> float:
    """CPU seconds of the compiler on a C text, with the flags that pliant uses."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "model.c"
        source.write_text(text)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        target = str(Path(folder) / "model.so")
        headers = f"-I{runtime_folder() / 'include'}"
        command = [*find_compiler(), *flags_for(len(text)), headers, "-shared", "-o", target, str(source), "-lm"]
        subprocess.run(command, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def robot(repeats: int = 3) -> list[Robot]:
    """Folded and tunable parameters, interleaved; the least times. rumoca reads once and is not counted."""
    flat = read("\n", ROBOT)
    found: dict[bool, Robot] = {}
    for _ in range(repeats):
        for folded in (True, False):
            begin = time.process_time()
            s = sort_system(scalarize(flat, fold_parameters=folded))
            generated = generate(s)
            seconds = time.process_time() - begin
            loops = [(len(b.variables), len(b.tears)) for b in s.blocks if len(b.variables) > 1]
            row = found.setdefault(folded, Robot(folded, len(s.states), loops))
            row.structure = min(row.structure, seconds)
            row.compile = min(row.compile, compile_seconds(generated.text))
    for row in found.values():
        kind = "folded" if row.folded else "tunable"
        print(
            f"FullRobot, parameters {kind}: {row.states} states, largest loop {row.largest[0]} unknowns torn with "
            f"{row.largest[1]}, structure and C text {row.structure:.2f} s, compiler {row.compile:.2f} s",
            flush=True,
        )
    return list(found.values())


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of the examples' names; all without")
    parser.add_argument("--quick", action="store_true", help="the first four examples")
    arguments = parser.parse_args()
    if not library():
        print(NOT_MEASURED)
        return
    if not arguments.names:
        robot(1 if arguments.quick else 3)
    agreements(arguments.names, arguments.quick)


if __name__ == "__main__":
    main()
