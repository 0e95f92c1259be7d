/* Desktop only. The host of an FMU:  pliant_fmu_host RUNTIME_LIBRARY BLACK_BOX PRINTED PARENT
 * The work is done by pl_fmu_host_main of that library, the very one that the parent uses; requests come on the standard
 * input, answers go to the standard output. BLACK_BOX and PRINTED are descriptors, PARENT is the number of a process. */
#include <stdio.h>

#ifdef _WIN32
#include <windows.h>
static void *function_of(const char *library) {
    HMODULE found = LoadLibraryA(library);
    return found ? (void *)GetProcAddress(found, "pl_fmu_host_main") : NULL;
}
#else
#include <dlfcn.h>
static void *function_of(const char *library) {
    void *found = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    return found ? dlsym(found, "pl_fmu_host_main") : NULL;
}
#endif

int main(int argc, char **argv) {
    union {
        void *address;
        int (*call)(int, char **);
    } run = {argc == 5 ? function_of(argv[1]) : NULL};
    if (!run.address) {
        fprintf(stderr, "pliant_fmu_host: cannot load the runtime %s\n",
                argc == 5 ? argv[1] : "(wrong number of arguments)");
        return 3;
    }
    return run.call(3, argv + 2);
}
