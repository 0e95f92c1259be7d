/* What the program that drives a step on a target asks of its surroundings: files, a counter of instructions, the end.
 *
 * Two implementations: bare metal with semihosting (bare_arm.c), and a program under Linux (hosted.c). */
#ifndef PL_TARGET_H
#define PL_TARGET_H

#include <stddef.h>
#include <stdint.h>

int target_open(const char *name, int is_output); /* a handle, or -1 */
int target_read(int handle, void *to, size_t bytes);
int target_write(int handle, const void *from, size_t bytes); /* both: 0 if everything was transferred */
int target_close(int handle);
uint32_t target_ticks(void); /* counts up; always 0 where instructions are not counted */
void target_end(int status);

#endif
