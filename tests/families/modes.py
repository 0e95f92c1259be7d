"""Networks of diodes, thyristors and switches, chains with friction and clutches, against a complementarity solver."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import pliant
from families import FAILED, RIGHT, WRONG, Family, Outcome
from families._chains import Chain, Link
from families._networks import Element, Network, Pulses
from families._piecewise import Integrator

Chance = np.random.Generator
POINTS = 201


def log(chance: Chance, low: float, high: float) -> float:
    """A number of any size between low and high, three digits."""
    return float(f"{np.exp(chance.uniform(np.log(low), np.log(high))):.3g}")


def diode(chance: Chance, a: int, b: int, kind: str = "D", control: int = -1) -> Element:
    """An ideal element with random losses."""
    knee = float(chance.choice([0.0, 0.0, 0.0, 0.7])) if kind == "D" else 0.0
    return Element(kind, a, b, r=log(chance, 1e-5, 1e-2), g=log(chance, 1e-6, 1e-3), knee=knee, control=control)


def load(chance: Chance, a: int, b: int) -> list[Element]:
    """A resistor, perhaps with a capacitor or an inductor."""
    r = log(chance, 5.0, 100.0)
    kind = chance.integers(4)
    if kind == 0:
        return [Element("R", a, b, r=r)]
    if kind == 1:
        return [
            Element("R", a, b, r=r),
            Element("C", a, b, log(chance, 1e-5, 3e-3), start=float(chance.integers(0, 9))),
        ]
    middle = 20 + a  # renumbered later
    inductor = Element("L", a, middle, log(chance, 1e-3, 1e-1), r=float(chance.choice([0.0, 1e4])))
    more = [] if kind == 2 else [Element("C", middle, b, log(chance, 1e-5, 1e-3), r=0.05)]
    return [inductor, Element("R", middle, b, r=r), *more]


def source(chance: Chance, a: int, b: int, phase: float = 0.0) -> Element:
    """A voltage source with an inner resistance."""
    return Element("V", a, b, log(chance, 10.0, 300.0), r=log(chance, 0.03, 1.0), phase=phase)


def bridge(chance: Chance) -> Network:
    """One or three phases, full or half controlled, floating or with a grounded point."""
    phases = int(chance.choice([1, 1, 3]))
    elements, pulses = [], []
    if phases == 1:
        lines = [1, 2]
        elements.append(source(chance, 1, 2, float(chance.uniform(0, 6.28))))
        elements.append(Element("R", 2, 0, r=log(chance, 1e2, 1e5)))
    else:
        one, lines = source(chance, 1, 0), [1, 2, 3]
        elements += [Element("V", k + 1, 0, one.value, one.r, phase=-2.0943951023931953 * k) for k in range(3)]
    controlled = phases == 1 and chance.random() < 0.3
    if controlled:
        delay = float(chance.uniform(0.001, 0.006))
        pulses = [Pulses(0.01, delay, 0.0013)]
    for line in lines:
        elements.append(diode(chance, line, 5, "T" if controlled else "D", 0))
        elements.append(diode(chance, 6, line))
    return Network("bridge", [*elements, *load(chance, 5, 6)], 0.05, 314.159, pulses)


def alike(chance: Chance) -> Network:
    """Diodes in parallel and in series, equal or nearly so: nothing tells them apart but rounding."""
    first = diode(chance, 0, 0)
    count, series = int(chance.integers(2, 5)), chance.random() < 0.5
    elements = [source(chance, 1, 0, float(chance.uniform(0, 6.28)))]
    for k in range(count):
        scale = float(chance.choice([1.0, 1.0, 2.0]))
        a, b = (1 + k, 2 + k) if series else (1, 2)
        elements.append(Element("D", a, b, r=first.r * scale, g=first.g, knee=first.knee))
    end = 1 + count if series else 2
    return Network("alike", [*elements, *load(chance, end, 0)], 0.05, 314.159)


def multiplier(chance: Chance) -> Network:
    """Cockcroft and Walton, one to three stages."""
    stages = int(chance.integers(1, 4))
    elements = [source(chance, 1, 0)]
    left, right, node = 1, 0, 2
    for _ in range(stages):
        elements.append(Element("C", left, node, log(chance, 1e-5, 1e-3), r=float(chance.choice([0.0, 0.02]))))
        elements.append(diode(chance, right, node))
        elements.append(Element("C", right, node + 1, log(chance, 1e-5, 1e-3), r=0.01))
        elements.append(diode(chance, node, node + 1))
        left, right, node = node, node + 1, node + 2
    elements.append(Element("R", right, 0, r=log(chance, 50.0, 1e4)))
    return Network("multiplier", elements, 0.1, 314.159)


def converter(chance: Chance) -> Network:
    """Buck, boost or inverting, with a switch and a diode, continuous or not."""
    period = float(chance.choice([1e-4, 2.5e-4, 1e-3]))
    pulses = [Pulses(period, float(chance.choice([0.0, 0.3])) * period, float(chance.uniform(0.2, 0.8)) * period)]
    kind = str(chance.choice(["buck", "boost", "inverting"]))
    feed = Element("V", 1, 0, log(chance, 5.0, 50.0), r=0.05, wave="constant")
    inductance = log(chance, 0.05, 2.0) * period
    switch, output = diode(chance, 1, 2, "S", 0), 3
    if kind == "buck":
        core = [switch, diode(chance, 0, 2), Element("L", 2, 3, inductance, r=1e4)]
    elif kind == "boost":
        core = [Element("L", 1, 2, inductance, r=1e4), diode(chance, 2, 0, "S", 0), diode(chance, 2, 3)]
    else:
        core = [switch, Element("L", 2, 0, inductance, r=1e4), diode(chance, 3, 2)]
    rest = [
        Element("C", output, 0, log(chance, 0.5, 20.0) * period, r=0.02),
        Element("R", output, 0, r=log(chance, 2, 50)),
    ]
    return Network(kind, [feed, *core, *rest], 20 * period, 6.283185 / period, pulses)


def limiter(chance: Chance) -> Network:
    """A clamp: signal through a resistor, limited by diodes to constant voltages."""
    elements = [source(chance, 1, 0), Element("R", 1, 2, r=log(chance, 10.0, 1e3))]
    high = Element("V", 3, 0, log(chance, 2.0, 10.0), r=0.01, wave="constant")
    low = Element("V", 4, 0, -log(chance, 2.0, 10.0), r=0.01, wave="constant")
    elements += [high, low, diode(chance, 2, 3), diode(chance, 4, 2)]
    return Network("limiter", [*elements, Element("C", 2, 0, log(chance, 1e-7, 1e-4))], 0.05, 314.159)


def anything(chance: Chance) -> Network:
    """A connected graph with elements as chance has it."""
    nodes = int(chance.integers(3, 7))
    square = chance.random() < 0.3
    pulses = [Pulses(0.01, 0.0, float(chance.uniform(0.2, 0.8)) * 0.01)]
    first = source(chance, 1, 0, float(chance.uniform(0, 6.28)))
    first.wave = "square" if square else "sine"
    elements = [first]
    grounded = set()
    edges = [(k, int(chance.integers(0, k))) for k in range(2, nodes + 1)]
    edges += [tuple(chance.choice(nodes + 1, 2, replace=False).tolist()) for _ in range(int(chance.integers(2, 6)))]
    for edge in edges:
        a, b = edge if chance.random() < 0.5 else edge[::-1]
        kind = str(chance.choice(list("RCLDDDDDS")))
        if kind == "R":
            elements.append(Element("R", a, b, r=log(chance, 1.0, 1e3)))
        elif kind == "C":
            bare = b == 0 and a not in grounded and chance.random() < 0.5
            grounded |= {a} if bare else set()
            elements.append(Element("C", a, b, log(chance, 1e-5, 1e-3), r=0.0 if bare else log(chance, 0.01, 1.0)))
        elif kind == "L":
            elements.append(Element("L", a, b, log(chance, 1e-3, 1e-1), r=log(chance, 1e3, 1e5)))
        else:
            elements.append(diode(chance, a, b, kind, 0))
    for node in range(1, nodes + 1):
        if node > 1 and chance.random() < 0.4:
            elements.append(Element("R", node, 0, r=log(chance, 1e2, 1e5)))
    used = any(e.kind == "S" or e.wave == "square" for e in elements)
    return Network("anything", elements, 0.03, 314.159, pulses if used else [])


def chain(chance: Chance) -> Chain:
    """One to four masses; friction against the ground and each other, springs, sometimes a stop."""
    n = int(chance.integers(1, 5))
    masses = [log(chance, 0.2, 5.0) for _ in range(n)]
    springs = [
        Link(k, k - 1, log(chance, 5.0, 300.0), log(chance, 0.05, 2.0)) for k in range(n) if k or chance.random() < 0.7
    ]
    pairs = [(k, -1) for k in range(n)] + [(k, k - 1) for k in range(1, n)]
    chosen = [pairs[i] for i in chance.choice(len(pairs), min(len(pairs), int(chance.integers(1, 4))), replace=False)]
    frictions = [Link(a, b, force=log(chance, 0.2, 5.0)) for a, b in chosen]
    while np.linalg.matrix_rank(np.array([[(k == f.a) - (k == f.b) for k in range(n)] for f in frictions])) < len(
        frictions
    ):
        frictions.pop()  # who carries what would not be determined where all of them are stuck
    for one in frictions:  # some are clutches and brakes that are pressed at times
        if chance.random() < 0.35:
            period = log(chance, 0.4, 3.0)
            one.pressed = Pulses(
                period, float(chance.uniform(0.0, 0.5)) * period, float(chance.uniform(0.2, 0.8)) * period
            )
    stops = [Link(n - 1, -1, 5e3, 10.0, gap=float(chance.uniform(0.05, 0.3)))] if chance.random() < 0.3 else []
    amplitude = [float(chance.choice([0.0, 1.0])) * log(chance, 0.5, 20.0) for _ in range(n)]
    amplitude[0] = amplitude[0] or log(chance, 1.0, 20.0)
    rest = chance.random() < 0.4
    position = [0.0 if rest else float(chance.uniform(-0.3, 0.3)) for _ in range(n)]
    if stops:
        position[-1] = min(position[-1], 0.0)
    velocity = [0.0 if rest or chance.random() < 0.3 else float(chance.uniform(-1, 1)) for _ in range(n)]
    return Chain(
        masses, springs, frictions, stops, amplitude, position, velocity, float(chance.uniform(2.0, 12.0)), 5.0
    )


KINDS: list[Callable[[Chance], Network | Chain]] = [
    bridge,
    alike,
    multiplier,
    converter,
    limiter,
    anything,
    anything,
    chain,
    chain,
    chain,
]


def renumbered(network: Network) -> Network:
    """Nodes without gaps."""
    nodes = sorted({0, *(e.a for e in network.elements), *(e.b for e in network.elements)})
    for e in network.elements:
        e.a, e.b = nodes.index(e.a), nodes.index(e.b)
    if not any(e.kind in "CL" for e in network.elements):
        network.elements.append(Element("C", len(nodes) - 1, 0, 1e-4, r=1.0))
    network.__post_init__()
    return network


def case(seed: int) -> tuple[Network | Chain, str, str, float]:
    """The model of a seed, and how to solve it."""
    chance = np.random.default_rng([13, seed])
    model = KINDS[int(chance.integers(len(KINDS)))](chance)
    if isinstance(model, Network):
        model = renumbered(model)
    method = str(chance.choice(["auto", "bdf", "radau5"]))
    form = str(chance.choice(["auto", "auto", "dae"]))
    return model, method, form, 10.0 ** float(chance.integers(-8, -5))


def check(seed: int) -> Outcome:
    """Solve both ways; error relative to the range of each state."""
    model, method, form, rtol = case(seed)
    points = np.linspace(0.0, model.stop, POINTS)
    oracle = Integrator(model, model.stop / 2000, model.stop)
    names = model.names
    exact = oracle.run(model.start, points, model.breaks[1:])[:, : len(names)]
    kind = model.name if isinstance(model, Network) else "chain"
    how = f"{kind}, {method}, {form}, rtol {rtol:g}, {oracle.events} events"
    try:
        compiled = pliant.load(model.text(), options={"form": form})
        result = compiled.simulate(stop=model.stop, method=method, rtol=rtol, points=points)
    except pliant.PliantError as error:
        return Outcome(seed, FAILED, f"{how}: {type(error).__name__}: {error}")
    found = np.array([result[name] for name in names]).T
    span = np.maximum(np.ptp(exact, axis=0), 1e-3 * np.abs(exact).max() + 1e-6)
    error = float((np.abs(found - exact) / span).max())
    limit = 1e-4 + 300.0 * rtol
    worst = names[int(np.argmax((np.abs(found - exact) / span).max(axis=0)))]
    return Outcome(seed, RIGHT if error <= limit else WRONG, f"{how}: error {error:.2g} in {worst}", error)


FAMILY = Family(
    "modes",
    "ideal diodes, thyristors and switches, chains with dry friction and clutches, against a complementarity solver",
    "all end, all agree",
    500,
    2,
    check,
    seed=0,
)
