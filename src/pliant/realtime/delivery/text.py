"""Files beside the step itself: self-test, example, build files. Plain text, the same for the same plan."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.codegen.c_text import wrapped
from pliant.realtime.code.rates import rate_name

if TYPE_CHECKING:
    from pliant.realtime.code.make import StepCode
    from pliant.realtime.delivery.recorded import OtherStart, Recorded

STEP_FLAGS = "-std=c99 -ffp-contract=off -fno-math-errno -fno-tree-slp-vectorize"


def numbers(values: Iterable[Any], precision: str) -> str:
    """Numbers as C text that reads back as the same bits."""
    kind = np.float32 if precision == "float" else np.float64
    suffix = "f" if precision == "float" else ""
    out = []
    with np.errstate(over="ignore"):
        typed = [kind(value) for value in values]
    for value in typed:
        if np.isfinite(value):
            out.append(np.format_float_scientific(value, trim="0") + suffix)
        else:
            out.append("NAN" if np.isnan(value) else "INFINITY" if value > 0 else "-INFINITY")
    return wrapped(out or ["0"])


def data_text(code: StepCode, stored: Recorded, parameters: Iterable[float]) -> str:
    """The stored trajectory as a header."""
    p = list(parameters)
    real = f"{code.name}_real"
    full: Iterable[Any] = stored.x_full if stored.x_full is not None else []
    jumps, other = stored.inputs.jumps, stored.other

    def array(name: str, values: Iterable[Any]) -> str:
        return f"static const {real} {name}[] = {{{numbers(values, code.precision)}}};\n"

    return (
        f"/* Stored trajectory of {code.name}: the first scenario, run on the computer where the code was made. */\n"
        f"#define N_STEPS {stored.n_steps}\n#define N_POINTS {len(stored.points)}\n#define N_X {code.n_x}\n"
        f"#define N_U {len(code.u_names)}\n#define N_P {len(p)}\n#define N_Y {len(code.y_names)}\n"
        f"#define N_D {len(code.memories)}\n#define N_JUMPS {len(jumps)}\n"
        f"#define OTHER_STEPS {other.n_steps if other else 0} /* of the run from another start */\n"
        f"#define MONITOR {int(code.options.monitor)}\n#define FALLBACK {int(code.options.fallback)}\n"
        f"#define RATES {len(code.rates)}\n"
        f"#define INSTANCE_BYTES {code.memory['instance']}\n"
        f"#define TOLERANCE {stored.tolerance!r} /* largest deviation, in units of x_scale */\n"
        f"#define OUTPUT_TOLERANCE {stored.y_tolerance!r} /* in units of y_scale */\n\n#include <math.h>\n\n"
        + "/* inputs at the start, then of every step, a row each */\n"
        + array("u_first", stored.inputs.start)
        + array("u_table", stored.inputs.before.ravel())
        + "/* numbers of the steps at whose ends inputs jump, and the inputs after that */\n"
        + f"static const long jump_step[] = {{{wrapped([str(k) for k in jumps] or ['0'], 20)}}};\n"
        + array("jump_u", stored.inputs.after[jumps].ravel())
        + "/* numbers of the steps after which x is stored, x itself, and its size */\n"
        + f"static const long point_step[] = {{{wrapped([str(k) for k in stored.points], 20)}}};\n"
        + array("x_table", stored.x.ravel())
        + array("x_scale", stored.scale)
        + "/* discrete variables after the same steps */\n"
        + array("d_table", stored.d.ravel())
        + array("d_scale", stored.d_scale)
        + "/* outputs after the same steps, and their size; infinite: rounding decides, not compared */\n"
        + array("y_table", stored.y.ravel())
        + array("y_scale", stored.y_scale)
        + "/* default parameters */\n"
        + array("p_default", p)
        + (f"/* x after the last step, all entries kept */\n{array('x_full', full)}" if code.options.fallback else "")
        + (_other_text(other, array) if other else "")
    )


def _other_text(other: OtherStart, array: Callable[[str, Iterable[Any]], str]) -> str:
    """A start that differs from that of every scenario."""
    return (
        "/* another start: inputs, which stay as they are, x before what happens there, and where it leads */\n"
        f"#define OTHER_TOLERANCE {other.tolerance!r}\n"
        + array("other_u", other.u)
        + array("other_x", other.x)
        + array("other_x_end", other.x_end)
        + array("other_d_end", other.d_end)
    )


SELFTEST = r"""/* Self-test of @N@: runs the stored scenario and compares. Exit code 0: everything is as it was. */
#include "@N@.h"
#include "@DATA@.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static @N@ model, other, saved;
static int failures;

