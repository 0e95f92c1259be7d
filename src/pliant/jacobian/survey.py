"""What f does along one coordinate: derivative with error estimate, curvature, noise, jumps and kinks.

Derivative: central differences on a ladder of increments h_k, extrapolated to h = 0 in powers of h^2 by Neville's
scheme, T(k, m) = T(k, m-1) + (T(k, m-1) - T(k-1, m-1)) / (t_(k-m)/t_k - 1), t = h^2; of all T the one with the least
estimated error |T(k, m) - neighbours| + noise/h_k is kept (C. J. F. Ridders, Adv. Eng. Softw. 4 (1982) 75-76). The two
one-sided derivatives come from the same values with t = h. We deviate in the ladder: it spans all sizes between |x| and
the scale, downwards by 2^-21, with ratios of 16 and more, as the length on which f bends is not known beforehand.

Noise: from k-th differences of f at x - 3 delta ... x + 4 delta, delta = sigma/4, by sigma_k^2 = gamma_k mean((Delta^k
f)^2), gamma_k = (k!)^2/(2k)!; the first k is taken whose Delta^k f changes sign and whose sigma_k, sigma_(k+1),
sigma_(k+2) agree within a factor of four (J. J. Moré, S. M. Wild, SIAM J. Sci. Comput. 33 (2011) 1292-1314). If none
does, f is taken as free of noise. The same values show jumps: one first difference far beyond the others and beyond
what the slope on the ladder explains.

Cost: 2 * 7 on the ladder, 7 on the grid; 3 more where f refuses one side, 1 where sigma is too small for the grid, and
2 or 4 for a longer ladder where the quotients have not settled.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pliant.jacobian.evaluation import BoolArray, CountedFunction, FloatArray, U

LEVELS = 7
LEFT, RIGHT = 3, 4  # grid points on either side


@dataclass(frozen=True, eq=False)
class Survey:
    """All arrays have one value for each f_i; NaN where nothing could be found."""

    derivative: FloatArray
    error: FloatArray  # estimate for the derivative; infinite where nothing converged
    right: FloatArray
    left: FloatArray
    kink: BoolArray  # both one-sided derivatives converge, to different values
    second: FloatArray  # |d2f/dx2|
    noise: FloatArray
    jump: FloatArray  # size of a jump between x and x + sigma, or at x; 0: none
    jump_behind: FloatArray  # the same on the other side, which the increment does not cross
    steep: BoolArray  # the quotient grows without limit, like that of sqrt(x) at 0
    swing: FloatArray  # largest change of the value seen on the ladder
    difference: FloatArray  # (f(x + sigma) - f(x)) / sigma, as the solver would find it
    forward_refused: bool  # on the side of the increment
    backward_refused: bool


class Line:
    """f along coordinate j: values at x_j + step, all NaN where f refuses."""

    def __init__(self, evaluate: CountedFunction, x: FloatArray, j: int, values: FloatArray) -> None:
        self.evaluate, self.x, self.j, self.values = evaluate, x, j, values

    def __call__(self, step: float) -> FloatArray:
        """f with x_j + step."""
        probe = self.x.copy()
        probe[self.j] += step
        values = self.evaluate(probe)
        return np.full(len(self.values), math.nan) if values is None else np.where(np.isfinite(values), values, np.nan)


@dataclass(frozen=True, eq=False)
class Rungs:
    """Values on the ladder, the largest h first."""

    h: FloatArray
    plus: FloatArray  # f(x + h), one row for each h
    minus: FloatArray
    f0: FloatArray

    @property
    def forward(self) -> FloatArray:
        """Quotients on the upper side."""
        return (self.plus - self.f0) / self.h[:, None]

    @property
    def backward(self) -> FloatArray:
        """Quotients on the lower side."""
        return (self.f0 - self.minus) / self.h[:, None]

    @property
    def central(self) -> FloatArray:
        """Quotients over both sides."""
        return 0.5 * (self.forward + self.backward)

    @property
    def size(self) -> FloatArray:
        """Largest |f| of each rung."""
        return np.fmax(np.fmax(np.abs(self.plus), np.abs(self.minus)), np.abs(self.f0))

    def below(self, h: float, plus: FloatArray, minus: FloatArray) -> Rungs:
        """With one more rung at the lower end."""
        return Rungs(np.append(self.h, h), np.vstack([self.plus, plus]), np.vstack([self.minus, minus]), self.f0)


def survey(line: Line, increment: float, scale: float) -> Survey:
    """Sample f along one coordinate; `increment` is the solver's, `scale` the size of a usual change."""
    h = ladder(float(line.x[line.j]), scale)
    f0 = line.values
    rungs = Rungs(h, np.array([line(step) for step in h]), np.array([line(-step) for step in h]), f0)
    delta, grid, difference = grid_values(line, increment, scale)
    upward, downward = (grid[LEFT + 1 :][:RIGHT], grid[:LEFT][::-1])[:: 1 if delta > 0 else -1]
    with np.errstate(all="ignore"):
        up, down = ladder_slopes(rungs, abs(delta))[:: 1 if delta > 0 else -1]
        steps = np.diff(grid[: LEFT + RIGHT + 1], axis=0)
        calm = np.fmax(np.fmax(away(steps[LEFT:])[-2], away(steps[:LEFT])[-2]), 5 * U * np.abs(f0))
        jump, behind = (jumps(steps[LEFT:], calm, up * abs(delta)), jumps(steps[:LEFT], calm, down * abs(delta)))
        jumping = (jump > 0) | (behind > 0)
        noise = noise_level(grid, jumping, rungs)
        if 12 * abs(delta) <= h[-1]:  # the grid serves as one more rung
            rungs = rungs.below(LEFT * abs(delta), upward[LEFT - 1], downward[LEFT - 1])
        rungs = descend(line, rungs, noise, jumping)
        rounding = (noise + 0.5 * U * rungs.size) / rungs.h[:, None]
        derivative, error = extrapolate(rungs.central, rungs.h**2, rounding)
        right, right_error = extrapolate(rungs.forward, rungs.h, 2 * rounding)
        left, left_error = extrapolate(rungs.backward, rungs.h, 2 * rounding)
        steep = (grows(rungs.forward, rungs.h, noise) | grows(rungs.backward, rungs.h, noise)) & ~jumping
        apart = np.abs(right - left)
        kink = (apart > 10 * (right_error + left_error)) & (apart > 1e-6 * np.fmax(np.abs(right), np.abs(left)))
        for side, side_error in ((right, right_error), (left, left_error)):
            better = ~np.isfinite(error) & np.isfinite(side_error)
            derivative, error = np.where(better, side, derivative), np.where(better, side_error, error)
        second = curvature(rungs, noise + 0.5 * U * rungs.size)
        beside, beside_error = slope_between_jumps(grid, delta)
        swing = np.fmax.reduce(np.fmax(np.abs(rungs.plus - f0), np.abs(rungs.minus - f0)), axis=0)
    above, below = refused(rungs.plus, upward, f0), refused(rungs.minus, downward, f0)
    return Survey(
        derivative=np.where(jumping, beside, derivative),
        error=np.where(steep, np.inf, np.where(jumping, beside_error, error)),
        right=right,
        left=left,
        kink=np.asarray(kink & ~jumping & ~steep, dtype=bool),
        second=second,
        noise=np.where(kink | steep, 0.5 * U * np.abs(f0), noise),  # the table takes a bend for noise
        jump=jump,
        jump_behind=behind,
        steep=steep,
        swing=np.nan_to_num(swing),
        difference=difference,
        forward_refused=above if delta > 0 else below,
        backward_refused=below if delta > 0 else above,
    )


