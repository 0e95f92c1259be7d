"""A model as an FMU: generated C text, the runtime that it needs, descriptions and binaries in one archive."""

from __future__ import annotations

import ctypes
import hashlib
import os
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pliant.arguments import target_file
from pliant.errors import ArgumentError, NotSupportedError, OutputError
from pliant.export.build import build, check_platforms
from pliant.export.content import FmuContent, c_identifier
from pliant.export.description2 import Description2
from pliant.export.description3 import Description3
from pliant.export.documents import LICENSE, build_description, page
from pliant.export.sources import SourceSet, source_set
from pliant.export.table import AT_JUMP, model_file
from pliant.export.terminals import find_terminals, terminals_file
from pliant.export.variables import ExportCollector, ExportedVariable
from pliant.solve.binding import runtime
from pliant.solve.binding.memory import linear_memory
from pliant.solve.models.feedthrough import dependencies
from pliant.solve.models.numeric import NumericModel
from pliant.solve.models.portable import Portable
from pliant.version import pliant_version

VERSIONS = ("2.0", "3.0")
KINDS = ("both", "model-exchange", "co-simulation")
SOLVERS = ("bdf", "radau5")
DATE = (1980, 1, 1, 0, 0, 0)  # of all files: the same model gives the same FMU


@dataclass(frozen=True)
class ExportRequest:
    """The arguments of an export, checked."""

    path: Path
    version: str
    kind: str = "both"
    solver: str = "bdf"
    at_jump: str = "correct"
    rtol: float = 1e-6
    platforms: tuple[Any, ...] = ()
    sources: bool = True

    @property
    def steps(self) -> bool:
        """Is co-simulation offered?"""
        return self.kind != "model-exchange"

    @property
    def exchange(self) -> bool:
        """Is model exchange?"""
        return self.kind != "co-simulation"


def check_export(
    path: Any,
    *,
    version: str,
    platforms: Sequence[str] | None,
    sources: bool,
    overwrite: bool,
    **more: Any,
) -> ExportRequest:
    """All arguments of an export, or the first invalid one as an error."""
    choices = {"version": VERSIONS, "kind": KINDS, "solver": SOLVERS, "at_jump": tuple(AT_JUMP)}
    for name, allowed in choices.items():
        value = version if name == "version" else more.get(name, allowed[0])
        if value not in allowed:
            raise ArgumentError(f"{name} cannot be {value!r}", hint=f"one of {', '.join(map(repr, allowed))}")
    rtol = more.get("rtol", 1e-6)
    if isinstance(rtol, bool) or not isinstance(rtol, (int, float)) or not 1e-13 <= rtol <= 0.1:
        raise ArgumentError(f"rtol must be a number between 1e-13 and 0.1, not {rtol!r}", hint="e.g. rtol=1e-6")
    for name, value in (("sources", sources), ("overwrite", overwrite)):
        if not isinstance(value, bool):
            raise ArgumentError(f"{name} must be True or False, not {value!r}", hint=f"{name}=True")
    target = target_file(path, overwrite, ".fmu", "an FMU", 'model.export_fmu("model.fmu")')
    found = check_platforms(platforms, version)
    return ExportRequest(target, version, platforms=tuple(found), sources=sources, **{**more, "rtol": float(rtol)})


def export_fmu(given: NumericModel, request: ExportRequest) -> Path:
    """Write the FMU; returns its path."""
    portable = _portable(given, request)
    model, equations = portable.model, portable.equations
    algebraic = bool(model.names.algebraic)
    sparse = (request.steps or algebraic) and _is_sparse(model, request)
    collector = ExportCollector(portable, dependencies(equations.program), has_solver=request.steps)
    variables = tuple(collector.run())
    parts = ((request.solver if request.steps else "explicit"), *(("sparse",) if sparse else ()))
    sources = source_set(request.version, parts)
    content = FmuContent(
        name=model.name,
        identifier=c_identifier(model.name),
        token=_token(equations.text, request),
        version=request.version,
        exchange=request.exchange,
        steps=request.steps,
        tool=f"pliant {pliant_version()}",
        rtol=request.rtol,
        variables=variables,
        indicators=tuple(collector.indicators()),
        derivatives=not algebraic,
        sources=("model.c", *sources.shell, *sources.runtime) if request.sources else (),
        files=_terminals(variables, portable) if request.version != "2.0" else (),
    )
    n = len(portable.dependents)
    text = model_file(equations.text, content, request.solver, request.at_jump, sparse, n, portable.has_delays)
    return write_fmu(content, text, sources, request)