static void check(int good, const char *what) {
    printf("%-6s %s\n", good ? "ok" : "FAILED", what);
    failures += !good;
}

static @N@_inputs inputs_at(const @N@_real *row) {
    @N@_inputs u;
    memset(&u, 0, sizeof u);
    if (N_U > 0) memcpy(&u, row, N_U * sizeof(@N@_real));
    return u;
}

static @N@_inputs inputs_of(long k) { /* up to the end of step k */
    return inputs_at(u_table + k * N_U);
}

static @N@_inputs inputs_after(long k) { /* from the end of step k on */
    for (long j = 0; j < N_JUMPS; j++)
        if (jump_step[j] == k) return inputs_at(jump_u + j * N_U);
    return inputs_of(k);
}

static const @N@_real *memories(const @N@ *m) {
    return @DISCRETE@;
}

static double deviation(const @N@_real *x, const @N@_real *stored, const @N@_real *scale, int n) {
    double worst = 0;
    for (int i = 0; i < n; i++) {
        const double one = fabs((double)x[i] - (double)stored[i]) / (double)scale[i];
        if (!(one <= worst)) worst = one; /* also where it is not a number */
    }
    return worst;
}

static int start(@N@ *m) {
    @N@_parameters p;
    memset(&p, 0, sizeof p);
    @N@_default_parameters(&p);
    const @N@_inputs u = inputs_at(u_first);
    return @N@_init(m, &p, &u);
}

static void steps(@N@ *m, long first, long last) {
    for (long k = first; k < last; k++) {
        const @N@_inputs u = inputs_of(k), after = inputs_after(k);
        if (memcmp(&u, &after, sizeof u) == 0)
            @N@_step(m, &u);
        else
            @N@_step_jump(m, &u, &after);
    }
}

static void test_parameters(void) {
    @N@_parameters p;
    memset(&p, 0, sizeof p);
    @N@_default_parameters(&p);
    check(N_P == 0 || (sizeof p >= N_P * sizeof(@N@_real) && memcmp(&p, p_default, N_P * sizeof(@N@_real)) == 0),
          "default parameters are the stored ones");
    const @N@_inputs u = inputs_at(u_first);
    check(@N@_init(&model, &p, &u) == 0, "init accepts them");
    check(@N@_set_parameters(&model, &p) == 0, "set_parameters accepts them");
}

static double outputs_deviation(const @N@_inputs u, long point) {
    @N@_outputs y;
    memset(&y, 0, sizeof y);
    @N@_get_outputs(&model, &u, &y);
    @N@_real values[N_Y + 1];
    memcpy(values, &y, N_Y * sizeof(@N@_real));
    return deviation(values, y_table + point * N_Y, y_scale, N_Y);
}

static void test_trajectory(void) {
    double worst = 0, worst_discrete = 0, outputs = 0;
    long point = 0, at = 0;
    start(&model);
    for (long k = 0; k < N_STEPS; k++) {
        steps(&model, k, k + 1);
        if (point < N_POINTS && point_step[point] == k + 1) {
            const double one = deviation(@X@, x_table + point * N_X, x_scale, N_X);
            if (!(one <= worst)) {
                worst = one;
                at = k + 1;
            }
            const double own = deviation(memories(&model), d_table + point * N_D, d_scale, N_D);
            if (!(own <= worst_discrete)) worst_discrete = own;
            const double seen = outputs_deviation(inputs_after(k), point);
            if (!(seen <= outputs)) outputs = seen;
            point++;
        }
    }
    printf("       %d steps, %ld points: largest deviation %.3g of a range (step %ld), allowed %.3g\n", N_STEPS, point,
           worst, at, TOLERANCE);
    check(point == N_POINTS && worst <= TOLERANCE, "states follow the stored trajectory");
    if (N_D > 0) check(worst_discrete <= TOLERANCE, "discrete variables follow the stored trajectory");
    check(outputs <= OUTPUT_TOLERANCE, "outputs follow the stored trajectory");
}

