"""A coupling from a file: .ssp and .ssd (pliant/cosim/ssp), or a small TOML file (docs/cosim.md has all keys).

stop = 2.0
step = 0.1
connections = ["left.x -> right.x1", "right.x -> left.x2"]

[parts.left]
file = "left.mo"
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pliant.arguments import is_number
from pliant.cosim.coupling import Coupling
from pliant.cosim.loaded import LoadedCoupling
from pliant.cosim.request import PART_OPTIONS
from pliant.errors import ArgumentError, ModelError
from pliant.fmi.description import FmuExperiment
from pliant.solve.names import suggestion
from pliant.solve.signals.given import read_inputs
from pliant.textfile import read_text

SIMULATE = (
    "stop", "step", "start", "scheme", "extrapolation", "smooth", "at_jump", "rtol", "atol", "method", "options",
    "macro_rtol", "macro_error",
    "loops", "order", "parallel", "points", "timeout", "watch", "parameters", "start_values",
)  # fmt: skip
OTHERS = ("parts", "connections", "power", "inputs", "save", "plot", "outputs")
PART = ("file", "class", "path", "form", "kind", *PART_OPTIONS)

SYSTEMS = (".ssp", ".ssd")

Load = Callable[..., Any]


def load_any(path: str | Path, load: Load, variant: str | None = None, options: Any = None) -> Coupling:
    """A coupling from an .ssp, an .ssd or a .toml."""
    file = Path(path)
    if file.suffix.lower() in SYSTEMS or file.is_dir():
        from pliant.cosim.ssp.load import load_ssp

        return load_ssp(file, variant, options, load)
    if file.suffix.lower() != ".toml":
        raise ArgumentError(f"{file}: this kind of file is no system", hint="give an .ssp, an .ssd or a .toml")
    if variant is not None or options is not None:
        raise ArgumentError(f"{file}: variant and options are for .ssp and .ssd files", hint="leave them out")
    return read_system(file, load).coupling


@dataclass
class SystemFile:
    """What a file says: the coupling, and how to simulate and show it."""

    coupling: Coupling
    arguments: dict[str, Any]
    save: list[Path] = field(default_factory=list)
    plot: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)


def read_system(path: str | Path, load: Load) -> SystemFile:
    """Read a file and load its parts with ``load`` (as :func:`pliant.load`)."""
    file = Path(path)
    if file.suffix.lower() in SYSTEMS or file.is_dir():
        return SystemFile(load_any(file, load), {})
    try:
        found = tomllib.loads(read_text(file))
    except FileNotFoundError:
        raise ArgumentError(f"there is no file {file}", hint="check the path") from None
    except OSError as error:
        raise ArgumentError(f"{file} cannot be read: {error.strerror}", hint="check the path") from None
    except tomllib.TOMLDecodeError as error:
        raise ArgumentError(f"{file} is not TOML: {error}", hint="see docs/cosim.md for an example") from None
    _known(str(file), found, (*SIMULATE, *OTHERS))
    for key in ("stop", "step", "parts"):
        if key not in found:
            raise ArgumentError(f"{file}: {key} is missing", hint="see docs/cosim.md for an example")
    folder = file.parent
    arguments = {key: found[key] for key in SIMULATE if key in found}
    arguments["inputs"] = read_inputs(found.get("inputs", {}), folder)
    times = (arguments.get(key) for key in ("start", "stop", "step"))
    experiment = FmuExperiment(*(one if is_number(one) else None for one in times))
    coupling = LoadedCoupling(experiment, arguments)
    for name, part in _table(file, "parts", found["parts"]).items():
        _add(coupling, file, name, _table(file, f"parts.{name}", part), load)
    for one in _texts(file, "connections", found.get("connections", [])):
        source, arrow, target = one.partition("->")
        if not arrow:
            raise ArgumentError(f"{file}: the connection {one!r} has no arrow", hint='write "a.y -> b.u"')
        coupling.connect(source.strip(), target.strip())
    for one in _texts(file, "power", found.get("power", [])):
        potential, star, flow = one.partition("*")
        if not star:
            raise ArgumentError(f"{file}: {one!r} is no pair that carries power", hint='write "a.force * b.speed"')
        coupling.power(potential=potential.strip(), flow=flow.strip())
    return SystemFile(
        coupling,
        arguments,
        [folder / one for one in _texts(file, "save", found.get("save", []))],
        _texts(file, "plot", found.get("plot", [])),
        _texts(file, "outputs", found.get("outputs", [])),
    )


def _add(coupling: Coupling, file: Path, name: str, part: Mapping[str, Any], load: Load) -> None:
    _known(f"{file}: parts.{name}", part, PART)
    if "file" not in part:
        raise ArgumentError(f"{file}: parts.{name} has no file", hint='file = "model.mo"')
    source = file.parent / str(part["file"])
    arguments: dict[str, Any] = {}
    if "class" in part:
        arguments["name"] = part["class"]
    if "path" in part:
        arguments["path"] = [file.parent / one for one in _texts(file, f"parts.{name}.path", part["path"])]
    if "kind" in part:
        arguments["kind"] = part["kind"]
    if "form" in part:
        arguments["options"] = {"form": part["form"]}
    try:
        model = load(source, **arguments)
    except ModelError as error:
        raise type(error)(f"part {name!r}: {error.message}", hint=error.hint) from error
    coupling.add(name, model, **{key: part[key] for key in PART_OPTIONS if key in part})


def _known(where: str, found: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key in found:
        if key not in known:
            raise ArgumentError(f"{where}: there is no key {key!r}", hint=suggestion(key, known))


def _table(file: Path, key: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ArgumentError(f"{file}: {key} must be a table, not {value!r}", hint=f"write [{key}] above its lines")
    return value


def _texts(file: Path, key: str, value: Any) -> list[str]:
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
        raise ArgumentError(f"{file}: {key} must be a list of texts, not {value!r}", hint=f'{key} = ["...", "..."]')
    return listed
