/* How many instructions each step takes: a child makes the steps and stops after every one (desktop only). */

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

static void steps(step_call step, char *m, const char *u, int64_t u_size, int64_t n, int64_t every,
                  int64_t *count) {
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
        __asm__ volatile(
            "lea -128(%%rsp), %%rsp; pushfq; orq $0x100, (%%rsp); popfq; lea 128(%%rsp), %%rsp" ::
                : "memory");
        step(m, u + k * u_size);
        __asm__ volatile(
            "lea -128(%%rsp), %%rsp; pushfq; andq $~0x100, (%%rsp); popfq; lea 128(%%rsp), %%rsp" ::
                : "memory");
    }
}

static int watch(pid_t child, int64_t *count) {
    int status;
    (void)count;
    return waitpid(child, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) ? -1 : 0;
}
#elif defined(__aarch64__)
static void steps(step_call step, char *m, const char *u, int64_t u_size, int64_t n, int64_t every,
                  int64_t *count) {
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
        if (WIFEXITED(status) || WIFSIGNALED(status))
            return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -1;
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
int count_instructions(step_call step, void *m, const char *u, int64_t u_size, int64_t n, int64_t every,
                       int64_t low, int64_t high, int64_t *count) {
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
