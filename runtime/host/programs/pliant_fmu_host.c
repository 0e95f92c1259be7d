/* Desktop only. The host of an FMU:  pliant_fmu_host RUNTIME_LIBRARY BLACK_BOX PRINTED PARENT FOLDER
 * The work is done by pl_fmu_host_main of that library, the very one that the parent uses; requests come on the standard
 * input, answers go to the standard output. BLACK_BOX and PRINTED are descriptors, PARENT is the number of a process,
 * FOLDER the working directory. */
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
    } run = {argc == 6 ? function_of(argv[1]) : NULL};
    if (!run.address) {
        fprintf(stderr, "pliant_fmu_host: cannot load the runtime %s\n",
                argc == 6 ? argv[1] : "(wrong number of arguments)");
        return 3;
    }
    return run.call(4, argv + 2);
}
