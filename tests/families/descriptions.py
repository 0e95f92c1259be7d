"""Random descriptions of FMUs, both versions: written as XML and read again, nothing may change, and nothing is found.

Then the text is damaged, a dozen times in each case: attributes and elements dropped, doubled or altered, the text cut
off, bytes replaced. Each time there is a description that can be used, or an FmuError; never another exception, and
never a long wait.
"""

from __future__ import annotations

import pickle
import re
import time
from dataclasses import replace
from typing import Any

import numpy as np
from support_fmi import Writer

from families import RIGHT, WRONG, Family, Outcome
from pliant.errors import FmuError
from pliant.fmi.description import (
    BASE_TYPES,
    FmuAlias,
    FmuCategory,
    FmuDescription,
    FmuDimension,
    FmuDisplayUnit,
    FmuExperiment,
    FmuInterface,
    FmuItem,
    FmuStructure,
    FmuType,
    FmuUnit,
    FmuUnknown,
    FmuVariable,
)
from pliant.fmi.reading.parts import BASE_UNITS
from pliant.fmi.reading.read import read_description
from pliant.fmi.reading.values import LIMITS
from pliant.fmi.report import FmuReport

LETTERS = [*"abcxyzABC019_.[],;:'\"`|\\/ ()<>&", "\n", "\t", "ä", "λ", "温", "🙂", "der(", "-", "="]
KINDS = ("dependent", "constant", "fixed", "tunable", "discrete")
OLD = ("Float64", "Int32", "Boolean", "String", "Enumeration")
N_DAMAGED = 12
SLOW = 2.0  # seconds
ODD = ("", " ", "NaN", "INF", "-INF", "-1", "0", "1", "2", "1e999", "9" * 30, "abc", "1_0", "٣", "true", "0x10", "1.5")
ODD_WORDS = ("input", "output", "independent", "structuralParameter", "continuous", "constant", "exact", "x" * 100_000)