#if OTHER_STEPS
static void test_other_start(void) {
    @N@_parameters p;
    memset(&p, 0, sizeof p);
    @N@_default_parameters(&p);
    const @N@_inputs u = inputs_at(other_u);
    check(@N@_init_at(&model, &p, &u, other_x) == 0, "init_at accepts another start");
    for (long k = 0; k < OTHER_STEPS; k++) @N@_step(&model, &u);
    const double worst = deviation(@X@, other_x_end, x_scale, N_X);
    const double one = deviation(memories(&model), other_d_end, d_scale, N_D);
    printf("       %d steps from another start: deviation %.3g, of discrete variables %.3g, allowed %.3g\n",
           OTHER_STEPS, worst, one, OTHER_TOLERANCE);
    check(worst <= OTHER_TOLERANCE && one <= OTHER_TOLERANCE, "another start leads where it led");
}
#endif

static void test_save(void) {
    const long half = N_STEPS / 2;
    start(&model);
    steps(&model, 0, half);
    @N@_save(&model, &saved);
    steps(&model, half, N_STEPS);
    memset(&other, 0x5a, sizeof other);
    @N@_restore(&other, &saved);
    steps(&other, half, N_STEPS);
    check(@N@_state_size() == sizeof(@N@), "the size of a saved state is that of an instance");
    check(@SAME@ && model.step == other.step,
          "a restored instance continues bit for bit like the saved one");
}

#if RATES
static void test_rates(void) {
    int same = 1;
    unsigned missed = 0;
    start(&model);
    start(&other);
    for (long k = 0; k < N_STEPS; k++) {
        const @N@_inputs u = inputs_of(k), after = inputs_after(k);
        @N@_step_jump(&model, &u, &after);
@RATES@        same &= @SAME@ && @SAMED@;
    }
    check(same && !missed, "the step cut by rates is the step, bit for bit");
}
#endif

#if MONITOR
static void test_monitor(void) {
    @N@_flags flags;
    unsigned all = 0;
    long raised = 0;
    start(&model);
    for (long k = 0; k < N_STEPS; k++) {
        steps(&model, k, k + 1);
        const unsigned bits = @N@_monitor(&model, &flags);
        all |= bits;
        raised += bits != 0;
    }
    printf("       monitor: %ld of %d steps flagged, bits %u\n", raised, N_STEPS, all);
    check((all & @NOT_FINITE@) == 0, "the monitor meets no number that is not finite");
@SEES@}
#endif

#if FALLBACK
static void test_fallback(void) {
    int same = 1;
    long fell = 0;
    start(&model);
    start(&other);
    for (long k = 0; k < N_STEPS && !fell; k++) {
        const @N@_inputs u = inputs_of(k), after = inputs_after(k);
        @N@_step_jump(&model, &u, &after);
        fell += 0 != @N@_step_guarded_jump(&other, &u, &after);
        same &= fell || @SAME@;
    }
    check(same, "a guarded step that does not fall back is the step");
    start(&model);
    for (long k = 0; k < N_STEPS; k++) {
        const @N@_inputs u = inputs_of(k), after = inputs_after(k);
        @N@_step_full_jump(&model, &u, &after);
    }
    check(deviation(@X@, x_full, x_scale, N_X) <= TOLERANCE, "the full step follows its stored trajectory");
}
#endif

int main(void) {
    printf("@N@: instance %lu bytes (%d where it was made)\n", (unsigned long)sizeof(@N@), INSTANCE_BYTES);
    check(N_U == 0 || sizeof(@N@_inputs) == N_U * sizeof(@N@_real), "inputs lie as in the table");
    test_parameters();
    test_trajectory();
#if OTHER_STEPS
    test_other_start();
#endif
    test_save();
#if RATES
    test_rates();
#endif
#if MONITOR
    test_monitor();
#endif
#if FALLBACK
    test_fallback();
#endif
    if (failures)
        printf("%d checks failed\n", failures);
    else
        printf("all checks passed\n");
    return failures != 0;
}
"""

EXAMPLE = r"""/* The smallest program around @N@. Replace the loop by your timer and the inputs by your signals. */
#include "@N@.h"

#include <stdio.h>

