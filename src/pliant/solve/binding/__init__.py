"""The C runtime through ctypes: mirrors of its headers, its memory as arrays. Nothing here decides anything."""
