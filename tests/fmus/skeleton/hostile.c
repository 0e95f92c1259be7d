#include "hostile.h"
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef HOSTILE_BUILD
const volatile int32_t hostile_choice[4] = {0x54534f48, 0x21454c49, PHASE_NONE,
                                            ACT_CRASH}; /* "HOSTILE!" as bytes */
#endif

/* HOG ends by itself after 3 GiB: a host without a limit on memory fails a test, not the machine. */
enum {
    HOG_BLOCKS = 192,
    HOG_BLOCK = 1 << 24,
    FLOOD = 2000000,
    LINES = 200000,
    CHILD_SECONDS = 60,
    DESCRIPTORS = 256
};

static int deeper(volatile char *above, int depth) {
    volatile char here[4096];
    memset((void *)here, depth, sizeof here);
    here[0] = above ? above[1] : 1;
    if (here[0] == 77 && depth < 0) return 0; /* never: without it the compiler warns */
    return deeper(here, depth + 1) + here[17];
}

static int hog(void) {
    char *volatile block = NULL;
    for (int k = 0; k < HOG_BLOCKS; k++) {
        block = malloc(HOG_BLOCK);
        if (block == NULL) abort();
        for (size_t i = 0; i < HOG_BLOCK; i += 4096) block[i] = 1;
    }
    return FMU_OK;
}

static int damage_heap(void) {
    for (int k = 0; k < 8; k++) {
        volatile char *block = malloc(40);
        for (int i = -16; i < 200; i++) block[i] = 0x55;
        free((void *)block);
    }
    free(malloc(100000));
    return FMU_OK;
}

static int refuse(fmu *m, int status) {
    fmu_say(m, status, "refused on purpose");
    return status;
}

/* A hostile FMU does not ask whether messages are wanted. */
static int flood(fmu *m) {
    if (m != NULL) m->logging = true;
    for (int k = 0; k < FLOOD; k++) fmu_say(m, FMU_OK, "message %d of a flood", k);
    return FMU_OK;
}

static int print(void) {
    for (int k = 0; k < LINES; k++) {
        printf("line %d of what belongs in no protocol, on stdout\n", k);
        fprintf(stderr, "line %d of what belongs in no protocol, on stderr\n", k);
    }
    fflush(stdout);
    return FMU_OK;
}

static int leave_child(void) {
    if (fork() == 0) {
        sleep(CHILD_SECONDS);
        _exit(0);
    }
    return FMU_OK;
}

static void *crash(void *nowhere) {
    *(volatile int *)nowhere = 1;
    return NULL;
}

static int crash_in_thread(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, crash, NULL) == 0) pthread_join(thread, NULL);
    return FMU_OK;
}

static int close_all(void) {
    for (int k = 0; k < DESCRIPTORS; k++) close(k);
    return FMU_OK;
}

static void ignore(int number) {
    (void)number;
}

static int take_signals(void) {
    signal(SIGSEGV, ignore);
    signal(SIGTERM, ignore);
    return FMU_OK;
}

int hostile_act(fmu *m) {
    volatile int zero = 0, *nowhere = NULL;
    switch (HOSTILE_ACT) {
    case ACT_CRASH:
        *nowhere = 1;
        break;
    case ACT_ABORT:
        abort();
    case ACT_EXIT:
        exit(0);
    case ACT_LOOP:
        while (zero == 0) {
        }
        break;
    case ACT_OVERFLOW:
        return deeper(NULL, 0) == 12345 ? FMU_ERROR : FMU_OK;
    case ACT_HEAP:
        return damage_heap();
    case ACT_HOG:
        return hog();
    case ACT_FLOOD:
        return flood(m);
    case ACT_ERROR:
        return refuse(m, FMU_ERROR);
    case ACT_FATAL:
        return refuse(m, FMU_FATAL);
    case ACT_DISCARD:
        return refuse(m, FMU_DISCARD);
    case ACT_KILL:
        raise(SIGKILL);
        break;
    case ACT_DIVIDE:
        zero = 1000 / zero;
        break;
    case ACT_SLEEP:
        while (zero == 0) pause();
        break;
    case ACT_PRINT:
        return print();
    case ACT_READ:
        (void)getchar();
        break;
    case ACT_CHILD:
        return leave_child();
    case ACT_THREAD:
        return crash_in_thread();
    case ACT_CLOSE:
        return close_all();
    case ACT_SIGNAL:
        return take_signals();
    default:
        break;
    }
    return FMU_OK;
}

double hostile_number(double good) {
    switch (HOSTILE_ACT) {
    case ACT_NAN:
        return NAN;
    case ACT_INFINITE:
        return INFINITY;
    case ACT_NEGATIVE:
        return -good;
    default:
        return good;
    }
}

__attribute__((constructor)) static void loaded(void) {
    if (HOSTILE_PHASE == PHASE_LOAD) (void)hostile_act(NULL);
}

__attribute__((destructor)) static void unloaded(void) {
    if (HOSTILE_PHASE == PHASE_UNLOAD) (void)hostile_act(NULL);
}
