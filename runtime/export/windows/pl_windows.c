/* What the binary of an FMU needs on 64-bit Windows besides the functions of ucrtbase.dll, which is part of the system:
 * an entry, C99's snprintf over the function that ucrtbase has for it, and the probe of large stack frames.
 *
 * With these a binary is linked without MinGW's own library. A cross compiler would have to compile that first, and
 * nothing of it would be used. The FMU has no constructors and no thread-local variables: its entry has nothing to do.
 */
#include <stdarg.h>
#include <stddef.h>

#define PL_WINDOWS_C99_LENGTH                                                                                \
    2ull /* the length that the whole text would have is returned, and a zero ends it */

int __stdio_common_vsprintf(unsigned long long options, char *text, size_t size, const char *format,
                            void *locale, va_list values);
int pl_windows_entry(void *library, unsigned long reason, void *reserved);

int vsnprintf(char *text, size_t size, const char *format, va_list values) {
    return __stdio_common_vsprintf(PL_WINDOWS_C99_LENGTH, text, size, format, NULL, values);
}

int snprintf(char *text, size_t size, const char *format, ...) {
    va_list values;
    va_start(values, format);
    int length = vsnprintf(text, size, format, values);
    va_end(values);
    return length;
}

int pl_windows_entry(void *library, unsigned long reason, void *reserved) {
    (void)library, (void)reason, (void)reserved;
    return 1;
}

/* Called before a frame of rax bytes is taken: Windows grows a stack by the page below the last one, so every page is
 * touched, from the top down. All registers keep their values. */
__asm__(".text\n"
        ".globl ___chkstk_ms\n"
        "___chkstk_ms:\n"
        "    pushq %rax\n"
        "    pushq %rcx\n"
        "    leaq 24(%rsp), %rcx\n" /* the stack as the caller has it */
        "1:  cmpq $4096, %rax\n"
        "    jbe 2f\n"
        "    subq $4096, %rcx\n"
        "    orq $0, (%rcx)\n"
        "    subq $4096, %rax\n"
        "    jmp 1b\n"
        "2:  subq %rax, %rcx\n"
        "    orq $0, (%rcx)\n"
        "    popq %rcx\n"
        "    popq %rax\n"
        "    retq\n");
