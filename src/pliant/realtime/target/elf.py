"""What stands in an ELF file: sizes of sections, symbols with addresses, and which function calls which.

Format: System V Application Binary Interface, chapter 4 ("Object Files"), 32 and 64 bits, little-endian.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pliant.errors import CompileError

SYMTAB, NOBITS, REL, RELA = 2, 8, 9, 4  # types of sections
RELOCATABLE = 1  # type of a file: not linked
WRITE, ALLOC, EXECUTE = 1, 2, 4  # flags of sections
FUNCTION, OBJECT, SECTION = 2, 1, 3  # types of symbols


@dataclass(frozen=True)
class ElfSection:
    """One section: where it is and what it is for."""

    name: str
    type: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    entry_size: int


@dataclass(frozen=True)
class ElfSymbol:
    """A name with its address (in an object file its place in its section)."""

    name: str
    value: int
    size: int
    type: int
    section: int  # 0: not defined here


class ElfFile:
    """Sections and symbols of a little-endian ELF file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.data = path.read_bytes()
        if self.data[:4] != b"\x7fELF" or len(self.data) < 52 or self.data[5] != 1:
            raise CompileError(f"{path.name} is no little-endian ELF file", hint="check the compiler of the target")
        self.is_wide = self.data[4] == 2
        try:
            self.sections = self._read_sections()
        except (struct.error, IndexError, ValueError) as error:
            raise CompileError(f"{path.name} is damaged: {error}", hint="compile it again") from error

    def _read_sections(self) -> list[ElfSection]:
        if self.is_wide:
            start, size, count, names = (
                *struct.unpack_from("<Q", self.data, 40),
                *struct.unpack_from("<HHH", self.data, 58),
            )
            layout = "<IIQQQQIIQQ"
        else:
            start, size, count, names = (
                *struct.unpack_from("<I", self.data, 32),
                *struct.unpack_from("<HHH", self.data, 46),
            )
            layout = "<IIIIIIIIII"
        rows = [struct.unpack_from(layout, self.data, start + k * size) for k in range(count)]
        at = rows[names][4]
        return [
            ElfSection(self._text(at + row[0]), row[1], row[2], row[4], row[5], row[6], row[7], row[9]) for row in rows
        ]

    def _text(self, at: int) -> str:
        return self.data[at : self.data.index(b"\0", at)].decode(errors="replace")

    @property
    def is_linked(self) -> bool:
        """Is it a program (or a library), whose symbols have addresses?"""
        return int(struct.unpack_from("<H", self.data, 16)[0]) != RELOCATABLE

    @cached_property
    def symbols(self) -> list[ElfSymbol]:
        """All symbols, in the file's order."""
        table = next((one for one in self.sections if one.type == SYMTAB), None)
        if table is None:
            return []
        names = self.sections[table.link].offset
        out = []
        for k in range(table.size // table.entry_size):
            at = table.offset + k * table.entry_size
            if self.is_wide:
                name, info, _, section, value, size = struct.unpack_from("<IBBHQQ", self.data, at)
            else:
                name, value, size, info, _, section = struct.unpack_from("<IIIBBH", self.data, at)
            out.append(ElfSymbol(self._text(names + name), value, size, info & 15, section))
        return out

    def size(self, *, code: bool = False, constants: bool = False, data: bool = False) -> int:
        """Bytes of the sections of these kinds that are loaded."""
        total = 0
        for one in self.sections:
            if one.flags & ALLOC:
                kind = code if one.flags & EXECUTE else data if one.flags & WRITE else constants
                total += one.size if kind else 0
        return total

    def calls(self) -> dict[str, set[str]]:
        """Function -> functions that its text refers to, of an object file with a section for each function."""
        functions = {one.section: one.name for one in self.symbols if one.type == FUNCTION and one.section}
        data = {k for k, one in enumerate(self.sections) if not one.flags & EXECUTE}
        out: dict[str, set[str]] = {name: set() for name in functions.values()}
        for section in self.sections:
            if section.type not in (REL, RELA) or section.info not in functions:
                continue
            caller = functions[section.info]
            for k in range(section.size // section.entry_size):
                symbol = self.symbols[self._symbol_of(section.offset + k * section.entry_size)]
                if symbol.section and symbol.section in data:
                    continue
                name = functions.get(symbol.section, symbol.name) if symbol.section else symbol.name
                if name and name != caller:
                    out[caller].add(name)
                elif name == caller and symbol.type == FUNCTION:
                    out[caller].add(caller)  # recursion
        return out

    def _symbol_of(self, at: int) -> int:
        if self.is_wide:
            return int(struct.unpack_from("<Q", self.data, at + 8)[0] >> 32)
        return int(struct.unpack_from("<I", self.data, at + 4)[0] >> 8)
