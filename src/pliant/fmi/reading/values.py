"""Words and numbers of a description: from text to typed values, with findings where they are not as they should be.

What cannot be read at all is an FmuError with element and line. What is against the standard and has one sensible
meaning gets it, with a warning.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from pliant.fmi.description import Causality, FmuFinding, FmuValue, Initial, Variability
from pliant.fmi.reading.xml import XmlElement, refused, shortened

MOST_ALIKE = 5  # warnings of one kind that are listed one by one
LARGEST_REFERENCE = 2**32 - 1
LIMITS = {
    "Int8": (-(2**7), 2**7 - 1),
    "UInt8": (0, 2**8 - 1),
    "Int16": (-(2**15), 2**15 - 1),
    "UInt16": (0, 2**16 - 1),
    "Int32": (-(2**31), 2**31 - 1),
    "UInt32": (0, 2**32 - 1),
    "Int64": (-(2**63), 2**63 - 1),
    "UInt64": (0, 2**64 - 1),
    "Enumeration": (-(2**63), 2**63 - 1),
}
#: tolerances and increments are taken from nominal values: beyond these they would mean nothing (as in fmu_model.c)
SMALLEST_NOMINAL, LARGEST_NOMINAL = 1e-50, 1e50
MUST = f"must be positive, between {SMALLEST_NOMINAL:g} and {LARGEST_NOMINAL:g}"
REPAIR = "correct the attribute in modelDescription.xml, or ask the maker of the FMU"


class Findings:
    """Warnings as they come; of many alike the first few, and how many more there are."""

    def __init__(self) -> None:
        self._found: list[FmuFinding] = []
        self._alike: Counter[str] = Counter()
        self.n = 0

    def warn(self, kind: str, text: str, element: str | Callable[[], str] = "", *, line: int = 0) -> None:
        """``kind``: what all findings of this kind have in common, as a sentence for the rest of them."""
        self.n += 1
        self._alike[kind] += 1
        if self._alike[kind] <= MOST_ALIKE:
            self._found.append(FmuFinding("warning", text, element if isinstance(element, str) else element(), line))

    def found(self) -> tuple[FmuFinding, ...]:
        """All of them."""
        more = [
            FmuFinding("warning", f"{kind}: {n - MOST_ALIKE} more like these")
            for kind, n in self._alike.items()
            if n > MOST_ALIKE
        ]
        return (*self._found, *more)


# --------------------------------------------------------------------------------------------------------- one value


def as_float(text: str, attribute: str, element: str | Callable[[], str], line: int) -> float:
    """A number of XML Schema; also INF, -INF and NaN."""
    try:
        if "_" in text or not text.isascii():  # Python takes more than XML
            raise ValueError
        value = float(text)
        if math.isinf(value) and text.rstrip()[-1].isdigit():
            raise ValueError
        return value
    except ValueError:
        raise refused(
            f"{attribute}={shortened(text)!r} is no number, or too large for one",
            element=element if isinstance(element, str) else element(),
            line=line,
            hint=REPAIR,
        ) from None


def as_int(text: str, attribute: str, element: str, line: int) -> int:
    """A whole number; also one written as 2.0."""
    try:
        if "_" in text or len(text) > 400 or not text.isascii():
            raise ValueError
        return int(text)
    except ValueError:
        try:
            number = math.nan if "_" in text or not text.isascii() else float(text)
        except ValueError:
            number = math.nan
        if math.isfinite(number) and number == int(number):
            return int(number)
    raise refused(f"{attribute}={shortened(text)!r} is no whole number", element=element, line=line, hint=REPAIR)


def as_bool(text: str, attribute: str, element: str, line: int) -> bool:
    """true, false, 1, 0; in capital letters, too."""
    word = text.strip().lower()
    if word in ("true", "1"):
        return True
    if word in ("false", "0"):
        return False
    raise refused(f"{attribute}={shortened(text)!r} is not true or false", element=element, line=line, hint=REPAIR)


def as_start(text: str, type_: str, element: str, line: int) -> FmuValue:
    """One start value of a type."""
    if type_ in ("Float64", "Float32"):
        return as_float(text, "start", element, line)
    if type_ == "Boolean":
        return as_bool(text, "start", element, line)
    if type_ == "String":
        return text
    if type_ == "Binary":
        try:
            return bytes.fromhex(text)
        except ValueError:
            raise refused(
                f"start={shortened(text)!r} is no hexadecimal number", element=element, line=line, hint=REPAIR
            ) from None
    value = as_int(text, "start", element, line)
    low, high = LIMITS.get(type_, (value, value))
    if not low <= value <= high:
        raise refused(f"start={value} is outside the range of {type_}", element=element, line=line, hint=REPAIR)
    return value


def reference_of(text: str, attribute: str, element: str, line: int) -> int:
    """A value reference: 32 bits without sign."""
    value = as_int(text, attribute, element, line)
    if not 0 <= value <= LARGEST_REFERENCE:
        raise refused(
            f"{attribute}={value} is outside 0 .. {LARGEST_REFERENCE}", element=element, line=line, hint=REPAIR
        )
    return value


def references_of(text: str, attribute: str, element: str, line: int) -> tuple[int, ...]:
    """Several, separated by blanks."""
    return tuple(reference_of(one, attribute, element, line) for one in text.split())


class Attributes:
    """Attributes of one element, with the type that is expected."""

    def __init__(self, element: XmlElement, findings: Findings) -> None:
        self._given = element.attributes
        self.place = str(element)
        self.line = element.line
        self._findings = findings

    def text(self, name: str) -> str:
        """ "" if it is not there."""
        return self._given.get(name, "")

    def required(self, name: str) -> str:
        """An error if it is not there, or empty."""
        found = self._given.get(name, "")
        if not found:
            raise refused(f"attribute {name} is missing", element=self.place, line=self.line, hint=REPAIR)
        return found

    def truth(self, name: str) -> bool:
        """False if it is not there."""
        text = self._given.get(name)
        return text is not None and as_bool(text, name, self.place, self.line)

    def whole(self, name: str, default: int) -> int:
        """Not negative; default if it is not there."""
        text = self._given.get(name)
        if not text:
            return default
        value = as_int(text, name, self.place, self.line)
        if not 0 <= value < 2**32:
            raise refused(f"{name}={value} is out of range", element=self.place, line=self.line, hint=REPAIR)
        return value

    def number(self, name: str) -> float | None:
        """None if it is not there."""
        text = self._given.get(name)
        return as_float(text, name, self.place, self.line) if text else None

    def warn(self, kind: str, text: str) -> None:
        """A finding about this element."""
        self._findings.warn(kind, text, element=self.place, line=self.line)


# -------------------------------------------------------------------------------- causality, variability and initial


class Role(NamedTuple):
    """What a variable is to the model, and what was wrong in what was said about it."""

    causality: Causality
    variability: Variability
    initial: Initial
    wrong: tuple[str, ...] = ()


CAUSALITIES = (
    "parameter",
    "calculatedParameter",
    "structuralParameter",
    "input",
    "output",
    "local",
    "independent",
    "dependent",
)
VARIABILITIES = ("constant", "fixed", "tunable", "discrete", "continuous")
PARAMETERS = ("parameter", "calculatedParameter", "structuralParameter")
#: causality -> variability -> (default of initial, what else is allowed): the table of the standard
CALCULATED: dict[str, tuple[str, ...]] = {
    "constant": ("exact",),
    "fixed": ("calculated", "approx"),
    "tunable": ("calculated", "approx"),
    "discrete": ("calculated", "exact", "approx"),
    "continuous": ("calculated", "exact", "approx"),
}
INITIAL: dict[str, dict[str, tuple[str, ...]]] = {
    "parameter": {"fixed": ("exact",), "tunable": ("exact",)},
    "structuralParameter": {"fixed": ("exact",), "tunable": ("exact",)},
    "calculatedParameter": {"fixed": ("calculated", "approx"), "tunable": ("calculated", "approx")},
    "input": {"discrete": ("", "exact"), "continuous": ("", "exact")},
    "output": {key: CALCULATED[key] for key in ("constant", "discrete", "continuous")},
    "local": CALCULATED,
    "independent": {"continuous": ("",)},
    "dependent": CALCULATED,
}


def role_of(given: tuple[str | None, str | None, str | None], is_real: bool, version: int) -> Role | str:
    """From causality, variability and initial as they are written; a text: what is wrong beyond repair."""
    causality, variability, initial = given[0] or "local", given[1], given[2]
    wrong: list[str] = []
    if causality not in CAUSALITIES:
        return f"causality={shortened(causality)!r} is not known"
    if variability is not None and variability not in VARIABILITIES:
        return f"variability={shortened(variability)!r} is not known"
    if initial and initial not in ("exact", "approx", "calculated"):
        return f"initial={shortened(initial)!r} is not known"
    usual = "continuous" if is_real else "discrete"
    if causality in PARAMETERS:
        usual = "fixed"
    if variability is None:
        if version == 2 and usual != "continuous":
            wrong.append(f"without variability it would be continuous; taken as {usual}")
        variability = usual
    allowed = INITIAL[causality]
    if variability == "continuous" and not is_real:
        wrong.append("only Real variables can be continuous; taken as " + usual)
        variability = usual
    if variability not in allowed:
        kept = causality in ("output", "local", "dependent")
        wrong.append(
            f"the standard does not allow variability={variability!r} with causality={causality!r}"
            + ("" if kept else f"; taken as {usual!r}")
        )
        variability = variability if kept else usual
    default, *others = allowed.get(variability, CALCULATED[variability])
    if initial is None or initial == "":
        initial = default
    elif initial != default and initial not in others:
        wrong.append(
            f"the standard does not allow initial={shortened(initial)!r} with causality={causality!r} and "
            f"variability={variability!r}; taken as {default!r}"
        )
        initial = default
    if causality == "input":
        initial = ""
    return Role(causality, variability, initial, tuple(wrong))  # type: ignore[arg-type]


# ---------------------------------------------------------------------------------------------- ranges and magnitudes


class Ranged(NamedTuple):
    """min, max and nominal that can be used."""

    min: float | int | None
    max: float | int | None
    nominal: float | None


def checked_range(
    given: Ranged, start: object, findings: Findings, element: str | Callable[[], str], line: int
) -> Ranged:
    """Values that cannot be used become None, with a warning."""
    low, high, nominal = given

    def warn(kind: str, text: str) -> None:
        findings.warn(kind, text, element, line=line)

    if any(isinstance(one, float) and math.isnan(one) for one in (low, high)):
        warn("a bound is NaN", "min or max is NaN; both are ignored")
        low = high = None
    if low is not None and high is not None and low > high:
        warn("min is larger than max", f"min={low} is larger than max={high}; both are ignored")
        low = high = None
    if nominal is not None and not SMALLEST_NOMINAL <= nominal <= LARGEST_NOMINAL:
        repaired = -nominal if SMALLEST_NOMINAL <= -nominal <= LARGEST_NOMINAL else None
        warn(
            "nominal is not a positive number of a possible size",
            f"nominal={nominal:g} {MUST}; taken as {1.0 if repaired is None else repaired:g}",
        )
        nominal = repaired
    for value in start if isinstance(start, tuple) else (start,):
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            if low is not None and value < low:
                warn("a start value is outside min .. max", f"start={value} is less than min={low}")
                break
            if high is not None and value > high:
                warn("a start value is outside min .. max", f"start={value} is larger than max={high}")
                break
    return Ranged(low, high, nominal)
