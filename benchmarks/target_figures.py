"""Robot and pipe on an emulated Cortex-M7: instructions, memory, distance to the desktop.

python benchmarks/figures.py targets
"""

from __future__ import annotations

import shutil

from peers import ROOT

import pliant

Row = tuple[str, str, str, bool | None, str]
COMMAND = "python benchmarks/figures.py targets"
CLOSE = 1e-3  # of a range
TOOLS = ("arm-none-eabi-gcc", "qemu-system-arm")
PLANS = {"robot": ("Robot.mo", 1e-3, 2.6), "pipe": ("Pipe.mo", 1e-2, 60.0)}


def rows(quick: bool = False) -> list[Row]:
    """What, goal, reached, met, command."""
    what = "on an emulated Cortex-M7, double and float: instructions; distance to the desktop"
    goal = "reported; <= 0.1 % of a range"
    if any(shutil.which(one) is None for one in TOOLS):
        return [(f"{name} {what}", goal, f"{' and '.join(TOOLS)} are needed", None, COMMAND) for name in PLANS]
    out: list[Row] = []
    for name, (file, step, stop) in PLANS.items():
        model = pliant.load(ROOT / "examples" / file)
        plan = model.realtime(step=step, stop=0.1 * stop if quick else stop)
        words, far = [], 0.0
        for precision in ("double", "float"):
            found = plan.measure(1000, target="cortex-m7", precision=precision)
            assert isinstance(found, pliant.TargetReport)
            same = found.instructions_min == found.instructions_max
            least = "" if same else f"{found.instructions_min} to "
            words.append(
                f"{precision} {least}{found.instructions_max} and up to {found.instructions_functions} in elementary "
                f"functions, code {found.code_bytes}, data {found.data_bytes}, stack {found.stack_bytes} bytes, "
                f"{100 * found.difference:.1g} %, self-test {'passed' if found.selftest else 'FAILED'}"
            )
            far = max(far, found.difference if found.selftest else 1.0)
        out.append((f"{name} {what}", goal, "; ".join(words), far <= CLOSE, COMMAND))
    return out


if __name__ == "__main__":
    for row in rows():
        print(*row, sep="\n  ")
