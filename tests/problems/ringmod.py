"""Ring modulator: a diode ring that mixes a low-frequency with a high-frequency signal.

With small parasitic capacitances Cs the model is an ODE, stiff and with oscillations of some MHz.
Unknowns: voltages U1 .. U7 and currents I1 .. I8. The four diodes pass q(U) = gamma (exp(delta U) - 1) at

    UD1 =  U3 - U5 - U7 - Uin2,   UD2 = -U4 + U6 - U7 - Uin2,   Uin1 = 0.5 sin(2 pi 10^3 t)
    UD3 =  U4 + U5 + U7 + Uin2,   UD4 = -U3 - U6 + U7 + Uin2,   Uin2 = 2 sin(2 pi 10^4 t)

    C  U1' = I1 - I3/2 + I4/2 + I7 - U1/R          Lh  I1' = -U1
    C  U2' = I2 - I5/2 + I6/2 + I8 - U2/R          Lh  I2' = -U2
    Cs U3' =  I3 - q(UD1) + q(UD4)                 Ls2 I3' =  U1/2 - U3 - Rg2 I3
    Cs U4' = -I4 + q(UD2) - q(UD3)                 Ls3 I4' = -U1/2 + U4 - Rg3 I4
    Cs U5' =  I5 + q(UD1) - q(UD3)                 Ls2 I5' =  U2/2 - U5 - Rg2 I5
    Cs U6' = -I6 - q(UD2) + q(UD4)                 Ls3 I6' = -U2/2 + U6 - Rg3 I6
    Cp U7' = -U7/Rp + q(UD1) + q(UD2)              Ls1 I7' = -U1 + Uin1 - (Ri + Rg1) I7
             - q(UD3) - q(UD4)                     Ls1 I8' = -U2 - (Rc + Rg1) I8

Source: E. H. Horneber, Analyse nichtlinearer RLCÜ-Netzwerke mit Hilfe der gemischten Potentialfunktion,
thesis, Kaiserslautern 1976.
Reference: the test set's; an own extended-precision run (Radau IIA of order 13) agrees to 9.5 digits.
"""

from math import pi
from pathlib import Path
from typing import Any

import numpy as np

from . import Array, Problem

C, CS, CP = 1.6e-8, 2e-12, 1e-8
R, RP, RC, RI, RG1, RG2, RG3 = 25e3, 50.0, 600.0, 50.0, 36.3, 17.3, 17.3
LH, LS1, LS2, LS3 = 4.45, 2e-3, 5e-4, 5e-4
GAMMA, DELTA = 40.67286402e-9, 17.7493332


def equations(t: Any, x: Any, m: Any) -> list[Any]:
    u1, u2, u3, u4, u5, u6, u7, i1, i2, i3, i4, i5, i6, i7, i8 = (x[i] for i in range(15))
    uin1 = 0.5 * m.sin(2e3 * pi * t)
    uin2 = 2.0 * m.sin(2e4 * pi * t)
    q1 = GAMMA * (m.exp(DELTA * (u3 - u5 - u7 - uin2)) - 1.0)
    q2 = GAMMA * (m.exp(DELTA * (-u4 + u6 - u7 - uin2)) - 1.0)
    q3 = GAMMA * (m.exp(DELTA * (u4 + u5 + u7 + uin2)) - 1.0)
    q4 = GAMMA * (m.exp(DELTA * (-u3 - u6 + u7 + uin2)) - 1.0)
    return [
        (i1 - 0.5 * i3 + 0.5 * i4 + i7 - u1 / R) / C,
        (i2 - 0.5 * i5 + 0.5 * i6 + i8 - u2 / R) / C,
        (i3 - q1 + q4) / CS,
        (-i4 + q2 - q3) / CS,
        (i5 + q1 - q3) / CS,
        (-i6 - q2 + q4) / CS,
        (-u7 / RP + q1 + q2 - q3 - q4) / CP,
        -u1 / LH,
        -u2 / LH,
        (0.5 * u1 - u3 - RG2 * i3) / LS2,
        (-0.5 * u1 + u4 - RG3 * i4) / LS3,
        (0.5 * u2 - u5 - RG2 * i5) / LS2,
        (-0.5 * u2 + u6 - RG3 * i6) / LS3,
        (-u1 + uin1 - (RI + RG1) * i7) / LS1,
        (-u2 - (RC + RG1) * i8) / LS1,
    ]


