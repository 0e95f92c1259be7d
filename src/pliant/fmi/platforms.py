"""Names of platforms: those of FMI 3 are used everywhere, those of FMI 2 are understood."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

#: name in FMI 3 -> name in FMI 2
OLD_NAMES = {
    "x86_64-linux": "linux64",
    "x86-linux": "linux32",
    "x86_64-windows": "win64",
    "x86-windows": "win32",
    "x86_64-darwin": "darwin64",
}
NEW_NAMES = {old: new for new, old in OLD_NAMES.items()}
SUFFIXES = {"windows": ".dll", "darwin": ".dylib", "linux": ".so"}
SYSTEMS = {"win32": "windows", "darwin": "darwin", "linux": "linux"}
MACHINES = {"amd64": "x86_64", "x64": "x86_64", "i386": "x86", "i686": "x86", "arm64": "aarch64"}


def this_platform() -> str:
    """Of this Python, e.g. x86_64-linux; a system that FMI does not know keeps its own name."""
    machine = (
        os.uname().machine.lower() if hasattr(os, "uname") else os.environ.get("PROCESSOR_ARCHITECTURE", "").lower()
    )
    machine = MACHINES.get(machine, machine)
    if machine == "x86_64" and sys.maxsize < 2**32:
        machine = "x86"
    return f"{machine}-{SYSTEMS.get(sys.platform, sys.platform)}"


def folders_of(platform: str) -> tuple[str, ...]:
    """Folders below binaries/ that a platform may have.

    >>> folders_of("x86_64-linux"), folders_of("aarch64-linux")
    (('x86_64-linux', 'linux64'), ('aarch64-linux',))
    """
    return (platform, OLD_NAMES[platform]) if platform in OLD_NAMES else (platform,)


def suffix_of(platform: str) -> str:
    """Of the binaries of a platform."""
    return SUFFIXES.get(platform.partition("-")[2], ".so")


def platforms_in(names: Iterable[str]) -> dict[str, list[str]]:
    """Platform -> its files, from the names in an archive.

    >>> platforms_in(["binaries/linux64/a.so", "binaries/aarch64-darwin/a.dylib", "resources/b"])
    {'x86_64-linux': ['binaries/linux64/a.so'], 'aarch64-darwin': ['binaries/aarch64-darwin/a.dylib']}
    """
    found: dict[str, list[str]] = {}
    for name in names:
        parts = name.split("/")
        if len(parts) >= 3 and parts[0] == "binaries":
            found.setdefault(NEW_NAMES.get(parts[1], parts[1]), []).append(name)
    return found
