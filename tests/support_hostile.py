"""Hostile and degenerate FMUs, each with what must happen to it.

``register()`` lists them; ``python tests/support_hostile.py FOLDER`` writes them as files. Nothing may die but the
host, nothing may hang, nothing may be silently wrong: one of ``error`` is raised, or (``runs``) the result is right.
Where ``error`` is empty, it must run.
"""

from __future__ import annotations

import math
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path

from support_fmus import BINARIES, CS, ME, SKELETON, fmu, members, pack


@dataclass(frozen=True)
class Hostile:
    """An FMU and what must happen."""

    name: str
    make: Callable[[], Path]
    error: tuple[str, ...] = ("FmuError",)  # classes of pliant; one of them is raised (subclasses, too)
    runs: bool = False  # or the run ends with the right result
    stage: str = "load"  # "load": pliant.load raises already; "simulate": this or the first run
    kind: str | None = None  # of pliant.load
    call: str = ""  # FMI function that the error names; empty: none, or not known
    says: str = ""  # part of the message or of a warning; empty: not checked
    options: Mapping[str, float] = field(default_factory=dict)  # of FmuOptions
    quick: bool = True  # part of the tests; others only on demand
    right: Mapping[str, float] = field(default_factory=lambda: DECAY)  # values at 1 s, if it runs


#: at 1 s, of the FMUs that hostile ones are made of
DECAY = {"x": math.exp(-1.0)}
VAN_DER_POL = {"x0": 1.508144236975612, "x1": -0.780218074629699}


# ------------------------------------------------------------------------------------------ misbehaviour at a phase

CRASH, TIMEOUT, SOLVER = ("FmuCrashError",), ("FmuTimeoutError",), ("SolverError", "FmuError")
CALL_TIMEOUT, MEMORY_LIMIT = 0.5, 512 * 2**20

#: phase -> FMI functions of version 2 and 3
PHASES = {
    "LOAD": ("", ""),
    "INSTANTIATE": ("fmi2Instantiate", "fmi3InstantiateModelExchange"),
    "SETUP": ("fmi2SetupExperiment", "fmi3EnterInitializationMode"),
    "ENTER_INITIALISATION": ("fmi2EnterInitializationMode", "fmi3EnterInitializationMode"),
    "EXIT_INITIALISATION": ("fmi2ExitInitializationMode", "fmi3ExitInitializationMode"),
    "NOMINALS": ("fmi2GetNominalsOfContinuousStates", "fmi3GetNominalsOfContinuousStates"),
    "DERIVATIVES": ("fmi2GetDerivatives", "fmi3GetContinuousStateDerivatives"),
    "OUTPUTS": ("fmi2GetReal", "fmi3GetFloat64"),
    "INDICATORS": ("fmi2GetEventIndicators", "fmi3GetEventIndicators"),
    "EVENT": ("fmi2NewDiscreteStates", "fmi3UpdateDiscreteStates"),
    "COMPLETED": ("fmi2CompletedIntegratorStep", "fmi3CompletedIntegratorStep"),
    "STEP": ("fmi2DoStep", "fmi3DoStep"),
    "TERMINATE": ("fmi2Terminate", "fmi3Terminate"),
    "FREE": ("fmi2FreeInstance", "fmi3FreeInstance"),
    "UNLOAD": ("", ""),
}
DEADLY = ("CRASH", "ABORT", "EXIT", "LOOP", "OVERFLOW", "SLEEP")
HANGS = ("LOOP", "SLEEP", "STOP", "JUMP", "FREEZE")


@cache
def number_of(name: str) -> int:
    """The place of ``PHASE_X`` or ``ACT_X`` in its enumeration (hostile.h)."""
    text = (SKELETON / "hostile.h").read_text("utf-8")
    for listed in re.findall(r"enum \{(.*?)\}", text, re.DOTALL):
        names = re.findall(r"\b(?:PHASE|ACT)_\w+", re.sub(r"/\*.*?\*/", "", listed, flags=re.DOTALL))
        if name in names:
            return names.index(name)
    raise KeyError(name)