def descend(line: Line, rungs: Rungs, noise: FloatArray, jumping: BoolArray) -> Rungs:
    """Up to two more rungs below where quotients still change by more than noise explains: f bends on a short scale."""
    for _ in range(2):
        quotients = rungs.central
        if len(quotients) < 2:
            break
        last, before = quotients[-1], quotients[-2]
        trembling = 10 * (noise + U * rungs.size[-1]) / rungs.h[-1]
        unsettled = (np.abs(last - before) > np.fmax(1e-3 * np.abs(last), trembling)) & ~jumping
        h = float(rungs.h[-1]) / 16
        if not unsettled.any() or h < 8 * np.spacing(abs(float(line.x[line.j]))):
            break
        rungs = rungs.below(h, line(h), line(-h))
    return rungs


def ladder(value: float, scale: float) -> FloatArray:
    """Falling from an eighth of the larger of |x| and scale to 2^-21 of the smaller.

    No powers of two: with these, rounding inside f would often cancel and be overlooked. |x| + h is exact.
    """
    sizes = [size for size in (abs(value), scale) if size > 0.0]
    largest = max(sizes) / 8
    least = max(min(sizes) * 2.0**-21, largest * 2.0**-40, 64 * float(np.spacing(abs(value))))
    h = np.geomspace(largest, least, LEVELS) * (1.0 / 1.0123456789)
    return np.asarray((abs(value) + h) - abs(value))