class Maker:
    """One random description."""

    def __init__(self, seed: int) -> None:
        self.chance = np.random.default_rng([18, 1, seed])
        self.major = 2 + seed % 2
        self.used: set[str] = set()
        self.references = iter(self.chance.permutation(5000)[:1000].tolist())
        self.variables: list[FmuVariable] = []
        self.silent: set[int] = set()
        self.intervals: set[int] = set()

    # ---------------------------------------------------------------------------------------------- small parts

    def maybe(self, share: float = 0.4) -> bool:
        return bool(self.chance.random() < share)

    def pick(self, values: Any) -> Any:
        return values[int(self.chance.integers(len(values)))]

    def text(self, least: int = 0) -> str:
        n = max(least, int(self.chance.choice([0, 1, 3, 8, 40])))
        return "".join(self.pick(LETTERS) for _ in range(n))

    def name(self) -> str:
        while True:
            found = self.text(1)
            if found not in self.used:
                self.used.add(found)
                return found

    def number(self) -> float:
        special = (0.0, 5e-324, -1.7976931348623157e308, 0.1, 1 / 3)
        if self.maybe(0.1):
            return float(self.pick(special))
        return float(self.chance.standard_normal() * 10.0 ** self.chance.integers(-30, 30))

    def value(self, type_: str, items: tuple[FmuItem, ...]) -> Any:
        if type_ in ("Float64", "Float32"):
            return self.number()
        if type_ == "Boolean":
            return self.maybe()
        if type_ == "String":
            return self.text()
        if type_ == "Binary":
            return self.chance.bytes(int(self.chance.integers(1, 5)))
        if type_ == "Enumeration":
            return self.pick(items).value
        low, high = LIMITS[type_]
        return int(self.chance.integers(low, high, dtype=np.uint64 if type_ == "UInt64" else np.int64, endpoint=True))

    # ----------------------------------------------------------------------------------------------- definitions

    def unit(self) -> FmuUnit:
        displays = [
            FmuDisplayUnit(self.name(), abs(self.number()) + 1e-9, 0.0 if inverse else self.number(), inverse)
            for inverse in [self.major == 3 and self.maybe(0.2) for _ in range(self.chance.integers(0, 3))]
        ]
        exponents: dict[str, int] | None = None
        if self.maybe(0.8):
            drawn = {name: int(self.chance.integers(-3, 4)) for name in BASE_UNITS if self.maybe(0.3)}
            exponents = {name: n for name, n in drawn.items() if n}
        factor, offset = (abs(self.number()) + 1e-9, self.number()) if exponents is not None else (1.0, 0.0)
        return FmuUnit(self.name(), exponents, factor, offset, {one.name: one for one in displays})

    def type(self, type_: str, units: list[FmuUnit]) -> FmuType:
        more = self.attributes(type_, units)
        items: tuple[FmuItem, ...] = ()
        if type_ == "Enumeration":
            values = self.chance.permutation(20)[: self.chance.integers(1, 5)].tolist()
            items = tuple(FmuItem(self.name(), value - 5, self.text()) for value in values)
            more["min"] = more["max"] = None
        return FmuType(self.name(), type_, items=items, description=self.text(), **more)

    def attributes(self, type_: str, units: list[FmuUnit]) -> dict[str, Any]:
        """What types and variables have in common."""
        found: dict[str, Any] = {"quantity": self.text() if self.maybe() else ""}
        found |= {"unit": "", "display_unit": "", "min": None, "max": None, "nominal": None}
        if BASE_TYPES[type_] == "real":
            unit = self.pick(units) if units and self.maybe(0.7) else None
            found["unit"] = "" if unit is None else unit.name
            found["display_unit"] = self.pick(list(unit.displays)) if unit is not None and unit.displays else ""
            found["nominal"] = min(abs(self.number()) + 1e-30, 1e50) if self.maybe() else None
            found |= {"relative_quantity": self.maybe(0.2), "unbounded": self.maybe(0.2)}
            if self.maybe():
                found["min"], found["max"] = sorted((self.number(), self.number()))
        elif BASE_TYPES[type_] == "integer" and self.maybe():
            found["min"], found["max"] = sorted(int(n) for n in self.chance.integers(0, 100, 2))
        return found

    # ------------------------------------------------------------------------------------------------- variables

    def add(self, type_: str, causality: str, types: list[FmuType], units: list[FmuUnit], **more: Any) -> int:
        declared = [one for one in types if one.type == type_]
        chosen = self.pick(declared) if declared and (type_ == "Enumeration" or self.maybe()) else None
        described = self.attributes(type_, units)
        if chosen is not None:
            fields = ("quantity", "unit", "display_unit", "min", "max", "nominal", "relative_quantity", "unbounded")
            described = {field: getattr(chosen, field) for field in fields}
            self.silent.add(len(self.variables))
        variability = more.pop("variability", None) or self.variability(type_, causality)
        initial = more.pop("initial", None) or self.initial(causality, variability)
        needs = causality == "input" or initial in ("exact", "approx")
        items = chosen.items if chosen is not None else ()
        dimensions = more.get("dimensions", ())
        start: Any = None
        if needs and type_ != "Clock":
            size = int(np.prod([one.size for one in dimensions])) if dimensions else 1
            many = 1 if self.maybe(0.3) else size
            values = tuple(self.within(type_, items, described) for _ in range(many))
            start = (values or None) if dimensions else values[0]
        self.variables.append(
            FmuVariable(
                self.name(),
                next(self.references),
                type_,
                causality,  # type: ignore[arg-type]
                variability,
                initial if causality != "input" else "",
                more.pop("start", start),
                description=self.text(),
                declared_type="" if chosen is None else chosen.name,
                multiple_set=causality != "input" or self.maybe(0.8),
                **described,
                **more,
            )
        )
        return len(self.variables) - 1

    def within(self, type_: str, items: tuple[FmuItem, ...], described: dict[str, Any]) -> Any:
        low, high = described["min"], described["max"]
        return self.pick((low, high)) if low is not None else self.value(type_, items)

    def variability(self, type_: str, causality: str) -> Any:
        if causality in ("parameter", "structuralParameter", "calculatedParameter"):
            return self.pick(("fixed", "tunable"))
        return self.pick(("continuous", "discrete")) if BASE_TYPES[type_] == "real" else "discrete"

    def initial(self, causality: str, variability: str) -> Any:
        if causality in ("parameter", "structuralParameter"):
            return "exact"
        if causality in ("input", "independent"):
            return ""
        if causality == "calculatedParameter":
            return self.pick(("calculated", "approx"))
        return self.pick(("calculated", "approx", "exact"))

    def sizes(self, structural: list[int]) -> tuple[FmuDimension, ...]:
        if self.major == 2 or self.maybe(0.6):
            return ()
        found = []
        for _ in range(self.chance.integers(1, 4)):
            if structural and self.maybe():
                place = self.pick(structural)
                start = self.variables[place].start
                assert isinstance(start, int)
                found.append(FmuDimension(start, place))
            else:
                found.append(FmuDimension(int(self.chance.integers(1, 4))))
        return tuple(found)

    def aliases(self) -> tuple[FmuAlias, ...]:
        if self.major == 2 or self.maybe(0.8):
            return ()
        return tuple(FmuAlias(self.name(), self.text()) for _ in range(self.chance.integers(1, 3)))

    # ------------------------------------------------------------------------------------------------ everything

    def make(self) -> FmuDescription:
        units = [self.unit() for _ in range(self.chance.integers(0, 4))]
        offered = OLD if self.major == 2 else tuple(one for one in BASE_TYPES if one not in ("Clock", "Binary"))
        types = [self.type(self.pick(offered), units) for _ in range(self.chance.integers(0, 5))]
        types.append(self.type("Enumeration", units))
        structural: list[int] = []
        if self.major == 3:
            for _ in range(self.chance.integers(0, 3)):
                structural.append(
                    self.add("UInt64", "structuralParameter", [], units, start=int(self.chance.integers(1, 5)))
                )
                self.variables[-1] = self.variables[-1]._replace(min=None, max=None)
        if self.maybe():
            self.add("Float64", "independent", [], units, variability="continuous")
        states, derivatives = [], []
        for _ in range(self.chance.integers(0, 5)):
            shape = self.sizes(structural)
            states.append(
                self.add(
                    "Float64", "local", types, units, variability="continuous", dimensions=shape, reinit=self.maybe()
                )
            )
            derivatives.append(
                self.add(
                    "Float64",
                    "local",
                    types,
                    units,
                    variability="continuous",
                    dimensions=shape,
                    derivative_of=states[-1],
                )
            )
        for _ in range(self.chance.integers(0, 12)):
            causality = self.pick(("input", "output", "parameter", "calculatedParameter", "local"))
            shape = self.sizes(structural)
            update = self.major == 3 and self.maybe(0.2)
            self.add(
                self.pick(offered),
                causality,
                types,
                units,
                dimensions=shape,
                aliases=self.aliases(),
                intermediate_update=update,
            )
        return FmuDescription(
            version=self.pick(("2.0", "2.0.3")) if self.major == 2 else self.pick(("3.0", "3.0.1")),
            name=self.text(1),
            token=self.text(1),
            variables=tuple(self.variables),
            interfaces=self.interfaces(),
            structure=self.structure(states, derivatives),
            units={one.name: one for one in units},
            types={one.name: one for one in types},
            experiment=self.experiment(),
            categories=tuple(FmuCategory(self.name(), self.text()) for _ in range(self.chance.integers(0, 3))),
            description=self.text(),
            author=self.text(),
            model_version=self.text(),
            copyright=self.text(),
            license=self.text(),
            tool=self.text(),
            date=self.text(),
            naming=self.pick(("flat", "structured")),
        )

    def interfaces(self) -> dict[str, FmuInterface]:
        flags = ["once_per_process", "can_save_state", "can_serialize_state", "directional_derivatives"]
        only = {
            2: ["no_memory_management"],
            3: ["adjoint_derivatives", "per_element_dependencies", "evaluates_discrete_states"],
        }
        stepping = {
            2: ["variable_step", "interpolates_inputs", "asynchronous"],
            3: ["variable_step", "intermediate_update", "early_return_of_its_own", "early_return", "has_event_mode"],
        }
        found = {}
        for kind in self.pick((["model-exchange"], ["co-simulation"], ["model-exchange", "co-simulation"])):
            own = {flag: self.maybe() for flag in flags + only[self.major]}
            if kind == "model-exchange":
                own["needs_completed_step"] = self.maybe()
            else:
                own |= {flag: self.maybe() for flag in stepping[self.major]}
                own["output_derivatives"] = int(self.chance.integers(0, 4))  # type: ignore[assignment]
                if self.major == 3 and self.maybe():
                    own["internal_step"] = abs(self.number()) + 1e-9  # type: ignore[assignment]
            files = tuple(f"{k}.c" for k in range(self.chance.integers(0, 3))) if self.major == 2 else ()
            found[kind] = FmuInterface(kind, f"model_{self.chance.integers(99)}", source_files=files, **own)  # type: ignore[arg-type]
        return found

    def experiment(self) -> FmuExperiment:
        start = self.number() if self.maybe() else None
        stop = (start or 0.0) + abs(self.number()) if self.maybe() else None
        step = abs(self.number()) + 1e-9 if self.maybe() else None
        return FmuExperiment(start, stop, step, float(10 ** self.chance.uniform(-12, -1)) if self.maybe() else None)

    def structure(self, states: list[int], derivatives: list[int]) -> FmuStructure:
        knowns = [k for k, one in enumerate(self.variables) if one.causality in ("input", "parameter")] + states
        reals = [k for k, one in enumerate(self.variables) if one.base == "real" and k not in derivatives]

        def unknown(place: int) -> FmuUnknown:
            if self.maybe(0.3):
                return FmuUnknown(place)
            order = self.chance.permutation(len(knowns))[: self.chance.integers(0, 5)]
            dependencies = tuple(knowns[k] for k in order)
            kinds = tuple(self.pick(KINDS) for _ in dependencies) if self.maybe() else None
            return FmuUnknown(place, dependencies, kinds)

        order = self.chance.permutation(len(states)).tolist()
        outputs = [k for k, one in enumerate(self.variables) if one.causality == "output"]
        first = [k for k in range(len(self.variables)) if self.maybe(0.3)]
        indicators = tuple(unknown(k) for k in reals if self.major == 3 and self.maybe(0.1))
        n = sum(self.variables[one.variable].size for one in indicators)
        return FmuStructure(
            outputs=tuple(unknown(k) for k in outputs),
            derivatives=tuple(unknown(derivatives[k]) for k in order),
            states=tuple(states[k] for k in order),
            initial_unknowns=tuple(unknown(k) for k in first),
            event_indicators=indicators,
            n_event_indicators=n if self.major == 3 else int(self.chance.integers(0, 9)),
        )


