#ifndef HOSTILE_H
#define HOSTILE_H
/* Where the FMU misbehaves (HOSTILE_PHASE) and how (HOSTILE_ACT). Without HOSTILE_BUILD all of it is optimised away. */
#include "fmu.h"

enum {
    PHASE_NONE,
    PHASE_LOAD,
    PHASE_INSTANTIATE,
    PHASE_SETUP,
    PHASE_ENTER_INITIALISATION,
    PHASE_EXIT_INITIALISATION,
    PHASE_DERIVATIVES,
    PHASE_OUTPUTS,
    PHASE_INDICATORS,
    PHASE_EVENT,
    PHASE_COMPLETED,
    PHASE_STEP,
    PHASE_TERMINATE,
    PHASE_FREE,
    PHASE_UNLOAD,
    PHASE_NOMINALS,
    PHASE_STATES
};
enum {
    ACT_CRASH,
    ACT_ABORT,
    ACT_EXIT,
    ACT_LOOP,
    ACT_OVERFLOW,
    ACT_HEAP,
    ACT_HOG,
    ACT_FLOOD,
    ACT_ERROR,
    ACT_FATAL,
    ACT_DISCARD,
    ACT_KILL,
    ACT_DIVIDE,
    ACT_SLEEP,    /* hangs without using the processor */
    ACT_PRINT,    /* more to stdout and stderr than a pipe holds */
    ACT_READ,     /* waits for input */
    ACT_CHILD,    /* leaves a process behind */
    ACT_THREAD,   /* crashes in a thread of its own */
    ACT_CLOSE,    /* closes descriptors that are not its own */
    ACT_SIGNAL,   /* takes SIGSEGV and SIGTERM for itself */
    ACT_DAEMON,   /* leaves a process behind that is in no group and has no parent of its own */
    ACT_FORK,     /* goes on twice */
    ACT_EXEC,     /* becomes another program */
    ACT_STOP,     /* stops its process */
    ACT_ALARM,    /* is killed by a timer of its own, some time later */
    ACT_WRITE,    /* writes to descriptors that are not its own */
    ACT_STATE,    /* locale, folder, rounding, umask, limits of the process */
    ACT_FORMAT,   /* messages whose format, text or category is no good one */
    ACT_THREADS,  /* threads that never end, and talk */
    ACT_JUMP,     /* jumps out of the call */
    ACT_LEAVE,    /* makes the end of the process hang */
    ACT_TIMER,    /* says something in a handler of signals, again and again */
    ACT_FREEZE,   /* its process is stopped later on, outside of a call */
    ACT_LATER,    /* crashes later on, outside of a call */
    ACT_ORPHAN,   /* leaves a process behind that has another group, no parent and no environment */
    ACT_LINK,     /* puts a link where it works */
    ACT_DEEP,     /* leaves folders deeper than paths may be */
    ACT_LITTER,   /* leaves files without permissions, pipes and links */
    ACT_STARVE,   /* leaves no memory for itself */
    ACT_OPEN,     /* opens files until there are no more descriptors */
    ACT_FAULTS,   /* a fault that its own handler does not mend */
    ACT_WIDE,     /* a message that is very long */
    ACT_GROUP,    /* ends its group of processes */
    ACT_BLOCK,    /* blocks all signals, and crashes */
    ACT_GIGABYTE, /* prints a gigabyte */
    ACT_TRAPS,    /* traps, rounding and flushing of the processor */
    ACT_TIME,     /* ends its process by a limit on its time */
    ACT_CANCEL,   /* cancels a thread in the midst of a message */
    ACT_UNLINK,   /* removes its own binary and its resources */
    ACT_PENDING,  /* a status that is none of this call's */
    ACT_ODD,      /* a status that does not exist */
    ACT_MINUS,
    ACT_NAN, /* numbers that the phase returns */
    ACT_INFINITE,
    ACT_NEGATIVE,
    ACT_AGAIN, /* event: never done */
    ACT_PAST,  /* event: the next event is before now */
    ACT_NOW,   /* event: the next event is now */
    ACT_SOON,  /* event: the next event is as soon as can be told apart */
    ACT_NOISE, /* numbers that are others each time */
    ACT_TINY,
    ACT_HUGE,
    ACT_ZERO /* with a sign */
};

/* One binary serves all: phase and act stand after a mark in its data, and the tests write them there. */
#ifdef HOSTILE_BUILD
extern const volatile int32_t hostile_choice[4];
#define HOSTILE_PHASE hostile_choice[2]
#define HOSTILE_ACT   hostile_choice[3]
#else
#define HOSTILE_PHASE PHASE_NONE
#define HOSTILE_ACT   ACT_CRASH
#endif
#define HOSTILE_AFTER 0.5 /* seconds of simulated time, for phases of the run */

int hostile_act(fmu *m);
double hostile_number(double good);

/* Before the run, the phase itself is the moment; within it, the time counts. */
#define HOSTILE(phase)                                                                                       \
    do {                                                                                                     \
        if (HOSTILE_PHASE == (phase) &&                                                                      \
            (HOSTILE_PHASE < PHASE_DERIVATIVES || HOSTILE_PHASE > PHASE_STEP || m->time >= HOSTILE_AFTER)) { \
            int hostile_status = hostile_act(m);                                                             \
            if (hostile_status != FMU_OK) return hostile_status;                                             \
        }                                                                                                    \
    } while (0)

#define HOSTILE_NUMBER(phase, number)                                                                        \
    (HOSTILE_PHASE == (phase) && HOSTILE_ACT >= ACT_NAN &&                                                   \
             (m->time >= HOSTILE_AFTER || HOSTILE_PHASE == PHASE_NOMINALS)                                   \
         ? hostile_number(number)                                                                            \
         : (number))
#endif
