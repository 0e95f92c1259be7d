"""Files that cross compilers make: what kind of binary one is, and which functions it exports."""

from __future__ import annotations

import struct

#: platform -> what its files begin with: ELF for 64 bits and its machine, PE, Mach-O for 64 bits and its processor
BEGIN = {
    "x86_64-linux": (b"\x7fELF\x02", 18, struct.pack("<H", 62)),
    "aarch64-linux": (b"\x7fELF\x02", 18, struct.pack("<H", 183)),
    "x86_64-darwin": (struct.pack("<I", 0xFEEDFACF), 4, struct.pack("<I", 0x01000007)),
    "aarch64-darwin": (struct.pack("<I", 0xFEEDFACF), 4, struct.pack("<I", 0x0100000C)),
}


def functions_of(platform: str, data: bytes) -> set[str]:
    """Exported functions of FMI, after the kind of the file was checked."""
    if platform == "x86_64-windows":
        (header,) = struct.unpack_from("<I", data, 60)
        assert data.startswith(b"MZ")
        assert data[header : header + 6] == b"PE\0\0" + struct.pack("<H", 0x8664)
        return pe_functions(data, header)
    begin, place, processor = BEGIN[platform]
    assert data.startswith(begin)
    assert data[place : place + len(processor)] == processor
    found = elf_functions(data) if "linux" in platform else mach_functions(data)
    return {one for one in found if one.startswith("fmi")}


def text_at(data: bytes, place: int) -> str:
    return data[place : data.index(b"\0", place)].decode()


def elf_functions(data: bytes) -> set[str]:
    """Defined symbols of .dynsym."""
    (sections,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, sections + size * k) for k in range(count)]
    found = set()
    for one in headers:
        if one[1] != 11:  # SHT_DYNSYM
            continue
        names = headers[one[6]][4]
        for k in range(one[5] // 24):
            name, _, _, section, _, _ = struct.unpack_from("<IBBHQQ", data, one[4] + 24 * k)
            if section:
                found.add(text_at(data, names + name))
    return found


def mach_functions(data: bytes) -> set[str]:
    """Defined external symbols of LC_SYMTAB."""
    (count,) = struct.unpack_from("<I", data, 16)
    place, found = 32, set()
    for _ in range(count):
        command, size = struct.unpack_from("<II", data, place)
        if command == 2:
            symbols, n, strings, _ = struct.unpack_from("<4I", data, place + 8)
            for k in range(n):
                name, kind, _, _, _ = struct.unpack_from("<IBBHQ", data, symbols + 16 * k)
                if kind & 0x0F == 0x0F:  # in a section, external
                    found.add(text_at(data, strings + name).removeprefix("_"))
        place += size
    return found


def pe_functions(data: bytes, header: int) -> set[str]:
    """The table of exported names."""
    n_sections, optional = struct.unpack_from("<H12xH", data, header + 6)
    (exports,) = struct.unpack_from("<I", data, header + 24 + 112)
    table = header + 24 + optional
    sections = [struct.unpack_from("<8xIIII", data, table + 40 * k) for k in range(n_sections)]

    def place(address: int) -> int:
        return next(raw + address - start for size, start, _, raw in sections if start <= address < start + size)

    at = place(exports)
    count, _, names = struct.unpack_from("<III", data, at + 24)
    return {text_at(data, place(*struct.unpack_from("<I", data, place(names) + 4 * k))) for k in range(count)}
