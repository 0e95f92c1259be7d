#include "hostile.h"
#include <errno.h>
#include <fcntl.h>
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

static void tell_again(int number) {
    (void)number;
    fmu_say(talker, FMU_OK, "a timer that never ends");
}

static int start_timer(fmu *m) {
    struct itimerval often = {{0, 200}, {0, 200}};
    if (m == NULL) return FMU_OK;
    m->logging = true;
    talker = m;
    signal(SIGALRM, tell_again);
    setitimer(ITIMER_REAL, &often, NULL);
    return FMU_OK;
}

static void *do_later(void *what) {
    usleep(300);
    if (what != NULL) raise(SIGSTOP);
    return crash(NULL);
}

static int start_later(void *what) {
    pthread_t thread;
    int made = pthread_create(&thread, NULL, do_later, what);
    if (what == NULL) pause();
    return made == 0 ? FMU_OK : FMU_ERROR;
}

static int leave_orphan(void) {
    static char *const none[] = {NULL}, *const words[] = {"sleep", "60", NULL};
    int status;
    pid_t first = fork();
    if (first == 0) {
        setsid();
        if (fork() == 0) execve("/bin/sleep", words, none);
        _exit(0);
    }
    if (first > 0) (void)waitpid(first, &status, 0);
    return FMU_OK;
}

static int put_link(void) {
    char here[4096], there[4200];
    if (getcwd(here, sizeof here) == NULL) return FMU_ERROR;
    snprintf(there, sizeof there, "%s.moved", here);
    (void)!rename(here, there);
    (void)!symlink("/usr", here);
    return FMU_OK;
}

static int dig(void) {
    for (int k = 0; k < 1200; k++)
        if (mkdir("deeper-and-deeper", 0700) != 0 || chdir("deeper-and-deeper") != 0) return FMU_OK;
    return FMU_OK;
}

static int litter(void) {
    char name[40];
    for (int k = 0; k < 200; k++) {
        snprintf(name, sizeof name, "left-%d", k);
        if (k % 4 == 0) (void)!mkdir(name, 0);
        if (k % 4 == 1) (void)!mkfifo(name, 0);
        if (k % 4 == 2) (void)!symlink("/etc", name);
        if (k % 4 == 3) close(creat(name, 0));
    }
    (void)!mkdir("closed", 0700);
    (void)!mkdir("closed/inside", 0700);
    (void)!chmod("closed", 0);
    (void)!chmod(".", 0);
    return FMU_OK;
}

static int starve(void) {
    struct rlimit none = {1, 1};
    setrlimit(RLIMIT_AS, &none);
    while (malloc(16) != NULL) {
    }
    return FMU_OK;
}

static int open_all(void) {
    while (dup(1) >= 0) {
    }
    return FMU_OK;
}

static int fault_again(void) {
    signal(SIGSEGV, ignore);
    return crash(NULL) == NULL ? FMU_OK : FMU_ERROR;
}

static int say_widely(fmu *m) {
    if (m == NULL) return FMU_OK;
    m->logging = true;
    fmu_say(m, FMU_OK, "%*d", 200000000, 1);
    return FMU_OK;
}

static int end_group(void) {
    signal(SIGTERM, SIG_DFL);
    kill(0, SIGTERM);
    pause();
    return FMU_OK;
}

static int block_all(void) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    return crash(NULL) == NULL ? FMU_OK : FMU_ERROR;
}

static int print_much(void) {
    static char block[1 << 20];
    memset(block, 'x', sizeof block);
    for (int k = 0; k < 1024; k++) {
        (void)!write(1, block, sizeof block);
        fwrite(block, 1, sizeof block, stderr);
    }
    return FMU_OK;
}

static int change_processor(void) {
    feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW | FE_INEXACT);
    fesetround(FE_UPWARD);
#ifdef __SSE2__
    __builtin_ia32_ldmxcsr(0x8040u |
                           (__builtin_ia32_stmxcsr() & ~0x1f80u)); /* flushes small numbers, traps */
#endif
    return FMU_OK;
}

static int limit_time(void) {
    volatile double sum = 0.0;
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CPU, &none);
    for (;;) sum = sum + 1.0;
    return FMU_OK;
}

static void *talk_until_cancelled(void *unused) {
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    return talk(unused);
}

static int cancel(fmu *m) {
    pthread_t thread;
    if (m == NULL) return FMU_OK;
    m->logging = true;
    talker = m;
    for (int k = 0; k < 50; k++) {
        if (pthread_create(&thread, NULL, talk_until_cancelled, NULL) != 0) break;
        usleep(300);
        pthread_cancel(thread);
        pthread_join(thread, NULL);
    }
    return FMU_OK;
}

static int remove_itself(void) {
    (void)!system("rm -rf ../binaries ../resources ../modelDescription.xml");
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
    case ACT_TIMER:
        return is_first() ? start_timer(m) : FMU_OK;
    case ACT_FREEZE:
        return is_first() ? start_later(&talker) : FMU_OK;
    case ACT_LATER:
        return start_later(NULL);
    case ACT_ORPHAN:
        return is_first() ? leave_orphan() : FMU_OK;
    case ACT_LINK:
        return is_first() ? put_link() : FMU_OK;
    case ACT_DEEP:
        return is_first() ? dig() : FMU_OK;
    case ACT_LITTER:
        return is_first() ? litter() : FMU_OK;
    case ACT_STARVE:
        return is_first() ? starve() : FMU_OK;
    case ACT_OPEN:
        return is_first() ? open_all() : FMU_OK;
    case ACT_FAULTS:
        return fault_again();
    case ACT_WIDE:
        return is_first() ? say_widely(m) : FMU_OK;
    case ACT_GROUP:
        return end_group();
    case ACT_BLOCK:
        return block_all();
    case ACT_GIGABYTE:
        return is_first() ? print_much() : FMU_OK;
    case ACT_TRAPS:
        return change_processor();
    case ACT_TIME:
        return limit_time();
    case ACT_CANCEL:
        return is_first() ? cancel(m) : FMU_OK;
    case ACT_UNLINK:
        return is_first() ? remove_itself() : FMU_OK;
    case ACT_PENDING:
        return 5;
    case ACT_ODD:
        return 42;
    case ACT_MINUS:
        return -3;
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
    case ACT_NOISE:
        return good + 1e-2 * ((double)rand() / RAND_MAX - 0.5);
    case ACT_TINY:
        return 1e-310;
    case ACT_HUGE:
        return 1e300;
    case ACT_ZERO:
        return -0.0;
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
