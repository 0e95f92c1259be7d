/* Desktop only. The black box of a process that runs foreign code: a page of memory shared with the parent, where it finds what
 * was going on when the process died or hung, and the messages of the code, none of which is lost with the process. */
#ifndef PLIANT_FMU_BOX_H
#define PLIANT_FMU_BOX_H

#include <stddef.h>
#include <stdint.h>

#define PL_BOX_MAGIC    0x706c6262
#define PL_BOX_MESSAGES (1 << 19) /* bytes of messages that are kept until they are sent */
#define PL_BOX_PRINTED  (1 << 18) /* ... of what is printed */

typedef struct pl_black_box {
    int64_t magic;
    volatile int64_t
        call; /* number of the foreign function that is being called; negative: of the last one */
    volatile int64_t count; /* goes up now and then: with the same call and count nothing goes on */
    volatile double time;   /* simulated */
    volatile int64_t signal, overflow; /* what the process died of; overflow: of its stack */
    volatile uint64_t address;         /* ... where */
    volatile int64_t used, lost;       /* bytes of messages; messages that had no room */
    volatile int32_t lock, quiet;
    int64_t spare[6];
    /* PL_BOX_MESSAGES bytes follow */
} pl_black_box;

#define PL_BOX_SIZE       (sizeof(pl_black_box) + PL_BOX_MESSAGES)
#define PL_BOX_TEXTS(box) ((char *)((box) + 1))

/* Head of a message; its category and text follow, then bytes up to a multiple of 8. */
typedef struct pl_box_message {
    double time;
    int32_t status;                 /* as in FMI; -1: printed */
    int32_t category, text, unused; /* bytes */
} pl_box_message;

/* The box behind a descriptor, NULL: it cannot be had; and from now on signals are noted in it. */
pl_black_box *pl_box_open(int descriptor);
/* Standard output and standard error into a file of fixed size, which the parent can read, too. */
void pl_box_catch_prints(pl_black_box *box, int descriptor);
/* What was printed since becomes messages. */
void pl_box_take_prints(pl_black_box *box);
/* Threads of the code may tell something at once. 0: not to be had, because a signal or the end of a thread came in between. */
int pl_box_lock(pl_black_box *box);
void pl_box_unlock(pl_black_box *box);
void pl_box_add(pl_black_box *box, int status, const char *category, const char *text);
/* Handlers of signals, the floating-point environment, the locale and the working directory as they should be. */
void pl_box_mend(pl_black_box *box);
/* Not 0: this process is a copy that the code made by fork; it must do nothing more. */
extern volatile int pl_box_is_copy;

#endif