def grid_values(line: Line, increment: float, scale: float) -> tuple[float, FloatArray, FloatArray]:
    """Spacing delta (with the sign of the increment), f at -LEFT ... RIGHT times delta, and the solver's quotient.

    Where f refuses points on one side, the refused half is continued on the other side for the sake of the noise:
    these rows follow behind the grid.
    """
    value = float(line.x[line.j])
    usable = math.isfinite(increment) and increment != 0.0
    delta = increment / 4 if usable else 2.0**-28 * max(abs(value), scale)
    delta = math.copysign(max(abs(delta), 4 * float(np.spacing(abs(value)))), delta)
    steps = [k * delta for k in range(-LEFT, RIGHT + 1)]
    values = [line.values if step == 0.0 else line(step) for step in steps]
    whole = np.isfinite(line.values)
    gap_left, gap_right = (bool(np.isnan(np.array(part)[:, whole]).any()) for part in (values[:LEFT], values[LEFT:]))
    extra = []
    if gap_left and not gap_right:
        extra = [line(k * delta) for k in range(RIGHT + 1, RIGHT + 4)]
    elif gap_right and not gap_left:
        extra = [line(-k * delta) for k in range(LEFT + 1, LEFT + 4)]
    with np.errstate(all="ignore"):
        end = values[-1] if 4 * delta == increment else line(increment) if usable else line.values
        difference = (end - line.values) / increment if usable else np.full(len(end), math.nan)
    grid = np.array([*values, *extra])
    return delta, grid, difference


def ladder_slopes(rungs: Rungs, delta: float) -> tuple[FloatArray, FloatArray]:
    """Least |quotient| on the ladder well beyond the grid, and largest of both sides; above and below, (2, values)."""
    beyond = rungs.h >= 64 * delta
    if not beyond.any():
        beyond[0] = True

    sides = [np.abs(quotients[beyond]) for quotients in (rungs.forward, rungs.backward)]
    largest = np.fmax.reduce(np.concatenate(sides), axis=0)
    above, below = (np.array([np.fmin.reduce(side, axis=0), largest]) for side in sides)
    return above, below


def away(steps: FloatArray) -> FloatArray:
    """Distances of first differences from their median, rising."""
    return np.sort(np.abs(steps - np.median(steps, axis=0)), axis=0)


def jumps(steps: FloatArray, calm: FloatArray, slopes: FloatArray) -> FloatArray:
    """Size of a jump among first differences on one side, 0 where there is none.

    One difference must stand out from the others on both sides (calm) and from what the least and the largest slope on
    the ladder explain (slopes, times delta). A function that moves in small steps of its own (rounding inside) has no
    local slope but one on the ladder: that is noise, unless the step is a huge one.
    """
    middle, spike = np.abs(np.median(steps, axis=0)), away(steps)[-1]
    least, largest = np.nan_to_num(slopes)
    stands_out = (spike > 20 * calm) & (spike > 3 * np.fmax(largest, middle))
    own = (spike > 1000 * least) | (middle > 0.3 * least)
    return np.where(stands_out & own, spike, 0.0)


def slope_between_jumps(grid: FloatArray, delta: float) -> tuple[FloatArray, FloatArray]:
    """Median quotient of neighbours on the grid and its uncertainty; up to two jumps do not disturb it."""
    steps = np.diff(grid[: LEFT + RIGHT + 1], axis=0)
    middle = np.median(steps, axis=0)
    rest = np.sort(np.abs(steps - middle), axis=0)[-3]
    return middle / delta, (rest + U * np.abs(grid[LEFT])) / abs(delta)


def noise_level(grid: FloatArray, jumping: BoolArray, rungs: Rungs) -> FloatArray:
    """Noise of each value; at least rounding where the value depends on x_j at all, else 0.

    A kink within the grid looks like noise, but only one or two neighbouring second differences know of it.
    """
    level = noise_of_table(grid[: LEFT + RIGHT + 1])
    if len(grid) > LEFT + RIGHT + 1:
        extra = grid[LEFT + RIGHT + 1 :]
        ahead = noise_of_table(np.concatenate([grid[LEFT : LEFT + RIGHT + 1], extra]))
        behind = noise_of_table(np.concatenate([grid[: LEFT + 1][::-1], extra]))
        level = np.where(np.isfinite(level), level, np.where(np.isfinite(ahead), ahead, behind))
    second = np.diff(grid[: LEFT + RIGHT + 1], n=2, axis=0)
    rising = np.sort(np.abs(second), axis=0)
    kink = (rising[-3] <= 0.05 * rising[-1]) & (np.abs(second.sum(axis=0)) > 0.5 * rising[-1])
    moved = (rungs.plus != rungs.f0).any(axis=0) | (rungs.minus != rungs.f0).any(axis=0)
    floor = np.where(moved, 0.5 * U * np.abs(rungs.f0), 0.0)
    return np.fmax(np.where(jumping | kink | ~np.isfinite(level), 0.0, level), floor)


