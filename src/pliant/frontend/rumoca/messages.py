"""rumoca's failures in the user's words: what is wrong, where, and one thing to try.

Each rule knows one form of message; what no rule knows keeps the sentence of rumoca without the names of its phases.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from pliant.errors import ModelError, NotSupportedError, PliantError
from pliant.frontend.classes import classes, line_and_column, line_of, without_comments
from pliant.frontend.rumoca.rules import LIBRARY, RULES, MessageRule
from pliant.frontend.rumoca.syntax import Fault, find_fault

_PHASE = re.compile(
    r"^\w+ failed: .*? failed in \w+: |^.*? could not be compiled: |^.*? could not be compiled because "
)
_PLACE = re.compile(r"\s*\[([^\[\]]+:\d+:\d+)\]\s*$")
_OWNER = re.compile(r"unsupported Flat semantic owner `([^`]*)`: ")
_NOISE = (
    re.compile(r"canonical DAE construction rejected an invalid operation: "),
    re.compile(r"\s*\(MLS §[^)]*\)|MLS §[\d.]+:?\s*"),
    re.compile(r"unsupported equation form: "),
)


@dataclass(frozen=True)
class SourceText:
    """The text that was read, to find places in it."""

    file: str
    text: str
    name: str
    roots: tuple[str, ...] = ()
    is_library: bool = False  # the class is one of a library, which the user did not write


def translate(text: str, source: SourceText, *, is_panic: bool = False) -> PliantError:
    """The error to raise for a message of rumoca."""
    place = ""
    plain = text.strip()
    first = plain.split("\n", 1)[0].split("; invalid unit for", 1)[0]
    match = _PLACE.search(first)
    if match:
        place = match.group(1)
        first = first[: match.start()]
    body = _PHASE.sub("", first)
    for rule in RULES:
        match = re.search(rule.pattern, body) or re.search(rule.pattern, plain)
        if match:
            return _apply(rule, match, source, place)
    for noise in (_OWNER, *_NOISE):
        body = noise.sub("", body)
    if is_panic:
        return NotSupportedError(
            f"{_where(place, source)}rumoca, the Modelica compiler, stopped with an internal error ({_short(body)})",
            hint="simplify the model step by step to find the construct; records and inputs are the usual ones",
        )
    return ModelError(
        f"{_where(place, source)}{_short(body)}", hint="simplify the statement, or report the message with the model"
    )


def _apply(rule: MessageRule, match: re.Match[str], source: SourceText, place: str) -> PliantError:
    parts = [part for part in match.groups() if part is not None] or ["?"]
    found = match.group()
    many = {"s": "" if parts[0] == "1" else "s", "t": "" if parts[-1] == "1" else "s"}
    many |= {name: "an" if part[:1] in "AEIO" else "a" for name, part in zip("ab", parts, strict=False)}
    message = rule.message.format(*parts, found=found, **many) if "{" in rule.message else rule.message
    hint = rule.hint
    if hint == "{balance}":
        more = int(parts[0]) - int(parts[1])
        hint = (
            "remove an equation, or a value given twice"
            if more > 0
            else "add the missing equations; check unconnected connectors and variables without a value"
        )
        if source.is_library:
            hint = "this class is part of a library and rumoca 0.10.2 may read it wrongly; use another one"
    elif parts[0] in _functions(source) and "not declared" in message:
        message = f"function `{parts[0]}` has no output, or no algorithm section that sets it"
        hint = "declare an `output`, and write `algorithm` before its statements"
    elif hint == LIBRARY:
        hint = _library_hint(parts[0], source)
    elif "{" in hint:
        hint = hint.format(*parts)
    if not place and rule.find and not (parts == ["?"] and "{" in rule.find):
        place = _find(rule.find.format(*parts) if rule.find.startswith("{") else rule.find, source)
    return rule.error(f"{_where(place, source)}{message}", hint=hint)


def _functions(source: SourceText) -> set[str]:
    return {one.name.rpartition(".")[2] for one in classes(source.text) if one.kind == "function"}


def _library_hint(name: str, source: SourceText) -> str:
    top = name.partition(".")[0]
    if "." not in name or any((Path(root) / top).exists() or Path(root).name == top for root in source.roots):
        return "look for a misspelt name"
    if source.roots:
        return f"`{top}` is not in " + ", ".join(source.roots) + f"; {LIBRARY}"
    return LIBRARY


def _find(pattern: str, source: SourceText) -> str:
    """file:line:column of the first place that fits, or nothing."""
    if source.is_library:
        return ""
    spot = line_of(source.text, pattern) if re.fullmatch(r"[\w.]+", pattern) else None
    if spot is None and not re.fullmatch(r"[\w.]+", pattern):
        match = re.search(pattern, without_comments(source.text))
        if match:
            spot = line_and_column(source.text, match.start())
    return f"{source.file}:{spot[0]}:{spot[1]}" if spot else ""


def _where(place: str, source: SourceText) -> str:
    return f"{place}: " if place else f"{source.file}: " if source.file else ""


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 300 else text[:299] + "…"


def fault_error(fault: Fault, source: SourceText, what: str = "") -> ModelError:
    """A fault that the text itself shows, with its line."""
    line, column = line_and_column(source.text, fault.at)
    shown = source.text.split("\n")[line - 1].strip()
    message = f"{source.file}:{line}:{column}: {what}{_short(fault.message)}: `{shown}`"
    return ModelError(message, hint=_short(fault.hint))


def syntax_error(report: str, source: SourceText) -> ModelError | None:
    """The first syntax error in the report of ``rumoca.validate_source``; it draws the place as a picture.

    Where the text itself shows what is wrong, that is reported: rumoca often points to the name of the class.
    """
    fault = find_fault(source.text)
    if fault is not None:
        return fault_error(fault, source, "syntax error: ")
    spot = re.search(r"╭─\[[^\]]*?:(\d+):(\d+)\]", report)
    drawn = re.search(r"×\s*(.+?)\s*╭─", report, re.DOTALL)
    if spot is None or drawn is None:
        return None
    what = _NOISE[1].sub("", " ".join(drawn.group(1).replace("│", " ").split()))
    line, column = int(spot.group(1)), int(spot.group(2))
    lines = source.text.split("\n")
    shown = lines[line - 1].strip() if line <= len(lines) else ""
    hint = "check this line and the one before it" if "unexpected" in what else "check this line"
    text = f": `{shown}`" if shown else ""
    if "unexpected" in what and re.match(r"(?:\w+ )*(?:model|class|block|package)\b", shown):
        what, text = "somewhere in this class", f": `{shown}`"  # rumoca gives up at its name
        hint = "take parts of the class out until it can be read, to find the place"
    return ModelError(f"{source.file}:{line}:{column}: syntax error: {what}{text}", hint=hint)
