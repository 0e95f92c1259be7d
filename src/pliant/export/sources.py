"""The C files that go into an exported FMU: of the runtime only what the model uses."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pliant.compiling.folders import runtime_folder
from pliant.errors import ExportError

CORE = (
    *("ahead", "colour", "control", "event", "event_repeat", "guard", "increments", "initial", "input_range"),
    *("jacobian", "least_norm", "linear", "lu", "lu_sparse_tree", "order", "pattern", "plan", "problem", "record"),
    *("rows", "run", "run_memory", "simulation", "simulation_exchange", "simulation_instance", "simulation_live"),
    *("simulation_model", "simulation_save", "start", "start_newton", "start_plan", "start_sets", "start_step"),
    *("status", "watch", "watch_bend"),
)
PARTS = {
    "bdf": ("bdf", "bdf_inherit", "bdf_jump", "bdf_newton", "bdf_order", "confirm", "jacobian_repair"),
    "radau5": ("confirm", "jacobian_repair", "radau5"),
    "explicit": ("explicit",),
    "sparse": (
        *("lu_sparse", "lu_sparse_column", "lu_sparse_dense", "lu_sparse_join", "lu_sparse_super"),
        "lu_sparse_super_number",
    ),
    "unit": ("simulation_unit",),
}
SHELL = ("export_exchange", "export_instance", "export_state", "export_steps", "export_values")


@dataclass(frozen=True)
class SourceSet:
    """Files by name: those to compile, and those that they include."""

    runtime: dict[str, Path]
    shell: dict[str, Path]
    headers: dict[str, Path]

    @property
    def files(self) -> dict[str, Path]:
        """Everything."""
        return {**self.headers, **self.shell, **self.runtime}


def source_folder() -> Path:
    """The C files of the runtime: installed with the package, or those of a working copy."""
    installed = runtime_folder() / "sources"
    if installed.is_dir():
        return installed
    copy = Path(__file__).resolve().parents[3] / "runtime"
    if (copy / "export").is_dir():
        return copy
    raise ExportError(
        "the C files of the runtime are not installed", hint="install pliant again with pip, from a complete package"
    )


def source_set(version: str, parts: tuple[str, ...]) -> SourceSet:
    """Files for one FMU; ``parts``: what it uses besides the core, keys of ``PARTS``."""
    folder = source_folder()
    names = sorted({*CORE, *(name for part in parts for name in PARTS[part])})
    shell = [*SHELL, f"export_fmi{version[0]}"]
    headers = [*sorted((folder / "include").glob("*.h")), *sorted((folder / "src").glob("*.h"))]
    more = ["pl_export_plan.h"] if "unit" in parts else []
    headers += [
        *(folder / "export" / name for name in ("pl_export.h", *more)),
        folder / "fmi" / f"pl_fmi{version[0]}.h",
    ]
    if "sparse" not in parts:
        # lu_sparse_tree.c belongs to planning, and needs the first of them only
        kept = ("lu_sparse_private.h", "lu_sparse_scalar.h")
        headers = [one for one in headers if not one.name.startswith("lu_sparse") or one.name in kept]
    return SourceSet(
        runtime={f"{name}.c": folder / "src" / f"{name}.c" for name in names},
        shell={f"{name}.c": folder / "export" / f"{name}.c" for name in shell},
        headers={one.name: one for one in headers},
    )
