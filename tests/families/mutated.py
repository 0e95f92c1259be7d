"""Modelica texts with mistakes: words dropped, doubled, swapped or replaced, in models of every sort.

Each case takes one of the models below, or an example without libraries, makes one to four changes, and asks for the
sorted equations. What comes is a model, or an error of pliant with its place in the text, within ten seconds; nothing
else, and never a traceback of Python (RecursionError counts as one).
"""

from __future__ import annotations

import re
import time
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np

from families import FAILED, RIGHT, WRONG, Family, Outcome
from pliant.errors import ModelError, PliantError
from pliant.frontend.modelica.flatten.model import flatten
from pliant.frontend.scalar.scalarize import scalarize
from pliant.structure.options import structure_options
from pliant.structure.pipeline import sort_system

LIMIT = 10.0  # seconds
EXAMPLES = Path(__file__).parents[2] / "examples"
WORD = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])+\'|[A-Za-z_]\w*|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|[:<>=.]{1,2}|\S')
SMALL = {
    "P.Circuit": """package P
      connector Pin Real v; flow Real i; end Pin;
      partial model TwoPin Pin p, n; Real v, i; equation v = p.v - n.v; 0 = p.i + n.i; i = p.i; end TwoPin;
      model Resistor extends TwoPin; parameter Real R(unit = "Ohm") = 1; equation v = R*i; end Resistor;
      model Capacitor extends TwoPin(v(start = 1, fixed = true)); parameter Real C = 1;
      equation C*der(v) = i; end Capacitor;
      model Ground Pin p; equation p.v = 0; end Ground;
      model Circuit
        replaceable Resistor r(R = 2) constrainedby TwoPin; Capacitor c[2](each C = 1e-3); Ground g;
      equation
        connect(r.n, c[1].p); connect(c[1].n, c[2].p); connect(c[2].n, g.p); connect(g.p, r.p);
      end Circuit;
    end P;""",
    "P.M": """package P
      type State = enumeration(off, on, waiting);
      record Point Real x; Real y = 2; end Point;
      function distance input Point a; input Real[:] w = {1, 1}; output Real d; protected Integer k = size(w, 1);
      algorithm d := 0; for i in 1:k loop if i > 1 then d := d + w[i]*a.y^2; else d := d + w[i]*a.x^2; end if; end for;
        d := sqrt(d); end distance;
      operator record C Real re; Real im;
        encapsulated operator function '+' import P.C; input C a; input C b; output C c;
        algorithm c := C(a.re + b.re, a.im + b.im); end '+';
      end C;
      model M
        import P.State; Point p(x = time); Real d = distance(p), h(start = 3, fixed = true), v(start = 0, fixed = true);
        State s(start = State.off, fixed = true); Integer n(start = 0, fixed = true); C c = C(1, time) + C(h, 2);
        Boolean b;
        parameter Integer size1 = 3; Real a[size1] = {k*time for k in 1:size1}, total = sum(a[i]*i for i in 1:size1);
      equation
        der(h) = v; der(v) = -9.81; b = h < 0 or d > 3;
        when {h < 0, sample(0.1, 0.5)} then n = pre(n) + 1; s = if n > 2 then State.on else State.waiting;
        elsewhen d > 4 then n = 0; s = State.off; end when;
        when h < 0 then reinit(v, -0.8*pre(v)); end when;
        assert(total < 1e6, "too large: " + String(n));
      end M;
    end P;""",
    "P.Tank": """package P
      connector Port Real p; flow Real m; stream Real h; end Port;
      expandable connector Bus end Bus; connector Out = output Real; connector In = input Real;
      model World parameter Real g = 9.81; end World;
      model Source Port c; outer World world; equation c.p = world.g; c.h = 10; end Source;
      model Sink Port c; In flow_; Real t = inStream(c.h); equation c.m = flow_; c.h = 0; end Sink;
      model Tank inner World world(g = 1); Source a; Sink b; Bus bus; block S Out y = time; end S; S s;
      equation connect(a.c, b.c); connect(s.y, bus.speed); connect(bus.speed, b.flow_); end Tank;
    end P;""",
    "P.A": """package P
      partial package Medium constant Real cp;
        replaceable partial function h input Real T; output Real y; end h; end Medium;
      package Water extends Medium(cp = 4200); redeclare function extends h algorithm y := cp*T; end h; end Water;
      model Part replaceable package M = Medium constrainedby Medium; Real T(start = 300); Real H = M.h(T);
      equation der(T) = -T/M.cp; end Part;
      model A extends Base(redeclare package M = Water, k = 3); Real z; Integer i[3];
      algorithm z := 0; for j loop i[j] := j; z := z + i[j]; end for; while z > 10 loop z := z - 1; end while;
      initial equation part.T = 290; end A;
      partial model Base replaceable package M = Medium; parameter Real k = 1; Part part(redeclare package M = M);
        inner Real g = 1 if k > 2; equation der(q) = k; public Real q(start = k); end Base;
    end P;""",
}


@cache
def texts() -> tuple[tuple[str, str], ...]:
    """Names and texts: the small ones, and examples that need no library."""
    found = list(SMALL.items())
    for file in sorted(EXAMPLES.glob("*.mo")):
        text = file.read_text(encoding="utf-8")
        if "Modelica." not in text and len(text) < 20_000:
            found.append(("", text))
    return tuple(found)


def mutated(text: str, chance: np.random.Generator) -> str:
    """One to four changes of words; blanks and comments between them stay."""
    words = list(WORD.finditer(text))
    pieces = [one.group() for one in words]
    gaps = [text[a.end() : b.start()] for a, b in pairwise(words)]
    for _ in range(int(chance.integers(1, 5))):
        k, other = (int(n) for n in chance.integers(len(pieces), size=2))
        kind = int(chance.integers(4))
        if kind == 0:
            pieces[k] = ""
        elif kind == 1:
            pieces[k] = f"{pieces[k]} {pieces[k]}"
        elif kind == 2:
            pieces[k], pieces[other] = pieces[other], pieces[k]
        else:
            pieces[k] = pieces[other]
    return "".join(piece + gap for piece, gap in zip(pieces, [*gaps, ""], strict=True))


def check(seed: int) -> Outcome:
    chance = np.random.default_rng([21, 4, seed])
    known = texts()
    name, text = known[int(chance.integers(len(known)))]
    changed = "\n" + mutated(text, chance)
    begin = time.perf_counter()
    try:
        sort_system(scalarize(flatten(changed, name, [])), structure_options(None), [])
    except ModelError as error:
        if error.span is None:
            return Outcome(seed, WRONG, f"no place: {error}")
        if error.span.line < 1 or error.span.line > changed.count("\n") + 1:
            return Outcome(seed, WRONG, f"line {error.span.line}: {error}")
    except PliantError as error:
        return Outcome(seed, WRONG, f"{type(error).__name__}: {error}")
    except Exception as error:
        return Outcome(seed, FAILED, f"{type(error).__name__}: {error}")
    took = time.perf_counter() - begin
    return Outcome(seed, RIGHT, value=took) if took < LIMIT else Outcome(seed, WRONG, f"{took:.1f} s", took)


FAMILY = Family(
    "mutated",
    "Modelica texts with words dropped, doubled, swapped or replaced",
    "2 000: a model, or an error with a place in the text, within 10 s; never a traceback",
    2000,
    40,
    check,
)