def without_lines(found: FmuDescription) -> FmuDescription:
    """The same with all lines 0."""

    def unknowns(listed: tuple[FmuUnknown, ...]) -> tuple[FmuUnknown, ...]:
        return tuple(one._replace(line=0) for one in listed)

    structure = found.structure
    lists = ("outputs", "derivatives", "discrete_states", "initial_unknowns", "event_indicators")
    return replace(
        found,
        variables=tuple(one._replace(line=0) for one in found.variables),
        interfaces={kind: replace(one, line=0) for kind, one in found.interfaces.items()},
        structure=replace(structure, **{name: unknowns(getattr(structure, name)) for name in lists}),
        units={name: replace(one, line=0) for name, one in found.units.items()},
        types={name: replace(one, line=0) for name, one in found.types.items()},
    )


def differences(one: FmuDescription, other: FmuDescription) -> list[str]:
    """What differs, in words."""
    found = []
    for name in one.__dataclass_fields__:
        a, b = getattr(one, name), getattr(other, name)
        if a != b or repr(a) != repr(b):  # -0.0 and 0.0, True and 1
            pairs = zip(a, b, strict=False) if isinstance(a, tuple) else ()
            first = next(((x, y) for x, y in pairs if repr(x) != repr(y)), (a, b))
            found.append(f"{name}: {str(first[0])[:300]} became {str(first[1])[:300]}")
    return found


