/* What external functions may call: chapter 12.9.6 of the Modelica language specification. */
#ifndef MODELICA_UTILITIES_H
#define MODELICA_UTILITIES_H

#include <stdarg.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define PL_FORMAT(kind, first) __attribute__((format(printf, kind, first)))
#define PL_NORETURN            __attribute__((noreturn))
#else
#define PL_FORMAT(kind, first)
#define PL_NORETURN
#endif

void ModelicaMessage(const char *string);
void ModelicaFormatMessage(const char *format, ...) PL_FORMAT(1, 2);
void ModelicaVFormatMessage(const char *format, va_list arguments) PL_FORMAT(1, 0);
void ModelicaWarning(const char *string);
void ModelicaFormatWarning(const char *format, ...) PL_FORMAT(1, 2);
void ModelicaVFormatWarning(const char *format, va_list arguments) PL_FORMAT(1, 0);
PL_NORETURN void ModelicaError(const char *string);
PL_NORETURN void ModelicaFormatError(const char *format, ...) PL_FORMAT(1, 2);
PL_NORETURN void ModelicaVFormatError(const char *format, va_list arguments) PL_FORMAT(1, 0);
char *ModelicaAllocateString(size_t length);
char *ModelicaAllocateStringWithErrorReturn(size_t length);
char *ModelicaDuplicateString(const char *string);
char *ModelicaDuplicateStringWithErrorReturn(const char *string);

#ifdef __cplusplus
}
#endif

#endif
