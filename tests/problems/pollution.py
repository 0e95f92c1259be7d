"""POLLU: the chemistry of an air pollution model, 25 reactions between 20 species, rates from 1e-4 to 4e11.

Mass action: a reaction with constant k and educts a, b runs at the rate k a b, and changes the concentration
(ppm) of each species by its net number of molecules times that rate (time in minutes). REACTIONS lists them;
what the model does not follow (O2, H2O, ...) does not appear.

Source: J. G. Verwer, Gauss-Seidel iteration for stiff ODEs from chemical kinetics, SIAM J. Sci. Comput. 15
(1994) 1243-1259; the chemistry of a model of the RIVM, the Dutch institute of public health.
Reference: the test set's; an own quadruple-precision run (Radau IIA of order 13) agrees to 15.4 digits.
"""

from pathlib import Path
from typing import Any

import numpy as np

from . import Array, Problem

# fmt: off
NAMES = [
    "NO2", "NO", "O3P", "O3", "HO2", "OH", "HCHO", "CO", "ALD", "MEO2",
    "C2O3", "CO2", "PAN", "CH3O", "HNO3", "O1D", "SO2", "SO4", "NO3", "N2O5",
]
SCALE = np.array([
    0.1, 0.1, 1e-8, 1e-2, 1e-7, 1e-7, 0.1, 0.1, 1e-2, 1e-8,
    1e-8, 1e-3, 1e-4, 1e-5, 1e-2, 1e-17, 1e-2, 1e-4, 1e-6, 1e-5,
])
# fmt: on

# rate constant, educts that count in the rate, net change of each species
REACTIONS: list[tuple[float, str, dict[str, int]]] = [
    (0.35, "NO2", {"NO2": -1, "NO": 1, "O3P": 1}),
    (26.6, "NO O3", {"NO": -1, "O3": -1, "NO2": 1}),
    (1.23e4, "HO2 NO", {"HO2": -1, "NO": -1, "NO2": 1, "OH": 1}),
    (8.6e-4, "HCHO", {"HCHO": -1, "HO2": 2, "CO": 1}),
    (8.2e-4, "HCHO", {"HCHO": -1, "CO": 1}),
    (1.5e4, "HCHO OH", {"HCHO": -1, "OH": -1, "HO2": 1, "CO": 1}),
    (1.3e-4, "ALD", {"ALD": -1, "MEO2": 1, "HO2": 1, "CO": 1}),
    (2.4e4, "ALD OH", {"ALD": -1, "OH": -1, "C2O3": 1}),
    (1.65e4, "C2O3 NO", {"C2O3": -1, "NO": -1, "NO2": 1, "MEO2": 1, "CO2": 1}),
    (9.0e3, "C2O3 NO2", {"C2O3": -1, "NO2": -1, "PAN": 1}),
    (0.022, "PAN", {"PAN": -1, "C2O3": 1, "NO2": 1}),
    (1.2e4, "MEO2 NO", {"MEO2": -1, "NO": -1, "CH3O": 1, "NO2": 1}),
    (1.88, "CH3O", {"CH3O": -1, "HCHO": 1, "HO2": 1}),
    (1.63e4, "NO2 OH", {"NO2": -1, "OH": -1, "HNO3": 1}),
    (4.8e6, "O3P", {"O3P": -1, "O3": 1}),
    (3.5e-4, "O3", {"O3": -1, "O1D": 1}),
    (0.0175, "O3", {"O3": -1, "O3P": 1}),
    (1.0e8, "O1D", {"O1D": -1, "OH": 2}),
    (4.44e11, "O1D", {"O1D": -1, "O3P": 1}),
    (1.24e3, "SO2 OH", {"SO2": -1, "OH": -1, "SO4": 1, "HO2": 1}),
    (2.1, "NO3", {"NO3": -1, "NO": 1}),
    (5.78, "NO3", {"NO3": -1, "NO2": 1, "O3P": 1}),
    (0.0474, "NO2 O3", {"NO2": -1, "O3": -1, "NO3": 1}),
    (1.78e3, "NO3 NO2", {"NO3": -1, "NO2": -1, "N2O5": 1}),
    (3.12, "N2O5", {"N2O5": -1, "NO3": 1, "NO2": 1}),
]
_START = {"NO": 0.2, "O3": 0.04, "HCHO": 0.1, "CO": 0.3, "ALD": 0.01, "SO2": 0.007}
_INDEX = {name: i for i, name in enumerate(NAMES)}
_TABLE = [
    (k, [_INDEX[s] for s in educts.split()], {_INDEX[s]: n for s, n in change.items()})
    for k, educts, change in REACTIONS
]


def equations(t: Any, x: Any, m: Any) -> list[Any]:
    f: list[Any] = [0.0] * len(NAMES)
    for k, educts, change in _TABLE:
        rate = k * x[educts[0]] if len(educts) == 1 else k * x[educts[0]] * x[educts[1]]
        for species, number in change.items():
            f[species] = f[species] + number * rate
    return f


def jacobian(t: float, x: Array) -> Array:
    j = np.zeros((len(NAMES), len(NAMES)))
    for k, educts, change in _TABLE:
        for place, educt in enumerate(educts):
            slope = k if len(educts) == 1 else k * x[educts[1 - place]]
            for species, number in change.items():
                j[species, educt] += number * slope
    return j


PROBLEM = Problem(
    name="pollution",
    title="chemistry of air pollution",
    source="Mazzia & Magherini, Test Set for IVP Solvers, release 2.4 (2008), POLLU; Verwer 1994",
    t0=0.0,
    t_end=60.0,
    x0=np.array([_START.get(name, 0.0) for name in NAMES]),
    equations=equations,
    jacobian=jacobian,
    reference=np.array(
        [
            0.05646255480022769,
            0.1342484130422339,
            4.139734331099427e-09,
            0.005523140207484359,
            2.018977262302196e-07,
            1.464541863493966e-07,
            0.07784249118997964,
            0.3245075353396018,
            0.007494013383880406,
            1.622293157301561e-08,
            1.135863833257075e-08,
            0.002230505975721359,
            0.000208716288279863,
            1.396921016840158e-05,
            0.008964884856898295,
            4.352846369330103e-18,
            0.006899219696263405,
            0.0001007803037365946,
            1.772146513969984e-06,
            5.682943292316392e-05,
        ]
    ),
    reference_digits=15.0,
    atol_scale=SCALE,
    names=NAMES,
    c_file=Path(__file__).with_suffix(".c"),
)
