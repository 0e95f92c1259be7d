"""The C file around the generated functions: instance, data, messages, parameters, the interface and ``pl_model``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pliant.codegen.arrays import (
    COMMON,
    CONSTANTS,
    DET_GUESS,
    DET_Z,
    DET_ZZ,
    ERROR,
    HOMOTOPY,
    KEPT_ENTRIES,
    READ_ONLY,
    RESCUES,
    RUNNING,
    SELECT,
    SLOPE,
    T_GUESS,
    TEAR_GUESS,
    WORK,
    ZZ,
    P,
    R,
    Y,
    Z,
    given,
    loop_matrix,
    loop_pivots,
    of_instance,
)
from pliant.codegen.bends import bent_inputs
from pliant.codegen.c_text import (
    ALWAYS,
    ASSERTIONS,
    CHOOSE,
    DELAY_DONE,
    OUTPUTS,
    PICK,
    PICK_HEAD,
    PIPE_DONE,
    STATES_HEAD,
    STEP_DONE,
    TAYLOR,
    WATCH,
    c_comment,
    c_place,
    c_string,
    filled,
    pattern,
    table_data,
    wrap,
    wrapped,
)
from pliant.codegen.described import describe, nominal_text, tangent_room, tangent_text
from pliant.codegen.function import FunctionWriter
from pliant.codegen.hybrid import events_text, hybrid_fields
from pliant.codegen.hybrid import messages as hybrid_messages
from pliant.codegen.modes import RESTLESS, defined, flag_array, relation_text
from pliant.codegen.places import Argument, Field, ValueKind, number
from pliant.codegen.plan import FunctionPlan, Target, inner_nodes, nodes_of
from pliant.codegen.program import Newton
from pliant.codegen.taylor import ORDER
from pliant.codegen.warnings import warning_fields, warnings_text
from pliant.expr.build import const, reachable, value_of
from pliant.expr.evaluate import number_in
from pliant.expr.text import text as modelica
from pliant.ir import Op
from pliant.sorted_system import PivotWatch

if TYPE_CHECKING:
    from pliant.codegen.emit import Emitter

Entries = list[tuple[int, int, int]]  # (row, column, expression)


class File:
    """Puts the file of one model together."""

    def __init__(self, emitter: Emitter) -> None:
        self.e = emitter
        self.s, self.g, self.c = emitter.s, emitter.g, emitter.c
        self.program, self.variables, self.initial = emitter.program, emitter.variables, emitter.initial
        self.y, self.outputs, self.values = emitter.y, emitter.outputs, emitter.values
        self.n_tears = emitter.n_tears
        self.has_newton = any(block.kind == "nonlinear" for block in self.program.loops)

    def text(self, entries: Entries, entries_u: Entries, linear: bool) -> str:
        """The whole file."""
        head = f"/* {c_comment(self.s.system.name)}: written by pliant, yours without conditions. */"
        core = self.core() + self._set_parameters()
        return "\n".join([head, core, self._interface(), self._struct(entries, entries_u, linear)])

    def core(self) -> str:
        """Instance, data and all functions of the model: what the layout prints, without the interface."""
        derived = self._derived()
        self.c.foreign.read(self.g, self.e.messages.texts)
        parts = [
            *(['#include "pliant_ranges.h"'] if self.e.ahead.enclosed or self.e.ahead.kinks else []),
            f'#include "{"pliant_modes.h" if self.s.relations or self.s.events else "pliant_generated.h"}"\n',
            *(f"PL_SYSTEM({k})" for k in sorted(self.c.systems) if k > 2),
            *(['#include "pliant_rescue.h"'] if self.has_newton else []),
            *(['#include "pliant_texts.h"'] if self._makes_texts() else []),
            *(['#include "pliant_foreign.h"'] if self.c.foreign.calls else []),
            self._instance(),
            self.c.foreign.head() + self.e.delays.head() + self.e.pipes.head(),
            self._data(),
            self._messages(),
            self.c.routines.text(self.c.layout),
            *self.e.functions,
            derived,
            self.c.foreign.text(),
        ]
        parts.append(self.e.messages.text(self._first_messages()))
        return "\n".join(parts)

    def _makes_texts(self) -> bool:
        """Are there texts with values, or texts that are kept?"""
        return bool(self.e.messages.groups) or self.c.foreign.makes_texts or self.warns

    def _first_messages(self) -> dict[str, int]:
        """Numbers of the first messages of groups that may have values."""
        checks = 1 + 2 * len(self.program.loops) + len(self.s.pivots)
        actions = self.n_messages + 2 * len(self.s.events.memories)
        return {
            "check": checks,
            "parameter": checks + len(self.e.checks),
            "warning": self.first_warning,
            "action": actions,
        }

    def _instance(self) -> str:
        p = self.program
        n_select = sum(len(one.coefficients) * len(one.coefficients[0]) for one in self.s.sets)
        fields: list[Field] = [
            Field(P, len(p.p), "parameters"),
            Field(CONSTANTS, len(self.c.constants), "expressions of parameters"),
            Field(KEPT_ENTRIES, len(self.e.kept_entries), "entries of Jacobians that depend on parameters alone"),
            *hybrid_fields(self.e),
            *self.e.ahead.fields(),
            *self.c.foreign.fields(),
            *self.e.delays.fields(),
            *self.e.pipes.fields(),
            *self.e.messages.fields(),
            *warning_fields(self.e),
            Field(WORK, self.c.n_work, "values that cross from function to function"),
            Field(Y, len(self.y) + len(self.initial.conditions), "values of all variables"),
            Field(of_instance("zero"), max(len(p.x), len(p.u), len(p.p), 1), "zeros"),
            Field(of_instance("along"), tangent_room(self.e), "derivatives along a direction"),
            Field(TEAR_GUESS, self.n_tears, "tears of loops at the last accepted step"),
            Field(Z, self.n_tears, "tears of loops at the last evaluation of f"),
            Field(ZZ, self.n_tears, "the same of everything else"),
            Field(R, max(self.c.loop_size.values(), default=0), "residuals of a loop"),
            Field(SLOPE, self.n_tears, "their slopes over the last step"),
            Field(DET_GUESS, len(self.program.loops), "determinants of the loops at the guess"),
            Field(DET_Z, len(self.program.loops), "the same at z"),
            Field(DET_ZZ, len(self.program.loops), "the same at zz"),
            Field(of_instance("watched"), len(self.s.watches), "largest determinants of constraints that are watched"),
            Field(SELECT, n_select, "selection matrices of state sets"),
        ]
        for k, size in self.c.loop_size.items():
            if size > 1 or self.program.loops[k].kind == "nonlinear":
                fields += [Field(loop_matrix(k), size * (size + 3)), Field(loop_pivots(k), size)]
        for k, one in enumerate(self.s.sets):
            state = of_instance(f"state{k}", ValueKind.FLAG)
            fields.append(Field(state, len(one.candidates[0]), "which candidates are states"))
        last = [
            Field(HOMOTOPY, None, "1: the actual model"),
            Field(RESCUES, None if self.has_newton else 0, "evaluations that may be spent on loops; 0: Newton only"),
            Field(RUNNING, None if self.has_newton else 0, "1: but not on loops that constraints make"),
            Field(of_instance("t_last"), None, "time of z"),
            Field(T_GUESS, None, "time of the guess"),
            Field(ERROR, None, "number of a message, 0: none"),
        ]
        layout = self.c.layout
        lines = [*layout.members(fields), *(layout.member(one, 17) for one in last if one.size != 0)]
        return layout.instance_type(lines)

    def _data(self) -> str:
        lines = []
        if self.has_newton:
            nominal = [self._nominal(v) for block in self.program.loops for v in block.tears]
            lines.append(f"static const pl_real nominal[] = {{{', '.join(map(number, nominal))}}};")
        lines += [table_data(k, table) for k, table in enumerate(self.s.system.tables)]
        return "\n".join(lines)

    def _nominal(self, v: int) -> float:
        variable = self.variables[v]
        e = variable.nominal
        if e is None:
            return 1.0
        value = abs(number_in(self.s.system, self.g, e, self.values))
        return value if value > 0.0 else 1.0

    def _messages(self) -> str:
        """Texts of everything that can go wrong; number 0 is empty."""
        texts = [""]
        for block in self.program.loops:
            names = ", ".join(self.variables[v].name for v in block.tears[:6]) + (
                " ..." if len(block.tears) > 6 else ""
            )
            places = ", ".join(
                sorted({c_place(self.s.equations[e].span) for e in block.residuals if self.s.equations[e].span})
            )
            one = (
                f"the equation for {names} ({places})"
                if len(block.variables) == 1
                else f"the loop of {len(block.variables)} equations with the tearing variables {names} ({places})"
            )
            texts += [
                f"{one} becomes singular: its pivot is zero, changes its sign or is not a number",
                f"the iteration of {one} does not converge",
            ]
        for e, equation, v in self.s.pivots:
            span = c_place(self.s.equations[equation].span)
            divisor = modelica(self.g, e, lambda w: self.variables[w].name, 60, self.s.relations)
            texts.append(f"the equation for {self.variables[v].name} ({span}) is divided by {divisor}, which is zero")
        self.first_warning = len(texts) + len(self.e.checks) + len(self.e.parameter_checks)
        for check in [*self.e.checks, *self.e.parameter_checks, *self.e.warnings]:
            place = f" ({c_place(check.span)})" if check.span else ""
            texts.append(f"{check.words}{place}")
        self.first_watch = len(texts)
        texts += [self._watch_text(one) for one in self.s.watches]
        texts.append(RESTLESS)
        self.n_messages = len(texts)
        texts += hybrid_messages(self.e)
        self.first_delay = len(texts)
        texts += self.e.delays.messages()
        self.first_pipe = len(texts)
        texts += self.e.pipes.messages()
        lines = ["static const char *const message[] = {", *(f"    {c_string(one)}," for one in texts), "};\n"]
        return "\n".join([*lines, *self._loop_helpers()])

    def _loop_helpers(self) -> list[str]:
        """What the functions of the model call where a loop has no solution, and where one begins."""
        layout, at, whole = self.c.layout, self.c.layout.place, ValueKind.INTEGER
        error, out = at(ERROR.at()), []
        if self.program.loops:
            given = [COMMON[0], Argument("loop", whole, is_array=False)]
            failed = layout.declared([*given, Argument("why", whole, is_array=False)], restrict=False)
            out += [
                f"static PL_UNUSED pl_status loop_singular({layout.declared(given, restrict=False)}) {{",
                f"    {error} = 1 + 2 * loop;\n    return PL_RETRY;\n}}\n",
                f"static PL_UNUSED pl_status loop_failed({failed}) {{",
                f"    {error} = 1 + 2 * loop + (why < 0);\n    return PL_RETRY;\n}}\n",
            ]
        if self.c.of_sets:  # from where the last steps lead to, the right branch is the nearest one
            numbers = [Argument(one, whole, is_array=False) for one in ("first", "n")]
            predicted = layout.declared([READ_ONLY, COMMON[1], *numbers, Argument("z")], restrict=False)
            guess, slope, time = at(TEAR_GUESS.at("first + i")), at(SLOPE.at("first + i")), at(T_GUESS.at())
            out.append(
                f"static PL_UNUSED void loop_predicted({predicted}) {{\n"
                f"    for (int i = 0; i < n; i++) z[i] = {guess} + (t - {time}) * {slope};\n}}\n"
            )
        return out

    def _watch_text(self, watch: PivotWatch) -> str:
        names = ", ".join(self.variables[v].name for v in watch.unknowns[:6])
        places = ", ".join(sorted({c_place(span) for span in watch.spans if span}))
        return (
            f"the constraints ({places}) can no longer be solved for {names}: their pivot comes near zero, and the "
            "choice of states is fixed; leave out stateSelect, or choose other states with it"
        )

    def _derived(self) -> str:
        """Start values, expressions of parameters, divisors and conditions of parameters."""
        x0, pivot = given("x0"), given("pivot")
        starts: list[Target] = [(x0.at(i), e) for i, e in enumerate(self.initial.start)]
        tears = [v for block in self.program.loops for v in block.tears]
        starts += [(TEAR_GUESS.at(k), self._guess(v)) for k, v in enumerate(tears)]
        plan = FunctionPlan(self.e.shared, [], [starts], hoist=False)
        text = FunctionWriter(self.c, "start_values", plan, [Argument("x0")], attribute="PL_ONCE").write()
        holds: list[Target] = [
            (pivot.at(len(self.s.pivots) + k), one.condition) for k, one in enumerate(self.e.parameter_checks)
        ]
        pivots: list[Target] = [(pivot.at(k), e) for k, (e, _, _) in enumerate(self.s.pivots)]
        constants: list[Target] = [(CONSTANTS.at(k), e) for e, k in self.c.constants.items()]
        plan = FunctionPlan(self.e.shared, [], [constants + self.e.kept_entries + pivots + holds], hoist=False)
        writer = FunctionWriter(self.c, "derived_parameters", plan, [Argument("pivot")], attribute="PL_ONCE")
        return text + writer.write()

    def _set_parameters(self) -> str:
        """Copies of them, what follows from them, checks."""
        n_p, n_pivots, n_holds = len(self.program.p), len(self.s.pivots), len(self.e.parameter_checks)
        first = 1 + 2 * len(self.program.loops)
        checks = ""
        if n_pivots:
            checks = (
                f"    for (int k = 0; k < {n_pivots}; k++)\n"
                f"        if (!(fabs(pivot[k]) > 0.0)) {{\n            m->error = {first} + k;\n"
                "            return PL_FATAL;\n        }\n"
            )
        if n_holds:
            second = first + n_pivots + len(self.e.checks)
            report = self.e.messages.call("parameter", "k", " " * 12, "0.0, NULL, NULL")
            checks += (
                f"    for (int k = 0; k < {n_holds}; k++)\n"
                f"        if (!(fabs(pivot[{n_pivots} + k]) > 0.0)) {{\n            m->error = {second} + k;\n"
                f"{report}            return PL_FATAL;\n        }}\n"
            )
        copy = f"    memcpy(m->p, p, {n_p} * sizeof(pl_real));\n" if n_p else "    (void)p;\n"
        if self.c.foreign.calls:
            checks += "    if (m->foreign_failed) return PL_FATAL;\n"
        return (
            "static pl_status set_parameters(void *self, const pl_real *p) {\n    model *m = self;\n"
            f"    pl_real pivot[{max(n_pivots + n_holds, 1)}];\n{copy}"
            "    m->error = 0;\n"
            + self._forgets()
            + "    derived_parameters(m, 0.0, NULL, NULL, pivot);\n"
            + checks
            + "    return PL_OK;\n}\n"
        )

    def _forgets(self) -> str:
        return "    m->foreign_failed = 0;\n" if self.c.foreign.calls else ""

    def _guess(self, v: int) -> int:
        """First guess of a tear: its start value, or that of an alias."""
        start = self.variables[v].start
        if start is None:
            start = self.e.alias_starts.get(v)
        return const(self.g, 0.0) if start is None else start

    def _interface(self) -> str:
        """Functions of pl_model that are the same for all models, apart from sizes."""
        p = self.program

        first = self.e.first_values
        restless = f"    if (((model *)self)->error == {self.n_messages - 1}) return ((model *)self)->said;\n"
        said = self.c.foreign.said() + (restless if self.s.relations else "") + self.e.messages.said()
        ends = self.c.foreign.ends()
        words = {"@p_start": "p_start" if p.p else "NULL", "@first": first("directional"), "@said": said, "@ends": ends}
        forgets, last = self._forgets(), self.c.foreign.verdict(len(p.x), "f")
        out = [
            filled(ALWAYS, words),
            wrap("model_rhs", "pl_real *f", "rhs", "f", "    m->t_last = t;\n" + forgets, last=last),
            wrap("model_jac_value", "pl_real *value", "jac_value", "value", first("jac_value")),
        ]
        if p.p:
            numbers = ", ".join(number(self.values[v]) for v in p.p)
            out.insert(0, f"static const pl_real p_start[] = {{{numbers}}};\n")
        if p.u:
            out.append(wrap("model_jac_u_value", "pl_real *value", "jac_u_value", "value", first("jac_u_value")))
        if self.e.has_taylor:
            out.append(filled(TAYLOR, {"@order": ORDER, "@n": len(p.x), "@first": first("taylor")}))
        if self.y:
            last = self.c.foreign.verdict("n", "y", "status")
            out.append(filled(OUTPUTS, {"@n": len(self.y), "@forgets": forgets, "@last": last}))
        if self.n_tears or self.s.relations or self.s.events:
            out.append(self._tears())
        out += self._events()
        out.append(self.e.delays.text(self.first_delay) + self.e.pipes.text(self.first_pipe))
        if self._watches_steps():
            out.append(self._step_done())
        if self.warns:
            out.append(warnings_text(self.e, self.first_warning))
        out += [self.e.start.text(), tangent_text(self.e)]
        return "\n".join(out)

    def _events(self) -> list[str]:
        if not self.s.relations and not self.s.events:
            return []
        return [events_text(self.e, self.n_messages)]

    def _watches_steps(self) -> bool:
        return bool(self.n_tears or self.s.sets or self.s.watches or self.e.checks or self.e.delays.n or self.e.pipes.n)

    @property
    def warns(self) -> bool:
        """Has it something to say that is no error?"""
        return bool(warning_fields(self.e))

    def _tears(self) -> str:
        """Data and numbers of pliant_tears.h, then the header."""
        lines = []
        if self.n_tears:
            loops = [k for k, block in enumerate(self.program.loops) for _ in block.tears]
            solved_by_sets = {k for k in self.e.loops_of_sets if self.program.loops[k].kind == "nonlinear"}
            lines = [
                flag_array("tear_of_f", [k in self.e.loops_of_f for k in loops], "f solves its loop"),
                flag_array("tear_of_set", [k in solved_by_sets for k in loops], "a state set does"),
                f"static const int tear_loop[] = {{{wrapped([str(k) for k in loops], 30)}}};",
            ]
        numbers = {"N_TEARS": self.n_tears, "N_WATCHES": len(self.s.watches), "HAS_VALUES": int(bool(self.y))}
        return "\n".join([*lines, defined(numbers), '#include "pliant_tears.h"\n'])

    def _step_done(self) -> str:
        """Warm starts kept, state sets chosen again."""
        body: list[str] = []
        text: list[str] = []
        picks = ""
        select = 0
        place = {v: i for i, v in enumerate(self.program.x)}
        for k, one in enumerate(self.s.sets):
            n, m = len(one.candidates[0]), len(one.jacobian)
            words = {
                "@k": k,
                "@n": n,
                "@m": m,
                "@depth": len(one.slots),
                "@select": select,
                "@slots": ", ".join(str(place[v]) for row in one.slots for v in row),
            }
            text.append(filled(CHOOSE, words))
            picks += filled(PICK, words)
            body += [
                f"    const int chosen_{k} = choose_{k}(m, t, x, u, 0);\n",
                f"    if (chosen_{k} > 0) *request |= PL_STEP_RESTART;\n",
            ]
            select += (n - m) * n
        if self.n_tears:
            solved = " && ".join(f"chosen_{k} >= 0" for k in range(len(self.s.sets))) or "0"
            body.append(f"    accept_loops(m, t, m->t_last == t, {solved});\n")
        for k, watch in enumerate(self.s.watches):
            text.append(filled(WATCH, {"@k": k, "@m": len(watch.unknowns)}))
            body.append(
                f"    if (near_zero_{k}(m, t, x, u)) {{\n        m->error = {self.first_watch + k};\n"
                "        return PL_FATAL;\n    }\n"
            )
        if self.e.checks:
            first = 1 + 2 * len(self.program.loops) + len(self.s.pivots)
            report = self.e.messages.call("check", "k", " " * 12)
            words = {"@n": len(self.e.checks), "@first": first, "@report": report}
            text.append(filled(ASSERTIONS, words))
            body.append("    const pl_status asserted = check_assertions(m, t, x, u);\n")
            body.append("    if (asserted != PL_OK) return asserted;\n")
        if self.e.delays.n:
            body.append(DELAY_DONE)
        if self.e.pipes.n:
            body.append(PIPE_DONE)
        if picks:
            text.append(PICK_HEAD + picks + "    return -1;\n}\n")
            cases = "".join(f"    if (set == {k}) return m->state{k};\n" for k in range(len(self.s.sets)))
            text.append(STATES_HEAD + cases + "    return NULL;\n}\n")
        return "\n".join([*text, STEP_DONE.replace("@body", "".join(body))])

    # ------------------------------------------------------------------ the struct

    def _struct(self, entries: Entries, entries_u: Entries, linear: bool) -> str:
        p = self.program
        lines: list[str] = []
        fields: list[str] = [".abi = PL_ABI", f".n_x = {len(p.x)}", f".name = {c_string(self.s.system.name)}"]

        def array(kind: str, name: str, values: Sequence[str]) -> None:
            lines.append(f"static {kind} {name}[] = {{{wrapped(values)}}};")
            fields.append(f".{name} = {name}")

        def names(name: str, members: Sequence[int]) -> None:
            array("const char *const", name, [c_string(self.variables[v].name) for v in members])

        if p.x:
            names("x_name", p.x)
            array("const pl_real", "x_start", [number(self._start_number(e)) for e in self.initial.start])
        fields += describe(self.e, self._attribute, array)
        lines += nominal_text(self.e)
        if p.u:
            names("u_name", p.u)
            array("const pl_real", "u_start", [number(self._attribute(v, "start", self._first(v))) for v in p.u])
            fields += [f".n_u = {len(p.u)}", ".jac_u_value = model_jac_u_value"]
            pattern(lines, fields, "jac_u", len(p.x), len(p.u), entries_u)
            kinds = ["PL_INPUT_BENT" if bent else "0" for bent in bent_inputs(self.g, p)]
            array("const int8_t", "input_kind", kinds)
        fields += [".p_start = p_start"] if p.p else []
        fields += [".outputs = model_outputs"] if self.y else []
        if self.s.relations:
            texts = [relation_text(self.e, k) + (f" [{k}]" if k else "") for k in range(len(self.s.relations))]
            array("const char *const", "root_name", [c_string(one) for one in texts])
            array("const int8_t", "root_kind", self.e.ahead.kinds())
            fields += [f".n_roots = {len(texts)}", ".roots = model_roots"]
            fields += [".root_range = model_root_range"] if self.e.ahead.enclosed else []
        if self.e.ahead.kinks:
            fields += [f".n_kinks = {len(self.e.ahead.kinks)}", ".kink_range = model_kink_range"]
        fields += self._event_fields()
        if self._watches_steps():
            fields.append(".step_done = model_step_done")
        fields += [".warning = model_warning"] if self.warns else []
        fields += self._past_fields()
        if len(p.x) > p.n_states:
            diagonal = [(i, i, 0) for i in range(p.n_states)]
            pattern(lines, fields, "mass", len(p.x), len(p.x), diagonal)
            array("const pl_real", "mass_value", ["1.0"] * p.n_states or ["0.0"])
        pattern(lines, fields, "jac", len(p.x), len(p.x), entries)
        known = (
            ("PL_MODEL_LINEAR", linear),
            ("PL_MODEL_AUTONOMOUS", self._autonomous()),
            ("PL_MODEL_SETTLES", bool(self.s.relations or self.s.events)),
            ("PL_MODEL_ENDS", self.s.events.terminal >= 0),
        )
        flags = [flag for flag, on in known if on]
        fields += [f".flags = {' | '.join(flags) or '0'}", ".memory_size = sizeof(model)", ".open = open_model"]
        fields += [".set_parameters = set_parameters", ".rhs = model_rhs", ".jac_value = model_jac_value"]
        fields += [".jvp = model_jvp", ".error = model_error", ".initial = &model_initial"]
        if self.c.foreign.slots:
            fields.append(".close = foreign_close")
        if self.e.has_taylor:
            fields.append(".taylor = model_taylor")
        body = ",\n    ".join(fields)
        return "\n".join(lines) + f"\n\nPL_EXPORT const pl_model pliant_model = {{\n    {body},\n}};\n"

    def _past_fields(self) -> list[str]:
        """Of models that remember their past."""
        if not (self.e.delays.n or self.e.pipes.n):
            return []
        held = [".delayed = delay_given, .set_history = delay_hold"] if self.e.delays.n else []
        return [f".passed = {'pipe' if self.e.pipes.n else 'delay'}_passed", *held]

    def _event_fields(self) -> list[str]:
        """What is called at events and at the start."""
        kind = (
            "piped"
            if self.e.pipes.n
            else "delayed"
            if self.e.delays.n
            else "forgetful"
            if self.s.relations or self.s.events
            else ""
        )
        return [f".event = {kind}_event", f".initialise = {kind}_initialise"] if kind else []

    def _autonomous(self) -> bool:
        expressions = [
            e
            for statement in self.program.statements
            for e in (inner_nodes(statement) if isinstance(statement, Newton) else nodes_of(statement))
        ]
        nodes = self.g.nodes
        return not any(nodes[i][0] == Op.TIME for i in reachable(self.g, [*expressions, *self.program.f]))

    def _start_number(self, e: int) -> float:
        value = value_of(self.g, e)
        return value if value is not None else number_in(self.s.system, self.g, e, self.values)

    def _attribute(self, v: int, name: str, default: float) -> float:
        e = getattr(self.variables[v], name)
        return default if e is None else self._start_number(e)

    def _first(self, v: int) -> float:
        """Where an input without start value begins: an enumeration with the first of its values."""
        return 1.0 if self.variables[v].type == "enumeration" else 0.0
