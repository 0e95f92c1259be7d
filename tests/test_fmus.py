"""The test FMUs themselves, without any code of pliant's: they load, give the right numbers, refuse what is wrong."""

from __future__ import annotations

import ctypes as ct
import math
import os
import signal
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from support import RUNTIME
from support_fmi_driver import Driver, RefusedCallError
from support_fmus import CS, GOOD, ME, SOURCES, description, fmu, identifier, library
from support_hostile import HANGS, PHASES, misbehaving, number_of, register

BOTH = ("2.0", "3.0")
KINDS = [(version, kind) for version in BOTH for kind in (ME, CS)]


def driver(name: str, version: str, kind: str, *, strict: bool = False) -> Driver:
    folder = GOOD[name].folder or name
    path = SOURCES / folder / "resources"
    resources = f"{path}/" if version == "3.0" else path.as_uri()
    made = Driver(library(name, version, strict=strict), version, kind, f"{{{folder}}}", resources)
    assert made.instance, made.log
    return made


def stepped(one: Driver, stop: float, h: float) -> None:
    """Co-simulation to ``stop``."""
    while one.time < stop - 1e-9 and not one.terminate:
        one.step(min(h, stop - one.time))


def test_declarations_compile_as_c99(tmp_path: Any) -> None:
    text = '#include "pl_fmi2.h"\n#include "pl_fmi3.h"\nPL_FMI2_EXPORTS\nPL_FMI3_EXPORTS\n'
    for version, count in (("2", 44), ("3", 75)):
        text += f"#define F{version}(symbol, name) pl_fmi{version}_##name##_fn name;\n"
        text += f"struct functions{version} {{ PL_FMI{version}_FUNCTIONS(F{version}) }};\n"
        text += (
            f"typedef char complete{version}[sizeof(struct functions{version}) == {count} * sizeof(void *) ? 1 : -1];\n"
        )
    (tmp_path / "declared.c").write_text(text)
    command = [
        "gcc",
        "-std=c99",
        "-pedantic",
        "-Wall",
        "-Wextra",
        "-Werror",
        f"-I{RUNTIME / 'fmi'}",
        "-c",
        "declared.c",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("name", "version"), [(name, v) for name, recipe in GOOD.items() for v in recipe.versions])
def test_archive_has_its_parts(name: str, version: str) -> None:
    with zipfile.ZipFile(fmu(name, version)) as archive:
        names = archive.namelist()
        text = archive.read("modelDescription.xml").decode()
    assert any(one.startswith("binaries/") and one.endswith(f"/{identifier(text)}.so") for one in names)
    assert f'fmiVersion="{version}"' in text
    for kind, element in ((ME, "<ModelExchange "), (CS, "<CoSimulation ")):
        assert (element in text) == (kind in GOOD[name].kinds)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(("version", "kind"), KINDS)
def test_van_der_pol(version: str, kind: str, strict: bool) -> None:
    one = driver("vanderpol", version, kind, strict=strict)
    one.start({("float64", 5): 1.0})
    if kind == ME:
        x = one.run(2.0, 200, 2)
    else:
        stepped(one, 2.0, 0.5)
        x = [one.get("float64", 1), one.get("float64", 3)]
    assert x == pytest.approx([0.32331666704577, -1.83297456797624], abs=1e-7)
    one.end()


@pytest.mark.parametrize("version", BOTH)
def test_directional_derivatives(version: str) -> None:
    one = driver("vanderpol", version, ME)
    one.start()
    product, seed = (ct.c_double * 2)(), (ct.c_double * 2)(0.5, 2.0)
    references = [(ct.c_uint32 * 2)(2, 4), ct.c_size_t(2), (ct.c_uint32 * 2)(1, 3), ct.c_size_t(2)]
    sizes = (ct.c_size_t(2),) if version == "3.0" else ()
    one.call("GetDirectionalDerivative", *references, seed, *sizes, product, *sizes)
    assert list(product) == [2.0, -0.5 - 6.0]


@pytest.mark.parametrize("version", BOTH)
@pytest.mark.parametrize("nominal", [1e-3, 1e7])
def test_nominal_values_are_settable(version: str, nominal: float) -> None:
    one = driver("stiff", version, ME)
    one.start({("float64", 6): nominal})
    assert one.numbers("GetNominalsOfContinuousStates", 2) == [nominal, nominal]


