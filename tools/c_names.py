#!/usr/bin/env python3
"""Write src/pliant/codegen/c_names.txt anew: what the headers of C, POSIX and GNU declare, as gcc sees them here.

Names that begin with an underscore are left out: no name of a model becomes one. Run it with a newer compiler or
library, look at what changed, and remember that a name added here changes how written code calls a model's variable.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

TARGET = Path(__file__).resolve().parents[1] / "src" / "pliant" / "codegen" / "c_names.txt"
C = """assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg stdatomic
    stdbool stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar wchar wctype"""
POSIX = """aio arpa/inet cpio dirent dlfcn fcntl fmtmsg fnmatch ftw glob grp iconv langinfo libgen monetary mqueue
    net/if netdb netinet/in netinet/tcp nl_types poll pthread pwd regex sched search semaphore spawn strings sys/ipc
    sys/mman sys/msg sys/resource sys/select sys/sem sys/shm sys/socket sys/stat sys/statvfs sys/time sys/times
    sys/types sys/uio sys/un sys/utsname sys/wait syslog tar termios ulimit unistd utime utmpx wordexp"""
WAYS = (("-std=gnu2x", "-D_GNU_SOURCE"), ("-std=gnu99", "-D_GNU_SOURCE"), ("-std=c99", "-D_XOPEN_SOURCE=700"))
WORD = r"[A-Za-z]\w*"


def preprocessed(header: str, *flags: str) -> str:
    """Text of a header after the preprocessor; empty if it is not there."""
    command = ["gcc", *flags, "-E", "-P", "-"]
    done = subprocess.run(command, input=f"#include <{header}.h>\n", capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


def declared(header: str, *flags: str) -> set[str]:
    """Functions, types, tags, enumerators and variables."""
    text = preprocessed(header, *flags)
    found = set(re.findall(rf"\b(?:struct|union|enum)\s+({WORD})", text))
    found |= set(re.findall(rf"\bextern\s+[^;(){{}}]*?\b({WORD})\s*(?:\[[^]]*\])?\s*;", text))
    for body in re.findall(r"\benum\s*\w*\s*\{([^}]*)\}", text):
        found |= set(re.findall(rf"(?:^|,)\s*({WORD})", body))
    flat = re.sub(r"\{[^{}]*\}", "", text)
    while flat != (flat := re.sub(r"\{[^{}]*\}", "", flat)):
        pass
    for one in flat.split(";"):
        if "typedef" in one:
            words = re.findall(rf"\(\s*\*\s*({WORD})\s*\)|\b({WORD})\s*(?:\[[^]]*\]|__attribute__.*)?\s*$", one.strip())
            found |= {word for pair in words for word in pair if word}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "functions"
        command = ["gcc", *flags, "-aux-info", str(out), "-fsyntax-only", "-x", "c", "-"]
        subprocess.run(command, input=f"#include <{header}.h>\n", capture_output=True, text=True, check=False)
        listed = out.read_text() if out.is_file() else ""
    for line in listed.splitlines():
        found |= set(re.findall(rf"\b({WORD}) \(", line)[:1])
    return found


def macros(header: str, *flags: str) -> set[str]:
    """Macros without arguments, wherever they stand replaced by something else."""
    found = re.findall(rf"^#define ({WORD})(?=\s|$)", preprocessed(header, *flags, "-dM"), re.M)
    return {name for name in found if not re.fullmatch(r"i\d86", name)}


def main() -> None:
    """All headers, all ways."""
    headers = [*C.split(), *POSIX.split()]
    names = {word for header in headers for way in WAYS for word in macros(header, *way)}
    others = {word for header in headers for way in WAYS for word in declared(header, *way)} - names
    lines = [
        "# Written by tools/c_names.py: macros without arguments, then other names, of the headers of C and POSIX."
    ]
    for title, words in (("macros", names), ("declared", others)):
        lines += [f"[{title}]", *_wrapped(sorted(words))]
    TARGET.write_text("\n".join(lines) + "\n")
    print(f"{len(names)} macros, {len(others)} other names")


def _wrapped(words: list[str]) -> list[str]:
    lines = [""]
    for word in words:
        if len(lines[-1]) + len(word) > 118:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word
    return lines


if __name__ == "__main__":
    main()
