"""Public systems of SSP against tables written down by hand from their XML (ssp_tables.toml).

PLIANT_SSP_EXAMPLES=OMSimulator/testsuite/tests/resources python benchmarks/ssp_tables.py
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

import pliant

TABLES = Path(__file__).with_name("ssp_tables.toml")
VARIABLE = "PLIANT_SSP_EXAMPLES"


def expected_wires(rows: list[str]) -> dict[tuple[str, str], tuple[float, float]]:
    """(source, target) -> factor and offset."""
    found = {}
    for row in rows:
        path, _, numbers = row.partition(" | ")
        source, target = path.split(" -> ")
        factor, offset = map(float, numbers.split()) if numbers else (1.0, 0.0)
        found[source, target] = (factor, offset)
    return found


def differences(report: pliant.SystemReport, table: dict[str, Any]) -> list[str]:
    """What differs from the table, in words."""
    wires = {(one.source, one.target): (one.through.factor, one.through.offset) for one in report.connections}
    values = {one.name: one.value for one in report.parameters}
    told = []
    for what, found, wanted in (
        ("connection", wires, expected_wires(table["connections"])),
        ("parameter", values, table.get("parameters", {})),
    ):
        for key in {**wanted, **found}:
            if found.get(key) != wanted.get(key):
                told.append(f"{what} {key}: {found.get(key)} instead of {wanted.get(key)}")
    return told


def compare(folder: Path) -> dict[str, tuple[int, int, list[str]]]:
    """name -> connections, parameters, differences."""
    tables = tomllib.loads(TABLES.read_text("utf-8"))
    out = {}
    for name, table in tables.items():
        report = pliant.inspect(folder / name / "SystemStructure.ssd")
        assert isinstance(report, pliant.SystemReport)
        out[name] = len(report.connections), len(report.parameters), differences(report, table)
    return out


def readable(folder: Path) -> dict[str, str]:
    """Every example -> "" or why it is not read."""
    found = {}
    for file in sorted(folder.glob("*/*.ssd")):
        try:
            pliant.inspect(file)
            found[f"{file.parent.name}/{file.name}"] = ""
        except pliant.PliantError as error:
            found[f"{file.parent.name}/{file.name}"] = error.message
    return found


def examples() -> Path | None:
    """The folder that the environment names."""
    folder = os.environ.get(VARIABLE)
    return Path(folder) if folder else None


def main() -> None:
    """Print the comparison."""
    folder = examples()
    if folder is None:
        raise SystemExit(f"set {VARIABLE} to the folder testsuite/tests/resources of OMSimulator")
    for name, (wires, values, told) in compare(folder).items():
        print(f"{name}: {wires} connections, {values} parameters, {len(told)} differences")
        for one in told:
            print(f"  {one}")
    for name, why in readable(folder).items():
        if why:
            print(f"not read: {name}: {why}")


if __name__ == "__main__":
    main()
