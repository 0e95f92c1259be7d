"""`sample(start, interval)` in the conditions of when-clauses, where one variable meets several of them.

rumoca ties a variable to the one sample(...) under which it is set and refuses what two of them set or read, though
Modelica allows it. Named, and no longer the bare call, they are ordinary conditions for it:

    when sample(0, 0.1) then      public Boolean tick1 = sample(0, 0.1) and true;  equation  when tick1 then
    Boolean b = sample(0, 0.1)    Boolean b = (sample(0, 0.1) and true)

All is written in the line where it was, so that lines of the text stay the same.
"""

from __future__ import annotations

import re

from pliant.frontend.classes import without_comments

TICK = "pliantTick"
_CONDITION = re.compile(r"\b(?:else)?when\b(.*?)\bthen\b", re.DOTALL)
_CALL = re.compile(r"\bsample\s*\(")
_SECTION = re.compile(r"\b(?:initial\s+)?(?:equation|algorithm)\b")


def named_samples(text: str) -> str | None:
    """The text with every sample(...) in a condition named, or None if that cannot be done."""
    plain = without_comments(text)
    if re.search(r"\bClock\b", plain):
        return None
    iterators = set(re.findall(r"\bfor\s+(\w+)\s+in\b", plain))
    conditions = [found.span(1) for found in _CONDITION.finditer(plain)]
    edits: list[tuple[int, int, str]] = []
    for number, call in enumerate(_CALL.finditer(plain), 1):
        start, end = call.start(), _closed(plain, call.end())
        if end is None or iterators & set(re.findall(r"\w+", plain[start:end])):
            return None
        if not any(low <= start < high for low, high in conditions):
            edits += [(start, start, "("), (end, end, " and true)")]
            continue
        sections = [found.start() for found in _SECTION.finditer(plain, 0, start)]
        if not sections:
            return None
        flat = " ".join(text[start:end].split())
        edits.append((sections[-1], sections[-1], f"public Boolean {TICK}{number} = {flat} and true; "))
        lines = "\n" * text.count("\n", start, end)
        edits.append((start, end, f"{TICK}{number}{lines}"))
    for start, end, new in sorted(edits, key=lambda one: one[0], reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _closed(text: str, start: int) -> int | None:
    """Where the bracket that was opened before ``start`` is closed."""
    depth = 1
    for found in re.finditer(r"[()\[\]{}]", text[start:]):
        depth += 1 if found.group() in "([{" else -1
        if depth == 0:
            return start + found.end()
    return None


def hide_ticks(names: list[dict[str, str]]) -> None:
    """Variables that were made here get names that no result shows."""
    for one in names:
        path, _, last = one["name"].rpartition(".")
        if last.startswith(TICK):
            one["name"] = f"$when.{path}.{last}" if path else f"$when.{last}"