def ball(t: float) -> tuple[float, float, int]:
    """Height, velocity and number of bounces, in closed form."""
    g, e, h0 = 9.81, 0.7, 1.0
    at, speed, bounces = math.sqrt(2 * h0 / g), math.sqrt(2 * g * h0), 0
    if t < at:
        return h0 - g * t * t / 2, -g * t, 0
    while True:
        speed, bounces = e * speed, bounces + 1
        if speed < 0.1:
            return 0.0, 0.0, bounces
        if t < at + 2 * speed / g:
            s = t - at
            return speed * s - g * s * s / 2, speed - g * s, bounces
        at += 2 * speed / g


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(("version", "kind"), KINDS)
@pytest.mark.parametrize("stop", [2.0, 3.0])
def test_ball_bounces(version: str, kind: str, stop: float, strict: bool) -> None:
    one = driver("ball", version, kind, strict=strict)
    one.start()
    if kind == ME:
        one.run(stop, 100, 2, 1)
    else:
        stepped(one, stop, 0.1)
    found = (one.get("float64", 1), one.get("float64", 3), one.get("int32", 8))
    assert found == pytest.approx(ball(stop), abs=1e-9)
    one.end()


@pytest.mark.parametrize(("version", "kind"), KINDS)
def test_stair_terminates(version: str, kind: str) -> None:
    one = driver("stair", version, kind, strict=True)
    one.start()
    if kind == ME:
        one.run(20.0, 100, 0)
    elif version == "3.0":
        stepped(one, 20.0, 0.4)
    else:
        with pytest.raises(RefusedCallError, match="status 2"):
            stepped(one, 20.0, 0.4)
        ended, time = ct.c_int(), ct.c_double()
        one.call("GetBooleanStatus", 3, ct.byref(ended))
        one.call("GetRealStatus", 2, ct.byref(time))
        one.time, one.terminate = time.value, bool(ended.value)
    assert one.get("int32", 1) == 10
    assert one.terminate
    assert one.time == pytest.approx(9.0)


@pytest.mark.parametrize(("version", "kind"), KINDS)
def test_filter_of_three_inputs(version: str, kind: str) -> None:
    one = driver("filter", version, kind, strict=True)
    one.start({("float64", 3): 2.0, ("int32", 4): 3, ("boolean", 5): True})
    if kind == ME:
        one.run(1.0, 100, 1)
    else:
        stepped(one, 1.0, 0.1)
    assert one.get("float64", 1) == pytest.approx(6.0 * (1.0 - math.exp(-2.0)), abs=1e-7)
    assert one.get("float64", 7) == pytest.approx(2.0 + 6.0 * (1.0 - math.exp(-2.0)), abs=1e-7)


@pytest.mark.parametrize("kind", [ME, CS])
def test_arrays_change_their_size(kind: str) -> None:
    for rows, columns in ((2, 3), (3, 2), (1, 1)):
        one = driver("arrays", "3.0", kind, strict=True)
        if (rows, columns) != (2, 3):
            one.call("EnterConfigurationMode")
            one.set("uint64", 1, rows)
            one.set("uint64", 2, columns)
            one.call("ExitConfigurationMode")
        n = rows * columns
        one.start({("float64", 6): [float(j) for j in range(columns)]})
        if kind == ME:
            one.run(1.0, 100, n)
        else:
            stepped(one, 1.0, 0.25)
        decay = [math.exp(-(i + 1.0)) for i in range(n)]
        exact = [(i + 1.0) * decay[i] + (i % columns) / (i + 1.0) * (1.0 - decay[i]) for i in range(n)]
        assert one.get("float64", 3, n) == pytest.approx(exact[0] if n == 1 else exact, abs=1e-6)
        sums = [sum(exact[i * columns : (i + 1) * columns]) for i in range(rows)]
        assert one.get("float64", 7, rows) == pytest.approx(sums[0] if rows == 1 else sums, abs=1e-6)


TYPES = {
    "float32": (5, 0.25),
    "int8": (7, -128),
    "uint8": (9, 255),
    "int16": (11, -32768),
    "uint16": (13, 65535),
    "int32": (15, -(2**31)),
    "uint32": (17, 2**32 - 1),
    "int64": (19, -(2**63)),
    "uint64": (21, 2**64 - 1),
    "boolean": (23, True),
}


@pytest.mark.parametrize("version", BOTH)
def test_every_type(version: str) -> None:
    one = driver("types", version, ME, strict=True)
    given = {k: v for k, v in TYPES.items() if version == "3.0" or k in ("int32", "boolean")}
    one.start({**{(kind, r): value for kind, (r, value) in given.items()}, ("string", 29): (b"other",)})
    for kind, (reference, value) in given.items():
        assert one.get(kind, reference + 1) == value
    assert one.get("string", 30) == b"other"
    assert one.get("int64" if version == "3.0" else "int32", 26) == 1
    assert one.get("int32", 31) == 7


