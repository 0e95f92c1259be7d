#!/usr/bin/env python3
"""Write the measured numbers of README and docs from benchmarks/FIGURES.md: python tools/claims.py [--check]

A number in a page stands between two comments that no reader sees, ``<!--= name -->12<!--=-->``. CLAIMS says for each
name which row of FIGURES.md it comes from and how it is taken. ``--check`` writes nothing and exits with 1 where a page
and the table differ.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FIGURES = ROOT / "benchmarks" / "FIGURES.md"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
MARK = re.compile(r"<!--= ([\w-]+) -->(.*?)<!--=-->", re.DOTALL)
COLUMNS = ("figure", "goal", "reached", "met", "command", "measured")


class ClaimError(Exception):
    """A claim that no row supports."""


@dataclass(frozen=True)
class Claim:
    """``pattern`` finds numbers in what the row reached; one of them is taken, scaled and written."""

    row: str  # how the figure begins
    pattern: str  # one group: the number
    pick: Callable[[list[float]], float] = min
    scale: Callable[[float], float] = float
    form: str = "g"

    def value(self, rows: dict[str, str]) -> str:
        """As it stands in a page."""
        found = [reached for what, reached in rows.items() if what.startswith(self.row)]
        if len(found) != 1:
            raise ClaimError(f"{len(found)} rows of FIGURES.md begin with {self.row!r}, one is needed")
        numbers = [float(text) for text in re.findall(self.pattern, found[0])]
        if not numbers:
            raise ClaimError(f"{self.pattern!r} finds nothing in {found[0]!r}")
        return format(self.scale(self.pick(numbers)), self.form)


def percent(share: float) -> float:
    """1.043 is 4.3 % more."""
    return 100.0 * (share - 1.0)


RATIO = r"([\d.]+)x"
EQUAL = "CPU time at equal error, C right-hand side, "
PEERS = {
    "casadi": f"{EQUAL}BDF against CasADi's cvodes, SX interpreted",
    "casadi-compiled": f"{EQUAL}BDF against CasADi's cvodes, its C compiled",
    "scipy": f"{EQUAL}Radau5 against SciPy's Radau",
    "sundae": "Python right-hand side, differences, BDF against scikit-sundae's CVODE",
}
FORMS = {"scipy": ".0f"}
SIZES = {
    "entries": "entries of I - tau J",
    "lu": "LU entries, own order",
    "colours": "colours of the Jacobian",
    "flops": "factorisation flops",
}
CLAIMS: dict[str, Claim] = {
    **{f"{name}-least": Claim(row, RATIO, min, form=FORMS.get(name, ".1f")) for name, row in PEERS.items()},
    **{f"{name}-most": Claim(row, RATIO, max, form=FORMS.get(name, ".1f")) for name, row in PEERS.items()},
    **{f"robot-{name}": Claim(f"robot: {row}", r"-> (\d+)") for name, row in SIZES.items()},
    **{f"robot-{name}-full": Claim(f"robot: {row}", r"(\d+) ->") for name, row in SIZES.items()},
    "robot-step": Claim("robot: whole step against compiled", r"\(([\d.]+) us\)", form=".1f"),
    "robot-against-full": Claim("robot: whole step against compiled", r", ([\d.]+)x", form=".1f"),
    "robot-error": Claim("robot: largest error of range", r"^([\d.]+) %", form=".1f"),
    "robot-maximum": Claim("robot: maximum step", r"^(\d+) us", scale=lambda us: us / 1000.0, form=".1f"),
    "jumps-least": Claim("at_jump=correct, total against restart", r"([\d.]+)", min, form=".2f"),
    "jumps-most": Claim("at_jump=correct, total against restart", r"([\d.]+)", max, form=".2f"),
    "jumps-stiff": Claim("stiff sets (rates to 1e6, heat equation)", r"mean ([\d.]+)", form=".1f"),
    "jumps-stiff-worst": Claim("stiff sets (rates to 1e6, heat equation)", r"^([\d.]+)", form=".1f"),
    "jumps-E1": Claim("at_jump=correct, total against restart", r"^([\d.]+)", form=".2f"),
    "jumps-E2": Claim("at_jump=correct, total against restart", r"^[\d.]+, ([\d.]+)", form=".2f"),
    "jumps-E2b": Claim("at_jump=correct, total against restart", r", ([\d.]+)$", form=".2f"),
    "jumps-springs": Claim("15 random spring-dampers", r"^([\d.]+)", form=".2f"),
    "jumps-pendula": Claim("15 random pendula", r"^([\d.]+)", form=".2f"),
    "wheel": Claim("wheel with 37 inputs", r"^([\d.]+)", form=".2f"),
    "coupling": Claim("closed loop of two parts, Jacobi master", r"^([\d.]+)", form=".2f"),
    "differences-worst": Claim("study models, rtol 1e-4 to 1e-8", r"worst ([\d.]+)", scale=percent, form=".0f"),
    "heat-python": Claim("heat equation, 10 000 states", r"([\d.]+)x with a Python", form=".1f"),
    "heat-c": Claim("heat equation, 10 000 states", r"([\d.]+)x with C", form=".1f"),
    "cvode-steps": Claim("BDF against CVODE, steps", r"mean ratio ([\d.]+)", form=".2f"),
    "code-f-least": Claim("generated right-hand side against CasADi's C, same equations, compiler and flags, "
                          "parameters tunable", RATIO, min, form=".1f"),
    "code-f-most": Claim("generated right-hand side against CasADi's C, same equations, compiler and flags, "
                         "parameters tunable", RATIO, max, form=".1f"),
    **{
        f"importer-{name}-{what}": Claim(f"... {name} at 1e-8: FMPy's error", pattern, form=form)
        for name in ("car_axis", "heat_rod")
        for what, pattern, form in (
            ("error", r"\(([\d.e-]+) against", ".1e"), ("alone", r"against ([\d.e-]+)\)", ".1e"),
        )
    },
    "bdf-bytes": Claim("Van der Pol with BDF only", r"^(\d+) bytes", scale=lambda n: n / 1000.0, form=".0f"),
}  # fmt: skip


def figures(file: Path = FIGURES) -> dict[str, str]:
    """What each figure reached."""
    rows = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        cells = line[2:-2].split(" | ")
        if line.startswith("| ") and len(cells) == len(COLUMNS) and tuple(cells) != COLUMNS:
            rows[cells[0]] = cells[2]
    return rows


def written(text: str, rows: dict[str, str]) -> str:
    """The page with the numbers of the table."""

    def number(found: re.Match[str]) -> str:
        if found[1] not in CLAIMS:
            raise ClaimError(f"no claim {found[1]!r}; there are {', '.join(sorted(CLAIMS))}")
        return f"<!--= {found[1]} -->{CLAIMS[found[1]].value(rows)}<!--=-->"

    return MARK.sub(number, text)


def main() -> int:
    """Write, or with --check compare."""
    rows, drifted = figures(), []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        try:
            new = written(text, rows)
        except ClaimError as error:
            print(f"{page.relative_to(ROOT)}: {error}")
            return 1
        if new != text:
            drifted.append(page.relative_to(ROOT).as_posix())
            if "--check" not in sys.argv[1:]:
                page.write_text(new, encoding="utf-8")
    if drifted:
        print(f"{'differ from FIGURES.md' if '--check' in sys.argv[1:] else 'written'}: {', '.join(drifted)}")
    return 1 if drifted and "--check" in sys.argv[1:] else 0


if __name__ == "__main__":
    sys.exit(main())
