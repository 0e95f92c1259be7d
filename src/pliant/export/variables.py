"""The variables of an exported FMU: what importers see of a model, and where its values stand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from pliant.expr.build import reachable
from pliant.expr.signed import signed_variable
from pliant.ir import Kind, Op
from pliant.solve.binding import runtime
from pliant.solve.models.feedthrough import TIME, Dependencies
from pliant.solve.models.known import Known
from pliant.solve.models.portable import Portable
from pliant.solve.names import is_hidden
from pliant.solve.results.result import VariableInfo

#: counters of the solver inside, in the order of export_values.c
COUNTERS = {
    "n_steps": "steps accepted",
    "n_rhs": "evaluations of the right side",
    "n_jac": "Jacobians",
    "n_jvp": "directional derivatives",
    "n_taylor": "higher derivatives",
    "n_factor": "LU factorisations",
    "n_solve": "linear solves",
    "n_error_fails": "steps rejected by the error test",
    "n_newton_fails": "Newton iterations that did not converge",
    "n_events": "events",
    "order": "order of the last step",
    "h": "size of the last step",
}
MAY_START, MAY_GUESS, MAY_CHANGE, MAY_BEND = 1, 2, 4, 8


@dataclass(frozen=True)
class Alias:
    """Another name of a variable."""

    name: str
    description: str = ""


@dataclass(frozen=True)
class ExportedVariable:
    """One variable with a value reference of its own, and its other names."""

    name: str
    at: str  # PL_AT_... in pl_export.h
    index: int
    causality: str
    variability: str
    initial: str | None = None
    sign: int = 1
    type: str = "real"
    start: float | None = None
    unit: str = ""
    nominal: float | None = None
    min: float | None = None
    max: float | None = None
    description: str = ""
    literals: tuple[str, ...] = ()
    may: int = 0
    derivative_of: str = ""  # of a derivative: the state
    aliases: tuple[Alias, ...] = ()
    value: float = 0.0  # of a constant
    depends_on: frozenset[str] | None = None  # names of states, inputs and the time; None: not known

    @property
    def is_state(self) -> bool:
        """Is it a continuous state?"""
        return self.at == "X" and self.causality in ("local", "output") and not self.derivative_of and self.main

    main: bool = True  # the variable that the place is named after


def described(known: Known, name: str, at: str, index: int, shown: str = "", **more: object) -> ExportedVariable:
    """A variable with everything that is declared of its name; ``shown``: what importers call it."""
    info = known.variables.get(name) or VariableInfo(name, kind="algebraic")
    kind = "integer" if info.type == "enumeration" and not info.literals else info.type
    numeric = kind in ("real", "integer")
    one = ExportedVariable(
        shown or name,
        at,
        index,
        "local",
        "continuous",
        type=kind,
        unit=info.unit if kind == "real" else "",
        nominal=abs(info.nominal) if kind == "real" and info.nominal else None,
        min=info.min if numeric else None,
        max=info.max if numeric else None,
        description=info.description,
        literals=info.literals,
    )
    return replace(one, **more)  # type: ignore[arg-type]


@dataclass
class ExportCollector:
    """Goes through the vectors of a model."""

    portable: Portable
    depends: Dependencies
    has_solver: bool
    found: list[ExportedVariable] = field(default_factory=list)
    place_of: dict[str, tuple[str, int]] = field(default_factory=dict)  # of variables that are no aliases

    def __post_init__(self) -> None:
        self.model = self.portable.model
        self.program = self.portable.equations.program
        self.sorted = self.portable.equations.sorted
        self.system = self.sorted.system
        self.known = self.model.known
        self.outputs = set(self.known.outputs)
        self.number = {one.name: v for v, one in enumerate(self.system.variables)}

    def run(self) -> list[ExportedVariable]:
        """All variables; the place in the list is the value reference."""
        self.found.append(
            ExportedVariable("time", "TIME", 0, "independent", "continuous", unit="s", description="simulation time")
        )
        self._states()
        self._inputs()
        self._parameters()
        self._others()
        self._constants()
        self._aliases()
        self._indicators()
        if self.has_solver:
            self._counters()
        return self.found

    # ---------------------------------------------------------------------------------------------- what is known

    def _info(self, name: str) -> VariableInfo:
        found = self.known.variables.get(name)
        return VariableInfo(name, kind="algebraic") if found is None else found

    def _described(self, name: str, at: str, index: int, **more: object) -> ExportedVariable:
        """With everything that is declared of a name."""
        return described(self.known, name, at, index, self.shown(name), **more)

    def _names(self, numbers: frozenset[int]) -> frozenset[str]:
        variables = self.program.variables
        return frozenset("time" if v == TIME else self.shown(variables[v].name) for v in numbers)

    def _depends(self, numbers: frozenset[int]) -> frozenset[str] | None:
        """Names of those; algebraic unknowns in x depend on everything."""
        return None if numbers & set(self.program.x[self.program.n_states :]) else self._names(numbers)

    def shown(self, name: str) -> str:
        """Names of variables that pliant made for itself are written so that importers can read them."""
        if not is_hidden(name):
            return name
        return f"pliant.state[{self.model.names.x.index(name) + 1}]" if name in self.model.names.x else name[1:]

    def _variability(self, name: str) -> str:
        return "discrete" if self.known.is_held(name) else "continuous"

    def _causality(self, name: str) -> str:
        return "output" if name in self.outputs else "local"

    # ------------------------------------------------------------------------------------------------ the vectors

    def _states(self) -> None:
        names, n_states = self.model.names, self.program.n_states
        for i, name in enumerate(names.x):
            exact = self.portable.x_fixed[i]
            one = self._described(
                name,
                "X",
                i,
                causality=self._causality(name),
                initial="exact" if exact else "approx",
                start=float(self.model.x_start[i]),
                may=MAY_START if exact else MAY_START | MAY_GUESS,
                depends_on=frozenset((self.shown(name),)) if i < n_states else None,
                main=i < n_states,
            )
            self._add(name, one)
        for i, name in enumerate(names.x[:n_states]):
            shown, slope = self.shown(name), f"der({name})"
            info = self._info(slope)
            unit = info.unit or (f"{self._info(name).unit}/s" if self._info(name).unit else "")
            one = ExportedVariable(
                f"der({shown})",
                "SLOPE",
                i,
                "local",
                "continuous",
                "calculated",
                unit=unit if "/" not in self._info(name).unit or info.unit else "",
                description=info.description or f"derivative of {shown}",
                derivative_of=shown,
                depends_on=self._depends(self.depends.slopes[i]),
            )
            self._add(slope, one)

    def _inputs(self) -> None:
        for j, name in enumerate(self.model.names.u):
            discrete = self._variability(name) == "discrete"
            one = self._described(
                name,
                "U",
                j,
                causality="input",
                variability="discrete" if discrete else "continuous",
                start=float(self.model.u_start[j]),
                may=MAY_START | MAY_CHANGE | (0 if discrete else MAY_BEND),
                depends_on=frozenset((name,)),
            )
            self._add(name, one)

    def _parameters(self) -> None:
        for k, name in enumerate(self.model.names.p):
            is_open = self.system.variables[self.program.p[k]].initial
            tunable = self._is_tunable(name) and not is_open
            one = self._described(
                name,
                "P",
                k,
                causality="calculatedParameter" if is_open else "parameter",
                variability="tunable" if tunable else "fixed",
                initial="calculated" if is_open else "exact",
                start=None if is_open else float(self.model.p_start[k]),
                may=0 if is_open else MAY_START | (MAY_CHANGE if tunable else 0),
                depends_on=frozenset(),
            )
            self._add(name, one)
        for k, name in enumerate(self.portable.dependents):
            if is_hidden(name):
                continue
            one = self._described(
                name,
                "DEPENDENT",
                k,
                causality="calculatedParameter",
                variability="tunable" if self._follows_tunable(name) else "fixed",
                initial="calculated",
                depends_on=frozenset(),
            )
            self._add(name, one)

    def _is_tunable(self, name: str) -> bool:
        return self._info(name).type == "real" and name not in self.portable.held

    def _follows_tunable(self, name: str) -> bool:
        """Is it computed from parameters of which one may change?"""
        g, variables = self.system.graph, self.system.variables
        binding = variables[self.number[name]].binding
        nodes = [g.nodes[i] for i in reachable(g, [] if binding is None else [binding])]
        behind = [node[1] for node in nodes if node[0] == Op.VAR]
        settable = set(self.program.p)
        return self._is_tunable(name) and any(
            self._is_tunable(variables[v].name) if v in settable else self._follows_tunable(variables[v].name)
            for v in behind
        )

    def _others(self) -> None:
        for k, name in enumerate(self.model.names.y):
            if name in self.place_of:  # the derivative of a state
                continue
            numbers = self.depends.variables.get(self.number.get(name, -2))
            one = self._described(
                name,
                "Y",
                k,
                causality=self._causality(name),
                variability=self._variability(name),
                initial="calculated",
                depends_on=None if numbers is None else self._depends(numbers),
            )
            self._add(name, one)

    def _add(self, name: str, one: ExportedVariable) -> None:
        self.place_of[name] = (one.at, one.index)
        self.found.append(one)

    # ------------------------------------------------------------------------- variables that equal another one

    def _constants(self) -> None:
        """What equals a parameter or a number."""
        values = self.model.constants(self.model.p_start)
        for name, value in values.items():
            if name in self.place_of or is_hidden(name):
                continue
            is_output = name in self.outputs
            behind = self._parameter_behind(name)
            if behind is not None:
                target, sign = behind
                at, index = self.place_of[target]
                one = self._described(
                    name,
                    at,
                    index,
                    sign=sign,
                    causality=self._causality(name),
                    variability="discrete" if is_output else "tunable",
                    initial="calculated",
                    depends_on=frozenset(),
                    main=False,
                )
                if one.type != "real" and not is_output:
                    one = replace(one, variability="fixed")
            else:
                one = self._described(
                    name,
                    "CONSTANT",
                    0,
                    value=value,
                    start=value,
                    causality=self._causality(name),
                    variability="constant",
                    initial="exact",
                    depends_on=frozenset(),
                )
                one = replace(one, min=None, max=None)
            self.found.append(one)

    def _parameter_behind(self, name: str) -> tuple[str, int] | None:
        e = self.sorted.replaced.get(self.number.get(name, -1))
        root = None if e is None else signed_variable(self.system.graph, e)
        if root is None or self.system.variables[root[0]].kind != Kind.PARAMETER:
            return None
        target = self.system.variables[root[0]].name
        return (target, root[1]) if target in self.place_of else None

    def _aliases(self) -> None:
        """Other names: of the same sign and kind they share a variable, the rest have their own."""
        main: dict[tuple[str, int], int] = {}
        for k, one in enumerate(self.found):
            if one.at != "CONSTANT":
                main.setdefault((one.at, one.index), k)
        for name, (target, sign) in self.model.names.aliases.items():
            place = self.place_of.get(target)
            if place is None or name in self.place_of or is_hidden(name):
                continue
            base, info = self.found[main[place]], self._info(name)
            kind = "integer" if info.type == "enumeration" and not info.literals else info.type
            shared = sign > 0 and name not in self.outputs and info.unit in ("", base.unit) and kind == base.type
            if shared:
                named = (*base.aliases, Alias(name, info.description))
                self.found[main[place]] = replace(base, aliases=named)
                continue
            one = self._described(
                name,
                *place,
                sign=sign,
                causality=self._causality(name),
                variability="discrete" if self._is_discrete(base) else "continuous",
                initial="calculated",
                depends_on=base.depends_on,
                main=False,
            )
            self.found.append(one)

    @staticmethod
    def _is_discrete(base: ExportedVariable) -> bool:
        return base.variability != "continuous"

    # ----------------------------------------------------------------------------------------- what FMI adds

    def indicators(self) -> Iterator[int]:
        """Root functions that importers have to look at: the others do not move between events."""
        struct = self.model.struct
        kinds = int8_flags(struct.root_kind, struct.n_roots) if struct.root_kind else [0] * struct.n_roots
        for k, kind in enumerate(kinds):
            if not kind & 3:  # PL_ROOT_STILL | PL_ROOT_TIMED
                yield k

    def _indicators(self) -> None:
        for number, k in enumerate(self.indicators(), 1):
            text = self.model.names.roots[k]
            one = ExportedVariable(
                f"pliant.indicator[{number}]",
                "ROOT",
                k,
                "local",
                "continuous",
                "calculated",
                description=f"changes its sign with {text}",
            )
            self.found.append(one)

    def _counters(self) -> None:
        for k, (name, text) in enumerate(COUNTERS.items()):
            one = ExportedVariable(
                f"pliant.{name}",
                "COUNTER",
                k,
                "local",
                "discrete",
                "calculated",
                type="real" if name == "h" else "integer",
                unit="s" if name == "h" else "",
                description=f"of the solver inside: {text}",
            )
            self.found.append(one)


def int8_flags(address: int, count: int) -> list[int]:
    """An array of int8_t."""
    return [int(one) for one in runtime.int8_at(address, count)] if count else []
