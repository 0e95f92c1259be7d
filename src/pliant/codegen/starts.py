"""What must hold at the start as C: the functions and the data of ``pl_initial`` (pliant_start.h).

conditions  residuals, their derivatives, the size of their largest terms, the start values that they ask for
unknowns    start values of x, sizes of parameters and discrete variables that the conditions determine
guesses     of all variables that the first choice of states reads: start values, what follows from them
            explicitly, present values, Jacobians of the constraints there
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pliant.codegen.arrays import VALUE, G, given
from pliant.codegen.c_text import filled, wrapped
from pliant.codegen.function import FunctionWriter
from pliant.codegen.places import Argument, Source
from pliant.codegen.plan import FunctionPlan, Shared, Target
from pliant.codegen.program import Assign, Statement
from pliant.expr.build import apply, binary, choose, const, reachable, var, variables_of
from pliant.expr.evaluate import expand_relations
from pliant.ir import Kind, Node, Op

if TYPE_CHECKING:
    from pliant.codegen.emit import Emitter

LARGEST = 1.7976931348623157e308
SIZE, GUESSED, FOLLOWED = given("size"), given("v"), given("followed")


class StartText:
    """Writes the start of one model."""

    def __init__(self, emitter: Emitter) -> None:
        self.e = emitter
        self.s, self.g, self.c, self.program = emitter.s, emitter.g, emitter.c, emitter.program
        self.variables, self.initial = emitter.variables, emitter.initial
        self.conditions = emitter.initial.conditions
        self.tears = [v for block in self.program.loops for v in block.tears]
        self.others = other_variables(emitter)
        targets = {one.target for one in self.conditions}
        self.open = [self._openness(v, targets) for v in self.program.p]
        self.free = [one.free for one in self.s.events.memories]
        self.fields: list[str] = []
        self.lines: list[str] = []

    def _openness(self, v: int, targets: set[int]) -> int:
        """Of a parameter, as pl_initial.p_open says it."""
        variable = self.variables[v]
        if not variable.initial:
            return 0
        return 1 if variable.binding is None and v not in targets else 2

    # ------------------------------------------------------------------ functions

    def functions(self) -> None:
        """The generated functions, before the fixed text."""
        self.guessed = self._guessed() if self.s.sets else []
        if self.conditions:
            self._terms()
            self._asked()
        self._sizes()
        if self.s.sets:
            self._guess_functions()

    def _once(self, name: str, targets: Sequence[Target]) -> None:
        """A function of parameters alone."""
        plan = FunctionPlan(self.e.shared, [], [targets], hoist=False)
        argument = Argument(targets[0][0].array.name)
        writer = FunctionWriter(self.c, name, plan, [argument], attribute="PL_ONCE")
        self.e.functions.append(writer.write())

    def _terms(self) -> None:
        """The largest term of each condition; all_values was called before."""
        targets: list[Target] = []
        zero = const(self.g, 0.0)
        for k, one in enumerate(self.conditions):
            size = zero
            for term in terms_of(self.g.nodes, one.residual):
                size = binary(self.g, Op.MAX, apply(self.g, Op.ABS, term), size)  # what is no number does not count
            targets.append((SIZE.at(k), size))
        context, plan = self.c, self.e.plan([targets])
        if not self.s.sets:
            context = replace(self.c, places=self.c.places | self.e.memory_places())
            plan = FunctionPlan(self.e.shared, [], [targets])
        writer = FunctionWriter(context, "condition_terms", plan, [Argument(SIZE.name)], attribute="PL_COLD")
        self.e.functions.append(writer.write())
        self.c.n_work = max(self.c.n_work, context.n_work)

    def _asked(self) -> None:
        zero = const(self.g, 0.0)
        starts = [(k, self.variables[one.variable].start) for k, one in enumerate(self.conditions) if one.variable >= 0]
        self.has_asked = bool(starts)
        if starts:
            self._once("condition_starts", [(VALUE.at(k), zero if e is None else e) for k, e in starts])

    def _sizes(self) -> None:
        targets: list[Target] = []
        zero = const(self.g, 0.0)
        for k, v in enumerate(self.program.p):
            e = self.variables[v].nominal
            if self.open[k] == 1 and e is not None:
                targets.append((SIZE.at(k), e))
        n_p = len(self.program.p)
        for k, one in enumerate(self.s.events.memories):
            variable = self.variables[one.variable]
            if not one.free or (variable.nominal is None and variable.start is None):
                continue
            e = variable.start if variable.nominal is None else variable.nominal
            assert e is not None
            if variable.nominal is not None and variable.start is not None:
                e = choose(self.g, binary(self.g, Op.NE, variable.nominal, zero), variable.nominal, variable.start)
            targets.append((SIZE.at(n_p + k), e))
        self.has_sizes = bool(targets)
        if targets:
            self._once("unknown_sizes", targets)

    # ------------------------------------------------------------------ guesses

    def _guessed(self) -> list[int]:
        """Variables that the first choice of states reads, and what these follow from explicitly."""
        self.explicit = {
            block.steps[0].variable: block.steps[0].expression for block in self.s.blocks if block.kind == "explicit"
        }
        flat = [e for one in self.s.sets for row in one.jacobian for e in row]
        self.jacobians = expand_relations(self.g, flat, self.s.relations)
        known = (Kind.PARAMETER, Kind.CONSTANT)
        stack = [v for e in self.jacobians for v in variables_of(self.g, e)]
        stack += [v for one in self.s.sets for level in one.candidates for v in level]
        stack += self.tears
        self.explicit_now: dict[int, int] = {}
        found: set[int] = set()
        while stack:
            v = stack.pop()
            if v in found or self.variables[v].kind in known:
                continue
            found.add(v)
            if v in self.explicit:
                (e,) = expand_relations(self.g, [self.explicit[v]], self.s.relations)
                self.explicit_now[v] = e
                stack += variables_of(self.g, e)
        return sorted(found)

    def _guess_functions(self) -> None:
        g = self.g
        zero = const(g, 0.0)
        place = {v: i for i, v in enumerate(self.guessed)}
        starts: list[Target] = []
        for v, i in place.items():
            e = self.variables[v].start
            e = self.e.alias_starts.get(v) if e is None else e
            starts.append((GUESSED.at(i), zero if e is None else e))
        self._once("guess_starts", starts)

        # values that are not finite are not followed
        places: dict[int, Source] = {v: GUESSED.at(i) for v, i in place.items() if v not in self.explicit_now}
        statements: list[Statement] = []
        for block in self.s.blocks:
            v = block.steps[0].variable if block.kind == "explicit" else -1
            if v not in self.explicit_now:
                continue
            raw, begin = self.e.tangent.temporary("raw"), self.e.tangent.temporary("guess")
            places[begin] = GUESSED.at(place[v])
            finite = binary(g, Op.LE, apply(g, Op.ABS, var(g, raw)), const(g, LARGEST))
            statements.append(Assign(raw, self.explicit_now[v]))
            statements.append(Assign(v, choose(g, finite, var(g, raw), var(g, begin))))
        targets: list[Target] = [(FOLLOWED.at(i), var(g, v)) for v, i in place.items()]
        self._apart("guess_follow", places, statements, targets, FOLLOWED.name)
        places = {v: GUESSED.at(i) for v, i in place.items()}
        targets = [(G.at(k), e) for k, e in enumerate(self.jacobians)]
        self._apart("guess_jacobians", places, [], targets, G.name)
        self.e.function("guess_present", self.e.plan([self._present()]), [Argument(GUESSED.name)])

    def _present(self) -> list[Target]:
        known = {*self.c.places, *self.program.computed}
        targets: list[Target] = []
        for i, v in enumerate(self.guessed):
            e = self.s.replaced.get(v, var(self.g, v))
            targets.append((GUESSED.at(i), e if variables_of(self.g, e) <= known else const(self.g, 0.0)))
        return targets

    def _apart(
        self,
        name: str,
        places: dict[int, Source],
        statements: Sequence[Statement],
        targets: Sequence[Target],
        out: str,
    ) -> None:
        """A function of guesses: values of the model play no part in it."""
        parameters = {v: self.c.places[v] for v in self.program.p}
        context = replace(self.c, places=parameters | places, n_names=0, n_work=0)  # numbers of functions are shared
        plan = FunctionPlan(Shared(self.g, self.variables), statements, [targets], hoist=False)
        arguments = [Argument(GUESSED.name, is_const=True), Argument(out)]
        self.e.functions.append(FunctionWriter(context, name, plan, arguments, attribute="PL_ONCE").write())
        self.c.n_work = max(self.c.n_work, context.n_work)

    # ------------------------------------------------------------------ text

    def _array(self, name: str, values: Sequence[object], kind: str = "int", only_if: bool = True) -> None:
        """An array of the struct, unless it is empty or says nothing."""
        if values and only_if:
            self.lines.append(f"static const {kind} initial_{name}[] = {{{wrapped([str(v) for v in values], 30)}}};")
            self.fields.append(f".{name} = initial_{name}")

    def _field(self, name: str, function: str, there: object = True) -> None:
        if there:
            self.fields.append(f".{name} = {function}")

    def text(self) -> str:
        """Fixed text and the struct itself."""
        p, s = self.program, self.s
        flags = "PL_INITIAL_HOMOTOPY" if self._uses_homotopy() else "0"
        self.fields = [
            f".n_states = {p.n_states}",
            f".n_conditions = {len(self.conditions)}",
            f".n_others = {len(self.others)}",
            f".n_sets = {len(s.sets)}",
            f".n_guesses = {len(self.guessed)}",
            f".n_tears = {len(self.tears)}",
            f".flags = {flags}",
            ".start = initial_start",
            ".homotopy = initial_homotopy",
        ]
        text = [START]
        self._data()
        if self.conditions:
            words = {"@n": len(self.conditions), "@first": len(self.e.y), "@values": self.e.first_values("directional")}
            text.append(filled(CONDITIONS, words))
            text += [ASKED] if self.has_asked else []
            for name in ("conditions", "along", "terms"):
                self._field(name, f"initial_{name}")
            self._field("asked", "initial_asked", self.has_asked)
        if self.has_sizes:
            text.append(SIZES)
            self._field("sizes", "initial_sizes")
        self._field("accept", "initial_accept", self.tears)
        self._field("tears", "initial_tears", self.tears)
        if self.tears:
            text.append(filled(FAILED, {"@n": len(p.loops)}))
            self._field("failed_loop", "initial_failed_loop")
        if any(block.kind == "nonlinear" for block in p.loops):
            text.append(RESCUE)
            self._field("rescue", "initial_rescue")
        self._field("check", "check_assertions", self.e.checks)
        if s.events:
            for name in ("initially", "begin", "choose_memory", "chosen"):
                self._field(name, f"initial_{name}")
        if s.sets:
            text.append(GUESSES)
            for name in ("guesses", "follow", "present", "jacobians", "choose", "states"):
                self._field(name, f"initial_{name}")
            self._sets()
        body = ",\n    ".join(self.fields)
        return "\n".join([*text, *self.lines, f"\nstatic const pl_initial model_initial = {{\n    {body},\n}};\n"])

    def _data(self) -> None:
        x = {v: i for i, v in enumerate(self.program.x)}
        p = {v: k for k, v in enumerate(self.program.p)}
        self._array("x_fixed", [int(one) for one in self.initial.given], "int8_t")
        self._array("p_open", self.open, "int8_t", any(self.open))
        self._array("d_open", [int(one) for one in self.free], "int8_t", any(self.free))
        self._array("condition_x", [x.get(one.variable, -1) for one in self.conditions])
        self._array("condition_p", [p.get(one.target, -1) for one in self.conditions])
        condition = {one.variable: k for k, one in enumerate(self.conditions) if one.variable >= 0}
        memory = {one.variable: k for k, one in enumerate(self.s.events.memories)}
        tear = {v: k for k, v in enumerate(self.tears)}
        guess = {v: i for i, v in enumerate(self.guessed)}
        for name, found in (("condition", condition), ("memory", memory), ("tear", tear), ("guess", guess)):
            self._array(f"other_{name}", [found.get(v, -1) for v in self.others])
        if self.s.sets:
            self._array("tear_guess", [guess[v] for v in self.tears])

    def _sets(self) -> None:
        place = {v: i for i, v in enumerate(self.program.x)}
        guess = {v: i for i, v in enumerate(self.guessed)}
        rows = []
        for k, one in enumerate(self.s.sets):
            slots = [str(place[v]) for row in one.slots for v in row] or ["0"]
            candidates = [str(guess[v]) for level in one.candidates for v in level]
            self.lines.append(f"static const int set_{k}_slot[] = {{{wrapped(slots, 30)}}};")
            self.lines.append(f"static const int set_{k}_candidate[] = {{{wrapped(candidates, 30)}}};")
            n, m = len(one.candidates[0]), len(one.jacobian)
            rows.append(f"{{{n}, {m}, {len(one.slots)}, set_{k}_slot, set_{k}_candidate}}")
        self.lines.append(f"static const pl_state_set initial_set[] = {{{', '.join(rows)}}};")
        self.fields.append(".set = initial_set")

    def _uses_homotopy(self) -> bool:
        nodes = self.g.nodes
        residuals = [one.residual for one in self.s.equations]
        return any(nodes[i][0] == Op.HOMOTOPY for i in reachable(self.g, residuals))


def other_variables(emitter: Emitter) -> list[int]:
    """Variables outside x that a start value may be given for: candidates, fixed ones, discrete ones."""
    s = emitter.s
    found = [v for one in s.sets for level in one.candidates for v in level]
    found += [one.variable for one in emitter.initial.conditions if one.variable >= 0]
    found += [one.variable for one in s.events.memories]
    return list(dict.fromkeys(found))


def terms_of(nodes: Sequence[Node], e: int) -> list[int]:
    """The terms of a sum."""
    found: list[int] = []
    todo: list[int] = [e]
    while todo:
        node = nodes[todo[-1]]
        if node[0] in (Op.ADD, Op.SUB, Op.NEG):
            todo[-1:] = node[1:]
        else:
            found.append(todo.pop())
    return found


START = """static void initial_start(void *self, pl_real *x) {
    start_values(self, 0.0, NULL, NULL, x);
}