def _linear_part() -> Array:
    """The Jacobian without the diodes."""
    a = np.zeros((15, 15))
    a[0, [0, 7, 9, 10, 13]] = np.array([-1 / R, 1.0, -0.5, 0.5, 1.0]) / C
    a[1, [1, 8, 11, 12, 14]] = np.array([-1 / R, 1.0, -0.5, 0.5, 1.0]) / C
    a[[2, 3, 4, 5], [9, 10, 11, 12]] = np.array([1.0, -1.0, 1.0, -1.0]) / CS
    a[6, 6] = -1 / (RP * CP)
    a[7, 0] = a[8, 1] = -1 / LH
    a[9, [0, 2, 9]] = np.array([0.5, -1.0, -RG2]) / LS2
    a[10, [0, 3, 10]] = np.array([-0.5, 1.0, -RG3]) / LS3
    a[11, [1, 4, 11]] = np.array([0.5, -1.0, -RG2]) / LS2
    a[12, [1, 5, 12]] = np.array([-0.5, 1.0, -RG3]) / LS3
    a[13, [0, 13]] = np.array([-1.0, -(RI + RG1)]) / LS1
    a[14, [1, 14]] = np.array([-1.0, -(RC + RG1)]) / LS1
    return a


_LINEAR = _linear_part()
# d(UD1..UD4)/d(U3..U7), and what the diode currents add to Cs U3' .. Cs U6', Cp U7'
_VOLTAGE = np.array([[1, 0, -1, 0, -1], [0, -1, 0, 1, -1], [0, 1, 1, 0, 1], [-1, 0, 0, -1, 1]])
_CURRENT = np.array([[-1, 0, 0, 1], [0, 1, -1, 0], [1, 0, -1, 0], [0, -1, 0, 1], [1, 1, -1, -1]])
_CAPACITY = np.array([CS, CS, CS, CS, CP])


def jacobian(t: float, x: Array) -> Array:
    j = _LINEAR.copy()
    uin2 = 2.0 * np.sin(2e4 * pi * t)
    slope = GAMMA * DELTA * np.exp(DELTA * (_VOLTAGE @ x[2:7] + np.array([-1, -1, 1, 1]) * uin2))
    j[2:7, 2:7] += (_CURRENT * slope) @ _VOLTAGE / _CAPACITY[:, None]
    return j


PROBLEM = Problem(
    name="ringmod",
    title="ring modulator",
    source="Mazzia & Magherini, Test Set for IVP Solvers, release 2.4 (2008), ring modulator; Horneber",
    t0=0.0,
    t_end=1e-3,
    x0=np.zeros(15),
    equations=equations,
    jacobian=jacobian,
    reference=np.array(
        [
            -0.02339057358486745,
            -0.007367485485540825,
            0.2582956709291169,
            -0.406446572128345,
            -0.4039455665149794,
            0.2607966765422943,
            0.1106761861269975,
            2.939904342435596e-07,
            -2.840029933642329e-08,
            0.0007267198267264553,
            0.000792948719696084,
            -0.0007255283495698965,
            -0.0007941401968526521,
            7.088495416976114e-05,
            2.39005907523657e-05,
        ]
    ),
    reference_digits=9.5,
    atol_scale=np.array([1e-2] * 2 + [0.1] * 5 + [1e-7, 1e-7] + [1e-4] * 4 + [1e-5] * 2),
    names=tuple(f"U{i}" for i in range(1, 8)) + tuple(f"I{i}" for i in range(1, 9)),
    c_file=Path(__file__).with_suffix(".c"),
)