/* named as in @N@.a2l; no pointers inside: an instance may lie anywhere and be copied */
@N@ @N@_instance;
@N@_inputs @N@_in;
@N@_outputs @N@_out;

int main(void) {
    @N@_parameters p;
    @N@_default_parameters(&p); /* those of @N@_calibration; change members of p here */
@START@    if (@N@_init(&@N@_instance, &p, &@N@_in)) return 1; /* @N@_in: inputs at the start */
    for (int k = 0; k < 1000; k++) { /* every @TAU@ s */
@STEP@        @N@_get_outputs(&@N@_instance, &@N@_in, &@N@_out);
    }
    printf("@FORMAT@ = %g after %ld steps\n", (double)@VALUE@, (long)@N@_instance.step);
    return 0;
}
"""


def step_call(code: StepCode) -> str:
    """The step and its monitor in the loop of the example."""
    n = code.name
    if code.options.fallback:
        return f"        (void){n}_step_guarded(&{n}_instance, &{n}_in); /* not 0: this step took all entries */\n"
    out = f"        {n}_step(&{n}_instance, &{n}_in);\n"
    if code.options.monitor:
        out += f"        {n}_flags flags;\n"
        out += (
            f"        if ({n}_monitor(&{n}_instance, &flags)) {{ /* log flags, or go to a safe state */\n        }}\n"
        )
    return out


def rate_calls(code: StepCode, instance: str = "other") -> str:
    """The step of an instance by the functions of its rates, slow ones first."""
    if not code.rates:
        return ""
    n = code.name
    out = f"        {n}_step_{rate_name(code.tau)}(&{instance}, &u, &after);\n"
    for rate in reversed(code.rates):
        due = f"{n}_due(&{instance}) & {n.upper()}_DUE_{rate.name}"
        out += f"        if ({due}) {n}_tick_{rate.name}(&{instance}, &after);\n"
    return out + f"        missed |= {n}_step_end(&{instance}, &after);\n"


MAKEFILE = """# make, make test, make clean; CC and CFLAGS as usual
CC ?= cc
CFLAGS ?= -O2 -Wall -Wextra
STEP_FLAGS = @FLAGS@

all: @N@.o @SELFTEST@ @EXAMPLE@

@N@.o: @N@.c @N@.h
	$(CC) $(CFLAGS) $(STEP_FLAGS) -c -o $@ @N@.c

@SELFTEST@: @SELFTEST@.c @DATA@.h @N@.o
	$(CC) $(CFLAGS) $(STEP_FLAGS) -o $@ @SELFTEST@.c @N@.o -lm

@EXAMPLE@: @EXAMPLE@.c @N@.o
	$(CC) $(CFLAGS) $(STEP_FLAGS) -o $@ @EXAMPLE@.c @N@.o -lm

test: @SELFTEST@
	./@SELFTEST@

clean:
	rm -f @N@.o @SELFTEST@ @EXAMPLE@

.PHONY: all test clean
"""

CMAKE = """cmake_minimum_required(VERSION 3.10)
project(@N@ C)
set(CMAKE_C_STANDARD 99)
set(CMAKE_C_STANDARD_REQUIRED ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
string(REPLACE "-O3" "-O2" CMAKE_C_FLAGS_RELEASE "${CMAKE_C_FLAGS_RELEASE}")
string(REPLACE "-DNDEBUG" "" CMAKE_C_FLAGS_RELEASE "${CMAKE_C_FLAGS_RELEASE}")
if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
  add_compile_options(-Wall -Wextra -ffp-contract=off -fno-math-errno -fno-tree-slp-vectorize)
endif()

add_library(@N@_step STATIC @N@.c)
target_include_directories(@N@_step PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
if(UNIX)
  target_link_libraries(@N@_step PUBLIC m)
endif()

add_executable(@SELFTEST@ @SELFTEST@.c)
target_link_libraries(@SELFTEST@ PRIVATE @N@_step)
add_executable(@EXAMPLE@ @EXAMPLE@.c)
target_link_libraries(@EXAMPLE@ PRIVATE @N@_step)

enable_testing()
add_test(NAME @SELFTEST@ COMMAND @SELFTEST@)
"""


def filled(text: str, words: dict[str, str]) -> str:
    """A template with its words put in."""
    return re.sub(f"@({'|'.join(words)})@", lambda found: words[found[1]], text)