@pytest.mark.parametrize(("version", "kind"), KINDS)
def test_strict_accepts_the_standard_sequence(version: str, kind: str) -> None:
    one = driver("strict", version, kind)
    one.start(stop=1.0)
    if kind == ME:
        one.run(1.0, 100, 1, 1)
    else:
        stepped(one, 1.0, 0.125)
    assert one.get("float64", 1) == pytest.approx(math.exp(-1.0), abs=1e-8)
    assert (one.get("int32", 7), one.get("int32", 8)) == (1, 4)
    one.end()
    assert not one.log


def breaches(version: str) -> dict[str, Any]:
    """What an importer must not do: name -> calls, from continuous-time mode on."""
    two = (ct.c_double * 2)(1.0, 2.0)
    found = {
        "not allowed here": lambda one: one.call("ExitInitializationMode"),
        "before the start time": lambda one: one.call("SetTime", ct.c_double(-1.0)),
        "after the stop time": lambda one: one.call("SetTime", ct.c_double(1.5)),
        "time is not finite": lambda one: one.call("SetTime", ct.c_double(math.nan)),
        "wrong number of elements": lambda one: one.call("SetContinuousStates", two, ct.c_size_t(2)),
        "this variable may not be set here": lambda one: one.set("float64", 4, 2.0),
        "the step up to here was not completed": lambda one: (one._rates(0.1, [1.0]), one.call("EnterEventMode")),
        "before the last event": lambda one: (one.run(0.25, 1, 1, 1), one._rates(0.2, [1.0])),
        "before the last but one accepted step": lambda one: (one.run(0.1, 2, 1, 1), one._rates(0.02, [1.0])),
        "the event iteration is not finished": lambda one: (
            one.call("EnterEventMode"),
            one.call("EnterContinuousTimeMode"),
        ),
    }
    if version == "2.0":
        found["a null pointer"] = lambda one: one.call("GetReal", None, ct.c_size_t(1), None)
    return found


@pytest.mark.parametrize(("version", "what"), [(version, what) for version in BOTH for what in breaches(version)])
def test_strict_refuses_a_breach(version: str, what: str) -> None:
    one = driver("strict", version, ME)
    one.start(stop=1.0)
    with pytest.raises(RefusedCallError, match=f"breach: fmi{version[0]}.*{what}"):
        breaches(version)[what](one)
    with pytest.raises(RefusedCallError):  # and the instance is lost
        one.call("SetTime", ct.c_double(0.5))


@pytest.mark.parametrize("version", BOTH)
def test_strict_refuses_a_step_from_elsewhere(version: str) -> None:
    one = driver("strict", version, CS)
    one.start()
    one.step(0.1)
    one.time = 0.5
    with pytest.raises(RefusedCallError, match="time is not where the last step ended"):
        one.step(0.1)


@pytest.mark.parametrize("version", BOTH)
@pytest.mark.parametrize(("kind", "reference"), [("float64", 7), ("int32", 8)], ids=["constant", "calculated"])
def test_strict_refuses_to_set_what_is_not_settable(version: str, kind: str, reference: int) -> None:
    one = driver("ball", version, ME, strict=True)
    with pytest.raises(RefusedCallError, match="this variable may not be set here"):
        one.set(kind, reference, 1)


@pytest.mark.parametrize("version", BOTH)
def test_strict_refuses_to_read_between_inputs_and_step(version: str) -> None:
    one = driver("strict", version, CS)
    one.start()
    one.set("float64", 3, 1.0)
    with pytest.raises(RefusedCallError, match="inputs were set and no step was made since"):
        one.get("float64", 6)


def test_strict_refuses_to_read_before_initialisation() -> None:
    one = driver("strict", "2.0", ME)
    with pytest.raises(RefusedCallError, match="fmi2GetReal in instantiated"):
        one.get("float64", 1)


@pytest.mark.parametrize(("version", "kind"), KINDS)
def test_hidden_memory(version: str, kind: str) -> None:
    one = driver("memory", version, kind, strict=True)
    one.start()
    if kind == ME:
        one.run(5.0, 2500, 1)
        assert one.get("int32", 3) == 2500
    else:
        stepped(one, 5.0, 0.1)
    rise, swing = math.log(1.5 / 0.9), math.log(1.1 / 0.9)  # 0.5 -> 1.1, then down and up by turns
    assert one.get("int32", 4) == 1 + int((5.0 - rise) / swing)


