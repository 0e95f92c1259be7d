"""Arrays that the functions of a generated model read and write."""

from __future__ import annotations

from pliant.codegen.places import Argument, Array, Owner, StructArray, ValueKind


def of_instance(name: str, kind: ValueKind = ValueKind.REAL, is_block: bool = False) -> Array:
    """An array of the instance."""
    return Array(name, Owner.INSTANCE, kind, is_block=is_block)


def given(name: str, kind: ValueKind = ValueKind.REAL) -> Array:
    """An array of the caller."""
    return Array(name, Owner.ARGUMENT, kind)


# what every function is given
X, U, TIME = given("x"), given("u"), Array("t")
COMMON = (
    Argument("m", StructArray.INSTANCE),
    Argument("t", is_array=False),
    Argument("x", is_const=True),
    Argument("u", is_const=True),
)

READ_ONLY = Argument("m", StructArray.INSTANCE, is_const=True)

# what single functions give back
F, VALUE, G = given("f"), given("value"), given("g")

# the instance
P = of_instance("p")
CONSTANTS = of_instance("c")
KEPT_ENTRIES = of_instance("j")
WORK = of_instance("w")
Y = of_instance("y")
SELECT = of_instance("select")
HOMOTOPY = of_instance("homotopy")
RELATION = of_instance("relation", ValueKind.INTEGER)
MEMORY, BEFORE = of_instance("d"), of_instance("b")
KEPT, TICK, INITIAL = of_instance("kept"), of_instance("tick"), of_instance("initial")
TERMINAL = of_instance("terminal")
EXTENT, SLACK = of_instance("extent"), of_instance("slack")
ERROR = of_instance("error", ValueKind.INTEGER)

# loops: tears at the last accepted step, at the last evaluation of f, and of everything else; residuals
TEAR_GUESS, Z, ZZ = (
    of_instance("guess", is_block=True),
    of_instance("z", is_block=True),
    of_instance("zz", is_block=True),
)
R = of_instance("r", is_block=True)
SLOPE = of_instance("slope", is_block=True)
T_GUESS = of_instance("t_guess")
RESCUES, RUNNING = of_instance("rescues", ValueKind.INTEGER), of_instance("running", ValueKind.INTEGER)
DET_GUESS, DET_Z, DET_ZZ = of_instance("det_guess"), of_instance("det_z"), of_instance("det_zz")


def loop_matrix(loop: int) -> Array:
    """Matrix of a loop, then its factors."""
    return of_instance(f"A{loop}", is_block=True)


def loop_pivots(loop: int) -> Array:
    """Its order of pivots."""
    return of_instance(f"v{loop}", ValueKind.INTEGER, is_block=True)
