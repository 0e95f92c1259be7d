/* A Cortex-M without an operating system: reset, files by semihosting, a hardware timer as counter.
 *
 * Semihosting as in Arm's "Semihosting for AArch32 and AArch64" (version 3.0): operation in r0, its arguments in r1,
 * bkpt 0xab. The timer is the first CMSDK APB timer of the MPS2 boards: 32 bits, counts down with the clock of the
 * processor. Emulated with a fixed time per instruction it counts instructions. */
#include "target.h"

#define SYS_OPEN          0x01
#define SYS_CLOSE         0x02
#define SYS_WRITE         0x05
#define SYS_READ          0x06
#define SYS_EXIT_EXTENDED 0x20
#define STOPPED           0x20026 /* ADP_Stopped_ApplicationExit */
#define FAULT             125     /* exit status of a processor fault */

#define TIMER        ((volatile uint32_t *)0x40000000u) /* CTRL, VALUE, RELOAD */
#define COPROCESSORS (*(volatile uint32_t *)0xE000ED88u)

extern uint32_t bss_start[], bss_end[], stack_top[];
int main(void);
void initialise_monitor_handles(void) __attribute__((weak)); /* of the C library, where its files are used */
void target_reset(void);
void target_fault(void);

static int32_t semihosting(uint32_t operation, const void *arguments) {
    register uint32_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = arguments;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return (int32_t)r0;
}

static size_t length(const char *text) {
    size_t n = 0;
    while (text[n]) n++;
    return n;
}

int target_open(const char *name, int is_output) {
    const uint32_t arguments[] = {(uint32_t)(uintptr_t)name, is_output ? 5u : 1u, (uint32_t)length(name)};
    return (int)semihosting(SYS_OPEN, arguments);
}

int target_read(int handle, void *to, size_t bytes) {
    const uint32_t arguments[] = {(uint32_t)handle, (uint32_t)(uintptr_t)to, (uint32_t)bytes};
    return semihosting(SYS_READ, arguments) != 0;
}

int target_write(int handle, const void *from, size_t bytes) {
    const uint32_t arguments[] = {(uint32_t)handle, (uint32_t)(uintptr_t)from, (uint32_t)bytes};
    return semihosting(SYS_WRITE, arguments) != 0;
}

int target_close(int handle) {
    const uint32_t arguments[] = {(uint32_t)handle};
    return semihosting(SYS_CLOSE, arguments) != 0;
}

uint32_t target_ticks(void) {
    return ~TIMER[1];
}

void target_end(int status) {
    const uint32_t arguments[] = {STOPPED, (uint32_t)status};
    for (;;) (void)semihosting(SYS_EXIT_EXTENDED, arguments);
}

void target_fault(void) {
    target_end(FAULT);
}

void target_reset(void) {
    for (uint32_t *at = bss_start; at < bss_end; at++) *at = 0;
    COPROCESSORS |= 0xFu << 20; /* the floating-point unit */
    __asm__ volatile("dsb\n isb" ::: "memory");
    TIMER[2] = 0xFFFFFFFFu;
    TIMER[1] = 0xFFFFFFFFu;
    TIMER[0] = 1;
    if (initialise_monitor_handles) initialise_monitor_handles();
    target_end(main());
}

#define FAULTS target_fault, target_fault, target_fault, target_fault, target_fault

typedef void (*handler)(void);
__attribute__((section(".vectors"), used)) static const handler vectors[] = {
    (handler)(uintptr_t)stack_top, target_reset, FAULTS, FAULTS, FAULTS};