def _terminals(variables: tuple[ExportedVariable, ...], portable: Portable) -> tuple[tuple[str, bytes], ...]:
    found = find_terminals(variables, portable.equations.sorted.system)
    return (("terminalsAndIcons/terminalsAndIcons.xml", terminals_file(found)),) if found else ()


def _portable(model: NumericModel, request: ExportRequest) -> Portable:
    """The model, if it can leave this process."""
    method = request.solver if request.steps else ""
    found = model.portable(request.at_jump, method)
    if found is None:
        raise NotSupportedError(
            f"{model.name} cannot be exported: only models from Modelica text can; this one is {model.described_as}",
            hint="write its equations in Modelica, and load them with pliant.load",
        )
    return found


def _token(text: str, request: ExportRequest) -> str:
    """The same for the same model, solver and version of pliant."""
    words = [text, pliant_version(), request.version, request.kind, request.solver, request.at_jump, repr(request.rtol)]
    d = hashlib.sha256("\0".join(words).encode()).hexdigest()
    return f"{{{d[:8]}-{d[8:12]}-{d[12:16]}-{d[16:20]}-{d[20:32]}}}"


def _is_sparse(model: NumericModel, request: ExportRequest) -> bool:
    """Are the matrices of the solver inside sparse?"""
    if model.n_x == 0:
        return False
    layout = runtime.LinearLayoutStruct()
    options = runtime.LinearOptionsStruct(need_complex=int(request.solver == "radau5"), lu=runtime.SPARSE_LU)
    work = linear_memory(runtime.lib.pl_linear_work_size(model.address), "")
    status = runtime.lib.pl_linear_plan(
        model.address, ctypes.byref(options), ctypes.byref(layout), runtime.address_of(work)
    )
    return bool(status == runtime.OK and layout.sparse)


def write_fmu(content: FmuContent, text: str, sources: SourceSet, request: ExportRequest) -> Path:
    """The archive, complete or not at all."""
    members: dict[str, bytes] = {}
    if content.version == "2.0":
        members["modelDescription.xml"] = Description2(content).text()
    else:
        members["modelDescription.xml"] = Description3(content).text()
    for target in request.platforms:
        name = f"binaries/{target.folder(content.version)}/{content.identifier}{target.suffix}"
        members[name] = build(target, text, sources, content.identifier)
    if request.sources:
        members["sources/model.c"] = text.encode()
        members |= {f"sources/{name}": file.read_bytes() for name, file in sources.files.items()}
        if content.version != "2.0":
            members["sources/buildDescription.xml"] = build_description(content)
    members |= dict(content.files)
    members["documentation/index.html"] = page(content).encode()
    members["documentation/licenses/license.txt"] = LICENSE.encode()
    write_archive(members, request.path)
    return request.path


def write_archive(members: dict[str, bytes], path: Path) -> None:
    """Write a zip archive, complete or not at all."""
    place: Path | None = None
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".", suffix=".fmu.tmp", delete=False) as stream:
            place = Path(stream.name)
            with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
                for name, data in members.items():
                    info = zipfile.ZipInfo(name, DATE)
                    info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
                    archive.writestr(info, data)
        place.chmod(0o644)
        os.replace(place, path)
    except OSError as error:
        if place is not None:
            place.unlink(missing_ok=True)
        raise OutputError(f"{path} could not be written: {error}", hint="check the folder and the disk") from error