@pytest.mark.parametrize(("version", "kind"), KINDS)
def test_nominal_changes_at_an_event(version: str, kind: str) -> None:
    one = driver("rescaled", version, kind, strict=True)
    one.start()
    if kind == ME:
        assert one.numbers("GetNominalsOfContinuousStates", 1) == [1.0]
        one.run(2.0, 100, 1)
        assert one.numbers("GetNominalsOfContinuousStates", 1) == [1000.0]
    else:
        stepped(one, 2.0, 0.3)
    assert one.get("float64", 1) == pytest.approx(1000.0 * math.exp(-2.0), rel=1e-7)


def test_early_return_and_events() -> None:
    one = driver("sawtooth", "3.0", CS, strict=True)
    one.start({("float64", 2): 0.5})
    times = []
    while one.time < 5.0:
        one.step(min(0.8, 5.0 - one.time))
        times.append(one.time)
    assert {2.0, 4.0} <= {round(time, 9) for time in times}
    assert one.get("float64", 1) == pytest.approx(0.5)
    assert one.get("int32", 3) == 2
    assert len(one.updates) > 400


def test_input_derivatives_and_saved_states() -> None:
    one = driver("integrator", "2.0", CS, strict=True)
    one.start({("float64", 2): 1.0})
    saved = ct.c_void_p()
    for k in range(2):  # y' = 1 + 3 t + t^2, twice from the same point
        if k == 0:
            one.call("GetFMUstate", ct.byref(saved))
        else:
            one.call("SetFMUstate", saved)
        one.time = 0.0
        one.set("float64", 2, 1.0)
        twice = (ct.c_uint32 * 2)(2, 2)
        one.call("SetRealInputDerivatives", twice, ct.c_size_t(2), (ct.c_int * 2)(1, 2), (ct.c_double * 2)(3.0, 2.0))
        one.step(1.0)
        assert one.get("float64", 1) == pytest.approx(1.0 + 1.5 + 1.0 / 3.0)
    rate = ct.c_double()
    one.call("GetRealOutputDerivatives", (ct.c_uint32 * 1)(1), ct.c_size_t(1), (ct.c_int * 1)(1), ct.byref(rate))
    assert rate.value == pytest.approx(5.0)
    one.call("FreeFMUstate", ct.byref(saved))


@pytest.mark.parametrize("version", BOTH)
def test_minimal_leaves_optional_functions_out(version: str) -> None:
    one = driver("minimal", version, ME)
    one.start()
    assert one.run(2.0, 200, 2) == pytest.approx([0.32331666704577, -1.83297456797624], abs=1e-7)
    assert not hasattr(one.library, f"fmi{version[0]}GetDirectionalDerivative")
    assert not hasattr(one.library, f"fmi{version[0]}GetString")
    assert "DirectionalDerivative" not in description("minimal", version)


@pytest.mark.parametrize("version", BOTH)
def test_resource_is_read(version: str) -> None:
    one = driver("resource", version, ME)
    one.start()
    assert one.run(1.0, 100, 1) == pytest.approx([math.exp(-3.0)], abs=1e-7)


@pytest.mark.parametrize(("version", "kind"), KINDS)
def test_chain_of_states(version: str, kind: str) -> None:
    one = driver("chain", version, kind, strict=True)
    one.start()
    if kind == ME:
        one.run(0.1, 100, 20)
    else:
        stepped(one, 0.1, 0.1)
    assert one.get("float64", 10) == pytest.approx(0.9585510348311355, abs=1e-6)


def test_library_beside_is_needed(tmp_path: Path) -> None:
    found = {}
    for version in BOTH:
        with zipfile.ZipFile(fmu("beside", version)) as archive:
            archive.extractall(tmp_path / version)
        (found[version],) = (tmp_path / version).rglob("beside.so")
        with pytest.raises(OSError, match="libpliant_beside"):
            ct.CDLL(str(found[version]))
    for version, binary in found.items():
        ct.CDLL(str(binary.with_name("libpliant_beside.so")))  # as if its folder were on the search path
        one = Driver(binary, version, ME, "{beside}")
        one.start()
        assert one.run(1.0, 100, 1) == pytest.approx([math.exp(-2.0)], abs=1e-7)


@pytest.mark.parametrize("version", BOTH)
def test_domain_discards(version: str) -> None:
    one = driver("domain", version, ME)
    one.start()
    assert one.run(1.9, 200, 1) == pytest.approx([0.05**2], abs=1e-7)
    with pytest.raises(RefusedCallError, match=r"status 2.*square root of -1"):
        one._rates(1.9, [-1.0])


