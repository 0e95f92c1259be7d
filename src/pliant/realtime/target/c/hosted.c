/* Files of a program under Linux; instructions are not counted. */
#include "target.h"

#include <stdio.h>
#include <stdlib.h>

static FILE *files[8];

int target_open(const char *name, int is_output) {
    for (int k = 0; k < 8; k++) {
        if (files[k]) continue;
        files[k] = fopen(name, is_output ? "wb" : "rb");
        return files[k] ? k : -1;
    }
    return -1;
}

int target_read(int handle, void *to, size_t bytes) {
    return fread(to, 1, bytes, files[handle]) != bytes;
}

int target_write(int handle, const void *from, size_t bytes) {
    return fwrite(from, 1, bytes, files[handle]) != bytes;
}

int target_close(int handle) {
    FILE *file = files[handle];
    files[handle] = NULL;
    return fclose(file) != 0;
}

uint32_t target_ticks(void) {
    return 0;
}

void target_end(int status) {
    exit(status);
}
