"""How many instructions each step takes, counted one by one (desktop only).

A child process makes the steps and stops after every instruction: on x86-64 by the trap flag and a signal handler, on
AArch64 traced by its parent (ptrace). Instructions count whose address lies in the code of the step's own library, so
that libm, whose time may depend on its argument, is left out. Linux only; some ten microseconds per instruction.
"""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import numpy as np

from pliant.codegen.compiler import load_text
from pliant.errors import CompileError, NotSupportedError
from pliant.realtime.stepper.run import Stepper

COUNTER = r"""
#define _GNU_SOURCE
#include <elf.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

typedef void (*step_call)(void *, const void *);

static int64_t low_address, high_address;

static void add(int64_t at, volatile int64_t *count) {
    count[0] += at >= low_address && at < high_address;
    count[1]++;
}

#if defined(__x86_64__)
static volatile int64_t *present;

static void stopped(int number, siginfo_t *info, void *context) {
    (void)number, (void)info;
    add(((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP], present);
}

static void steps(step_call step, char *m, const char *u, int64_t u_size, int64_t n, int64_t every, int64_t *count) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = stopped;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGTRAP, &action, NULL);
    for (int64_t k = 0; k < n; k++) {
        if (k % every) {
            step(m, u + k * u_size);
            continue;
        }
        present = count + 2 * (k / every);
        __asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; orq $0x100, (%%rsp); popfq; lea 128(%%rsp), %%rsp" ::
                             : "memory");
        step(m, u + k * u_size);
        __asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; andq $~0x100, (%%rsp); popfq; lea 128(%%rsp), %%rsp" ::
                             : "memory");
    }
}

static int watch(pid_t child, int64_t *count) {
    int status;
    (void)count;
    return waitpid(child, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) ? -1 : 0;
}
#elif defined(__aarch64__)
static void steps(step_call step, char *m, const char *u, int64_t u_size, int64_t n, int64_t every, int64_t *count) {
    (void)count;
    if (ptrace(PTRACE_TRACEME, 0, 0, 0)) _exit(1);
    for (int64_t k = 0; k < n; k++) {
        if (k % every == 0) raise(SIGUSR1); /* from here on instruction by instruction ... */
        step(m, u + k * u_size);
        if (k % every == 0) raise(SIGUSR2); /* ... up to here */
    }
}

static int watch(pid_t child, int64_t *count) {
    int status, is_counting = 0;
    int64_t k = -1;
    for (;;) {
        if (waitpid(child, &status, 0) < 0) return -1;
        if (WIFEXITED(status) || WIFSIGNALED(status)) return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -1;
        if (WSTOPSIG(status) == SIGUSR1) is_counting = 1, k++;
        if (WSTOPSIG(status) == SIGUSR2) is_counting = 0;
        if (is_counting && WSTOPSIG(status) == SIGTRAP) {
            struct user_regs_struct all;
            struct iovec place = {&all, sizeof all};
            if (ptrace(PTRACE_GETREGSET, child, NT_PRSTATUS, &place)) return -1;
            add((int64_t)all.pc, count + 2 * k);
        }
        if (ptrace(is_counting ? PTRACE_SINGLESTEP : PTRACE_CONT, child, 0, 0)) return -1;
    }
}
#endif

/* n steps from m, inputs every u_size bytes; count: pairs (inside of low..high, all) of every `every`-th step.
 * Returns 0, or -1 where this is not possible. */
int count_instructions(step_call step, void *m, const char *u, int64_t u_size, int64_t n, int64_t every, int64_t low,
                       int64_t high, int64_t *count) {
#if defined(__x86_64__) || defined(__aarch64__)
    low_address = low;
    high_address = high;
    pid_t child = fork();
    if (child < 0) return -1;
    if (child == 0) {
        steps(step, m, u, u_size, n, every, count);
        _exit(0);
    }
    int failed = watch(child, count);
    if (failed) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
    return failed;
#else
    return -1;
#endif
}
"""
FLAGS = ("-std=gnu99", "-O1", "-fPIC")


def _code_of(stepper: Stepper) -> tuple[int, int]:
    """Addresses of the library's code."""
    with open("/proc/self/maps", encoding="utf-8") as stream:
        for line in stream:
            span, rights, *rest = line.split()
            if "x" in rights and str(stepper.path.resolve()) in rest:
                low, high = (int(one, 16) for one in span.split("-"))
                return low, high
    raise NotSupportedError("the code of the step was not found in memory", hint="instructions are counted on Linux")


def count_instructions(
    stepper: Stepper, x0: Any, u_table: Any, n_steps: int, *, every: int = 1, everything: bool = False
) -> list[int]:
    """Instructions of each (or ``every`` so manieth) of ``n_steps`` steps from x0 (None: where the stepper is).

    ``everything``: with those of libm. The stepper itself stays as it is.
    """
    try:
        counter = load_text(COUNTER, "count_instructions", flags=FLAGS).library
    except CompileError as error:
        raise NotSupportedError("instructions can be counted on Linux only") from error
    u = stepper._inputs(u_table, n_steps)
    saved = stepper.save()
    if x0 is not None:
        stepper.reset(x0)
    begin = stepper.save()
    stepper.run(u[:1], 1)  # the loader finds libm's functions at their first call
    stepper.restore(begin)
    low, high = _code_of(stepper)
    n_counted = -(-n_steps // every)
    counts = np.frombuffer(mmap.mmap(-1, 16 * max(n_counted, 1)), np.int64).reshape(-1, 2)
    size = u.shape[1] * u.itemsize
    table = u if u.size else np.zeros(1, stepper.type)
    failed = counter.count_instructions(
        ctypes.cast(getattr(stepper.library, f"{stepper.code.name}_step"), ctypes.c_void_p),
        ctypes.c_void_p(stepper.address),
        ctypes.c_void_p(table.ctypes.data),
        *(ctypes.c_int64(one) for one in (size, n_steps, every, low, high)),
        ctypes.c_void_p(counts.ctypes.data),
    )
    stepper.restore(saved)
    if failed:
        raise NotSupportedError("this system does not let a process be stopped after each instruction")
    return [int(one) for one in counts[:n_counted, int(everything)]]
