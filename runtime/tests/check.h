/* Checks of the C tests: counted, and printed where they fail. */
#ifndef PL_TESTS_CHECK_H
#define PL_TESTS_CHECK_H

#include <stdio.h>

static int n_checks, n_failed;

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        n_checks++;                                                                                          \
        if (!(condition)) {                                                                                  \
            n_failed++;                                                                                      \
            printf("%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);                                   \
        }                                                                                                    \
    } while (0)

#endif