def misbehaving(phase: str, act: str, version: str) -> Path:
    """The FMU ``hostile`` with phase and act written into its binary."""
    parts = dict(members("hostile", version))
    path = next(one for one in parts if one.endswith(".so"))
    mark = b"HOSTILE!"
    choice = b"".join(number_of(one).to_bytes(4, "little") for one in (f"PHASE_{phase}", f"ACT_{act}"))
    at = parts[path].index(mark) + len(mark)
    parts[path] = parts[path][:at] + choice + parts[path][at + len(choice) :]
    return pack(parts, f"{act}_{phase}".lower())


def at_phase(
    phase: str,
    act: str,
    version: str,
    error: tuple[str, ...],
    *,
    runs: bool = False,
    says: str = "",
    quick: bool = True,
) -> Hostile:
    """An entry for one act in one phase."""
    options = {"call_timeout": CALL_TIMEOUT} if act in HANGS else {"memory_limit": MEMORY_LIMIT} if act == "HOG" else {}
    return Hostile(
        f"{act.lower()} in {phase.lower()}, FMI {version}",
        partial(misbehaving, phase, act, version),
        error,
        runs,
        "simulate",
        CS if phase == "STEP" else ME,
        ""
        if act in ("CLOSE", "WRITE")
        else PHASES.get(phase, ("", ""))[version == "3.0"],  # nobody can say when it is noticed
        says,
        options,
        quick,
    )


def acts() -> Iterator[Hostile]:
    """Every deadly act in every phase, then acts that are deadly only in part."""
    for i, phase in enumerate(PHASES):
        for k, act in enumerate(DEADLY):
            for v, version in enumerate(("2.0", "3.0")):
                quick = (i + k + v) % 2 == 0 and (act != "LOOP" or phase in ("LOAD", "DERIVATIVES"))
                # after the last call the results are complete: what happens then must not lose them
                done = phase == "UNLOAD"
                yield at_phase(phase, act, version, TIMEOUT if act in HANGS else CRASH, runs=done, quick=quick)
    for version in ("2.0", "3.0"):
        quick = version == "2.0"
        yield at_phase("DERIVATIVES", "KILL", version, CRASH, quick=quick)
        yield at_phase("DERIVATIVES", "DIVIDE", version, CRASH, quick=quick)
        yield at_phase("DERIVATIVES", "HEAP", version, CRASH, runs=True, quick=quick)
        yield at_phase("INSTANTIATE", "HEAP", version, CRASH, runs=True, quick=quick)
        yield at_phase("DERIVATIVES", "HOG", version, CRASH, quick=not quick)
        yield at_phase("EXIT_INITIALISATION", "FLOOD", version, (), runs=True, quick=not quick)
        yield at_phase("EXIT_INITIALISATION", "PRINT", version, (), runs=True, quick=quick)
        yield at_phase("EXIT_INITIALISATION", "READ", version, (), runs=True, quick=not quick)
        yield at_phase("EXIT_INITIALISATION", "CHILD", version, (), runs=True, quick=quick)
        yield at_phase("EXIT_INITIALISATION", "SIGNAL", version, (), runs=True, quick=not quick)
        yield at_phase("EXIT_INITIALISATION", "THREAD", version, CRASH, quick=quick)
        yield at_phase("EXIT_INITIALISATION", "CLOSE", version, CRASH, runs=True, quick=not quick)
        yield from processes(version, quick)
        yield from strangers(version, quick)
        for phase in PHASES:
            if phase in ("LOAD", "UNLOAD", "FREE"):
                continue
            for act in ("ERROR", "FATAL"):
                runs = phase in ("NOMINALS", "TERMINATE")
                yield at_phase(phase, act, version, SOLVER, runs=runs, says="refused on purpose", quick=act == "ERROR")
        for phase in ("DERIVATIVES", "STEP", "INDICATORS"):
            yield at_phase(phase, "DISCARD", version, SOLVER, says="refused on purpose")
        yield from numbers(version)


def processes(version: str, quick: bool) -> Iterator[Hostile]:
    """What is done to the process and to what it shares with others."""
    for k, phase in enumerate(("LOAD", "INSTANTIATE", "EXIT_INITIALISATION", "DERIVATIVES", "FREE")):
        now = quick == (k % 2 == 0)
        done = phase == "FREE"  # the results are there
        for act in ("DAEMON", "STATE", "FORMAT", "LEAVE"):
            yield at_phase(phase, act, version, (), runs=True, quick=now and act != "FORMAT")
        yield at_phase(phase, "FORK", version, CRASH, runs=True, quick=now)
        yield at_phase(phase, "WRITE", version, ("FmuCrashError", "FmuError"), runs=done, quick=now)
        yield at_phase(phase, "EXEC", version, CRASH, runs=done, quick=now)
        yield at_phase(phase, "ALARM", version, CRASH, runs=done, quick=now)
        yield at_phase(phase, "STOP", version, TIMEOUT, runs=done, quick=now)
        yield at_phase(phase, "JUMP", version, CRASH, runs=done, quick=now)
        yield at_phase(phase, "THREADS", version, CRASH, runs=True, quick=now)


