"""The C program that times a step: its own process, an absolute timer, nothing but the step between two clock readings.

@N@ is the prefix of the step's C names, @WATCH@ 0: step, 1: step and monitor, 2: guarded step. Where a system lacks a
call, the program continues without it and prints that.
"""

PROGRAM = r"""
#define _GNU_SOURCE
#include "@N@.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(_WIN32)
#include <windows.h>
#else
#include <time.h>
#endif
#if defined(__linux__)
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#endif

#define WATCH @WATCH@
#define EVICT (64 << 20) /* bytes read and written so that caches hold nothing of the step */
#define PILOT 2001
#define CONTROL_EVERY 4
#define STOLEN 1000 /* ns of wall time that the thread did not run: another thread or a hypervisor had the core */

static @N@ m, at_start;
static @N@_inputs none;
static const @N@_inputs *inputs = &none; /* at the start, then at the end of each step */
static int64_t rows;
static int64_t row;
static volatile unsigned seen; /* keeps the monitor's answer alive */
static volatile uint64_t sink;
static int64_t rounds;

/* ------------------------------------------------------------------------------------------ clock and system */

#if defined(_WIN32)
static int64_t now(void) {
    LARGE_INTEGER count, frequency;
    QueryPerformanceCounter(&count);
    QueryPerformanceFrequency(&frequency);
    return (int64_t)((double)count.QuadPart * 1e9 / (double)frequency.QuadPart);
}
static void sleep_until(int64_t t) {
    while (now() < t) {
    }
}
static double resolution(void) {
    LARGE_INTEGER frequency;
    QueryPerformanceFrequency(&frequency);
    return 1e9 / (double)frequency.QuadPart;
}
#else
static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
static void sleep_until(int64_t t) {
#if defined(__linux__)
    struct timespec at;
    at.tv_sec = (time_t)(t / 1000000000);
    at.tv_nsec = (long)(t % 1000000000);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR) {
    }
#else
    while (now() < t) {
    }
#endif
}
static double resolution(void) {
    struct timespec t;
    clock_getres(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}
#endif

typedef struct counters {
    long preempted, faults;
    int64_t cpu; /* time that the system gave to this thread, ns */
} counters;

static counters count_now(void) {
    counters c = {0, 0, 0};
#if defined(__linux__)
    struct rusage usage;
    struct timespec t;
    getrusage(RUSAGE_THREAD, &usage);
    c.preempted = usage.ru_nivcsw;
    c.faults = usage.ru_minflt + usage.ru_majflt;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    c.cpu = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
#endif
    return c;
}

static int was_disturbed(const counters *before, const counters *after, int64_t wall) {
#if defined(__linux__)
    return after->preempted != before->preempted || wall > after->cpu - before->cpu + STOLEN;
#else
    (void)before, (void)after, (void)wall;
    return 0;
#endif
}

static void prepare(int core) {
#if defined(__linux__)
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* the program ends with the one that started it */
    prctl(PR_SET_TIMERSLACK, 1UL);
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    const int pinned = core >= 0 && sched_setaffinity(0, sizeof set, &set) == 0;
    printf("pinned %d\n", pinned ? core : -1);
    printf("locked %d\n", mlockall(MCL_CURRENT | MCL_FUTURE) == 0 ? 0 : errno);
    struct sched_param priority;
    memset(&priority, 0, sizeof priority);
    priority.sched_priority = sched_get_priority_min(SCHED_FIFO) + 79;
    printf("priority %d\n", sched_setscheduler(0, SCHED_FIFO, &priority) == 0 ? 0 : errno);
    printf("timer 1\n");
#else
    (void)core;
    printf("pinned -1\nlocked -1\npriority -1\ntimer 0\n");
#endif
}

/* ------------------------------------------------------------------------------------------------- the step */

static const @N@_inputs *next_inputs(void) {
    if (row >= rows) {
        row = 0;
        m = at_start; /* the scenario restarts */
    }
    return rows && inputs != &none ? inputs + ++row : (row++, &none);
}

static void one_step(const @N@_inputs *u) {
#if WATCH == 2
    seen = @N@_step_guarded(&m, u);
#else
    @N@_step(&m, u);
#if WATCH == 1
    @N@_flags flags;
    seen = @N@_monitor(&m, &flags);
#endif
#endif
}

static void fallen_step(const @N@_inputs *u) { /* what a guarded step does at worst */
#if WATCH == 2
    @N@_flags flags;
    static @N@ saved;
    saved = m;
    @N@_step(&m, u);
    seen = @N@_monitor(&m, &flags);
    m = saved;
    @N@_step_full(&m, u);
#else
    one_step(u);
#endif
}

static void evict(void) {
    volatile char *rubbish = malloc(EVICT);
    if (!rubbish) return;
    for (int pass = 0; pass < 2; pass++)
        for (size_t k = 0; k < EVICT; k += 32) rubbish[k] = (char)(rubbish[k] + 1);
    free((void *)rubbish);
}

static int compare(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void clock_cost(int64_t *least, int64_t *median) {
    static int64_t cost[4001];
    for (int k = 0; k < 4001; k++) {
        const int64_t begin = now();
        cost[k] = now() - begin;
    }
    qsort(cost, 4001, sizeof cost[0], compare);
    *least = cost[0];
    *median = cost[2000];
}

typedef struct record {
    uint32_t *duration; /* ns */
    uint32_t *latency;  /* ns between the time wanted and the time the step began */
    uint32_t *control;  /* ns of constant work in registers, as long as a usual step */
    unsigned char *disturbed;
    long faults, preempted;
} record;

static uint32_t clipped(int64_t ns) {
    return ns < 0 ? 0 : ns > 0xffffffffLL ? 0xffffffffU : (uint32_t)ns;
}

static void timed(record *r, int64_t k, int64_t wanted, void (*call)(const @N@_inputs *)) {
    const @N@_inputs *u = next_inputs();
    const counters before = count_now();
    const int64_t begin = now();
    call(u);
    const int64_t end = now();
    const counters after = count_now();
    r->duration[k] = clipped(end - begin);
    r->latency[k] = clipped(begin - wanted);
    r->disturbed[k] = (unsigned char)was_disturbed(&before, &after, end - begin);
    r->faults += after.faults - before.faults;
    r->preempted += after.preempted - before.preempted;
}

static uint64_t constant_work(int64_t rounds) {
    uint64_t v = 1;
    for (int64_t k = 0; k < rounds; k++) v = v * 6364136223846793005ULL + 1442695040888963407ULL;
    return v;
}

static void controlled(record *r, int64_t k) {
    (void)count_now();
    const int64_t begin = now();
    sink = constant_work(rounds);
    r->control[k] = clipped(now() - begin);
}

static int64_t rounds_for(int64_t ns) { /* rounds of constant work that take as long */
    int64_t best = 1000000000;
    for (int k = 0; k < 50; k++) {
        const int64_t begin = now();
        sink = constant_work(2000);
        const int64_t time = now() - begin;
        if (time < best) best = time;
    }
    return 1 + ns * 2000 / (best > 0 ? best : 1);
}

static int64_t next_time(int64_t wanted, int64_t period) {
    const int64_t late = now();
    wanted += period;
    return late > wanted ? late + period : wanted; /* an overrun is counted once, the steps after it begin in time */
}

static void loop(record *r, int64_t first, int64_t steps, int64_t period, void (*call)(const @N@_inputs *)) {
    int64_t wanted = now() + period;
    for (int64_t k = first; k < steps; k++) {
        if (k % CONTROL_EVERY == 0) { /* the same wake-up, but constant work */
            sleep_until(wanted);
            controlled(r, k);
            wanted = next_time(wanted, period);
        }
        sleep_until(wanted);
        timed(r, k, wanted, call);
        wanted = next_time(wanted, period);
    }
}

static int64_t pace(int64_t period) { /* the time that a wake-up and its sleep really take, for those who wait */
    const int64_t n = 1 + 100000000 / period < 200 ? 1 + 100000000 / period : 200;
    const int64_t begin = now();
    int64_t wanted = begin + period;
    for (int64_t k = 0; k < n; k++) {
        sleep_until(wanted);
        wanted = next_time(wanted, period);
    }
    return (now() - begin) / n;
}

static int make_record(record *r, int64_t steps) {
    memset(r, 0, sizeof *r);
    r->duration = malloc((size_t)steps * sizeof *r->duration);
    r->latency = malloc((size_t)steps * sizeof *r->latency);
    r->control = malloc((size_t)steps * sizeof *r->control);
    r->disturbed = malloc((size_t)steps);
    if (!r->duration || !r->latency || !r->control || !r->disturbed) return 1;
    memset(r->duration, 1, (size_t)steps * sizeof *r->duration);
    memset(r->latency, 1, (size_t)steps * sizeof *r->latency);
    memset(r->control, 1, (size_t)steps * sizeof *r->control);
    memset(r->disturbed, 1, (size_t)steps);
    return 0;
}

static int write_record(const record *r, int64_t steps, FILE *file) {
    const size_t n = (size_t)steps;
    return fwrite(r->duration, sizeof *r->duration, n, file) != n
        || fwrite(r->latency, sizeof *r->latency, n, file) != n
        || fwrite(r->control, sizeof *r->control, n, file) != n || fwrite(r->disturbed, 1, n, file) != n;
}

static int read_inputs(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) return 1;
    const size_t n = (size_t)rows + 1;
    void *all = malloc(n * sizeof(@N@_inputs));
    const int bad = !all || fread(all, sizeof(@N@_inputs), n, file) != n;
    fclose(file);
    inputs = all;
    return bad;
}

static int64_t pilot(void (*call)(const @N@_inputs *)) {
    static int64_t time[PILOT];
    for (int k = 0; k < PILOT; k++) {
        const @N@_inputs *u = next_inputs();
        const int64_t begin = now();
        call(u);
        time[k] = now() - begin;
    }
    qsort(time, PILOT, sizeof time[0], compare);
    row = rows; /* the loop begins with the scenario */
    return time[PILOT / 2];
}

/* steps, period in ns (0: chosen here), longest period in ns, core, steps of the fallback, rows, inputs, output */
int main(int argc, char **argv) {
    if (argc != 9) return 2;
    const int64_t steps = atoll(argv[1]), longest = atoll(argv[3]), fallen = atoll(argv[5]);
    int64_t period = atoll(argv[2]), least, median;
    record main_record, fallen_record;
    rows = atoll(argv[6]);
    if (strcmp(argv[7], "-") != 0 && read_inputs(argv[7])) return 3;
    if (make_record(&main_record, steps) || make_record(&fallen_record, fallen + 1)) return 4;
    prepare(atoi(argv[4]));
    clock_cost(&least, &median);
    printf("clock %lld %lld %.0f\n", (long long)least, (long long)median, resolution());
    @N@_parameters p;
    @N@_default_parameters(&p);
    if (@N@_init(&m, &p, inputs)) return 5;
    at_start = m;
    evict();
    timed(&main_record, 0, now(), one_step); /* the cold start */
    rounds = rounds_for(pilot(one_step));
    controlled(&main_record, 0);
    const int64_t usual = pilot(fallen_step);
    if (period == 0) {
        period = 3 * usual > 20000 ? 3 * usual : 20000;
        if (period > longest && longest > usual) period = longest;
    }
    printf("period %lld\npace %lld\n", (long long)period, (long long)(pace(period) + usual));
    fflush(stdout);
    const int64_t begin = now();
    loop(&main_record, 1, steps, period, one_step);
    printf("elapsed %lld\n", (long long)(now() - begin));
    printf("state %.17g\n", (double)@FIRST@);
    row = rows;
    if (fallen) loop(&fallen_record, 0, fallen, period, fallen_step);
    printf("faults %ld\npreempted %ld\nseen %u\n", main_record.faults, main_record.preempted, seen);
    FILE *file = fopen(argv[8], "wb");
    if (!file || write_record(&main_record, steps, file) || write_record(&fallen_record, fallen, file)) return 6;
    if (fclose(file)) return 6;
    printf("done 1\n");
    return 0;
}
"""
