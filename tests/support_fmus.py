"""FMUs of our own (``tests/fmus``): compiled once for each text, zipped under names that tell their content.

``fmu("vanderpol", "3.0")`` is the path of an archive. ``strict=True`` builds any of them so that every call that the
standard does not allow at that point is refused with a message ("breach: ..."). ``pack`` writes an archive from parts.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from support import RUNTIME
from support_objects import kept_objects

SOURCES = Path(__file__).parent / "fmus"
SKELETON = SOURCES / "skeleton"
FLAGS = (
    *("-std=gnu11", "-D_GNU_SOURCE", "-O2", "-fPIC", "-fvisibility=hidden", "-fno-strict-aliasing"),
    *("-Wall", "-Wextra", "-Werror", f"-I{SKELETON}", f"-I{RUNTIME / 'fmi'}"),
)
PARTS = {
    "2.0": ("core.c", "step.c", "hostile.c", "fmi2.c"),
    "3.0": ("core.c", "step.c", "hostile.c", "fmi3.c", "fmi3_run.c", "fmi3_absent.c"),
}
MACHINE = {"AMD64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine())
#: folder of this machine's binaries inside an FMU
BINARIES = {"2.0": "linux64" if MACHINE == "x86_64" else f"{MACHINE}-linux", "3.0": f"{MACHINE}-linux"}
ME, CS = "model-exchange", "co-simulation"


@dataclass(frozen=True)
class Recipe:
    """How an FMU of ``tests/fmus`` is built."""

    versions: tuple[str, ...] = ("2.0", "3.0")
    kinds: tuple[str, ...] = (ME, CS)
    folder: str = ""  # of sources and description; empty: the FMU's own name
    flags: tuple[str, ...] = ()
    replace: Mapping[str, str] = field(default_factory=dict)  # in the description
    beside: str = ""  # name of a library of the FMU's own (helper.c) that lies beside its binary


_NO_OPTIONS = {f' {name}="true"': "" for name in ("canGetAndSetFMUstate", "canSerializeFMUstate")}
_NO_OPTIONS |= {f' {name}="true"': "" for name in ("canGetAndSetFMUState", "canSerializeFMUState")}
_NO_OPTIONS |= {f' providesDirectionalDerivative{s}="true"': "" for s in ("", "s")}

#: every FMU that must run: name -> how it is built
GOOD: dict[str, Recipe] = {
    "vanderpol": Recipe(),
    "stiff": Recipe(kinds=(ME,)),
    "ball": Recipe(),
    "stair": Recipe(),
    "filter": Recipe(),
    "arrays": Recipe(versions=("3.0",)),
    "types": Recipe(),
    "strict": Recipe(flags=("-DSTRICT=1",)),
    "memory": Recipe(),
    "rescaled": Recipe(),
    "turncoat": Recipe(kinds=(ME,)),
    "sawtooth": Recipe(versions=("3.0",), kinds=(CS,), flags=("-DNO_MODEL_EXCHANGE",)),
    "integrator": Recipe(versions=("2.0",), kinds=(CS,), flags=("-DNO_MODEL_EXCHANGE",)),
    "minimal": Recipe(folder="vanderpol", flags=("-DMINIMAL",), replace=_NO_OPTIONS),
    "once": Recipe(),
    "noisy": Recipe(),
    "resource": Recipe(),
    "domain": Recipe(),
    "chain": Recipe(),
    "beside": Recipe(beside="pliant_beside"),
    "hostile": Recipe(flags=("-DHOSTILE_BUILD",)),  # harmless as built; see support_hostile.py
}

#: and those that must not, or not like this
RECIPES = GOOD | {
    "miscounted": Recipe(versions=("3.0",), folder="arrays", flags=("-DWRONG_COUNTS=1",)),
    "crowd": Recipe(folder="vanderpol", flags=("-DCROWD=1",)),
}


def kept_folder() -> Path:
    """Where binaries and archives are kept between runs."""
    folder = Path(os.environ["PLIANT_CACHE"]) / "fmus"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@cache
def _shared_text() -> bytes:
    """Headers that objects depend on, as a part of their key."""
    return b"\0".join(path.read_bytes() for path in sorted([*SKELETON.glob("*.h"), *(RUNTIME / "fmi").glob("*.h")]))


def library(name: str, version: str, *, strict: bool = False) -> Path:
    """The shared library of an FMU."""
    recipe = RECIPES[name]
    headers = hashlib.sha256(_shared_text()).hexdigest()[:16]
    flags = [*FLAGS, *recipe.flags, f"-DHEADERS=0x{headers}"]
    if strict and "-DSTRICT=1" not in flags:
        flags.append("-DSTRICT=1")
    sources = [SOURCES / (recipe.folder or name) / "model.c", *(SKELETON / part for part in PARTS[version])]
    objects = kept_objects("gcc", flags, sources)
    key = hashlib.sha256("\0".join(map(str, objects)).encode()).hexdigest()[:24]
    kept = kept_folder() / f"{key}.so"
    if not kept.is_file():
        work = kept.with_suffix(f".{os.getpid()}")
        link([*objects, *([library_beside(name)] if recipe.beside else [])], work)
        work.rename(kept)
    return kept


def library_beside(name: str) -> Path:
    """The library that an FMU expects beside its own; it is found by its name, not by its place."""
    objects = kept_objects("gcc", list(FLAGS), [SOURCES / name / "helper.c"])
    folder = kept_folder() / objects[0].parent.name
    folder.mkdir(exist_ok=True)
    file_name = f"lib{RECIPES[name].beside}.so"
    if not (folder / file_name).is_file():
        work = folder / f"{os.getpid()}.so"
        link(objects, work, f"-Wl,-soname,{file_name}")
        work.rename(folder / file_name)
    return folder / file_name


def link(objects: Sequence[Path], out: Path, *flags: str) -> None:
    """A shared library from objects; nothing undefined is left."""
    command = ["gcc", "-shared", "-Wl,-z,defs", *flags, "-o", str(out), *map(str, objects), "-lm", "-lpthread"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def description(name: str, version: str) -> str:
    """The text of ``modelDescription.xml``."""
    recipe = RECIPES[name]
    text = (SOURCES / (recipe.folder or name) / f"fmi{version[0]}.xml").read_text("utf-8")
    for old, new in recipe.replace.items():
        text = text.replace(old, new)
    return text


def identifier(text: str) -> str:
    """The name that the binary must have."""
    return text.split('modelIdentifier="', 1)[1].split('"', 1)[0]


def members(name: str, version: str, *, strict: bool = False) -> dict[str, bytes]:
    """What is inside the archive: path -> content."""
    text = description(name, version)
    binary = library(name, version, strict=strict).read_bytes()
    parts = {"modelDescription.xml": text.encode(), f"binaries/{BINARIES[version]}/{identifier(text)}.so": binary}
    if RECIPES[name].beside:
        other = library_beside(name)
        parts[f"binaries/{BINARIES[version]}/{other.name}"] = other.read_bytes()
    resources = SOURCES / (RECIPES[name].folder or name) / "resources"
    for path in sorted(resources.rglob("*")) if resources.is_dir() else ():
        parts[f"resources/{path.relative_to(resources).as_posix()}"] = path.read_bytes()
    return parts


def pack(parts: Mapping[str, bytes], stem: str) -> Path:
    """An archive of these members, kept under a name that tells its content."""
    text = hashlib.sha256()
    for path, content in parts.items():
        text.update(f"{path}\0{len(content)}\0".encode())
        text.update(content)
    kept = kept_folder() / text.hexdigest()[:16] / f"{stem}.fmu"
    if not kept.is_file():
        work = kept.parent.with_suffix(f".{os.getpid()}")
        work.mkdir(exist_ok=True)
        with zipfile.ZipFile(work / kept.name, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for path, content in parts.items():
                archive.writestr(zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED, 1)
        try:
            work.rename(kept.parent)
        except OSError:  # another worker was faster
            shutil.rmtree(work)
    return kept


def fmu(name: str, version: str = "2.0", *, strict: bool = False) -> Path:
    """The path of an FMU of ``tests/fmus``."""
    return pack(members(name, version, strict=strict), name)
