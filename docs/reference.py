"""References made from the code: a hook of mkdocs for api.md, and the text of cli.md.

As a hook, lines ``::: pliant.name`` of a page become the signature and the docstring of that name. As a program,
``python docs/reference.py`` writes docs/cli.md again; a test compares it with the command line.
"""

from __future__ import annotations

import importlib
import inspect
import re
from dataclasses import is_dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

CLI_PAGE = Path(__file__).with_name("cli.md")
_MARK = re.compile(r"^::: ([\w.]+)$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by mkdocs for every page."""
    return _MARK.sub(lambda found: describe(found[1]), markdown)


# ------------------------------------------------------------------------------------------------- docstrings


def describe(path: str) -> str:
    """Markdown for ``module.name``: heading, signature, docstring; for classes their public members too."""
    module, _, name = path.rpartition(".")
    thing = getattr(importlib.import_module(module), name)
    if inspect.ismodule(thing):
        return _module(name, thing)
    # classes that only pliant makes show no signature: nobody calls them
    made_by_us = inspect.isclass(thing) and not issubclass(thing, BaseException) and not is_dataclass(thing)
    parts = [f"### {name}", "" if made_by_us else _signature(name, thing), _docstring(thing)]
    if inspect.isclass(thing) and not issubclass(thing, BaseException):
        parts += [_member(name, key, member) for key, member in _members(thing)]
    return "\n\n".join(part for part in parts if part)


def _module(name: str, module: Any) -> str:
    """A module of functions: its docstring, then its public names."""
    parts = [f"### {name}", _docstring(module)]
    for key in module.__all__:
        thing = getattr(module, key)
        if not (inspect.isfunction(thing) or inspect.isclass(thing)):
            continue
        parts += [f"#### {name}.{key}", _signature(key, thing), _docstring(thing)]
    return "\n\n".join(part for part in parts if part)


def _members(cls: type) -> list[tuple[str, Any]]:
    kinds = (property, cached_property, classmethod, staticmethod)
    return [
        (key, member)
        for key, member in vars(cls).items()
        if not key.startswith("_") and (inspect.isfunction(member) or isinstance(member, kinds))
    ]


def _member(owner: str, key: str, member: Any) -> str:
    if isinstance(member, (property, cached_property)):
        return f"#### {owner}.{key}\n\n{_docstring(member)}"
    function = member.__func__ if isinstance(member, (classmethod, staticmethod)) else member
    return "\n\n".join((f"#### {owner}.{key}", _signature(key, function), _docstring(function)))


def _signature(name: str, thing: Any) -> str:
    if inspect.isclass(thing) and issubclass(thing, BaseException):
        bases = ", ".join(base.__name__ for base in thing.__bases__)
        return f"```python\nclass {name}({bases})\n```"
    signature = inspect.signature(thing)
    shown = [p for p in signature.parameters.values() if p.name not in ("self", "cls")]
    text = ", ".join(_parameter(p) for p in shown)
    if len(text) > 90:
        text = "\n    " + ",\n    ".join(_parameter(p) for p in shown) + ",\n"
    return f"```python\n{name}({text})\n```"


def _parameter(parameter: inspect.Parameter) -> str:
    """Without types: the docstring tells more."""
    star = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    if parameter.default is inspect.Parameter.empty or "object at 0x" in repr(parameter.default):
        return f"{star}{parameter.name}"
    return f"{parameter.name}={parameter.default!r}"


def _docstring(thing: Any) -> str:
    """First paragraph as text, the rest as it stands (its columns are aligned), examples as Python sessions."""
    text = inspect.getdoc(thing) or ""
    text = re.sub(r":\w+:`([^`]+)`", r"`\1`", text).replace("``", "`")
    first, *rest = text.split("\n\n")
    parts = [" ".join(first.split("\n"))]
    for part in rest:
        if part.lstrip().startswith(">>>"):
            parts.append(f"```pycon\n{part}\n```")
        elif re.search(r"^\S+( \S+)*   ?\S|^ {2,}", part, re.MULTILINE) or part.startswith("Arguments:"):
            parts.append(f"```text\n{part}\n```")
        else:
            parts.append(part)
    return "\n\n".join(parts)


# ----------------------------------------------------------------------------------------------- command line


def cli_text() -> str:
    """docs/cli.md, from the commands themselves."""
    from typer.main import get_command

    from pliant.cli import app

    group: Any = get_command(app)
    lines = ["# Command line", "", "<!-- Written by docs/reference.py: change pliant/cli instead. -->", ""]
    lines += [
        "`pliant --version` prints the version. Exit codes: 0 success, 1 an error of model or run, 2 wrong usage: an",
        "option or its value is not valid, 3 the evidence of a plan does not hold (everything is written), 130 Ctrl-C.",
        "",
    ]
    for name, command in group.commands.items():
        lines += _command_lines(name, command)
    return "\n".join(lines).rstrip() + "\n"


def _command_lines(name: str, command: Any) -> list[str]:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option" and p.name != "help"]
    usage = " ".join(["pliant", name, *(str(p.metavar or p.name) for p in arguments), "[OPTIONS]"])
    lines = [f"## pliant {name}", "", inspect.cleandoc(command.help or ""), "", f"    {usage}", ""]
    lines += ["| option | meaning | default |", "|---|---|---|"]
    lines += [f"| `{p.metavar or p.name}` | {p.help} | required |" for p in arguments]
    for option in options:
        names = ", ".join(f"`{text}`" for text in (*option.opts, *option.secondary_opts))
        lines.append(f"| {names} | {option.help} | {_default(option)} |")
    return [*lines, ""]


def _default(option: Any) -> str:
    if option.required:
        return "required"
    value = option.default
    if option.is_flag and option.secondary_opts:
        return f"`{(option.opts if value else option.secondary_opts)[0]}`"
    if value is None or option.is_flag or value == []:
        return ""
    return f"`{value}`"


if __name__ == "__main__":
    CLI_PAGE.write_text(cli_text(), encoding="utf-8")