def noise_of_table(values: FloatArray) -> FloatArray:
    """ECnoise for each column of values at equal spacing; 0 where none is seen, NaN where a value is missing."""
    levels, signs = [], []
    table, gamma = values, 1.0
    for k in range(1, len(values) - 1):
        table = np.diff(table, axis=0)
        gamma *= k / (2.0 * (2.0 * k - 1.0))
        levels.append(np.sqrt(gamma * (table**2).mean(axis=0)))
        signs.append((table.min(axis=0) < 0) & (table.max(axis=0) > 0))
    sizes = np.array(levels)
    found = np.where(np.isfinite(sizes[-1]), 0.0, np.nan)
    for k in range(len(sizes) - 3, -1, -1):  # downwards: the first k wins
        three = sizes[k : k + 3]
        agree = (three.max(axis=0) <= 4 * three.min(axis=0)) & signs[k]
        found = np.where(agree, sizes[k], found)
    return np.asarray(found)


def extrapolate(values: FloatArray, nodes: FloatArray, rounding: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Neville's scheme towards node 0 for each column; the member with the least estimated error, and that error.

    A member is refuted if some value at a smaller node lies farther from it than the value at its own: the sequence
    was not yet converging there. If all are refuted, the last value stands, in doubt by its last change.
    """
    best = np.full(values.shape[1], math.nan)
    error = np.full(values.shape[1], math.inf)
    for before, row in zip([best, *values[:-1]], values, strict=True):
        best = np.where(np.isfinite(row), row, best)
        error = np.where(np.isfinite(row - before), np.abs(row - before), error)
    certain = np.zeros(values.shape[1], dtype=bool)
    table = values
    for m in range(1, len(nodes)):
        ratio = (nodes[:-m] / nodes[m:])[:, None]
        higher = table[1:] + (table[1:] - table[:-1]) / (ratio - 1.0)
        guess = np.maximum(np.abs(higher - table[1:]), np.abs(higher - table[:-1])) + rounding[m:]
        for k in range(len(higher)):
            far = np.abs(values[k + m + 1 :] - higher[k]) - 10 * rounding[k + m + 1 :]
            astray = (far > 2 * np.abs(values[k + m] - higher[k])).any(axis=0)
            usable = np.isfinite(guess[k]) & ~astray & (~certain | (guess[k] < error))
            best, error = np.where(usable, higher[k], best), np.where(usable, guess[k], error)
            certain |= usable
        table = higher
    return best, error


def curvature(rungs: Rungs, noise: FloatArray) -> FloatArray:
    """|d2f/dx2| from second differences, one-sided where one side is refused; 0 if nothing could be found."""
    h, column = rungs.h, rungs.h[:, None]
    central, _ = extrapolate((rungs.forward - rungs.backward) / column, h**2, 4 * noise / column**2)
    found = np.abs(central)
    gaps = column[:-1] - column[1:]
    for side in (rungs.forward, rungs.backward):
        one = 2.0 * (side[:-1] - side[1:]) / gaps
        value, _ = extrapolate(one, h[:-1], 4 * noise[1:] / (column[1:] * column[:-1]))
        found = np.where(np.isfinite(found), found, np.abs(value))
    return np.nan_to_num(found)


def grows(quotients: FloatArray, h: FloatArray, noise: FloatArray) -> BoolArray:
    """The last four quotients grow like h^-p with one p between 0.2 and 0.9, out of the noise (for which p = 1)."""
    if len(h) < 4:
        return np.zeros(quotients.shape[1], dtype=bool)
    sizes = np.abs(quotients[-4:])
    growth = np.log(sizes[1:] / sizes[:-1]) / np.log(h[-4:-1] / h[-3:])[:, None]
    steady = (growth > 0.2).all(axis=0) & (growth < 0.9).all(axis=0) & (np.ptp(growth, axis=0) < 0.2)
    return np.asarray(steady & (sizes[0] * h[-4] > 5 * noise), dtype=bool)


def refused(on_ladder: FloatArray, on_grid: FloatArray, f0: FloatArray) -> bool:
    """Some value that is defined at the point is undefined at all points tried on this side."""
    tried = np.concatenate([on_ladder, on_grid])
    return bool((np.isnan(tried).all(axis=0) & np.isfinite(f0)).any())
