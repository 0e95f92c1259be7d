"""Names of a model in C text. They cannot collide with other names, because of their form:

    inside functions    T_1_       letters, digits, single underscores, and one at the end: no name of C or POSIX ends
                                   so, and none that the texts around declare for themselves
    members of structs  T_1        as people write them; v_ in front of what is a word or a macro of C, C++ or POSIX
    the model itself    Pipe       begins files, types and functions; model_ in front of what the headers of C and POSIX
                                   declare, of file names of theirs, and of what the written programs use themselves

What C, POSIX and GNU declare is kept in ``c_names.txt`` (tools/c_names.py), so that names are the same everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

LONGEST_MODEL = 80  # characters of a model's name: names of files and functions begin with it
LONGEST = 200  # of any other name
SIGNIFICANT = 63  # characters of a name that every C99 compiler looks at

_KEYWORDS = """auto break case char const continue default do double else enum extern float for goto if inline int long
    register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
    alignas alignof bool constexpr false nullptr static_assert thread_local true typeof typeof_unqual asm fortran
    and and_eq bitand bitor catch char8_t char16_t char32_t class co_await co_return co_yield compl concept consteval
    constinit const_cast decltype delete dynamic_cast explicit export friend mutable namespace new noexcept not not_eq
    operator or or_eq private protected public reinterpret_cast requires static_cast template this throw try typeid
    typename using virtual wchar_t xor xor_eq far near huge interrupt linux unix complex imaginary I"""
_MACRO_FAMILIES = ("M_", "FP_", "INT", "UINT", "SIZE_", "SEEK_", "PL_")

# files that a header of the model must not hide, and names that Windows keeps for devices
_FILES = """assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg
    stdatomic stdbit stdbool stdckdint stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar wchar
    wctype aio cpio dirent dlfcn fcntl fmtmsg fnmatch ftw glob grp iconv langinfo libgen monetary mqueue ndbm netdb
    nl_types poll pthread pwd regex sched search semaphore spawn strings syslog tar termios trace ulimit unistd utime
    utmpx wordexp windows con prn aux nul com1 com2 com3 com4 com5 com6 com7 com8 com9 lpt1 lpt2 lpt3 lpt4 lpt5 lpt6
    lpt7 lpt8 lpt9 conin conout"""

# what written programs and headers add to the name of a model
_ADDED = """real parameters inputs outputs flags calibration instance in out default_parameters set_parameters init
    init_at step step_jump step_full step_full_jump step_guarded step_guarded_jump get_outputs monitor state_size save
    restore due step_end STEP_H PIVOT RINGING
    ERROR DROPPED NOT_FINITE RANGE"""

# names that the written programs use for themselves; tests/test_names.py finds what is missing
_OURS = """CONTROL_EVERY EVICT FALLBACK INSTANCE_BYTES MONITOR N_D N_JUMPS N_P N_POINTS N_STEPS N_U N_X N_Y
    OTHER_STEPS OTHER_TOLERANCE OUTPUT_TOLERANCE PILOT QuadPart RATES STOLEN TOLERANCE WATCH a a0 a1 action add after
    all argc argv at at_start b b0 b1 bad before begin best bits broken c call check child chosen clipped clock_cost
    commit_rates compare constant_work context control controlled core cost count count_instructions count_now
    counters cpu crossed cw d d0 d1 d2 d_chosen d_scale d_table derived_in_double derived_parameters deviation
    discrete_update disturbed done dropped dropped_size duration dx dx_before dz end error error_size every evict
    factor failed failures fallen fallen_record fallen_step faults fell file first flags frequency from good gregs
    half held high high_address i info initial_update inputs inputs_after inputs_at inputs_of inverse is_counting
    is_known j jump jump_step jump_u k l last late latency later least level longest look_at look_at_inputs loop low
    low_address m main main_record make_record mask median memories middle missed model moved n next next_inputs
    next_time noinline none not_finite now ns number offsetof one one_step optimize other other_d_end other_u other_x
    other_x_end out outputs outputs_deviation outside outside_number own p p_default p_middle p_per_half pace part
    pass past path pc per_half per_row_scale per_scale period pilot pinned pivot pivot_high pivot_low pivot_number
    pivot_share place point point_step prctl preempted prepare present priority ptrace r raised range range_share
    rates_rest read_inputs record resolution rest rests right ringing ringing_limit ringing_steps rings round rounds
    rounds_for row row_mass rows ru_majflt ru_minflt ru_nivcsw rubbish sa_flags same saved scale second seen set share
    since sink size sleep_until start status step steps still stopped stored t t0 test_fallback test_monitor
    test_other_start test_parameters test_rates test_save test_trajectory th timed to total tv_nsec tv_sec u u_first
    u_middle u_per_change u_per_half u_size u_table uc_mcontext unused update usage user_regs_struct usual v value
    values w wall wanted was_disturbed watch watched_row what worse worse_p worse_u worst worst_discrete write_record
    ww x x_full x_middle x_per_half x_scale x_start x_table xh y y_scale y_table z zn"""

_OUR_FAMILIES = ("pl_", "PL_", "pliant", "start_", "step_", "table_", "due_")


@cache
def _listed() -> dict[str, frozenset[str]]:
    """Macros, and other names that headers declare."""
    found: dict[str, list[str]] = {}
    for line in (Path(__file__).with_name("c_names.txt")).read_text(encoding="ascii").splitlines():
        if line.startswith("["):
            words = found.setdefault(line.strip("[]"), [])
        elif not line.startswith("#"):
            words += line.split()
    return {title: frozenset(words) for title, words in found.items()}


@cache
def _not_a_member() -> frozenset[str]:
    return frozenset(_KEYWORDS.split()) | _listed()["macros"]


@cache
def _not_a_model() -> frozenset[str]:
    return _not_a_member() | _listed()["declared"] | frozenset(_OURS.split())


def plain(name: str) -> str:
    """Letters, digits and single underscores between them; may be empty.

    >>> plain("T_B[1].'Q*/'")
    'T_B_1_Q'
    """
    return re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")


def _different(base: str, end: str, taken: set[str]) -> str:
    """The base, numbered where another name has the same first characters."""
    base = base[:LONGEST].rstrip("_")
    found, k = base + end, 1
    while found[:SIGNIFICANT] in taken:
        k += 1
        mark = f"_{k}{end}"
        found = base[: SIGNIFICANT - len(mark)].rstrip("_") + mark if len(base + mark) > SIGNIFICANT else base + mark
    taken.add(found[:SIGNIFICANT])
    return found


class Identifiers:
    """Names of variables inside functions: readable, different from each other, the same in every run."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._of: dict[int, str] = {}

    def of(self, key: int, name: str) -> str:
        """The identifier of variable ``key``."""
        found = self._of.get(key)
        if found is None:
            base = plain(name)
            found = self._of[key] = _different(base if base[:1].isalpha() else f"v_{base}", "_", self._taken)
        return found


def member_names(names: Sequence[str]) -> list[str]:
    """Names of the members of one struct.

    >>> member_names(["T_B[1]", "T_B_1", "NAN"])
    ['T_B_1', 'T_B_1_2', 'v_NAN']
    """
    taken: set[str] = set()
    out = []
    for name in names:
        base = plain(name)
        if not base[:1].isalpha() or base.startswith(_MACRO_FAMILIES) or base in _not_a_member():
            base = f"v_{base}"
        out.append(_different(base, "", taken))
    return out


def model_prefix(name: str) -> str:
    """What files, types and functions of a model begin with.

    >>> model_prefix("Hydraulics.Pipe"), model_prefix("int")
    ('Hydraulics_Pipe', 'model_int')
    """
    base = plain(name)[:LONGEST_MODEL].rstrip("_")
    return base if base[:1].isalpha() and not _is_taken(base) else f"model_{base or 1}"


def _is_taken(base: str) -> bool:
    words = _not_a_model()
    if base in words or base.lower() in _FILES.split() or f"{base}_".startswith(_OUR_FAMILIES):
        return True
    return any(f"{one}_{word}" in words for one in (base, base.upper()) for word in _ADDED.split())
