/* Lets load_fmi3.c be linked as a program for Windows with the C library of Windows alone (see export/windows). */
#include <stdarg.h>
#include <stddef.h>

int main(int count, char **word);
int *__p___argc(void);
char ***__p___argv(void);
int _configure_narrow_argv(int mode);
void *__acrt_iob_func(unsigned number);
int __stdio_common_vfprintf(unsigned long long options, void *stream, const char *format, void *locale,
                            va_list values);
void exit(int status);
void __main(void);
void start(void);

int printf(const char *format, ...) {
    va_list values;
    va_start(values, format);
    int length = __stdio_common_vfprintf(0, __acrt_iob_func(1), format, NULL, values);
    va_end(values);
    return length;
}

void __main(void) {} /* main calls it for constructors, of which there are none */

void start(void) {
    _configure_narrow_argv(1);
    exit(main(*__p___argc(), *__p___argv()));
}
