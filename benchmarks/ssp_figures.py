"""Figures of systems of SSP: public ones against tables by hand, random ones against arithmetic.

python benchmarks/figures.py ssp
"""

from __future__ import annotations

import trust_figures
from ssp_tables import VARIABLE, compare, examples, readable


def rows(quick: bool = False) -> list[tuple[str, str, str, bool | None, str]]:
    """What, goal, reached, met, command."""
    return [*_public(), *trust_figures.rows(quick, only=("ssp_systems",))]


def _public() -> list[tuple[str, str, str, bool | None, str]]:
    folder = examples()
    what = "SSP: public systems of OMSimulator, connections and parameters as written down by hand from the XML"
    other = "SSP: all public systems of OMSimulator are read, except those made to be wrong"
    command = f"`{VARIABLE}=... python benchmarks/ssp_tables.py`".strip("`")
    if folder is None:
        return [(one, "10 systems", "", None, command) for one in (what, other)]
    found = compare(folder)
    same = [name for name, (_, _, told) in found.items() if not told]
    wires, values = (sum(one[k] for one in found.values()) for k in (0, 1))
    refused = {name: why for name, why in readable(folder).items() if why}
    expected = {name for name in refused if name.startswith("invalid")}
    total = len(readable(folder))
    return [
        (
            what,
            "10 systems, all rows",
            f"{len(same)} of {len(found)} systems, {wires} connections and {values} parameters",
            len(same) == len(found) >= 10,
            command,
        ),
        (other, "all", f"{total - len(refused)} of {total - len(expected)}", set(refused) == expected, command),
    ]