@pytest.mark.parametrize("version", BOTH)
@pytest.mark.parametrize("name", ["once", "noisy"])
def test_process_wide_effects(name: str, version: str) -> None:
    """In a process of its own: a second instance of `once` ends it, `noisy` prints."""
    text = (
        "from test_fmus import *\n"
        f"one = driver({name!r}, {version!r}, ME)\n"
        "one.start()\n"
        "x = one.run(1.0, 100, 1)\n"
        "assert abs(x[0] - math.exp(-1.0)) < 1e-7, x\n"
        "print('right', flush=True)\n"
        f"driver({name!r}, {version!r}, ME)\n"
    )
    done = subprocess.run([sys.executable, "-c", text], cwd=SOURCES.parent, capture_output=True, text=True, check=False)
    assert "right" in done.stdout, done.stderr
    assert (done.returncode == -6) == (name == "once"), done.stderr
    assert ("printed to stderr in derivatives" in done.stderr) == (name == "noisy")


@pytest.mark.parametrize(("version", "kind"), KINDS)
def test_hostile_is_harmless_until_asked(version: str, kind: str) -> None:
    one = driver("hostile", version, kind)
    one.start()
    if kind == ME:
        one.run(1.0, 100, 1, 1)
    else:
        stepped(one, 1.0, 0.125)
    assert one.get("float64", 4) == pytest.approx(2.0 * math.exp(-1.0), abs=1e-7)


# ------------------------------------------------------------------------------------------------------ hostile


def end_of(phase: str, act: str, version: str, folder: Path) -> str:
    """How a process ends that runs the FMU: "-11" (signal), "0" (exit), "fine", or why a call was refused."""
    with zipfile.ZipFile(misbehaving(phase, act, version)) as archive:
        path = archive.extract(next(one for one in archive.namelist() if one.endswith(".so")), folder)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        signal.setitimer(signal.ITIMER_REAL, 0.5 if act in HANGS else 60.0)
        kind = CS if phase == "STEP" else ME
        said = "fine"
        try:
            one = Driver(Path(path), version, kind, "{hostile}")
            one.start()
            if kind == ME:
                x = one.run(1.0, 20, 1, 1)
                said = "fine" if math.isfinite(x[0]) else "not finite"
                one.get("float64", 4)
            else:
                stepped(one, 1.0, 0.125)
            one.end()
        except AssertionError as error:
            said = str(error)
        os.write(write, said.encode())
        os._exit(42)
    os.close(write)
    with os.fdopen(read) as pipe:
        said = pipe.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return said if code == 42 else str(code)


ENDS = {
    **{(phase, "CRASH"): "-11" for phase in PHASES if phase not in ("NOMINALS", "UNLOAD")},
    ("DERIVATIVES", "ABORT"): "-6",
    ("STEP", "EXIT"): "0",
    ("EVENT", "LOOP"): "-14",
    ("COMPLETED", "OVERFLOW"): "-11",
    ("DERIVATIVES", "KILL"): "-9",
    ("DERIVATIVES", "DIVIDE"): "-8",
    ("INDICATORS", "ERROR"): "GetEventIndicators: status 3",
    ("EVENT", "SLEEP"): "-14",
    ("OUTPUTS", "THREAD"): "-11",
    ("COMPLETED", "SIGNAL"): "fine",
    ("DERIVATIVES", "NAN"): "not finite",
    ("STATES", "NAN"): "not finite",
    ("EVENT", "AGAIN"): "the event iteration does not end",
}


def test_hostile_fmus_do_what_they_say(tmp_path: Path) -> None:
    """All in one process apart, which forks for each of them."""
    text = (
        "import sys\n"
        "from test_fmus import *\n"
        "for (phase, act), expected in ENDS.items():\n"
        "    for version in BOTH:\n"
        "        end = end_of(phase, act, version, Path(sys.argv[1]) / f'{phase}{act}{version}')\n"
        "        assert end.startswith(expected), (phase, act, version, end)\n"
        "print('all', flush=True)\n"
    )
    command = [sys.executable, "-c", text, str(tmp_path)]
    done = subprocess.run(command, cwd=SOURCES.parent, capture_output=True, text=True, check=False)
    assert done.stdout.endswith("all\n"), done.stderr


def test_register_is_complete() -> None:
    found = register()
    assert len(found) > 400
    assert all(one.error or one.runs for one in found)
    assert {one.stage for one in found} == {"load", "simulate"}
    assert all(one.stage == "simulate" or not one.runs or one.error for one in found)
    assert number_of("PHASE_NONE") == 0
    assert number_of("ACT_PAST") > number_of("ACT_NAN")
    assert sum(one.quick for one in found) > 250
