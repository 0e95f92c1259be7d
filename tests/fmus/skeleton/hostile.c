#include "hostile.h"
#include <errno.h>
#include <fenv.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
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

/* Twice forked, in a session of its own: neither the group nor the parent tells where it came from. */
static int leave_daemon(void) {
    int status;
    pid_t first = fork();
    if (first == 0) {
        setsid();
        if (fork() == 0) {
            (void)!chdir("/");
            sleep(CHILD_SECONDS);
        }
        _exit(0);
    }
    if (first > 0) (void)waitpid(first, &status, 0);
    return FMU_OK;
}

static int become_another(void) {
    execl("/bin/sleep", "sleep", "60", (char *)NULL);
    return FMU_ERROR;
}

static int set_alarm(void) {
    struct itimerval soon = {{0, 0}, {0, 1000}};
    setitimer(ITIMER_REAL, &soon, NULL);
    for (;;) pause();
    return FMU_OK;
}

static int write_all(void) {
    static const char text[] =
        "what an FMU has to say, wherever it is heard: to every descriptor that is open";
    for (int k = 0; k < DESCRIPTORS; k++) (void)!write(k, text, sizeof text);
    return FMU_OK;
}

static int change_state(void) {
    struct rlimit none = {0, 0};
    (void)setlocale(LC_ALL, "de_DE.UTF-8");
    (void)setlocale(LC_NUMERIC, "de_DE");
    (void)!chdir("/");
    umask(0777);
    fesetround(FE_DOWNWARD);
    feclearexcept(FE_ALL_EXCEPT);
    setrlimit(RLIMIT_NOFILE, &none);
    setrlimit(RLIMIT_FSIZE, &none);
    (void)setpriority(PRIO_PROCESS, 0, 19);
    errno = ERANGE;
    return FMU_OK;
}

static int bad_messages(fmu *m) {
    static char large[100000];
    if (m == NULL) return FMU_OK;
    m->logging = true;
    memset(large, 'a', sizeof large - 1);
    fmu_say(m, FMU_OK, "%s", large);
    fmu_say(m, FMU_OK, "%s", "");
    fmu_say(m, 77, "%s", "\xff\xfe a status that is none \xc3");
    fmu_say(m, -1, "%s", "\x1b[2J\r\n\t%d %s %n");
    return FMU_OK;
}

static fmu *talker;
static void *talk(void *unused) {
    (void)unused;
    for (;;) fmu_say(talker, FMU_OK, "a thread that never ends");
    return NULL;
}

static int leave_threads(fmu *m) {
    pthread_t thread;
    if (m == NULL) return FMU_OK;
    m->logging = true;
    talker = m;
    for (int k = 0; k < 3; k++) (void)pthread_create(&thread, NULL, talk, NULL);
    return FMU_OK;
}

static void hang(void) {
    for (;;) pause();
}

/* What leaves processes or threads behind does so once: these FMUs are run side by side with other tests. */
static int is_first(void) {
    static volatile int done;
    return done ? 0 : (done = 1);
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
        return is_first() ? leave_child() : FMU_OK;
    case ACT_THREAD:
        return crash_in_thread();
    case ACT_CLOSE:
        return close_all();
    case ACT_SIGNAL:
        return take_signals();
    case ACT_DAEMON:
        return is_first() ? leave_daemon() : FMU_OK;
    case ACT_FORK:
        return is_first() && fork() < 0 ? FMU_ERROR : FMU_OK;
    case ACT_EXEC:
        return become_another();
    case ACT_STOP:
        raise(SIGSTOP);
        break;
    case ACT_ALARM:
        return set_alarm();
    case ACT_WRITE:
        return write_all();
    case ACT_STATE:
        return change_state();
    case ACT_FORMAT:
        return bad_messages(m);
    case ACT_THREADS:
        return is_first() ? leave_threads(m) : FMU_OK;
    case ACT_JUMP:
        pthread_exit(NULL);
    case ACT_LEAVE:
        return !is_first() || atexit(hang) == 0 ? FMU_OK : FMU_ERROR;
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