# ---------------------------------------------------------------------------------------------------------- damage

ATTRIBUTE = re.compile(r' [A-Za-z]+=(?:"[^"]*"|\'[^\']*\')')
LINE = re.compile(r"<[^\n]*\n")


def damaged(text: str, chance: np.random.Generator) -> bytes:
    """The text with something wrong in it."""
    for _ in range(int(chance.integers(1, 4))):
        how = int(chance.integers(0, 8))
        matches = list((ATTRIBUTE if how < 4 else LINE).finditer(text))
        if not matches or how == 7:
            return _cut(text.encode(), chance)
        hit = matches[int(chance.integers(len(matches)))]
        if how == 0:
            text = text[: hit.start()] + text[hit.end() :]
        elif how in (1, 2):
            name = hit.group().partition("=")[0]
            odd = ODD if how == 1 else ODD_WORDS
            text = text[: hit.start()] + f'{name}="{odd[int(chance.integers(len(odd)))]}"' + text[hit.end() :]
        elif how == 3:
            other = matches[int(chance.integers(len(matches)))].group().partition("=")[2]
            text = text[: hit.start()] + hit.group().partition("=")[0] + "=" + other + text[hit.end() :]
        elif how == 4:
            text = text[: hit.start()] + text[hit.end() :]
        else:
            at = hit.end() if how == 5 else matches[int(chance.integers(len(matches)))].start()
            text = text[:at] + hit.group() + text[at:]
    return text.encode()


