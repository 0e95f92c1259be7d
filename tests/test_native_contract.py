"""What a C model may say of itself besides its equations: nominal values that change, delays."""

from __future__ import annotations

from pathlib import Path

import pytest

import pliant
from pliant.solve.options import ATOL_SHARE

SWITCHES = """
#include "pliant.h"
#include <math.h>

/* x' = -x until t = 1, where x becomes a million times smaller, and its nominal value with it */
typedef struct memory {
    int small;
} memory;
static const pl_real x_start[] = {1.0}, x_nominal[] = {1.0};
static pl_status rhs(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *f) {
    (void)u;
    pl_real size = ((memory *)self)->small ? 1e-6 : 1.0;
    f[0] = size * 50.0 * cos(50.0 * t) - 0.0 * x[0];
    return PL_OK;
}
static pl_status initialise(void *self, pl_real t, pl_real *x, const pl_real *u, pl_event_info *info) {
    (void)self, (void)t, (void)x, (void)u;
    info->next_time = 1.0;
    return PL_OK;
}
static pl_status event(void *self, pl_real t, pl_real *x, const pl_real *u, const int8_t *fired,
                       pl_event_info *info) {
    (void)t, (void)u, (void)fired;
    ((memory *)self)->small = 1;
    x[0] *= 1e-6;
    info->x_changed = 1;
    info->nominal_changed = TELLS;
    info->next_time = HUGE_VAL;
    return PL_OK;
}
static void nominal(void *self, pl_real *x) {
    x[0] = ((memory *)self)->small ? 1e-6 : 1.0;
}
const pl_model pliant_model = {.abi = PL_ABI, .n_x = 1, .memory_size = sizeof(memory), .x_start = x_start,
    .x_nominal = x_nominal, .rhs = rhs, .initialise = initialise, .event = event, .nominal = nominal};
"""


def steps_after(path: Path, tells: int, **more: object) -> int:
    result = pliant.native(path, defines={"TELLS": tells}).simulate(2, points=None, rtol=1e-6, **more)  # type: ignore[arg-type]
    return int((result.time > 1.0).sum())


def test_nominal_values_that_an_event_rewrites(tmp_path: Path) -> None:
    """Default tolerances follow them: steps stay as they were. Those of the user do not."""
    path = tmp_path / "switches.c"
    path.write_text(SWITCHES)
    told, not_told = steps_after(path, 1), steps_after(path, 0)
    assert told > 3 * not_told
    assert steps_after(path, 1, atol=ATOL_SHARE * 1e-6) == steps_after(path, 0, atol=ATOL_SHARE * 1e-6)


def test_delays_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "late.c"
    path.write_text("""#include "pliant.h"
static const pl_real x_start[] = {1.0};
static pl_status rhs(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *f) {
    (void)self, (void)t, (void)u;
    f[0] = -x[0];
    return PL_OK;
}
static pl_status delayed(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *value, pl_real *delay) {
    (void)self, (void)t, (void)u;
    value[0] = x[0];
    delay[0] = 1.0;
    return PL_OK;
}
static void set_history(void *self, const pl_history *history) {
    (void)self, (void)history;
}
const pl_model pliant_model = {.abi = PL_ABI, .n_x = 1, .x_start = x_start, .rhs = rhs, .n_delays = 1,
    .delayed = delayed, .set_history = set_history};
""")
    with pytest.raises(pliant.NotSupportedError, match="delayed") as caught:
        pliant.native(path).simulate(1)
    assert caught.value.hint
