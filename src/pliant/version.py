"""The version that is installed."""

from __future__ import annotations


def pliant_version() -> str:
    """The installed version of pliant, or "unknown" when it runs from a source tree."""
    import importlib.metadata  # slow to load

    try:
        return importlib.metadata.version("pliant")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"