#: act -> (errors, does it run or may it, time-out); what is done once, in a call of the run and before it
STRANGERS: dict[str, tuple[tuple[str, ...], bool, bool]] = {
    "TIMER": ((), True, False),
    "FREEZE": (TIMEOUT, True, True),
    "LATER": (CRASH, False, False),
    "ORPHAN": ((), True, False),
    "LINK": ((), True, False),
    "DEEP": ((), True, False),
    "LITTER": ((), True, False),
    "STARVE": (("FmuCrashError", "FmuError", "SolverError"), True, False),
    "OPEN": ((), True, False),
    "FAULTS": (("FmuTimeoutError", "FmuCrashError"), False, True),
    "WIDE": ((), True, False),
    "GROUP": (CRASH, False, False),
    "BLOCK": (CRASH, False, False),
    "GIGABYTE": ((), True, False),
    "TRAPS": (CRASH, True, False),
    "TIME": (CRASH, False, False),
    "CANCEL": ((*CRASH, *TIMEOUT), True, True),
    "UNLINK": ((), True, False),
    "PENDING": (SOLVER, False, False),
    "ODD": (SOLVER, False, False),
    "MINUS": (SOLVER, False, False),
}


def strangers(version: str, quick: bool) -> Iterator[Hostile]:
    """Signals, files, limits, threads and words that are not those of a call."""
    for k, (act, (error, runs, waits)) in enumerate(STRANGERS.items()):
        for phase in ("EXIT_INITIALISATION", "DERIVATIVES"):
            now = quick == ((k + (phase == "DERIVATIVES")) % 2 == 0) and act not in ("DEEP", "WIDE")
            one = at_phase(phase, act, version, error, runs=runs, quick=now)
            yield replace(one, call="", options={"call_timeout": CALL_TIMEOUT} if waits else {})
    for act in ("PAST", "NOW", "SOON", "NAN", "INFINITE", "NEGATIVE"):
        if version == "3.0":  # FMI 2 does not tell how far it came
            yield replace(at_phase("STEP", act, version, SOLVER), call="")
    yield at_phase("STEP", "PENDING", version, SOLVER)


def numbers(version: str) -> Iterator[Hostile]:
    """Wrong numbers instead of wrong deeds."""
    for act in ("NAN", "INFINITE"):
        yield at_phase("DERIVATIVES", act, version, SOLVER)
        yield at_phase("INDICATORS", act, version, SOLVER, runs=act == "INFINITE")
        yield at_phase("STATES", act, version, SOLVER)
        yield at_phase("NOMINALS", act, version, SOLVER, runs=True)
    for act in ("NEGATIVE", "TINY", "HUGE", "ZERO", "NOISE"):
        yield at_phase("NOMINALS", act, version, SOLVER, runs=True)
    for phase in ("DERIVATIVES", "INDICATORS"):
        yield at_phase(phase, "HUGE", version, SOLVER, runs=phase == "INDICATORS")
    yield at_phase("DERIVATIVES", "NOISE", version, SOLVER, runs=True)
    yield at_phase("INDICATORS", "NOISE", version, SOLVER, runs=True)
    yield at_phase("INDICATORS", "ZERO", version, SOLVER, runs=True)
    yield at_phase("EVENT", "AGAIN", version, SOLVER)
    yield at_phase("EVENT", "NOW", version, SOLVER)
    yield at_phase("EVENT", "SOON", version, SOLVER)
    yield at_phase("EVENT", "PAST", version, SOLVER, runs=True)
    yield at_phase("EVENT", "NAN", version, SOLVER, runs=True)


# --------------------------------------------------------------------------------------------------------- binaries


