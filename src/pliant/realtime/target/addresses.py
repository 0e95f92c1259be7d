"""Addresses in an ASAP2 file: its symbols, looked up in the ELF file of the whole program."""

from __future__ import annotations

import re
from pathlib import Path

from pliant.arguments import as_path
from pliant.errors import ArgumentError, OutputError
from pliant.realtime.target.elf import ElfFile
from pliant.solve.names import suggestion

BLOCK = re.compile(r"/begin (MEASUREMENT|CHARACTERISTIC) .*?/end \1", re.DOTALL)
LINK = re.compile(r'SYMBOL_LINK "([^"]+)" (\d+)')
ADDRESS = {"MEASUREMENT": re.compile(r"(ECU_ADDRESS )0x[0-9A-Fa-f]+"), "CHARACTERISTIC": re.compile(r"( VALUE )0x\w+")}


def link_a2l(a2l: str | Path, elf: str | Path, out: str | Path | None = None, instance: str | None = None) -> Path:
    """Fill in the addresses of an ASAP2 file that pliant wrote, and return the path of the result.

    out       another file; None: the same
    instance  name of the program's variable that holds the step's instance; None: X_instance, as in the example program

    What the program does not have (an example's variables for inputs and outputs) keeps the address 0.
    """
    source, target = as_path("a2l", a2l), as_path("a2l" if out is None else "out", a2l if out is None else out)
    try:
        text = source.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise ArgumentError(f"{source} cannot be read: {error}", hint="a file that plan.write made") from error
    links = LINK.findall(text)
    if not links:
        raise ArgumentError(f"{source} has no symbols", hint="a file that plan.write made")
    try:
        symbols = {one.name: one.value for one in ElfFile(as_path("elf", elf)).symbols if one.section}
    except OSError as error:
        raise ArgumentError(f"{elf} cannot be read: {error.strerror}", hint="the linked program") from error
    if instance is not None:
        text = re.sub(r'SYMBOL_LINK "\w+_instance"', f'SYMBOL_LINK "{instance}"', text)
    wanted = dict.fromkeys(name for name, _ in LINK.findall(text))
    if not any(name in symbols for name in wanted):
        missing = next(iter(wanted))
        raise ArgumentError(
            f"{elf} has no symbol {missing}",
            hint=f"{suggestion(missing, list(symbols))}; an instance of another name: instance= (--instance)",
        )

    def addressed(block: re.Match[str]) -> str:
        link = LINK.search(block[0])
        if link is None or link[1] not in symbols:
            return block[0]
        address = f"0x{symbols[link[1]] + int(link[2]):X}"
        return ADDRESS[block[1]].sub(lambda found: found[1] + address, block[0], count=1)

    try:
        target.write_text(BLOCK.sub(addressed, text), encoding="ascii")
    except OSError as error:
        raise OutputError(f"{target} cannot be written: {error.strerror}", hint="check the path") from error
    return target
