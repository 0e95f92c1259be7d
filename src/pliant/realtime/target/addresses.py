"""Addresses in an ASAP2 file: its symbols, looked up in the ELF file of the whole program."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from pliant.arguments import as_path
from pliant.errors import ArgumentError, OutputError
from pliant.realtime.target.elf import OBJECT, ElfFile, ElfSymbol
from pliant.solve.names import suggestion

BLOCK = re.compile(r"/begin (MEASUREMENT|CHARACTERISTIC) .*?/end \1", re.DOTALL)
LINK = re.compile(r'SYMBOL_LINK "([^"]+)" (\d+)')
NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
OTHERS = ("_in", "_out", "_calibration")  # symbols beside the instance
ADDRESS = {"MEASUREMENT": re.compile(r"(ECU_ADDRESS )0x[0-9A-Fa-f]+"), "CHARACTERISTIC": re.compile(r"( VALUE )0x\w+")}


def link_a2l(a2l: str | Path, elf: str | Path, out: str | Path | None = None, instance: str | None = None) -> Path:
    """Fill in the addresses of an ASAP2 file that pliant wrote, and return the path of the result.

    out       another file; None: the same
    instance  name of the program's variable that holds the step's instance; None: X_instance, as in the example program

    The instance must be there. What else the program does not have (an example's variables for inputs and outputs) gets
    the address 0.
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
        program = ElfFile(as_path("elf", elf))
    except OSError as error:
        raise ArgumentError(f"{elf} cannot be read: {error.strerror}", hint="the linked program") from error
    if not program.is_linked:
        raise ArgumentError(
            f"{elf} is an object file that is not linked: it has no addresses yet", hint="the linked program"
        )
    symbols = {one.name: one for one in program.symbols if one.section and one.type in (0, OBJECT)}
    text = _with_instance(text, symbols, str(elf), instance)

    def addressed(block: re.Match[str]) -> str:
        link = LINK.search(block[0])
        if link is None:
            return block[0]
        address = f"0x{symbols[link[1]].value + int(link[2]):X}" if link[1] in symbols else "0x0"
        return ADDRESS[block[1]].sub(lambda found: found[1] + address, block[0], count=1)

    try:
        target.write_text(BLOCK.sub(addressed, text), encoding="ascii")
    except OSError as error:
        raise OutputError(f"{target} cannot be written: {error.strerror}", hint="check the path") from error
    return target


def _with_instance(text: str, symbols: Mapping[str, ElfSymbol], elf: str, given: str | None) -> str:
    """The text with links to the program's instance, which must be there and large enough."""
    links = LINK.findall(text)
    written = dict.fromkeys(name for name, _ in links if not name.endswith(OTHERS))
    if given is not None and not (isinstance(given, str) and NAME.fullmatch(given)):
        raise ArgumentError(f"instance = {given!r} is no name of a variable in C", hint="e.g. instance='plant'")
    last = max((int(offset) for name, offset in links if name in written), default=0)
    for name in written:
        wanted = given or name
        if wanted not in symbols:
            raise ArgumentError(
                f"{elf} has no variable {wanted}",
                hint=f"{suggestion(wanted, list(symbols))}; an instance of another name: instance= (--instance)",
            )
        size = symbols[wanted].size
        if 0 < size <= last:
            raise ArgumentError(
                f"{wanted} of {elf} has {size} bytes, an instance of the step more than {last}",
                hint="the variable that holds the instance, of a program with this version of the step",
            )
        text = text.replace(f'SYMBOL_LINK "{name}"', f'SYMBOL_LINK "{wanted}"')
    return text
