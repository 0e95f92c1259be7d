"""Unit strings (chapter 19): `N.m/(rad.s2)`, `1/kg`, `W/(m2.K4)`."""

from __future__ import annotations

import re

_FACTOR = re.compile(r"[^\W\d][^\W\d]*|[%'\"°]+|1(?![\d])")
_EXPONENT = re.compile(r"[+-]?\d+")


def unit_fault(text: str) -> str:
    """Why a unit cannot be read; empty for one that can.

    >>> unit_fault("N.m/(rad.s2)"), unit_fault("kg m")
    ('', 'white-space is not allowed')
    """
    if not text:
        return ""
    if any(one.isspace() for one in text):
        return "white-space is not allowed"
    place, fault = _expression(text, 0)
    if not fault and place < len(text):
        fault = f"unexpected `{text[place:]}`"
    return fault


def _expression(text: str, at: int) -> tuple[int, str]:
    """numerator [ / denominator ]"""
    at, fault = _product(text, at)
    if fault or at >= len(text) or text[at] != "/":
        return at, fault
    at += 1
    if text[at : at + 1] == "(":
        return _parenthesis(text, at)
    return _factor(text, at)


def _parenthesis(text: str, at: int) -> tuple[int, str]:
    at, fault = _expression(text, at + 1)
    if fault:
        return at, fault
    return (at + 1, "") if text[at : at + 1] == ")" else (at, "a `)` is missing")


def _product(text: str, at: int) -> tuple[int, str]:
    if text[at : at + 1] == "(":
        return _parenthesis(text, at)
    at, fault = _factor(text, at)
    while not fault and text[at : at + 1] == ".":
        at, fault = _factor(text, at + 1)
    return at, fault


def _factor(text: str, at: int) -> tuple[int, str]:
    found = _FACTOR.match(text, at)
    if found is None:
        rest = text[at:]
        return at, f"a unit is missing before `{rest}`" if rest else "a unit is missing at the end"
    exponent = _EXPONENT.match(text, found.end())
    return (exponent.end() if exponent else found.end()), ""
