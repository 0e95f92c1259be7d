"""ctypes mirror of what ``runtime/host/fmu.h`` and ``fmu_box.h`` share with Python. Nothing here decides anything."""

from __future__ import annotations

import struct
from ctypes import POINTER, Structure, c_char, c_char_p, c_double, c_int, c_int32, c_int64, c_uint64, c_void_p, sizeof

from pliant.solve.binding import runtime
from pliant.solve.binding.runtime import each, lib

#: bytes of messages that the black box keeps, and of what is printed
MESSAGES_SIZE, PRINTED_SIZE = 1 << 19, 1 << 18
#: requests, as in PL_FMU_...
LOAD, OPEN, VALUE, CLOSE, PART = range(110, 115)
#: state of a client
ALIVE, DIED, HANGS = range(3)
#: types of variables, as in PL_FMU_...
TYPES = {
    "Float64": 0,
    "Float32": 1,
    "Int8": 2,
    "UInt8": 3,
    "Int16": 4,
    "UInt16": 5,
    "Int32": 6,
    "UInt32": 7,
    "Int64": 8,
    "UInt64": 9,
    "Boolean": 10,
    "String": 11,
}
#: flags of a variable
CONTINUOUS, STRUCTURAL, EXACT, INTERMEDIATE = 1, 2, 4, 8
#: flags of the FMU
COMPLETED_STEP, LOGGING, DIRECTIONAL, ONCE = 1, 2, 4, 8
N_VECTORS = 5
MESSAGE = struct.Struct("=diiii")
BEGIN = struct.Struct("=dddq")
#: what a part of a coupling is asked for, pl_fmu_part_question and pl_fmu_part_answer
INITIALISE, INPUTS, ADVANCE, OUTPUTS, SAVE, RESTORE, FORGET, TRY = range(8)
PART_QUESTION, PART_ANSWER = struct.Struct("=qddqqq"), struct.Struct("=qqqqdd")


class BlackBoxStruct(Structure):
    """pl_black_box; messages are behind it."""

    _fields_ = (
        *each(c_int64, "magic call count"),
        ("time", c_double),
        *each(c_int64, "signal overflow"),
        ("address", c_uint64),
        *each(c_int64, "used lost"),
        *each(c_int32, "lock quiet"),
        ("spare", c_int64 * 6),
    )


class FmuHeadStruct(Structure):
    """pl_fmu_head."""

    _fields_ = (
        *each(c_int64, "version kind flags"),
        ("n", c_int64 * N_VECTORS),
        ("m", c_int64 * N_VECTORS),
        *each(c_int64, "n_roots n_jac memory_limit n_texts"),
        ("unit", c_int64 * 8),
    )


class ClientStruct(Structure):
    """pl_fmu_client."""

    _fields_ = (
        *each(c_int, "in_ out ended state"),
        ("box", c_void_p),
        *each(c_double, "call_timeout deadline"),
        *each(c_int, "n_x n_u n_y n_roots"),
        ("words", c_char * 1000),
    )


class AnswerStruct(Structure):
    """pl_fmu_answer."""

    _fields_ = (
        *each(c_int64, "status n words x_changed f_changed nominal_changed terminate request"),
        ("next_time", c_double),
    )


#: bytes of the whole; the messages are behind the rest
BOX_SIZE = sizeof(BlackBoxStruct) + MESSAGES_SIZE
runtime.check_sizes({23: ClientStruct, 24: BlackBoxStruct, 25: FmuHeadStruct, 27: AnswerStruct})
runtime.declare(
    lib,
    {
        "pl_fmu_call_name": (c_char_p, [c_int]),
        "pl_fmu_client_measure": (c_double, [POINTER(ClientStruct), c_double, c_void_p, c_void_p, c_int64]),
        "pl_fmu_client_install": (None, [POINTER(runtime.ModelStruct), c_int, c_int, c_int]),
    },
)


def call_name(number: int) -> str:
    """The FMI function that the black box means."""
    return str(lib.pl_fmu_call_name(number).decode())
