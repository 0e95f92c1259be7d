"""From the path of an FMU to a model."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from pliant.errors import FmuError
from pliant.fmi.info import choose_kind, open_fmu
from pliant.fmi.model import FmuModel, LoadedFmu
from pliant.fmi.options import FmuOptions, fmu_options
from pliant.fmi.platforms import this_platform


def load_fmu(path: Path, kind: str | None, options: Any) -> FmuModel:
    """Read, check and unpack an FMU; nothing of it runs before it is asked for something."""
    options = fmu_options(options)
    contents = open_fmu(path, options)
    info = choose_kind(contents, kind)
    if info.interface.needs_execution_tool:
        warnings.warn(f"{path}: {info.warnings[0]}", stacklevel=4)
    platform = this_platform()
    unpacked = contents.archive.unpack(platform)
    name = contents.binary(info.kind, platform)
    assert name is not None  # choose_kind has seen to it
    binary = unpacked.folder.joinpath(*name.split("/"))
    return FmuModel(LoadedFmu(info, options, unpacked, str(binary)))


def load_again(path: str, kind: str, options: FmuOptions, digest: str) -> FmuModel:
    """A model that was pickled."""
    if not Path(path).exists():
        raise FmuError(
            f"there is no file {path} any more", hint="an FMU that was pickled is loaded from its path again"
        )
    model = load_fmu(Path(path), kind, options)
    if model.digest != digest:
        model.close()
        raise FmuError(f"{path} has changed since the model was pickled", hint="load the FMU again")
    return model
