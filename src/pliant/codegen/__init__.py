"""From symbols to machine code: C text, compiler call, cache."""
