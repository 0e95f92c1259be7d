/* See pliant_foreign.h. */
#include "pliant_foreign.h"

#include "ModelicaUtilities.h"

#include <math.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(_MSC_VER)
#define PER_THREAD __declspec(thread)
#else
#define PER_THREAD __thread
#endif

#define LONGEST_TEXT 2000

/* ------------------------------------------------------------------------------------------- one call */

typedef struct block { /* memory that ends with the call */
    struct block *next;
    double first[]; /* aligned */
} block;

typedef struct frame {
    jmp_buf back;
    char *said;
    size_t room;
    double time;
    struct frame *outer; /* a function that calls others */
} frame;

static PER_THREAD frame *current;
static PER_THREAD block *blocks;
static void (*listener)(int kind, double time, const char *text);

void pl_foreign_listen(void (*heard)(int kind, double time, const char *text)) {
    listener = heard;
}

void pl_foreign_release(void) {
    while (blocks) {
        block *next = blocks->next;
        free(blocks);
        blocks = next;
    }
}

static void *taken(size_t bytes) {
    block *one = calloc(1, sizeof(block) + bytes + 1);
    if (!one) return NULL;
    one->next = blocks;
    blocks = one;
    return one->first;
}

void *pl_foreign_room(size_t bytes) {
    void *found = taken(bytes);
    if (!found) ModelicaError("there is no memory for the arguments of an external function");
    return found;
}

int pl_foreign_int(double value) {
    if (!(value >= -2147483648.0 && value <= 2147483647.0))
        ModelicaFormatError("an Integer has more than 32 bits as an argument: %.17g", value);
    return (int)value;
}

int pl_foreign_call(pl_foreign_function function, pl_foreign_data *data, char *said, size_t room) {
    frame here;
    if (!current) pl_foreign_release();
    here.said = said;
    here.room = room;
    here.time = data->time;
    here.outer = current;
    if (room > 0) said[0] = 0;
    if (setjmp(here.back)) {
        current = here.outer;
        return 0;
    }
    current = &here;
    function(data);
    current = here.outer;
    return 1;
}

/* --------------------------------------------------------------------------- what functions may call */

static void tell(int kind, const char *string) {
    if (listener)
        listener(kind, current ? current->time : NAN, string);
    else
        fprintf(stderr, "%s%s\n", kind ? "warning: " : "", string);
}

void ModelicaMessage(const char *string) {
    tell(0, string);
}

void ModelicaWarning(const char *string) {
    tell(1, string);
}

static void tell_formatted(int kind, const char *format, va_list arguments) {
    char text[LONGEST_TEXT];
    vsnprintf(text, sizeof text, format, arguments);
    tell(kind, text);
}

void ModelicaVFormatMessage(const char *format, va_list arguments) {
    tell_formatted(0, format, arguments);
}

void ModelicaFormatMessage(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    tell_formatted(0, format, arguments);
    va_end(arguments);
}

void ModelicaVFormatWarning(const char *format, va_list arguments) {
    tell_formatted(1, format, arguments);
}

void ModelicaFormatWarning(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    tell_formatted(1, format, arguments);
    va_end(arguments);
}

void ModelicaError(const char *string) {
    if (!current) { /* a thread of the library's own: nobody waits for it */
        tell(1, string);
        abort();
    }
    frame *here = current;
    if (here->room > 0) snprintf(here->said, here->room, "%s", string);
    longjmp(here->back, 1);
}

void ModelicaVFormatError(const char *format, va_list arguments) {
    char text[LONGEST_TEXT];
    vsnprintf(text, sizeof text, format, arguments);
    ModelicaError(text);
}

void ModelicaFormatError(const char *format, ...) {
    char text[LONGEST_TEXT];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    ModelicaError(text);
}

char *ModelicaAllocateStringWithErrorReturn(size_t length) {
    return length < SIZE_MAX / 2 ? taken(length + 1) : NULL;
}

char *ModelicaAllocateString(size_t length) {
    char *found = ModelicaAllocateStringWithErrorReturn(length);
    if (!found) ModelicaError("there is no memory for a string of an external function");
    return found;
}

char *ModelicaDuplicateStringWithErrorReturn(const char *string) {
    size_t length = strlen(string);
    char *found = ModelicaAllocateStringWithErrorReturn(length);
    if (found) memcpy(found, string, length + 1);
    return found;
}

char *ModelicaDuplicateString(const char *string) {
    char *found = ModelicaAllocateString(strlen(string));
    memcpy(found, string, strlen(string) + 1);
    return found;
}

/* -------------------------------------------------------------------------------------------- objects */

typedef struct object {
    struct object *next;
    int number;
    const void *owner;
    void *made;
    pl_foreign_function destructor;
} object;

static object *objects;
static int last_number;
static volatile int locked;

static void lock(void) {
#if defined(__GNUC__)
    while (__sync_lock_test_and_set(&locked, 1)) {
    }
#endif
}

static void unlock(void) {
#if defined(__GNUC__)
    __sync_lock_release(&locked);
#endif
}

int pl_object_make(const void *owner, pl_foreign_function constructor, pl_foreign_function destructor,
                   pl_foreign_data *data, char *said, size_t room) {
    object *one = calloc(1, sizeof *one);
    if (!one) return 0;
    data->made = NULL;
    if (!pl_foreign_call(constructor, data, said, room)) {
        free(one);
        return 0;
    }
    one->owner = owner;
    one->made = data->made;
    one->destructor = destructor;
    lock();
    one->number = ++last_number;
    one->next = objects;
    objects = one;
    unlock();
    return one->number;
}

int pl_object_at(int number, const void *owner, void **made) {
    int found = 0;
    lock();
    for (object *one = objects; one; one = one->next)
        if (one->number == number) {
            found = one->owner == owner;
            if (found) *made = one->made;
            break;
        }
    unlock();
    return found;
}

static void end(object *one) {
    char said[LONGEST_TEXT];
    pl_foreign_data data = {0};
    void *object_of[1] = {one->made};
    data.object = object_of;
    data.time = NAN;
    if (one->destructor && !pl_foreign_call(one->destructor, &data, said, sizeof said)) tell(1, said);
    free(one);
}

/* Take the first object out of the table that is this owner's; number 0: any. */
static object *removed(int number, const void *owner) {
    object *found = NULL;
    lock();
    for (object **place = &objects; *place; place = &(*place)->next)
        if ((*place)->owner == owner && (number == 0 || (*place)->number == number)) {
            found = *place;
            *place = found->next;
            break;
        }
    unlock();
    return found;
}

void pl_object_end(int number, const void *owner) {
    object *one = removed(number, owner);
    if (one) end(one);
}

void pl_objects_end(const void *owner) {
    for (object *one; (one = removed(0, owner)) != NULL;) end(one);
}