def _cut(data: bytes, chance: np.random.Generator) -> bytes:
    at = int(chance.integers(len(data)))
    if chance.random() < 0.3:
        return data[:at]
    return data[:at] + chance.bytes(int(chance.integers(1, 4))) + data[at + int(chance.integers(0, 3)) :]


def used(found: FmuDescription) -> None:
    """Whatever was read can be shown, kept and pickled."""
    report = FmuReport(
        "x.fmu",
        description=found,
        platforms=(),
        has_sources=False,
        obstacles={kind: one.refusal for kind, one in found.interfaces.items()},
        findings=found.findings,
    )
    assert str(report)
    assert report.as_dict()
    again = pickle.loads(pickle.dumps(report))
    assert again.description.variables == found.variables or "nan" in repr(found.variables)
    for one in found.variables:
        assert one.size >= 0
        assert one.nominal is None or one.nominal > 0


def check(seed: int) -> Outcome:
    """One description, as it is and damaged."""
    maker = Maker(seed)
    made = maker.make()
    text = Writer(made, frozenset(maker.silent)).text()
    found = read_description(text.encode())
    wrong = differences(made, without_lines(found))
    lines = text.split("\n")
    for one in found.variables:
        if f'valueReference="{one.reference}"' not in lines[one.line - 1]:
            wrong.append(f"{one.name!r} is not in line {one.line}")
    used(found)
    chance = np.random.default_rng([18, 2, seed])
    for k in range(N_DAMAGED):
        data = damaged(text, chance)
        begin = time.process_time()
        try:
            used(read_description(data))
        except FmuError as error:
            if not error.hint or "modelDescription.xml" not in error.message:
                wrong.append(f"damage {k}: the error does not say enough: {error}")
        except Exception as error:
            wrong.append(f"damage {k}: {type(error).__name__}: {error}")
        if time.process_time() - begin > SLOW:
            wrong.append(f"damage {k}: {time.process_time() - begin:.1f} s")
    return Outcome(seed, WRONG if wrong else RIGHT, "; ".join(wrong))


FAMILY = Family(
    name="descriptions",
    what="random descriptions of FMUs written and read, and damaged",
    goal="all right",
    count=3000,
    part=20,
    check=check,
)
