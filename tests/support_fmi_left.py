"""What hosts of FMUs may leave behind: processes, folders, descriptors."""

from __future__ import annotations

import gc
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MEMORY = "/dev/shm"


def hosts(parent: int | None = None) -> list[int]:
    """Hosts that a process has started and that have not ended."""
    found = []
    for place in Path("/proc").iterdir():
        if place.name.isdecimal():
            try:
                name, _, rest = (place / "stat").read_text().partition("(")[2].rpartition(")")
                state, ppid = rest.split()[:2]
            except OSError:
                continue
            if name.startswith("pliant_fmu_host") and int(ppid) == (parent or os.getpid()) and state != "Z":
                found.append(int(place.name))
    return found


def folders(owner: int | None = None) -> list[str]:
    """Temporary folders of a process."""
    mark = f"-{owner or os.getpid()}-"
    found = [one for place in {tempfile.gettempdir(), MEMORY} if os.path.isdir(place) for one in os.listdir(place)]
    return [one for one in found if one.startswith("pliant-fmu") and mark in one]


def descriptors() -> int:
    """Descriptors of this process."""
    return len(os.listdir("/proc/self/fd"))


@contextmanager
def nothing_left() -> Iterator[None]:
    """Whatever happens inside, there is not more afterwards than before. Objects of earlier tests are not searched."""
    gc.freeze()
    before = sorted(hosts()), sorted(folders()), descriptors()
    yield
    gc.collect()
    after = sorted(hosts()), sorted(folders()), descriptors()
    assert after == before, (before, after)