static void initial_homotopy(void *self, pl_real lambda) {
    ((model *)self)->homotopy = lambda;
}
"""

CONDITIONS = """static pl_status initial_conditions(void *self, pl_real t, const pl_real *x, const pl_real *u,
                                    pl_real *r) {
    model *m = self;
    pl_status status = all_values(m, t, x, u);
    memcpy(r, m->y + @first, @n * sizeof(pl_real));
    return status;
}

static pl_status initial_along(void *self, pl_real t, const pl_real *x, const pl_real *u, const pl_real *dx,
                               pl_real *df, pl_real *dr) {
    model *m = self;
@values    return directional(m, t, x, u, 0.0, dx, m->zero, df, dr, NULL);
}

static pl_status initial_terms(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *size) {
    pl_status status = all_values(self, t, x, u);
    return status == PL_OK ? condition_terms(self, t, x, u, size) : status;
}
"""

ASKED = """static void initial_asked(void *self, pl_real *value) {
    condition_starts(self, 0.0, NULL, NULL, value);
}
"""

SIZES = """static void initial_sizes(void *self, pl_real *size) {
    unknown_sizes(self, 0.0, NULL, NULL, size);
}
"""

FAILED = """static int initial_failed_loop(void *self, const pl_real **residual) {
    const model *m = self;
    *residual = m->r;
    return m->error >= 1 && m->error <= 2 * @n && m->error % 2 == 0 ? (m->error - 1) / 2 : -1;
}
"""

RESCUE = """static void initial_rescue(void *self, int on) {
    model *m = self;
    m->rescues = on == 1 ? PL_RESCUE_ALL : on ? PL_RESCUE_EVENT : 0;
    m->running = on > 1;
}
"""

GUESSES = """static void initial_guesses(void *self, pl_real *v) {
    guess_starts(self, 0.0, NULL, NULL, v);
}

static void initial_follow(void *self, pl_real t, const pl_real *v, pl_real *followed) {
    guess_follow(self, t, NULL, NULL, v, followed);
}

static pl_status initial_present(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *v) {
    return guess_present(self, t, x, u, v);
}

static void initial_jacobians(void *self, pl_real t, const pl_real *v, pl_real *g) {
    guess_jacobians(self, t, NULL, NULL, v, g);
}
"""
