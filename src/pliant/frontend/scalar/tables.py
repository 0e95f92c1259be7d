"""Interpolation tables of the Modelica Standard Library as piecewise cubics.

On ``x_i <= u <= x_{i+1}``, h = x_{i+1} - x_i, s = (y_{i+1} - y_i)/h, slopes c_i at the points (cubic Hermite):

    y = y_i + c_i t + (3 s - 2 c_i - c_{i+1})/h t^2 + (c_i + c_{i+1} - 2 s)/h^2 t^3,   t = u - x_i

Slopes, s_i being those of the secants:

    Akima (1970), J. ACM 17, eq. (1) and section 2.3 for the ends:
        c_i = (|s_{i+1}-s_i| s_{i-1} + |s_{i-1}-s_{i-2}| s_i) / (sum of the weights); equal weights if both vanish
    modified Akima: weights |s_{i+1}-s_i| + |s_{i+1}+s_i|/2 (no overshoot where the data are flat)
    Fritsch and Butland (1984), SIAM J. Sci. Stat. Comput. 5, eq. (5): weighted harmonic mean of the secants, 0 where
        they change sign; at the ends the three-point formula, limited to keep the data's monotony
    Steffen (1990), Astron. Astrophys. 239, eqs. (11), (24), (25)

Extrapolation with the last two points continues with the slope at the end: one straight piece is added on each side
so that :class:`pliant.ir.Table` need only extend its last piece. A jump (two rows with equal abscissa, or constant
segments) takes the value of the right side, as the library does.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from pliant.errors import ModelError, NotSupportedError
from pliant.frontend.flat.model import FlatTable
from pliant.ir import Table

LINEAR, AKIMA, CONSTANT, FRITSCH_BUTLAND, STEFFEN, MAKIMA = range(1, 7)
HOLD, LAST_TWO, PERIODIC, NONE = range(1, 5)
Piece = tuple[float, float, float, float]


def make_table(name: str, table: FlatTable, column: int) -> Table:
    """Table of one column (1-based into the chosen columns) of a table."""
    columns = table.columns
    if not 1 <= column <= len(columns):
        raise ModelError(
            f"table `{name}` has {len(columns)} columns, column {column} is read",
            hint=f"choose columns between 1 and {len(columns)}, or add the column to the table",
        )
    rows = table.rows
    if not rows:
        raise ModelError(f"table `{name}` is empty", hint="give it at least one row")
    xs = [row[0] for row in rows]
    ys = [row[columns[column - 1] - 1] for row in rows]
    if any(b < a for a, b in pairwise(xs)):
        raise ModelError(f"the first column of table `{name}` decreases", hint="sort the rows of the table")
    return interpolate(name, xs, ys, table.smoothness, table.extrapolation)


def interpolate(name: str, xs: list[float], ys: list[float], smoothness: int, extrapolation: int) -> Table:
    """Piecewise cubic through the points; sections between jumps have slopes of their own."""
    if xs[0] == xs[-1] and ys[0] != ys[-1]:  # a jump alone
        values = ((ys[0], 0.0, 0.0, 0.0), (ys[-1], 0.0, 0.0, 0.0))
        return Table(name, (xs[0] - 1.0, xs[0], xs[0] + 1.0), values, "hold", -1)
    if xs[0] == xs[-1]:
        return Table(name, (xs[0], xs[0] + 1.0), ((ys[-1], 0.0, 0.0, 0.0),), "hold", 1)
    if smoothness not in _SLOPES and smoothness not in (LINEAR, CONSTANT):
        raise NotSupportedError(
            f"smoothness {smoothness} of table `{name}` is not supported",
            hint="choose one of Modelica.Blocks.Types.Smoothness, e.g. LinearSegments",
        )
    is_periodic = extrapolation == PERIODIC and ys[0] == ys[-1]
    knots: list[float] = []
    pieces: list[Piece] = []
    jumps = smoothness == CONSTANT
    for first, last in _sections(xs):
        if last > first:
            part = _section(xs[first : last + 1], ys[first : last + 1], smoothness, is_periodic)
            knots += xs[first:last]
            pieces += part
        jumps = jumps or last < len(xs) - 1
    knots.append(xs[-1])
    smooth = -1 if jumps else 0 if smoothness == LINEAR else 1
    how = {HOLD: "hold", LAST_TWO: "extend", PERIODIC: "repeat", NONE: "error"}.get(extrapolation)
    if how is None:
        raise NotSupportedError(
            f"extrapolation {extrapolation} of table `{name}` is not supported",
            hint="choose one of Modelica.Blocks.Types.Extrapolation, e.g. HoldLastPoint",
        )
    if how == "extend":
        _add_ends(knots, pieces, ys, smoothness == CONSTANT)
    elif how == "hold" and (smoothness == CONSTANT or xs[-1] == xs[-2]):
        knots.append(knots[-1] + 1.0)  # the last row counts from its abscissa on
        pieces.append((ys[-1], 0.0, 0.0, 0.0))
    if how == "hold" and xs[0] == xs[1]:
        knots.insert(0, knots[0] - 1.0)  # a jump in the first row: what held before it
        pieces.insert(0, (ys[0], 0.0, 0.0, 0.0))
    return Table(name, tuple(knots), tuple(pieces), how, smooth)


def _sections(xs: list[float]) -> list[tuple[int, int]]:
    """First and last row of each part between jumps."""
    cuts = [k for k in range(1, len(xs)) if xs[k] == xs[k - 1]]
    return list(zip([0, *cuts], [*(k - 1 for k in cuts), len(xs) - 1], strict=True))


def _section(xs: list[float], ys: list[float], smoothness: int, is_periodic: bool) -> list[Piece]:
    h = [b - a for a, b in pairwise(xs)]
    s = [(b - a) / width for (a, b), width in zip(pairwise(ys), h, strict=True)]
    if smoothness == CONSTANT:
        return [(y, 0.0, 0.0, 0.0) for y in ys[:-1]]
    if smoothness == LINEAR or len(xs) == 2:
        return [(y, slope, 0.0, 0.0) for y, slope in zip(ys[:-1], s, strict=True)]
    c = _SLOPES[smoothness](h, s, is_periodic)
    pieces = []
    for i, (width, slope) in enumerate(zip(h, s, strict=True)):
        second = (3.0 * slope - 2.0 * c[i] - c[i + 1]) / width
        third = (c[i] + c[i + 1] - 2.0 * slope) / (width * width)
        pieces.append((ys[i], c[i], second, third))
    return pieces


def _add_ends(knots: list[float], pieces: list[Piece], ys: list[float], constant: bool) -> None:
    """Straight pieces on both sides, with the slopes at the ends (through the last two rows if constant)."""
    width = knots[-1] - knots[-2]
    _, b, c, d = pieces[-1]
    left, right = pieces[0][1], b + width * (2.0 * c + 3.0 * d * width)
    if constant:
        left, right = (ys[1] - ys[0]) / (knots[1] - knots[0]), (ys[-1] - ys[-2]) / width
    elif c == d == 0.0 and pieces[0][2] == pieces[0][3] == 0.0:
        return  # straight already
    pieces.insert(0, (ys[0] - left, left, 0.0, 0.0))
    knots.insert(0, knots[0] - 1.0)
    pieces.append((ys[-1], right, 0.0, 0.0))
    knots.append(knots[-1] + 1.0)


def _akima_like(weight: Callable[[float, float], float]) -> Callable[[list[float], list[float], bool], list[float]]:
    def slopes(h: list[float], s: list[float], is_periodic: bool) -> list[float]:
        if is_periodic:
            ext = [s[-2], s[-1], *s, s[0], s[1]]
        else:
            before, after = 2.0 * s[0] - s[1], 2.0 * s[-1] - s[-2]
            ext = [2.0 * before - s[0], before, *s, after, 2.0 * after - s[-1]]
        found = []
        for i in range(len(s) + 1):
            a, b = weight(ext[i + 3], ext[i + 2]), weight(ext[i + 1], ext[i])
            total = a + b
            found.append((a * ext[i + 1] + b * ext[i + 2]) / total if total else 0.5 * (ext[i + 1] + ext[i + 2]))
        return found

    return slopes


def _interior_fritsch_butland(h0: float, h1: float, s0: float, s1: float) -> float:
    if s0 * s1 <= 0.0:
        return 0.0
    alpha = (1.0 + h1 / (h0 + h1)) / 3.0
    return s0 * s1 / (alpha * s1 + (1.0 - alpha) * s0)


def _end_fritsch_butland(h0: float, h1: float, s0: float, s1: float) -> float:
    slope = ((2.0 * h0 + h1) * s0 - h0 * s1) / (h0 + h1)
    if slope * s0 <= 0.0:
        return 0.0
    return 3.0 * s0 if s0 * s1 < 0.0 and abs(slope) > 3.0 * abs(s0) else slope


def _sign(a: float) -> float:
    return float((a > 0.0) - (a < 0.0))


def _interior_steffen(h0: float, h1: float, s0: float, s1: float) -> float:
    p = (s0 * h1 + s1 * h0) / (h0 + h1)
    return (_sign(s0) + _sign(s1)) * min(abs(s0), abs(s1), 0.5 * abs(p))


def _end_steffen(h0: float, h1: float, s0: float, s1: float) -> float:
    p = s0 * (1.0 + h0 / (h0 + h1)) - s1 * h0 / (h0 + h1)
    if p * s0 <= 0.0:
        return 0.0
    return 2.0 * s0 if abs(p) > 2.0 * abs(s0) else p


_Rule = Callable[[float, float, float, float], float]


def _monotone(interior: _Rule, end: _Rule) -> Callable[[list[float], list[float], bool], list[float]]:
    def slopes(h: list[float], s: list[float], is_periodic: bool) -> list[float]:
        middle = [interior(h[i - 1], h[i], s[i - 1], s[i]) for i in range(1, len(s))]
        if is_periodic:
            first = last = interior(h[-1], h[0], s[-1], s[0])
        else:
            first, last = end(h[0], h[1], s[0], s[1]), end(h[-1], h[-2], s[-1], s[-2])
        return [first, *middle, last]

    return slopes


_SLOPES = {
    AKIMA: _akima_like(lambda a, b: abs(a - b)),
    FRITSCH_BUTLAND: _monotone(_interior_fritsch_butland, _end_fritsch_butland),
    STEFFEN: _monotone(_interior_steffen, _end_steffen),
    MAKIMA: _akima_like(lambda a, b: abs(a - b) + 0.5 * abs(a + b)),
}
