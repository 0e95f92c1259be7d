/* Desktop only. The black box of a process that runs foreign code. */
#ifndef _WIN32
#define _GNU_SOURCE
#include "fmu_box.h"

#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

#define SIGNAL_STACK  (1 << 16)
#define LARGEST_STACK (1 << 26) /* where the system sets no limit */
#define LOCK_SPINS    1000
#define LOCK_TRIES    2000
#define NEAR          (1 << 20) /* of the stack pointer and of the end of the stack: it has overflowed */

static pl_black_box *noted; /* handlers of signals have no arguments */
static uintptr_t stack_base;
static int folder = -1;
static fenv_t usual;
volatile int pl_box_is_copy;

static void note_copy(void) {
    pl_box_is_copy = 1;
}

/* ------------------------------------------------------------------------------------------------- signals */

static uintptr_t stack_pointer(const void *context) {
#if defined(__x86_64__) && defined(__linux__)
    return (uintptr_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__) && defined(__linux__)
    return (uintptr_t)((const ucontext_t *)context)->uc_mcontext.sp;
#else
    (void)context;
    return 0;
#endif
}

static int overflowed(uintptr_t address, const void *context) {
    struct rlimit limit;
    uintptr_t at = stack_pointer(context), base = stack_base;
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || !at || address >= base) return 0;
    uintptr_t distance = address > at ? address - at : at - address;
    return distance < NEAR && base - address + NEAR > (uintptr_t)limit.rlim_cur;
}

/* Nothing in this process may be trusted any more: note, and die of it. */
static void note_signal(int number, siginfo_t *info, void *context) {
    if (!noted) return;
    noted->address = (uint64_t)(uintptr_t)info->si_addr;
    noted->overflow =
        number == SIGSEGV || number == SIGBUS ? overflowed((uintptr_t)info->si_addr, context) : 0;
    noted->signal = number;
}

static void handle_signals(void) {
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    static char room[SIGNAL_STACK];
    stack_t other = {.ss_sp = room, .ss_size = sizeof room};
    struct sigaction act;
    sigaltstack(&other, NULL);
    memset(&act, 0, sizeof act);
    act.sa_sigaction = note_signal;
    act.sa_flags = SA_SIGINFO | SA_ONSTACK | (int)SA_RESETHAND;
    for (size_t k = 0; k < sizeof fatal / sizeof *fatal; k++) sigaction(fatal[k], &act, NULL);
    signal(SIGINT, SIG_IGN); /* Ctrl-C is the parent's to hear; it ends this process */
}

pl_black_box *pl_box_open(int descriptor) {
    struct rlimit limit;
    pl_black_box *box = mmap(NULL, PL_BOX_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (box == MAP_FAILED) return NULL;
    fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    box->magic = PL_BOX_MAGIC;
    noted = box;
    stack_base = (uintptr_t)__builtin_frame_address(0) + 4096;
    if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur > LARGEST_STACK) {
        limit.rlim_cur = LARGEST_STACK;
        setrlimit(RLIMIT_STACK, &limit);
    }
    if (getrlimit(RLIMIT_CORE, &limit) == 0) {
        limit.rlim_cur = 0;
        setrlimit(RLIMIT_CORE, &limit);
    }
    folder = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    fegetenv(&usual);
    (void)pthread_atfork(NULL, NULL, note_copy);
    pl_box_mend(box);
    return box;
}

void pl_box_mend(pl_black_box *box) {
    noted = box;
    handle_signals();
    fesetenv(&usual);
    setlocale(LC_ALL, "C");
    if (folder >= 0 && fchdir(folder) != 0) return;
}

/* ------------------------------------------------------------------------------------------------ messages */

static size_t padded(size_t bytes) {
    return (bytes + 7) & ~(size_t)7;
}

int pl_box_lock(pl_black_box *box) {
    for (int k = 0; k < LOCK_TRIES; k++) {
        if (!__sync_lock_test_and_set(&box->lock, 1)) return 1;
        if (k >= LOCK_SPINS) sched_yield();
    }
    return 0;
}

void pl_box_unlock(pl_black_box *box) {
    __sync_lock_release(&box->lock);
}

void pl_box_add(pl_black_box *box, int status, const char *category, const char *text) {
    size_t category_bytes = category ? strlen(category) : 0, text_bytes = text ? strlen(text) : 0;
    pl_box_message head = {.time = box->time, .status = status};
    if (category_bytes > 200) category_bytes = 200;
    if (text_bytes > 8000) text_bytes = 8000;
    head.category = (int32_t)category_bytes;
    head.text = (int32_t)text_bytes;
    size_t bytes = sizeof head + padded(category_bytes + text_bytes);
    if (!pl_box_lock(box)) {
        box->lost++;
        return;
    }
    if ((size_t)box->used + bytes > PL_BOX_MESSAGES) {
        box->lost++;
    } else {
        char *to = PL_BOX_TEXTS(box) + box->used;
        memcpy(to, &head, sizeof head);
        if (category_bytes > 0) memcpy(to + sizeof head, category, category_bytes);
        if (text_bytes > 0) memcpy(to + sizeof head + category_bytes, text, text_bytes);
        box->used += (int64_t)bytes;
    }
    pl_box_unlock(box);
}

void pl_box_catch_prints(pl_black_box *box, int descriptor) {
    int nothing = open("/dev/null", O_RDONLY);
    (void)box;
    if (nothing >= 0) dup2(nothing, 0);
    if (nothing > 2) close(nothing);
    dup2(descriptor, 1);
    dup2(descriptor, 2);
    if (descriptor > 2) close(descriptor);
    setvbuf(stdout, NULL, _IOLBF, 4096); /* what a crash leaves behind shall be there */
}

void pl_box_take_prints(pl_black_box *box) {
    fflush(stdout);
    off_t end = lseek(1, 0, SEEK_CUR);
    if (end <= 0) return;
    char *text = malloc((size_t)end + 1);
    ssize_t got = text ? pread(1, text, (size_t)end, 0) : -1;
    lseek(1, 0, SEEK_SET);
    clearerr(stdout);
    if (got > 0) {
        text[got] = 0;
        for (char *line = text; *line;) {
            size_t length = strcspn(line, "\n");
            char after = line[length];
            line[length] = 0;
            if (length > 0) pl_box_add(box, -1, "printed", line);
            line += length + (after != 0);
        }
        if (end >= PL_BOX_PRINTED) pl_box_add(box, -1, "printed", "... more was printed than is kept");
    }
    free(text);
}
#else
typedef int pl_box_is_for_posix;
#endif
