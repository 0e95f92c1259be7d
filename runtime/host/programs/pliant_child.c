/* Desktop only. A process of its own for one simulation:  pliant_child RUNTIME_LIBRARY
 * The work is done by pl_child_main of that library, the very one that the parent uses; requests come on the standard input,
 * answers go to the standard output, and what a model prints to the standard error. */
#include <stdio.h>

#ifdef _WIN32
#include <windows.h>
static void *function_of(const char *library) {
    HMODULE found = LoadLibraryA(library);
    return found ? (void *)GetProcAddress(found, "pl_child_main") : NULL;
}
#else
#include <dlfcn.h>
static void *function_of(const char *library) {
    void *found = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    return found ? dlsym(found, "pl_child_main") : NULL;
}
#endif

int main(int argc, char **argv) {
    union {
        void *address;
        int (*call)(void);
    } run = {argc == 2 ? function_of(argv[1]) : NULL};
    if (!run.address) {
        fprintf(stderr, "pliant_child: cannot load the runtime %s\n",
                argc == 2 ? argv[1] : "(none was named)");
        return 3;
    }
    return run.call();
}
