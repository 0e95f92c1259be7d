"""Links Windows binaries with the C library that is part of Windows, and nothing else.

The usual way of a cross compiler is to compile MinGW's library first, 450 files and more than a minute, of which an FMU
uses nothing: its functions are in ucrtbase.dll, behind the names below. ``runtime/export/windows`` has the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

#: names of Windows for the parts of its C library, and functions that FMUs call
FUNCTIONS = {
    "api-ms-win-crt-heap-l1-1-0": "malloc calloc realloc free",
    "api-ms-win-crt-private-l1-1-0": "memcpy memmove memcmp memchr strchr strrchr strstr",
    "api-ms-win-crt-stdio-l1-1-0": "__stdio_common_vsprintf",
    "api-ms-win-crt-string-l1-1-0": "memset strcmp strlen strncmp strcpy strncpy strcat",
    "api-ms-win-crt-utility-l1-1-0": "abs labs llabs qsort bsearch",
    "api-ms-win-crt-math-l1-1-0": "sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh exp expm1 exp2 "
    "log log10 log1p log2 pow sqrt cbrt hypot fmod remainder modf floor ceil trunc round rint nearbyint lround llround "
    "lrint llrint fabs fmax fmin fma copysign frexp ldexp scalbn nextafter nan erf erfc tgamma",
}
FLAGS = ("-nostdlib", "-Wl,-e,pl_windows_entry")
START = "pl_windows.c"


def import_libraries(
    folder: Path,
    call: Callable[[Sequence[str], str, Path], None],
    tool: Sequence[str],
    functions_of: Mapping[str, str] = FUNCTIONS,
) -> list[Path]:
    """What the linker needs to know of ucrtbase.dll, written by ``tool``: dlltool's command."""
    made = []
    for name, functions in functions_of.items():
        definition, library = folder / f"{name}.def", folder / f"{name}.lib"
        definition.write_text("\n".join([f"LIBRARY {name}.dll", "EXPORTS", *functions.split(), ""]), encoding="ascii")
        command = [*tool, "-m", "i386:x86-64", "-d", str(definition), "-l", str(library)]
        call(command, "names of Windows' C library", folder)
        made.append(library)
    return made
