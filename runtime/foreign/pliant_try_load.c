/* Desktop only. Loads a library in a process of its own: what crashes there crashes nothing else. */
#include <stdio.h>

#ifdef _WIN32
#include <windows.h>
#else
#include <dlfcn.h>
#endif

int main(int n, char **argument) {
    if (n < 2) return 2;
#ifdef _WIN32
    if (LoadLibraryA(argument[1])) return 0;
    fprintf(stderr, "error %lu", (unsigned long)GetLastError());
#else
    if (dlopen(argument[1], RTLD_NOW)) return 0;
    fputs(dlerror(), stderr);
#endif
    return 1;
}