def with_binary(version: str, change: Callable[[bytes], bytes | None], folder: str = "") -> Path:
    """Van der Pol with another binary (None: none) or in another folder of binaries."""
    parts = dict(members("vanderpol", version))
    path = next(one for one in parts if one.endswith(".so"))
    changed = change(parts.pop(path))
    if changed is not None:
        parts[path.replace(BINARIES[version], folder or BINARIES[version])] = changed
    return pack(parts, "vanderpol")


def other_machine(binary: bytes) -> bytes:
    """The same for another processor, as its header says."""
    machine = 0xB7 if binary[18] != 0xB7 else 0x3E  # AArch64, else x86-64
    return binary[:18] + machine.to_bytes(2, "little") + binary[20:]


def without(symbol: bytes) -> Callable[[bytes], bytes]:
    """A function that renames a symbol: it is missing then."""

    def change(binary: bytes) -> bytes:
        assert symbol + b"\0" in binary
        return binary.replace(symbol + b"\0", symbol[:-1] + b"_\0")

    return change


def miscounted(version: str) -> Path:
    """The description has a state more than the binary, which notices."""
    parts = dict(members("vanderpol", version, strict=True))
    text = parts["modelDescription.xml"].decode()
    if version == "2.0":
        row = '<ScalarVariable name="{0}" valueReference="5" variability="continuous"><Real {1}/></ScalarVariable>'
        rows = row.format("x2", "") + row.format("der(x2)", 'derivative="7"')
        text = text.replace("</Derivatives>", '<Unknown index="8"/></Derivatives>')
    else:
        row = '<Float64 name="{0}" valueReference="{1}" variability="continuous"{2}/>'
        rows = row.format("x2", 6, "") + row.format("der(x2)", 7, ' derivative="6"')
        state = '<ContinuousStateDerivative valueReference="4" dependencies="1 3"/>'
        assert state in text
        text = text.replace(state, f'{state}<ContinuousStateDerivative valueReference="7"/>')
    parts["modelDescription.xml"] = text.replace("</ModelVariables>", f"{rows}</ModelVariables>").encode()
    return pack(parts, "vanderpol")


def binaries() -> Iterator[Hostile]:
    for version, first in (("2.0", b"fmi2Instantiate"), ("3.0", b"fmi3InstantiateModelExchange")):
        late = b"fmi2GetDerivatives" if version == "2.0" else b"fmi3GetContinuousStateDerivatives"
        changes: dict[str, Callable[[bytes], bytes | None]] = {
            "a text file": lambda _binary: b"this is no library\n",
            "empty": lambda _binary: b"",
            "truncated": lambda binary: binary[: len(binary) // 2],
            "for another machine": other_machine,
            f"without {first.decode()}": without(first),
            f"without {late.decode()}": without(late),
            "with wrong bytes": lambda binary: binary[:64] + b"\xff" * 4096 + binary[64 + 4096 :],
        }
        for what, change in changes.items():
            says = what.removeprefix("without ") if what.startswith("without") else ""
            made = partial(with_binary, version, change)
            yield Hostile(
                f"binary {what}, FMI {version}", made, ("FmuError", "FmuCrashError"), stage="simulate", says=says
            )
        more = partial(miscounted, version)
        yield Hostile(
            f"binary with fewer states than described, FMI {version}", more, SOLVER, stage="simulate", kind=ME
        )
        only = "win64" if version == "2.0" else "x86_64-windows"
        made = partial(with_binary, version, lambda binary: binary, only)
        yield Hostile(f"only {only}", made, says="windows")
        yield Hostile(f"no binaries, FMI {version}", partial(with_binary, version, lambda _binary: None))
    other = partial(fmu, "miscounted", "3.0")
    right = {"x[1,1]": math.exp(-1.0), "x[2,3]": 6.0 * math.exp(-6.0)}
    yield Hostile("binary with other numbers of states", other, SOLVER, True, "simulate", ME, right=right)


@cache
def register() -> tuple[Hostile, ...]:
    """Everything; names are unique."""
    from support_hostile_files import archives
    from support_hostile_xml import descriptions

    found = (*acts(), *binaries(), *archives(), *descriptions())
    assert len({one.name for one in found}) == len(found)
    return found


if __name__ == "__main__":
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    for one in register():
        shutil.copy(one.make(), out / (re.sub(r"\W+", "_", one.name) + ".fmu"))
    print(f"{len(register())} FMUs in {out}")
