"""Where the files of the compiled runtime lie."""

from __future__ import annotations

from pathlib import Path


def runtime_folder() -> Path:
    """Where the wheel keeps the compiled runtime and ``include/pliant.h``."""
    import pliant

    for root in pliant.__path__:
        folder = Path(root) / "_runtime"
        if folder.is_dir():
            return folder
    raise ImportError("pliant's compiled runtime is missing: install the package with pip (it builds the C part)")
